#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each exit code that docs/exit_codes.md has for a command is provoked. What needs a server that answers is provoked
in tests/capture/test_client.py."""
import json
import os
import re
import unittest

import fake_python
from support import ROOT, SAMPLE, Case

# What their answers tell of failures themselves: runs, inputs, servers, findings, spools, losses.
TELLS_ITSELF = {("convert", 1), ("convert", 2), ("info", 1), ("info", 2), ("capture", 2), ("check", 1), ("doctor", 1),
                ("recover", 1), ("tool", 1)}
NEEDS_A_SERVER = {("capture", 1), ("monitor", 1), ("capture", 0), ("monitor", 0)}


def documented():
    """Commands of the table in the manual, with whether 1 is one of their codes."""
    with open(os.path.join(ROOT, "docs", "exit_codes.md"), encoding="utf-8") as f:
        rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", f.read(), re.MULTILINE)
    return {name: not text.startswith("never") for name, text in rows}


class ExitCodes(Case):
    def setUp(self):
        super().setUp()
        self.junk, self.cut = self.path("junk.xplane.pb"), self.path("cut.xplane.pb")
        with open(SAMPLE, "rb") as whole, open(self.cut, "wb") as cut, open(self.junk, "wb") as junk:
            cut.write(whole.read()[:30000])
            junk.write(b"no profile at all")
        os.mkdir(self.path("spools"))
        with open(self.path("spools", "some.tbs"), "wb") as f:
            f.write(b"no spool")
        self.python = fake_python.make(self.path("py"), tensorboard="2.20.0", xprof="2.24.2")
        self.out, self.none = self.path("out"), self.path("none")

    def calls(self):
        """(command, code) -> arguments that end with it."""
        reports = ("stats", "steps", "collectives", "stacks")
        found = {(c, 0): [[SAMPLE]] for c in reports}
        found.update({(c, 1): [[self.junk]] for c in (*reports, "info")})
        found.update({(c, 2): [[self.none], [], ["--no-such-option", SAMPLE]] for c in reports})
        found.update({
            ("convert", 0): [[SAMPLE, "-o", self.out], [self.cut, "-o", self.out]],
            ("convert", 1): [[self.junk, "-o", self.out], [self.cut, "--strict", "-o", self.out]],
            ("convert", 2): [[self.none, "-o", self.out], [SAMPLE, "-o", self.junk], [SAMPLE, "--for", "all of them"]],
            ("tool", 0): [["overview_page", SAMPLE]],
            ("tool", 1): [["overview_page", self.junk], ["overview_page", self.cut, "--strict"]],
            ("tool", 2): [["overview_page", self.none], ["no_such_page", SAMPLE], ["overview_page"]],
            ("info", 0): [[SAMPLE]],
            ("info", 2): [[self.none], [SAMPLE, "--jobs", "many"]],
            ("export", 0): [[SAMPLE, "--csv"]],
            ("export", 1): [[self.junk, "--csv"]],
            ("export", 2): [[SAMPLE], [SAMPLE, "--csv", "--json"]],
            ("check", 0): [[SAMPLE, *self.ignored()]],
            ("check", 1): [[self.cut], [self.junk]],
            ("check", 2): [[self.none]],
            ("doctor", 0): [["--offline", "--python", self.python, self.log()]],
            ("doctor", 1): [["--offline", "--python", self.python, self.path("spools")]],
            ("doctor", 2): [[self.none], ["--chart-host"]],
            ("view", 1): [["--python", self.python, self.junk]],
            ("view", 2): [["--python", self.none, SAMPLE], ["--port", "65536", SAMPLE]],
            ("capture", 2): [[], ["--service_addr", "localhost:1", "--num_tracing_attempts", "1"]],
            ("monitor", 2): [[], ["--service_addr", "localhost:1"]],
            ("recover", 0): [[self.path("py")]],
            ("recover", 1): [[self.path("spools")]],
            ("recover", 2): [[self.none]],
            ("run", 2): [[], ["--set", "nothing", "--", "true"], ["--", self.none]],
            ("tools", 0): [[]],
            ("tools", 2): [["extra"]],
            ("backend", 2): [["install"], ["remove", "--overlay", self.none]],
            ("completion", 0): [["bash"]],
            ("completion", 2): [["tcsh"]],
            ("help", 0): [[]],
            ("help", 2): [["no-such-command"]],
        })
        return found

    def ignored(self):
        findings = json.loads(self.expect(1, "check", self.cut, "--json").stdout)["findings"]
        findings += json.loads(self.expect(0, "check", SAMPLE, "--json").stdout)["findings"]
        return [word for f in findings for word in ("--ignore", f["key"])]

    def log(self):
        self.expect(0, "convert", "-q", SAMPLE, "-o", self.path("log"))
        return self.path("log")

    def test_every_code_of_every_command(self):
        for (command, code), calls in self.calls().items():
            for args in calls:
                with self.subTest(command=command, code=code, args=args):
                    r = self.expect(code, command, *args)
                    self.assertEqual("error:" in r.stderr, code != 0, r.stderr)

    def test_every_failure_is_json_on_request(self):
        for (command, code), calls in self.calls().items():
            for args in calls if code else ():
                with self.subTest(command=command, code=code, args=args):
                    has_json = command not in ("export", "completion")
                    r = self.expect(code if has_json else 2, command, "--json", *args)
                    answer = json.loads(r.stdout)
                    if "error" not in answer:
                        self.assertIn((command, code), TELLS_ITSELF)
                        continue
                    self.assertEqual(list(answer), ["error"])
                    error = answer["error"]
                    self.assertEqual(list(error), ["message", "path", "offset", "causes", "exit_code"])
                    self.assertEqual(error["exit_code"], r.returncode)
                    self.assertIn(error["message"], r.stderr)

    def test_json_of_a_failure_has_path_and_offset(self):
        bad = self.path("bad.json.gz")
        with open(bad, "wb") as f:
            f.write(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03" + b"\xff" * 40)  # no kind of block
        error = json.loads(self.expect(1, "stats", bad, "--json").stdout)["error"]
        self.assertEqual(error, {"message": "compressed input is cut or damaged before its first byte", "path": bad,
                                 "offset": 11, "causes": [], "exit_code": 1})

    def test_the_end_of_options_ends_the_search_for_json(self):
        self.assertEqual(self.expect(2, "run", "--no-such", "--", "true", "--json").stdout, "")
        self.assertIn("error", json.loads(self.expect(2, "no-such-command", "--json").stdout))

    def test_the_manual_has_all_commands_and_the_test_all_codes(self):
        commands = [c["name"] for c in json.loads(self.expect(0, "help", "--json").stdout)["commands"]]
        table = documented()
        self.assertEqual(list(table), commands)
        provoked = set(self.calls()) | NEEDS_A_SERVER
        for command, has_one in table.items():
            self.assertIn((command, 2), provoked)
            self.assertEqual((command, 1) in provoked, has_one, command)


if __name__ == "__main__":
    unittest.main()
