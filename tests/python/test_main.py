#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python -m tbprof, the stubs."""
import ast
import os
import subprocess
import sys
import unittest

import recorded
import tbprof
from tbprof import _core


class Main(recorded.Case):
    def script(self, text):
        path = os.path.join(self._folder.name, "script.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def run_main(self, *words):
        return subprocess.run([sys.executable, "-m", "tbprof", "--logdir", self.logdir, *words], capture_output=True,
                              text=True)

    def test_a_script_with_its_arguments(self):
        result = self.run_main(self.script("import sys\ndef work(): print(sys.argv[1:], __name__)\nwork()"), "-a", "b")
        self.assertEqual((result.returncode, result.stdout), (0, "['-a', 'b'] __main__\n"), result.stderr)
        self.assertEqual(len([e for e in recorded.events(self.run_of()) if e["name"].endswith(":2 work")]), 1)
        self.assertIn(self.run_of(), result.stderr)

    def test_exit_codes_and_exceptions_are_the_scripts(self):
        self.assertEqual(self.run_main(self.script("import sys; sys.exit(7)")).returncode, 7)
        result = self.run_main("-O", "session_id=second", self.script("raise KeyError('own')"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("KeyError: 'own'", result.stderr)
        self.assertEqual(len(recorded.runs(self.logdir)), 2)

    def test_modules_and_options(self):
        result = self.run_main("--python-tracer", "0", "-O", "session_id=mine", "-m", "calendar", "2026", "1")
        self.assertIn("January 2026", result.stdout)
        self.assertEqual(os.path.basename(self.run_of()), "mine")
        self.assertEqual(recorded.events(self.run_of()), [])

    def test_wrong_options(self):
        script = self.script("print('ran')")
        for words in (("-O", "nonsense", script), ("-O", "nonsense=1", script)):
            result = self.run_main(*words)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn("nonsense", result.stderr)


class Stubs(unittest.TestCase):
    def names(self, path):
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
        found = set()
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                found.add(node.name)
            elif isinstance(node, ast.ImportFrom) and node.module.startswith("tbprof"):
                found.update(alias.asname for alias in node.names)
            elif isinstance(node, ast.AnnAssign):
                found.add(node.target.id)
        return {name for name in found if not name.startswith("_")}

    def test_stubs_name_what_there_is(self):
        folder = os.path.dirname(tbprof.__file__)
        self.assertTrue(os.path.exists(os.path.join(folder, "py.typed")))
        self.assertEqual(self.names(os.path.join(folder, "__init__.pyi")), set(tbprof.__all__))
        module = {name for name in dir(_core.native) if not name.startswith("_")}
        self.assertEqual(self.names(os.path.join(folder, "_tbprof.pyi")), module)

    def test_every_name_of_the_package_is_there(self):
        for name in tbprof.__all__:
            self.assertIsNotNone(getattr(tbprof, name))


if __name__ == "__main__":
    unittest.main()
