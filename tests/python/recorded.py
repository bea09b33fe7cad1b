# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python package look at: the runs that were written, as the command line shows them."""
import glob
import json
import os
import subprocess
import tempfile
import unittest
import warnings

TBPROF = os.environ.get("TBPROF", "tbprof")


def page(tool, run, *options):
    result = subprocess.run([TBPROF, "tool", tool, run, *options], capture_output=True, text=True, check=True)
    return json.loads(result.stdout)


def events(run):
    """Complete events of the host's threads: dicts with name, ts, dur (µs), tid and args."""
    trace = page("trace_viewer", run)
    return [e for e in trace["traceEvents"] if e.get("ph") == "X"]


def named(run, name):
    return [e for e in events(run) if e["name"] == name]


def steps(run):
    """Events that are steps, by number. The viewer shows them under the name of their group."""
    found = [e for e in events(run) if "step_num" in e.get("args", ())]
    return sorted(found, key=lambda e: int(e["args"]["step_num"]))


def runs(logdir):
    return sorted(glob.glob(os.path.join(logdir, "plugins", "profile", "*")))


def step_names(run):
    """First column of the table of steps, as the official plugin sees it."""
    for table in page("input_pipeline_analyzer", run, "--semantics", "official"):
        if table.get("cols") and table["cols"][0]["id"] == "stepnum":
            return [row["c"][0]["v"] for row in table["rows"]]
    return []


class Case(unittest.TestCase):
    """A test with a log directory, and warnings as a list."""

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.logdir = os.path.join(self._folder.name, "log")
        self._catcher = warnings.catch_warnings(record=True)
        self.warnings = self._catcher.__enter__()
        self.addCleanup(self._catcher.__exit__, None, None, None)
        warnings.simplefilter("always")

    def told(self):
        return [str(w.message) for w in self.warnings]

    def run_of(self, logdir=None):
        """The folder of the only run there."""
        found = runs(logdir or self.logdir)
        self.assertEqual(len(found), 1, found)
        return found[0]
