#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is recorded of programs that were not written for tbprof: NVTX ranges, ITT tasks, malloc."""
import glob
import json
import math
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from support import Case  # noqa: E402

LIBRARY, PRELOAD = os.environ["LIBTBPROF"], os.environ["LIBTBPROF_MALLOC"]
NVTX, MALLOC = os.environ["NVTX_PROGRAMS"].split(":"), os.environ["MALLOC_PROGRAM"]
ITT = os.environ["ITT_PROGRAM"]
XPT = os.environ["XPT"]
SANITIZED = os.environ.get("SANITIZED") == "1"


class Recorded(Case):
    def record(self, *command, **env):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("TBPROF_")}
        r = subprocess.run(command, capture_output=True, text=True, timeout=240,
                           env={**clean, "TBPROF_SPOOL_DIR": self.tmp, "TBPROF_RSS_PERIOD_MS": "0", **env})
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        (run,) = glob.glob(os.path.join(self.path("log"), "plugins", "profile", "*"))
        return run

    def page(self, tool, run):
        return json.loads(self.expect(0, "tool", tool, run).stdout)


class Nvtx(Recorded):
    def check(self, program):
        run = self.record(program, self.path("log"), NVTX_INJECTION64_PATH=LIBRARY)
        events = [e for e in self.page("trace_viewer", run)["traceEvents"] if e.get("ph") in ("X", "i")]
        names = sorted(e["name"] for e in events)
        self.assertEqual(names, ["a mark", "across", "lib::registered", "lib::registered", "outer", "wide ä"])
        first, second = sorted((e for e in events if e["name"] == "lib::registered"), key=lambda e: e["ts"])
        outer = next(e for e in events if e["name"] == "outer")
        self.assertEqual(first["args"]["payload"], "-7")
        self.assertEqual(first["args"]["category"], "io")
        self.assertLessEqual(outer["ts"], first["ts"])
        self.assertLessEqual(outer["ts"] + outer["dur"], second["ts"], "cut in two where the outer range ended")

    def test_ranges_marks_domains_and_payloads(self):
        for program in NVTX:
            with self.subTest(os.path.basename(program)):
                self.check(program)
                subprocess.run(["rm", "-r", self.path("log")], check=True)


class Itt(Recorded):
    def test_tasks_and_domains(self):
        run = self.record(ITT, self.path("log"), INTEL_LIBITTNOTIFY64=LIBRARY, INTEL_ITTNOTIFY_GROUPS="all")
        trace = self.page("trace_viewer", run)["traceEvents"]
        events = [e for e in trace if e.get("ph") == "X"]
        self.assertEqual(sorted(e["name"] for e in events),
                         ["aten::outer", "early::task", "lib::op", "lib::op", "lib::unnamed"])
        self.assertIn("annotated", [e["args"]["name"] for e in trace if e.get("name") == "thread_name"])
        outer = next(e for e in events if e["name"] == "aten::outer")
        first, second = sorted((e for e in events if e["name"] == "lib::op"), key=lambda e: e["ts"])
        self.assertLessEqual(outer["ts"], first["ts"])
        self.assertLessEqual(outer["ts"] + outer["dur"], second["ts"], "cut in two where the outer task ended")


@unittest.skipIf(SANITIZED, "the sanitizer replaces malloc, too")
class Malloc(Recorded):
    def memory(self, mode, only_bytes=None):
        """Peak of each allocator, and bytes and number of its MemoryAllocation and MemoryDeallocation events (only
        those of blocks of that size)."""
        run = self.record(MALLOC, self.path("log"), mode, LD_PRELOAD=PRELOAD)
        found = {name: {"peak": int(a["profileSummary"]["peakStats"]["peakBytesInUse"])}
                 for name, a in self.page("memory_profile", run)["memoryProfilePerAllocator"].items()}
        (xplane,) = glob.glob(os.path.join(run, "*.xplane.pb"))
        text = self.path("run.xpt")
        subprocess.run([XPT, "to-text", xplane, text], check=True)
        pattern = r'"(Memory\w+)" allocator_name=@"(\w+)" .* requested_bytes=(\d+) allocation_bytes=(\d+)'
        with open(text, encoding="utf-8") as f:
            for event, allocator, requested, size in re.findall(pattern, f.read()):
                if only_bytes not in (None, int(requested)):
                    continue
                sums = found[allocator].setdefault(event, [0, 0])
                sums[0] += int(size)
                sums[1] += 1
        return found

    def test_every_call(self):
        memory = self.memory("all")
        blocks, block = 1000, 64 << 10
        again = blocks // 4  # by realloc: freed and allocated
        self.assertEqual(memory["mmap"], {"peak": 8 << 20, "MemoryAllocation": [8 << 20, 1],
                                          "MemoryDeallocation": [8 << 20, 1]})
        of_others = 1 << 20 # what the C library and the runtime take for themselves
        heap = memory["malloc"]
        self.assertTrue(0 <= heap["peak"] - blocks * block < of_others, heap)
        self.assertTrue(0 <= heap["MemoryAllocation"][0] - (blocks + again) * block < of_others, heap)
        self.assertTrue(0 <= heap["MemoryDeallocation"][1] - (blocks + again) < 100, heap)

    def test_samples_add_up(self):
        total, n = self.memory("sampled", 64 << 10)["malloc"]["MemoryAllocation"]
        # 1250 blocks of 64 KiB in periods of 512 KiB: each is taken with p = 1 - exp(-1/8) = 0.1175, so 147 are,
        # give or take 11; each counts 64 KiB / p. Five deviations are wide enough for every random sequence.
        self.assertTrue(147 - 57 <= n <= 147 + 57, n)
        self.assertEqual(total // n, int((64 << 10) / (1 - math.exp(-1 / 8))))


if __name__ == "__main__":
    unittest.main()
