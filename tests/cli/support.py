# SPDX-License-Identifier: Apache-2.0
"""What the command line tests share: running tbprof, sample profiles, scratch folders."""
import hashlib
import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TBPROF = os.path.abspath(os.environ.get("TBPROF", os.path.join(ROOT, "build", "release", "tbprof")))
SAMPLE_RUN = os.path.join(ROOT, "samples", "keras-inputbound", "plugins", "profile", "2026_11_28_00_21_30")
SAMPLE = os.path.join(SAMPLE_RUN, "worker0.xplane.pb")
LOOPS = os.path.join(ROOT, "tests", "data", "tf221-loop.xplane.pb")
TWO_HOSTS = os.path.join(ROOT, "samples", "multiworker")
SANITIZED = os.environ.get("SANITIZED", "0") != "0"
SHARED = os.path.join(os.path.dirname(ROOT), "shared")


def run(*args, env=None, **kw):
    """Result of a tbprof call; texts decoded."""
    full = dict(os.environ, **(env or {}))
    kw.setdefault("timeout", 240)  # for what hangs
    return subprocess.run([TBPROF, *args], capture_output=True, text=True, errors="replace", env=full, **kw)


def sums(folder):
    """Relative path -> sha256 of every file below the folder."""
    found = {}
    for base, _, files in os.walk(folder):
        for name in files:
            path = os.path.join(base, name)
            with open(path, "rb") as f:
                found[os.path.relpath(path, folder)] = hashlib.sha256(f.read()).hexdigest()
    return found


class Case(unittest.TestCase):
    def setUp(self):
        self.tmp = tempfile.mkdtemp(prefix="tbprof-test-")
        self.addCleanup(shutil.rmtree, self.tmp, ignore_errors=True)

    def path(self, *parts):
        return os.path.join(self.tmp, *parts)

    def expect(self, code, *args, **kw):
        r = run(*args, **kw)
        self.assertEqual(r.returncode, code, f"tbprof {' '.join(args)}\n{r.stderr}")
        return r

    def no_temporaries(self, folder):
        left = [p for p in sums(folder) if p.endswith(".tmp")]
        self.assertEqual(left, [])
