#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds every tool's answers against the recorded answers of the official converters.

  table.py --tbprof PROGRAM [--shared FOLDER] [--sets newest,zoom,...] [--out FILE] [-j N]

Prints a table cases x tools per set ('=' equal, 'd' deviation listed in docs/deviations.md, 'X' different,
'.' nothing recorded) and the counts; FILE gets the same text. Exit code 0 if nothing is 'X', 77 without the
recorded answers. Sets:
  newest       official semantics against xprof 2.24.2, every case
  repaired     the same for old NVIDIA files with their spelling brought up to date
  synthetic    the same for hand-made odd files
  zoom         windows, searches and details of trace_viewer@
  repair       repair semantics on the original files against the answers for the repaired ones
  tensorflow   tf semantics against what TensorFlow itself wrote (older dialect; numbers, not texts)
  plugin-2.19  official semantics in the older dialect against plugin 2.19.0 (what both generations share)
"""
import argparse
import collections
import concurrent.futures
import glob
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SKIPPED = 77
EXACT = ["--nan-ok"]
TRACE = ["--args", "--flows", "--nan-ok"]
# Plugin 2.19.0 wrote neither launch details nor flows (and their categories); all other arguments are shared.
OLD_TRACE = ["--args", "--ignore-prop", "kernel_details,cat", "--nan-ok"]
# What differs between the generations by definition: names and texts of steps, labels, additions.
SHARED_BY_GENERATIONS = ["--by-content", "--extra-props-ok", "--ignore-labels", "--nan-ok",
                         "--ignore-col", "stepname,stepnum,tooltip"]

Check = collections.namedtuple("Check", "set case tool files want refusal arguments options")


class Oracle:
    def __init__(self, shared, tools):
        self.shared, self.tools = shared, tools
        self.folder = os.path.join(shared, "oracle")

    def cases(self, name="CASES.tsv", separator="\t"):
        with open(os.path.join(self.folder, name)) as f:
            for line in f:
                yield line.rstrip("\n").split("\t")

    def files(self, words):
        return [(w.split("::", 1)[0], os.path.join(self.shared, w.split("::", 1)[1])) for w in words]

    def shared_cases(self):
        return {case: self.files(words) for case, *words in self.cases()}

    def made_cases(self, kind):
        found = {}
        for path in sorted(glob.glob(os.path.join(self.folder, kind, "in", "**", "*.xplane.pb"), recursive=True)):
            host = os.path.basename(path)[:-len(".xplane.pb")]
            found[os.path.basename(os.path.dirname(path)) if kind == "repaired" else host] = [(host, path)]
        return found

    def answers(self, kind, cases, folder, semantics, dialect="newest", options=None):
        for case, files in sorted(cases.items()):
            for tool in self.tools:
                base = os.path.join(self.folder, folder, case, tool)
                is_trace = tool.startswith("trace")
                if os.path.exists(base + ".json.gz") or os.path.exists(base + ".txt"):
                    yield Check(kind, case, tool, files, base + ".json.gz", base + ".txt",
                                ["--semantics", semantics, "--dialect", dialect],
                                self.options(kind, is_trace, options))

    @staticmethod
    def options(kind, is_trace, options):
        if is_trace:  # the repaired files have other names than the originals, and so their hosts
            return OLD_TRACE if kind == "plugin-2.19" else TRACE + ["--strip-host"] * (kind == "repair")
        return options or EXACT

    def zoom(self):
        for case, words, query in self.cases("zoom/CASES.tsv"):
            base = os.path.join(self.folder, "zoom", case)
            arguments = ["--semantics", "official"]
            for pair in query.split("&"):
                arguments += ["-O", pair]
            if "trace_viewer@" in self.tools:
                yield Check("zoom", case, "trace_viewer@", self.files(words.split(" ")), base + ".json.gz",
                            base + ".txt", arguments, TRACE)

    def set(self, kind):
        if kind == "newest":
            return self.answers(kind, self.shared_cases(), "newest", "official")
        if kind in ("repaired", "synthetic"):
            return self.answers(kind, self.made_cases(kind), kind + "/out", "official")
        if kind == "repair":
            return self.answers(kind, self.shared_cases(), "repaired/out", "repair")
        if kind == "tensorflow":
            return self.answers(kind, self.shared_cases(), kind, "tf", "legacy", SHARED_BY_GENERATIONS)
        if kind == "plugin-2.19":
            return self.answers(kind, self.shared_cases(), kind, "official", "legacy", SHARED_BY_GENERATIONS)
        return self.zoom()


SETS = ("newest", "repaired", "synthetic", "zoom", "repair", "tensorflow", "plugin-2.19")


def run_folder(files):
    base = tempfile.mkdtemp(prefix="tbprof-agreement-")
    run = os.path.join(base, "plugins", "profile", "run")
    os.makedirs(run)
    for host, path in files:
        os.symlink(path, os.path.join(run, host + ".xplane.pb"))
    return base, run


def compare(shared, check, actual):
    result = subprocess.run([sys.executable, os.path.join(shared, "tools", "compare.py"), check.tool, check.want, actual,
                             *check.options], capture_output=True, text=True)
    lines = result.stdout.strip().splitlines() or [result.stderr.strip()[-120:]]
    return result.returncode == 0, lines[0][:160]


def hold(tbprof, shared, check):
    """(equal?, why not) of one cell."""
    base, run = run_folder(check.files)
    try:
        actual = os.path.join(base, "answer.json")
        with open(actual, "wb") as out:
            r = subprocess.run([tbprof, "tool", check.tool, run, *check.arguments], stdout=out, stderr=subprocess.PIPE,
                               timeout=600)
        if os.path.exists(check.refusal):  # to answer where the official one refuses is no fault; to crash is
            return r.returncode >= 0, "ends by a signal"
        if not gzip.open(check.want).read():
            return r.returncode >= 0, "ends by a signal"
        if r.returncode:
            return False, r.stderr.decode(errors="replace").strip()[-160:]
        return compare(shared, check, actual)
    finally:
        shutil.rmtree(base)


def deviations():
    """Cells that docs/deviations.md lists: rows '| set | case | tool | reason |', '*' for all."""
    found = []
    with open(os.path.join(ROOT, "docs", "deviations.md")) as f:
        for line in f:
            words = [w.strip(" `") for w in line.strip().strip("|").split("|")]
            if len(words) == 4 and words[0] in SETS:
                found.append(tuple(words[:3]))
    return found


def is_listed(check, listed):
    cell = (check.set, check.case, check.tool)
    return any(all(want in ("*", have) for want, have in zip(row, cell)) for row in listed)


def print_set(kind, cells, say):
    tools = list(dict.fromkeys(tool for _, tool in cells))
    cases = list(dict.fromkeys(case for case, _ in cells))
    width = max(map(len, cases))
    say(f"\n{kind}")
    for k, tool in enumerate(tools):
        say(" " * (width + 1) + "| " * k + tool)
    for case in cases:
        say(f"{case:{width}} " + " ".join(cells.get((case, tool), ".") for tool in tools))
    for tool in tools:
        marks = [mark for (_, t), mark in cells.items() if t == tool]
        say(f"  {tool}: {marks.count('=')} of {len(marks)} equal"
            + (f", {marks.count('d')} listed deviations" if "d" in marks else ""))


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--tbprof", required=True)
    ap.add_argument("--shared", default=os.path.join(os.path.dirname(ROOT), "shared"))
    ap.add_argument("--sets", default=",".join(SETS))
    ap.add_argument("--out")
    ap.add_argument("-j", type=int, default=os.cpu_count())
    a = ap.parse_args()
    a.shared = os.path.abspath(a.shared)
    if not os.path.exists(os.path.join(a.shared, "oracle", "CASES.tsv")):
        print(f"skipped: no recorded answers in {a.shared}")
        sys.exit(SKIPPED)
    known = json.loads(subprocess.run([a.tbprof, "tools", "--json"], capture_output=True, check=True).stdout)
    oracle = Oracle(a.shared, [t["name"] for t in known["tools"]])
    listed, lines, bad = deviations(), [], 0

    def say(text):
        print(text, flush=True)
        lines.append(text)

    totals = {}
    with concurrent.futures.ThreadPoolExecutor(a.j) as pool:
        for kind in a.sets.split(","):
            checks = list(oracle.set(kind))
            cells = {}
            for check, (equal, why) in zip(checks, pool.map(lambda c: hold(a.tbprof, a.shared, c), checks)):
                mark = "=" if equal else "d" if is_listed(check, listed) else "X"
                cells[check.case, check.tool] = mark
                bad += mark == "X"
                if mark == "X":
                    print(f"DIFFERS {kind} {check.case} {check.tool}: {re.sub(r'[^ -~]', '?', why)}", flush=True)
            if cells:
                print_set(kind, cells, say)
                totals[kind] = (list(cells.values()).count("="), len(cells))
    say("\n" + "\n".join(f"{kind}: {equal} of {total} equal" for kind, (equal, total) in totals.items()))
    if a.out:
        with open(a.out, "w") as f:
            f.write("\n".join(lines) + "\n")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
