#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The extension module loads into a running Python, after many other libraries with thread-local data."""
import os
import subprocess
import sys
import unittest


class Import(unittest.TestCase):
    def said_by(self, script):
        result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=os.environ)
        self.assertEqual(result.stderr, "")
        return result.stdout

    def test_extension_loads_and_says_its_version(self):
        script = "import ctypes, decimal, sqlite3, ssl\nimport tbprof._tbprof as t\nprint(t.version)"
        self.assertRegex(self.said_by(script), r"^\d+\.\d+\.\d+\n$")

    def test_where_warnings_are_errors_a_missing_library_is_still_a_warning(self):
        script = ("import sys\nsys.modules['tbprof._tbprof'] = None\nimport tbprof.keras\n"
                  "tbprof.keras._core.tell('another')")
        result = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True,
                                env=os.environ)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"^tbprof: its extension module does not load[^\n]*\nanother\n$")

    def test_import_alone_loads_no_part_of_the_package(self):
        self.assertEqual(self.said_by("import sys, tbprof\nprint([m for m in sys.modules if m.startswith('tbprof.')])"),
                         "[]\n")

    def test_looking_at_an_annotation_loads_no_style_and_changes_nothing(self):
        script = ("import os, sys, tbprof\nbefore = dict(os.environ)\ntbprof.end(tbprof.begin('x'))\n"
                  "print(os.environ == before,"
                  " [m for m in ('keras', 'tf', 'jax', 'torch', 'mxnet', 'cntk', 'mindspore') if 'tbprof.' + m in sys.modules],"
                  " tbprof.keras.__name__, hasattr(tbprof, 'no_such_name'))")
        self.assertEqual(self.said_by(script), "True [] tbprof.keras False\n")


if __name__ == "__main__":
    unittest.main()
