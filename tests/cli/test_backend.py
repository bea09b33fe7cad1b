#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tbprof backend: overlays over a stand-in of the package. The real one: tests/board/test_overlay.py."""
import os
import unittest

import support


class Overlay(support.Case):
    def package(self):
        for name in ("xprof/__init__.py", "xprof/profile_plugin.py", "xprof/static/index.html",
                     "xprof/convert/raw.py", "xprof/convert/profiler_plugin_c_api.so", "lib.so"):
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            with open(self.path(name), "w") as f:
                f.write(name)
        return self.path("xprof")

    def install(self, code=0, folder="overlay"):
        return self.expect(code, "backend", "install", "--overlay", self.path(folder), "--xprof", self.path("xprof"),
                           "--library", self.path("lib.so"))

    def tree(self, folder):
        return sorted(os.path.relpath(os.path.join(base, n), self.path(folder))
                      for base, _, names in os.walk(self.path(folder)) for n in names)

    def test_links_with_our_library_first(self):
        before = support.sums(self.package())
        out = self.install().stdout
        self.assertEqual(out, f"PYTHONPATH={self.path('overlay')} tensorboard --logdir DIR\n")
        self.assertEqual(self.tree("overlay"), [
            ".tbprof-overlay", "xprof/__init__.py", "xprof/convert/official-profiler_plugin_c_api.so",
            "xprof/convert/profiler_plugin_c_api-tbprof.so", "xprof/convert/raw.py", "xprof/profile_plugin.py"])
        self.assertTrue(os.path.islink(self.path("overlay/xprof/static")))
        with open(self.path("overlay/xprof/convert/profiler_plugin_c_api-tbprof.so")) as f:
            self.assertEqual(f.read(), "lib.so")
        first = self.tree("overlay")
        self.install()  # again, as after an upgrade
        self.assertEqual(self.tree("overlay"), first)
        self.expect(0, "backend", "remove", "--overlay", self.path("overlay"))
        self.assertFalse(os.path.exists(self.path("overlay")))
        self.assertEqual(support.sums(self.path("xprof")), before)

    def test_other_folders_are_left_alone(self):
        self.package()
        os.mkdir(self.path("mine"))
        with open(self.path("mine/x"), "w") as f:
            f.write("x")
        self.assertIn("no overlay of tbprof", self.install(2, "mine").stderr)
        self.expect(2, "backend", "remove", "--overlay", self.path("mine"))
        self.assertEqual(self.tree("mine"), ["x"])

    def test_a_package_without_library_is_refused(self):
        self.package()
        os.remove(self.path("xprof/convert/profiler_plugin_c_api.so"))
        self.assertIn("2.22.2", self.install(2).stderr)
        self.assertFalse(os.path.exists(self.path("overlay")))
        self.expect(2, "backend", "install")
        self.expect(2, "backend", "repair", "--overlay", self.path("overlay"))


if __name__ == "__main__":
    unittest.main()
