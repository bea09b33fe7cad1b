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

    def test_after_the_first_look_every_name_is_bound_and_nothing_stands_in_the_way_of_the_interpreters_cache(self):
        script = ("import sys, tbprof\nbegin = tbprof.begin\n"
                  "print(begin is tbprof._core.begin, '__getattr__' in vars(tbprof), set(tbprof.__all__) - {*vars(tbprof)},"
                  " tbprof.collect_profile.__name__, hasattr(tbprof, 'no_such_name'),"
                  " [m for m in ('torch', 'tensorflow', 'jax', 'keras', 'mxnet', 'mindspore') if m in sys.modules])")
        self.assertEqual(self.said_by(script), "True False set() collect_profile False []\n")

    def test_a_part_that_does_not_load_takes_no_other_with_it(self):
        script = ("import sys\nsys.modules['tbprof._torch_ops'] = None\nimport tbprof\n"
                  "print(tbprof.begin is tbprof._core.begin, tbprof.annotate is tbprof._annotate.annotate,"
                  " tbprof.keras.__name__)\n"
                  "print('begin' in vars(tbprof), 'profile' in vars(tbprof))\n"
                  "try:\n    tbprof.profile\nexcept ImportError as e:\n    print(type(e).__name__)")
        self.assertEqual(self.said_by(script), "True True tbprof.keras\nTrue False\nModuleNotFoundError\n")


if __name__ == "__main__":
    unittest.main()
