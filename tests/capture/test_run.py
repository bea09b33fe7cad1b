#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tbprof run: what it says of a recording, or of one that does not come about; what it refuses.

Environment: TBPROF, LIBTBPROF."""
import json
import os
import platform
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from support import Case, SANITIZED, TBPROF  # noqa: E402

LIBRARY = os.environ["LIBTBPROF"]
# Annotates until its input ends; says so when somebody records it.
GOES_ON = f"""
import ctypes, select, sys
library, is_told = ctypes.CDLL({LIBRARY!r}), False
while not select.select([sys.stdin], [], [], 0.001)[0]:
    is_active = library.tbprof_is_active(1)
    library.tbprof_step_begin(b"train", ctypes.c_int64(1))
    library.tbprof_step_end()
    if not is_told and is_active: # before the step, so that it is recorded
        is_told = print("recorded", flush=True) is None
"""
SAYS_SOMETHING = ["--", sys.executable, "-c", f"import ctypes; ctypes.CDLL({LIBRARY!r}).tbprof_instant(b'here', 0)"]


def static_program(exit_code):
    """An ELF file for x86-64 whose whole code is exit(exit_code)."""
    code = struct.pack("<BIBI", 0xBF, exit_code, 0xB8, 60) + b"\x0f\x05"  # mov edi, code; mov eax, 60; syscall
    base, headers = 0x400000, 64 + 56
    head = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    head += struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, base + headers, 64, 0, 0, 64, 56, 1, 64, 0, 0)
    size = headers + len(code)
    return head + struct.pack("<IIQQQQQQ", 1, 5, 0, base, base, size, size, 4096) + code


class Run(Case):
    def setUp(self):
        super().setUp()
        self.spools = self.path("spools")
        os.mkdir(self.spools)

    def environment(self, **env):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("TBPROF_")}
        return {**clean, "TBPROF_SPOOL_DIR": self.spools, "TBPROF_RSS_PERIOD_MS": "0", **env}

    def start(self, *args, **env):
        r = subprocess.run([TBPROF, "run", "-o", self.path("logdir"), *args], capture_output=True, text=True,
                           timeout=240, env=self.environment(**env))
        self.assertEqual(os.listdir(self.spools), [])
        return r.returncode, r.stderr


@unittest.skipIf(SANITIZED, "the sanitizer must be the first library of a process, and run preloads ours")
class Outcome(Run):
    def test_where_the_recording_is(self):
        for options in ["--run=first"], ["--set=spool_dir=" + self.spools], ["--set=spool_dir=memory"]:
            code, told = self.start(*options, *SAYS_SOMETHING)
            self.assertEqual(code, 0, told)
            self.assertIn(f"recorded into '{self.path('logdir', 'plugins', 'profile')}/", told)
        self.assertEqual(self.start("-q", "--run=again", *SAYS_SOMETHING), (0, ""))

    def test_nothing_was_annotated(self):
        code, told = self.start("-q", "--", "sh", "-c", "exit 3")
        self.assertEqual(code, 3)
        self.assertIn("warning: nothing was recorded: 'sh' and what it started made no annotations", told)
        self.assertFalse(os.path.exists(self.path("logdir")))

    def test_a_process_that_cannot_record_says_why_alone(self):
        code, told = self.start("--", "true", TBPROF_DISABLE="1")
        self.assertEqual((code, told.count("\n")), (0, 1), told)
        self.assertIn("no profile is recorded: profiling is switched off by $TBPROF_DISABLE", told)

    def test_several_runs(self):
        code, told = self.start("--", "sh", "-c", 'TBPROF_SESSION_ID=a "$@"; TBPROF_SESSION_ID=b "$@"', "sh",
                                *SAYS_SOMETHING[1:])
        self.assertEqual(code, 0, told)
        self.assertIn("profile/a' and further runs", told)

    @unittest.skipUnless(platform.machine() == "x86_64", "the program is one for x86-64")
    def test_a_static_program(self):
        program = self.path("static")
        with open(program, "wb") as f:
            f.write(static_program(exit_code=5))
        os.chmod(program, 0o755)
        code, told = self.start("--", program)
        self.assertEqual(code, 5)
        self.assertIn(f"warning: nothing was recorded: '{program}' did not load libtbprof", told)


@unittest.skipIf(SANITIZED, "the sanitizer must be the first library of a process, and run preloads ours")
class OnDemand(Run):
    def serve(self, *options, **env):
        self.address = "unix:" + self.path("socket")
        p = subprocess.Popen([TBPROF, "run", "-o", self.path("logdir"), *options, "--", sys.executable, "-c", GOES_ON],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env=self.environment(TBPROF_SERVER_BIND=self.address, **env))
        self.addCleanup(p.communicate)
        while not os.path.exists(self.path("socket")):
            self.assertIsNone(p.poll())
            time.sleep(0.01)
        return p

    def capture(self, duration_ms):
        p = subprocess.Popen([TBPROF, "capture", "--service_addr", self.address, "--logdir", self.path("logdir"), "--json",
                              "--duration_ms", str(duration_ms)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(p.communicate)
        return p

    def runs(self):
        return os.listdir(self.path("logdir", "plugins", "profile"))

    def test_captures_and_nothing_else(self):
        for options, env in (["--server=6009"], {}), ([], {"TBPROF_SERVER": "6009"}):
            shutil.rmtree(self.path("logdir"), ignore_errors=True)
            p = self.serve(*options, **env)
            got = json.loads(self.capture(200).communicate(timeout=240)[0])
            self.assertEqual((got["saved"], got["hosts"][0]["result"]), (1, "saved"))
            told = p.communicate("", timeout=240)[1]
            self.assertEqual((p.returncode, self.runs()), (0, [got["run"]]), told)
            self.assertIn("recorded is what 'tbprof capture --service_addr localhost:6009' asks for", told)
            self.assertNotIn("nothing was recorded", told)

    def test_a_process_without_the_port_says_so(self):
        code, told = self.start("--server=6009", "--", "sh", "-c", "sleep 0; true",
                                TBPROF_SERVER_BIND="unix:" + self.path("socket"))
        self.assertEqual(code, 0)
        self.assertRegex(told, r"no profiler server in process \d+ \('sleep'\): .*: Address already in use")

    def test_a_program_that_ends_while_it_is_captured(self):
        """It has not stopped its server, and goes the way of exit()."""
        p = self.serve("--server=6009")
        client = self.capture(500000)
        self.assertEqual(p.stdout.readline(), "recorded\n")
        self.assertEqual(p.communicate("", timeout=240)[0], "")
        host = json.loads(client.communicate(timeout=240)[0])["hosts"][0]
        self.assertEqual(host["result"], "saved")
        self.assertGreater(host["events"], 0)
        self.assertRegex(host["warnings"][0], r"recording ended after \d+\.\d+ s instead of 500\.000 s")
        self.assertEqual(p.returncode, 0)

    def test_a_program_that_is_killed_while_it_is_captured(self):
        p = self.serve("--server=6009")
        client = self.capture(500000)
        self.assertEqual(p.stdout.readline(), "recorded\n")
        p.send_signal(signal.SIGUSR1)  # handed on, and deadly
        self.assertIn("a process died: what it had recorded is in", p.communicate(timeout=240)[1])
        self.assertEqual(len(self.runs()), 1)
        self.assertEqual(json.loads(client.communicate(timeout=240)[0])["hosts"][0]["result"], "ended")


class Refused(Run):
    def refused(self, *args, **env):
        code, told = self.start(*args, "--", "touch", self.path("made"), **env)
        self.assertEqual((code, os.path.exists(self.path("made"))), (2, False), told)
        return told

    def test_settings(self):
        self.assertIn("unknown option 'nosuch': docs/recording.md lists them", self.refused("--set", "nosuch=1"))
        self.assertIn("did you mean 'rss_period_ms'?", self.refused("--set", "rss_period=1"))
        self.assertIn("from 0 to 255 (reading '--set host_tracer_level=x')",
                      self.refused("--set", "host_tracer_level=x"))
        self.assertIn("none of stop, ring, grow", self.refused("--set", "full_policy=all"))
        self.assertIn("a schedule has no 'actve'", self.refused("--set", "schedule=actve=1"))
        self.assertIn("is not KEY=VALUE", self.refused("--set", "convert"))

    def test_ports(self):
        for port in "0", "65536", "x", "localhost:6009":
            self.assertIn(f"'{port}' is no port for 'server'", self.refused("--server", port))
            self.assertIn(f"'{port}' is no port for 'server'", self.refused(TBPROF_SERVER=port))

    def test_no_library(self):
        self.assertIn("(loading $TBPROF_LIBRARY)", self.refused(TBPROF_LIBRARY=self.path("none.so")))
        self.assertIn("has no function 'tbprof_start'", self.refused(TBPROF_LIBRARY="libc.so.6"))

    def test_no_library_beside_the_program(self):
        loader = shutil.which("ldconfig") or "/sbin/ldconfig"
        if "libtbprof.so.1" in subprocess.run([loader, "-p"], capture_output=True, text=True).stdout:
            self.skipTest("libtbprof is installed on this machine")
        alone = self.path("tbprof")
        shutil.copy(TBPROF, alone)
        env = {k: v for k, v in os.environ.items() if k not in ("TBPROF_LIBRARY", "LD_LIBRARY_PATH")}
        r = subprocess.run([alone, "run", "--", "touch", self.path("made")], capture_output=True, text=True, env=env)
        self.assertIn("no libtbprof.so.1 beside this program nor where the loader looks: install it, or name it with "
                      "TBPROF_LIBRARY=FILE", r.stderr)
        self.assertEqual((r.returncode, os.path.exists(self.path("made"))), (2, False))

    def test_no_such_program(self):
        code, told = self.start("--", "no-such-program")
        self.assertEqual(code, 2)
        self.assertIn("starting 'no-such-program' failed", told)


if __name__ == "__main__":
    unittest.main()
