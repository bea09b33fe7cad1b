#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The extension module loads into a running Python, after many other libraries with thread-local data."""
import os
import subprocess
import sys
import unittest


class Import(unittest.TestCase):
    def test_extension_loads_and_says_its_version(self):
        script = "import ctypes, decimal, sqlite3, ssl\nimport tbprof._tbprof as t\nprint(t.version)"
        result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=os.environ)
        self.assertEqual(result.stderr, "")
        self.assertRegex(result.stdout, r"^\d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    unittest.main()
