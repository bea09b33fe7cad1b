#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does the official plugin show what tbprof repaired?

  rewritten.py --tbprof PROGRAM [--shared FOLDER]

Converts old profiles and asks the official converter (Python with xprof 2.24.2 in $OFFICIAL_PYTHON) about the xplane
that tbprof wrote: its answers must be those recorded for files whose spelling was brought up to date by hand. Then a
profile whose steps only tbprof sees, and damaged files, which the official converter refuses as they are.
Exit code 77 without that Python or without the recorded answers.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SKIPPED = 77
TOOLS = ("overview_page", "input_pipeline_analyzer", "framework_op_stats", "kernel_stats", "memory_profile",
         "pod_viewer", "trace_viewer", "trace_viewer@", "op_profile", "hlo_stats", "roofline_model")
# The recorded trace names the host after another file name than the session's.
HOST_NAMES = {"tfprofiler-gpu-multiworker-w6003": "34.83.195.179_6003"}


class Rewriter:
    def __init__(self, tbprof, shared, python):
        self.tbprof, self.shared, self.python = tbprof, shared, python

    def cases(self):
        with open(os.path.join(self.shared, "oracle", "CASES.tsv")) as f:
            for line in f:
                case, *files = line.rstrip("\n").split("\t")
                pairs = [w.split("::", 1) for w in files]
                yield case, [(HOST_NAMES.get(h, h), os.path.join(self.shared, p)) for h, p in pairs]

    def rewrite(self, base, files, change=None):
        """host::path of every xplane that tbprof writes for these."""
        run = os.path.join(base, "in")
        os.makedirs(run)
        for host, path in files:
            copy = os.path.join(run, host + ".xplane.pb")
            shutil.copy(path, copy)
            if change:
                change(copy)
        subprocess.run([self.tbprof, "convert", run, "-o", os.path.join(base, "log"), "--run", "x", "--quiet"],
                       check=True, capture_output=True)
        folder = os.path.join(base, "log", "plugins", "profile", "x")
        return [f"{host}::{os.path.join(folder, host)}.xplane.pb" for host, _ in files]

    def ask(self, tool, files):
        program = os.path.join(self.shared, "tools", "official_tool.py")
        return subprocess.run([self.python, program, tool, *files], capture_output=True)

    def compare(self, tool, want, answer, base):
        path = os.path.join(base, "answer.json")
        with open(path, "wb") as f:
            f.write(answer)
        options = ["--nan-ok"] + (["--args", "--flows"] if tool.startswith("trace") else [])
        r = subprocess.run([sys.executable, os.path.join(self.shared, "tools", "compare.py"), tool, want, path,
                            *options], capture_output=True, text=True)
        return r.returncode == 0, (r.stdout.strip().splitlines() or [""])[0][:160]

    def check_repaired(self, case, files, faults):
        n = 0
        with tempfile.TemporaryDirectory() as base:
            written = self.rewrite(base, files)
            for tool in TOOLS:
                want = os.path.join(self.shared, "oracle", "repaired", "out", case, tool + ".json.gz")
                if not os.path.exists(want):
                    continue
                n += 1
                equal, why = self.compare(tool, want, self.ask(tool, written).stdout, base)
                if not equal:
                    faults.append(f"{case} {tool}: {why}")
        return n

    def check_steps(self, files, faults):
        with tempfile.TemporaryDirectory() as base:
            tables = json.loads(self.ask("input_pipeline_analyzer", self.rewrite(base, files)).stdout)
            steps = [r["c"][0]["v"] for r in tables[1]["rows"]]
            if steps != [f"Profiled batch {i}" for i in (2, 3, 4, 5)]:
                faults.append(f"keras-inputbound: steps {steps}")

    def check_damaged(self, case, files, change, faults):
        with tempfile.TemporaryDirectory() as base:
            written = self.rewrite(base, files, change)
            for tool in ("overview_page", "kernel_stats", "trace_viewer"):
                if self.ask(tool, written).returncode:
                    faults.append(f"{case} damaged: {tool} is refused")


def cut(path):
    os.truncate(path, os.path.getsize(path) * 2 // 3)


def spoil(path):
    with open(path, "r+b") as f:
        data = bytearray(f.read())
        for i in range(1000, len(data), len(data) // 30):
            data[i] ^= 0x41
        f.seek(0)
        f.write(data)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--tbprof", required=True)
    ap.add_argument("--shared", default=os.path.join(os.path.dirname(ROOT), "shared"))
    a = ap.parse_args()
    python = os.environ.get("OFFICIAL_PYTHON")
    if not python or not os.path.exists(os.path.join(a.shared, "oracle", "CASES.tsv")):
        print("skipped: needs OFFICIAL_PYTHON and the recorded answers")
        sys.exit(SKIPPED)
    rewriter, faults, n = Rewriter(a.tbprof, a.shared, python), [], 0
    cases = dict(rewriter.cases())
    for case, files in cases.items():
        if os.path.isdir(os.path.join(a.shared, "oracle", "repaired", "out", case)):
            n += rewriter.check_repaired(case, files, faults)
    rewriter.check_steps(cases["keras-inputbound"], faults)
    for case in ("e4040-hd-01", "keras-inputbound"):
        for change in (cut, spoil):
            rewriter.check_damaged(case, cases[case], change, faults)
    print(f"{n} answers compared, {len(faults)} fault(s)")
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
