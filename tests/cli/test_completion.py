#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The completion scripts as their shells run them: zsh and fish, where these are installed, and the options of every
command in all of them. What bash offers for each kind of value is in test_usage.py."""
import json
import os
import re
import shutil
import subprocess
import unittest

from support import Case

# Prints what would be offered in place of offering it, for one line of standard input after the other.
ZSH = r"""
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "source $1/rc.zsh; print rea''dy"
zpty -r -m z before '*ready*'
while IFS= read -r line; do
    zpty -w -n z $'\x15'"$line"$'\t'
    zpty -r -m z answer '*<<end>>*'
    print -r -- "<<line>>$answer"
done
zpty -d z
"""
RC = r"""
PROMPT=
LISTMAX=10000
zstyle ':completion:*' format ''
autoload -Uz compinit && compinit -u -D
source $SCRIPT
bindkey '^I' complete-word
bindkey '^U' kill-whole-line
compadd() {
    if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
        builtin compadd "$@"
        return
    fi
    typeset -a hits
    builtin compadd -A hits "$@"
    for hit in $hits; do print -r -- "<<$hit>>"; done
    builtin compadd "$@"
}
tell_end() { print -r -- "<<end>>"; comppostfuncs=(tell_end) }  # which zsh forgets each time
comppostfuncs=(tell_end)
"""
ASKED = [("con", ["convert"]), ("convert --sem", ["--semantics"]), ("convert --semantics ", ["repair", "official", "tf"]),
         ("tool over", ["overview_page"]), ("help comp", ["completion"]), ("completion ", ["bash", "zsh", "fish"]),
         ("tool trace_viewer@ x -O start", ["start_time_ms="]), ("convert --tools ker", ["kernel_stats"]),
         ("info --from perf", ["perfetto"]), ("backend i", ["install"]), ("info fold", ["folder"]),
         ("convert -o ", ["folder"]), ("convert -j ", [])]


class Completion(Case):
    def setUp(self):
        super().setUp()
        os.makedirs(self.path("in", "folder"))
        open(self.path("in", "file.pb"), "w").close()
        self.commands = json.loads(self.expect(0, "help", "--json").stdout)["commands"]

    def script(self, shell):
        if not shutil.which(shell):
            self.skipTest(f"{shell} is not installed")
        with open(self.path(shell), "w") as f:
            f.write(self.expect(0, "completion", shell).stdout)
        return self.path(shell)

    def check(self, ask):
        """ask: from lines without 'tbprof ' to what is offered for the last word of each."""
        lines = [line for line, _ in ASKED] + [c["name"] + " --" for c in self.commands]
        wanted = [offered for _, offered in ASKED] + [["--" + o["name"] for o in c["options"]] for c in self.commands]
        for line, offered, want in zip(lines, ask(lines), wanted, strict=True):
            self.assertEqual(sorted({o.rstrip("/=") for o in offered}), sorted(w.rstrip("=") for w in want), line)

    def test_bash(self):
        script = self.script("bash")
        code = ('source "$1"; COMP_WORDS=($2); [ "${2% }" = "$2" ] || COMP_WORDS+=(""); '
                'COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _tbprof; printf "%s\\n" "${COMPREPLY[@]}"')
        self.check(lambda lines: [
            subprocess.run(["bash", "-c", code, "bash", script, "tbprof " + line], capture_output=True, text=True,
                           cwd=self.path("in"), check=True).stdout.split("\n")[:-1] if line != "convert -j " else []
            for line in lines])

    def test_fish(self):
        script = self.script("fish")
        code = "; ".join(["source $argv[1]", "for line in $argv[2..]", "complete -C \"tbprof $line\"", "echo '<end>'",
                          "end"])

        def ask(lines):
            r = subprocess.run(["fish", "--no-config", "-c", code, script, *lines], capture_output=True, text=True,
                               cwd=self.path("in"), env=dict(os.environ, HOME=self.tmp), timeout=240)
            self.assertEqual((r.returncode, r.stderr), (0, ""))
            return [[word.split("\t")[0] for word in part.split("\n") if word]
                    for part in r.stdout.split("<end>\n")[:-1]]
        self.check(ask)

    def test_zsh(self):
        script = self.script("zsh")
        for name, text in (("rc.zsh", RC), ("ask.zsh", ZSH)):
            with open(self.path(name), "w") as f:
                f.write(text)

        def ask(lines):
            r = subprocess.run(["zsh", "-f", self.path("ask.zsh"), self.tmp], cwd=self.path("in"),
                               input="".join(f"tbprof {line}\n" for line in lines), capture_output=True, text=True,
                               env=dict(os.environ, SCRIPT=script, HOME=self.tmp, TERM="dumb"), timeout=240)
            return [[hit for hit in re.findall("<<(.*?)>>", part) if hit != "end"]
                    for part in r.stdout.split("<<line>>")[1:]]
        self.check(ask)


if __name__ == "__main__":
    unittest.main()
