#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tbprof backend: overlays over a stand-in of the package. The real one: tests/board/test_overlay.py."""
import os
import subprocess
import sys
import unittest

import support

LIBRARY = os.path.join(os.path.dirname(support.TBPROF), "libtbprof_backend.so")
OF_EVERY_RELEASE = ("FreeString", "XSpaceToToolsData", "XSpaceToToolsDataFromByteString", "Trace", "Monitor",
                    "StartContinuousProfiling", "StopContinuousProfiling", "GetSnapshot", "StartGrpcServer",
                    "InitializeStubs")
# Answers every page with five bytes of its own.
STAND_IN = """
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
void FreeString(char *text) { free(text); }
char *XSpaceToToolsData(const char **paths, size_t n, const char *tool, const char **keys, const char **texts,
                        const int *ints, const bool *bools, const int *types, int n_options, char **data,
                        size_t *size, bool *success) {
    *data = malloc(5);
    memcpy(*data, "their", 5);
    *size = 5;
    *success = true;
    return NULL;
}
"""
# What the plugin does, in a process of its own: argv: library, xplane, tool. Prints success and data.
CALL = """
import ctypes, sys
lib = ctypes.CDLL(sys.argv[1])
data, size, success = ctypes.POINTER(ctypes.c_char)(), ctypes.c_size_t(), ctypes.c_bool()
paths = (ctypes.c_char_p * 1)(sys.argv[2].encode())
lib.XSpaceToToolsData.restype = ctypes.c_char_p
failure = lib.XSpaceToToolsData(paths, ctypes.c_size_t(1), sys.argv[3].encode(), None, None, None, None, None, 0,
                                ctypes.byref(data), ctypes.byref(size), ctypes.byref(success))
assert failure is None
print(success.value, data[:size.value].decode())
"""


def compile_library(path, lacks=()):
    others = "".join(f"void {name}(void) {{}}\n" for name in OF_EVERY_RELEASE[2:] if name not in lacks)
    source = path + ".c"
    with open(source, "w") as f:
        f.write(STAND_IN + others)
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", path, source], check=True)
    os.remove(source)


class Overlay(support.Case):
    def package(self):
        for name in ("xprof/__init__.py", "xprof/profile_plugin.py", "xprof/static/index.html",
                     "xprof/convert/raw.py"):
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            with open(self.path(name), "w") as f:
                f.write(name)
        compile_library(self.official())
        return self.path("xprof")

    def official(self):
        return self.path("xprof/convert/profiler_plugin_c_api.so")

    def install(self, code=0, folder="overlay", *rest):
        return self.expect(code, "backend", "install", "--overlay", self.path(folder), "--xprof", self.path("xprof"),
                           *rest)

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
        self.assertEqual(os.path.realpath(self.path("overlay/xprof/convert/profiler_plugin_c_api-tbprof.so")),
                         os.path.realpath(LIBRARY))
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
        os.remove(self.official())
        self.assertIn("2.22.2", self.install(2).stderr)
        self.assertFalse(os.path.exists(self.path("overlay")))
        self.expect(2, "backend", "install")
        self.expect(2, "backend", "repair", "--overlay", self.path("overlay"))

    def test_libraries_that_lack_functions_are_refused(self):
        self.package()
        text = self.path("text.so")
        with open(text, "w") as f:
            f.write("text")
        self.assertIn(f"'{text}' cannot be loaded", self.install(2, "overlay", "--library", text).stderr)
        # an official library, as ours, lacks what only some releases have
        r = self.install(2, "overlay", "--library", self.official())
        self.assertIn("has no function 'BuiltWithEmbedded', 'InitializeProfiler'", r.stderr)
        compile_library(self.official(), lacks=("Monitor",))
        self.assertIn("profiler_plugin_c_api.so' has no function 'Monitor'", self.install(2).stderr)
        self.assertFalse(os.path.exists(self.path("overlay")))

    @unittest.skipIf(support.SANITIZED, "python itself is not built with the sanitizer")
    def test_off_hands_everything_to_the_official_library(self):
        self.package()
        self.install()
        ours = self.path("overlay/xprof/convert/profiler_plugin_c_api-tbprof.so")

        def ask(tool, wish):
            return subprocess.run([sys.executable, "-c", CALL, ours, support.SAMPLE, tool], check=True, text=True,
                                  capture_output=True, env={**os.environ, "TBPROF_BACKEND": wish}).stdout

        for tool in ("kernel_stats", "tool_names"):
            self.assertNotIn("their", ask(tool, ""))
            for wish in ("off", "OFF", "0", "no", "false"):
                self.assertEqual(ask(tool, wish), "True their\n")
        self.assertEqual(ask("op_profile", "on"), "True their\n")
        os.remove(self.path("overlay/xprof/convert/official-profiler_plugin_c_api.so"))
        self.assertRegex(ask("kernel_stats", "off"), r"^False .*TBPROF_BACKEND=off.*not installed")


if __name__ == "__main__":
    unittest.main()
