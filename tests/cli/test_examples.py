#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every command line that --help, README.md and docs/ show does what it says: it is run as it stands there, in a
folder that holds what it names. Those that need more than files are listed with the reason."""
import glob
import json
import os
import re
import shutil
import subprocess
import unittest

import fake_python
import import_fixtures
import sqlite_fixtures
from support import ROOT, SAMPLE, SANITIZED, TBPROF, TWO_HOSTS, Case

SERVER, NETWORK = "asks a server", "looks whether the chart library can be reached"
NOT_RUN = {
    "tbprof doctor logdir": NETWORK,
    "tbprof doctor --fix downloads": NETWORK,
    "tbprof doctor --gpu": "its answer is that of the machine",
    "tbprof recover /tmp/tbprof-2026_08_21_14_05_09-77-1 --logdir logdir": "needs what a killed process left in /tmp",
    "tbprof recover": "takes what lies in /tmp, whichever test left it there",
    "tbprof recover --dry-run": "its answer is that of /tmp",
    "tbprof recover --watch --json": "goes on until it is ended",
    "tbprof backend install --overlay ~/tbprof-overlay": "needs an installed xprof",
    "tbprof backend remove --overlay ~/tbprof-overlay": "needs an installed xprof",
}
NOT_RUN_BEGINS = {"tbprof capture ": SERVER, "tbprof monitor ": SERVER, "tbprof view ": "starts TensorBoard"}


def of_documents():
    """Indented lines that call tbprof, without the comment behind them."""
    for path in [os.path.join(ROOT, "README.md"), *sorted(glob.glob(os.path.join(ROOT, "docs", "**", "*.md"),
                                                                    recursive=True))]:
        with open(path, encoding="utf-8") as f:
            for line in re.findall(r"^ {4}(tbprof .*)$", f.read(), re.MULTILINE):
                yield re.sub(r" +# .*$", "", line)


def why_not(line):
    if SANITIZED and line.startswith("tbprof run "):
        return "the sanitizer must be the first library of a process"
    return NOT_RUN.get(line) or next((why for begin, why in NOT_RUN_BEGINS.items() if line.startswith(begin)), None)


def collective(rank):
    args = {"Collective name": "allreduce", "stream": 1, "device": rank, "correlation": 1}
    return {"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": "launch", "pid": 1, "tid": 1, "ts": 0, "dur": 5, "args": {}},
        {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 7, "ts": 10, "dur": 20,
         "args": args}]}


class Examples(Case):
    def setUp(self):
        super().setUp()
        os.makedirs(self.path("all", "bin"))
        os.symlink(TBPROF, self.path("all", "bin", "tbprof"))
        self.program("bin/flamegraph.pl", "cat")
        self.program("bin/python", "exit 0")
        self.program("train", "exit 0")
        self.profiles()
        os.makedirs(self.path("all", ".config", "fish", "completions"))
        fake_python.make(self.path("py"), tensorboard="2.20.0", xprof="2.24.2")
        os.makedirs(self.path("all", "venv", "bin"))
        os.symlink(self.path("py", "bin", "python3"), self.path("all", "venv", "bin", "python"))

    def profiles(self):
        for name in ("host.xplane.pb", "a.xplane.pb", "b.xplane.pb"):
            shutil.copy(SAMPLE, self.path("all", name))
        runs = self.path("all", "logdir", "plugins", "profile")
        shutil.copytree(os.path.join(TWO_HOSTS, "plugins", "profile"), runs)
        os.rename(os.path.join(runs, os.listdir(runs)[0]), os.path.join(runs, "run1"))
        trace = self.expect(0, "export", SAMPLE, "--chrome").stdout
        for name in ("trace.json", "trace.pt.trace.json", "worker0.pt.trace.json"):
            self.text(name, trace)
        for rank in range(2):
            self.text(f"traces/rank{rank}.pt.trace.json", json.dumps(collective(rank)))
        import_fixtures.write(self.path(), "mindspore")
        os.makedirs(self.path("all", "mindspore"))
        shutil.move(self.path("mindspore"), self.path("all", "mindspore", "profiler"))
        sqlite_fixtures.nsys(self.path("all", "decode.sqlite"))

    def text(self, name, text):
        os.makedirs(os.path.dirname(self.path("all", name)), exist_ok=True)
        with open(self.path("all", name), "w", encoding="utf-8") as f:
            f.write(text)

    def program(self, name, shell):
        self.text(name, f"#!/bin/sh\n{shell}\n")
        os.chmod(self.path("all", name), 0o755)

    def run_line(self, line):
        """In a folder of its own: what one line makes is nothing to the next one."""
        here = self.path("here")
        shutil.rmtree(here, ignore_errors=True)
        shutil.copytree(self.path("all"), here, symlinks=True)
        path = os.path.join(here, "bin") + ":" + os.environ["PATH"]
        env = dict(os.environ, HOME=here, TMPDIR=here, PATH=path)
        return subprocess.run(["bash", "-o", "pipefail", "-c", line], cwd=here, env=env, capture_output=True,
                              text=True, errors="replace", timeout=240, stdin=subprocess.DEVNULL)

    def check(self, lines):
        for line in lines:
            if why_not(line):
                continue
            with self.subTest(line):
                r = self.run_line(line)
                self.assertEqual(r.returncode, 0, r.stderr)
                self.assertNotIn("error:", r.stderr)

    def of_help(self):
        commands = json.loads(self.expect(0, "help", "--json").stdout)["commands"]
        return [e["line"] for c in commands for e in c["examples"]]

    def test_of_help(self):
        self.check(self.of_help())

    def test_of_documents(self):
        lines = list(of_documents())
        self.assertGreater(len(lines), 5)
        self.check(lines)

    def test_what_is_not_run_stands_somewhere(self):
        every = [*self.of_help(), *of_documents()]
        for line in NOT_RUN:
            self.assertIn(line, every)
        for begin in NOT_RUN_BEGINS:
            self.assertTrue(any(line.startswith(begin) for line in every), begin)


if __name__ == "__main__":
    unittest.main()
