#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The bundle of the local charts: complete, in order, plain ASCII, and a script that node accepts."""
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "python_shim"))
from tbprof import charts  # noqa: E402 (after the path)

FOLDER = os.path.dirname(charts.__file__)


class Bundle(unittest.TestCase):
    def test_every_file_of_the_folder_is_in_the_manifest_once(self):
        found = []
        for folder, _, names in os.walk(FOLDER):
            found += [os.path.relpath(os.path.join(folder, n), FOLDER) for n in names if n.endswith(".js")]
        self.assertEqual(sorted(found), sorted(charts.file_names()))

    def test_is_one_function_with_the_files_in_order(self):
        script = charts.bundle().decode("ascii")
        self.assertTrue(script.startswith("(function () {\n'use strict';\n"))
        self.assertTrue(script.endswith("})();\n"))
        at = -1
        for name in charts.file_names():
            with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
                place = script.find(file.read())
            self.assertGreater(place, at, name)
            at = place

    def test_is_made_once(self):
        self.assertIs(charts.bundle(), charts.bundle())

    def test_can_stand_inside_a_page(self):
        lower = charts.bundle().lower()
        self.assertNotIn(b"</script", lower)
        self.assertNotIn(b"<!--", lower)

    @unittest.skipUnless(os.environ.get("NODE"), "no node on this machine")
    def test_node_accepts_it(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "bundle.js")
            with open(path, "wb") as file:
                file.write(charts.bundle())
            done = subprocess.run([os.environ["NODE"], path], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
