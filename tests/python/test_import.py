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

    def test_where_warnings_are_errors_a_missing_library_is_still_a_warning(self):
        script = ("import sys\nsys.modules['tbprof._tbprof'] = None\nimport tbprof.keras\n"
                  "tbprof.keras._core.tell('another')")
        result = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True,
                                env=os.environ)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"^tbprof: its extension module does not load[^\n]*\nanother\n$")


if __name__ == "__main__":
    unittest.main()
