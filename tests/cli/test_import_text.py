# SPDX-License-Identifier: Apache-2.0
"""Inputs of other tools: counts, sums and steps of fixtures worked out by hand, and of recordings and public files
where they are at hand (../shared)."""
import json
import os
import re
import unittest

from facts import answer, events, ledger, lines, ops, steps, sums
from import_fixtures import write
from support import SHARED, Case

HAS_SHARED = os.path.isdir(SHARED)
needs_shared = unittest.skipUnless(HAS_SHARED, "the folder of recordings is not at hand")


def shared(*parts):
    return os.path.join(SHARED, *parts)


def expected(case):
    with open(shared("cases", case, "expect.json")) as f:
        return json.load(f)["values"]


class Import(Case):
    def fixture(self, name):
        return write(self.tmp, name)

    def events_of(self, path, read, emitted, **counters):
        """The sums of the ledger, and its counters by name."""
        host = ledger(path)
        found = host["ledger"]["events"]
        self.assertEqual((found["read"], found["emitted"]), (read, emitted), found)
        named = {k: v["count"] for k, v in host["ledger"].get("counters", {}).items()}
        self.assertEqual(named, counters)

    def becomes_a_run(self, path):
        """convert writes a run of it, whose pages say the same as the input's own."""
        self.expect(0, "convert", "-o", self.path("log"), "--run", "r", "--host", "h", path)
        run = self.path("log", "plugins", "profile", "r", "h.xplane.pb")
        self.assertEqual(answer("framework_op_stats", run), answer("framework_op_stats", path))
        self.assertEqual(answer("overview_page", run), answer("overview_page", path))


def memory_of(path, allocator):
    """(bytes in use most of all, after the last event)."""
    page = answer("memory_profile", path)["memoryProfilePerAllocator"][allocator]
    return int(page["profileSummary"]["peakBytesUsageLifetime"]), page


def printed_table(path, section):
    """Rows of a section of MXNet's own table: name -> (count, total ns)."""
    with open(path) as f:
        text = f.read()
    part = text.split("\n" + section + "\n====", 1)[1].split("\n\n")[0]
    rows = re.findall(r"^(.+?) +(\d+) +([\d.]+) +[\d.]+ +[\d.]+ +[\d.]+$", part, re.M)
    return {name: (int(n), round(float(ms) * 1e6)) for name, n, ms in rows}


class MXNet(Import):
    def test_operator_counts_once_memory_is_memory_frames_are_steps(self):
        path = self.fixture("mxnet.json")
        # 6 names; 3 + 2 + 2 pairs make 7 events and 7 ends; 3 of memory, 1 counter
        self.events_of(path, 6 + 14 + 4, 7 + 4, json_cut=1)
        self.assertEqual(ops(path, "Device"), {"Convolution": (2, 50000)})
        self.assertEqual(ops(path), {"WaitForVar": (1, 0)})
        self.assertEqual([(s["stepnum"], s["stepTimeMs"]) for s in steps(path)], [("0", 0.03), ("1", 0.02)])
        self.assertEqual(memory_of(path, "gpu/0")[0], 3 << 20)
        shown = [e for e in events(path) if e[2] == "Convolution"]
        self.assertEqual(sorted((e[0], e[1].split()[0]) for e in shown),
                         [("/device:GPU:0", "Stream")] * 2 + [("/host:CPU", "operator")] * 2)
        self.becomes_a_run(path)

    @needs_shared
    def test_case_operator_logged_twice(self):
        path = shared("cases", "mxnet-operator-logged-twice", "profile.json")
        want = expected("mxnet-operator-logged-twice")
        found = ops(path, "Device")
        self.assertEqual(found, {name: (row["count"], row["total"] * 1000) for name, row in want["op_table"].items()})
        self.assertEqual(sum(ns for _, ns in found.values()), want["op_total"] * 1000)
        peak, page = memory_of(path, want["memory"]["device"])
        self.assertEqual(peak, want["memory"]["peak_bytes"])
        self.assertEqual(int(page["profileSummary"]["peakStatsTimePs"]), want["memory"]["peak_at"] * 10**6)

    @needs_shared
    def test_recordings_give_the_table_that_mxnet_printed(self):
        for name, n_read, n_steps in (("mx-all", 3715, 5), ("mx-imperative", 325, 0), ("mx-noagg", 3376, 0)):
            folder = shared("recordings", "mxnet-1.9.1", name)
            path = os.path.join(folder, "profile.json")
            self.assertEqual(ledger(path)["ledger"]["events"]["read"], n_read)
            self.assertEqual(ledger(path)["steps"], n_steps)
            oracle = os.path.join(folder, "oracle-total-desc.txt")
            if os.path.exists(oracle):
                self.assertEqual(ops(path), printed_table(oracle, "operator"))
            if name == "mx-all":
                listed = events(path)
                calls = sums(e for e in listed if e[1].startswith("MXNET_C_API"))
                table = {k: v for k, v in printed_table(oracle, "MXNET_C_API").items() if not k.startswith("MXNet C API")}
                timed = {k: ns for k, (_, ns) in table.items() if ns}
                self.assertEqual({k: ns for k, (_, ns) in calls.items() if ns}, timed)
                self.assertEqual(lines(path)["MXNET_C_API 8347382125741905180"], sum(n for n, _ in table.values()))
                frames = sums(e for e in listed if e[1].startswith("Training,frame"))
                self.assertEqual(sum(ns for _, ns in frames.values()), 8313000)
                self.assertEqual(sums(e for e in listed if e[2] == "epoch")["epoch"], [1, 10835000])
                self.assertEqual(memory_of(path, "cpu/0")[0], 1100072)

    @needs_shared
    def test_public_files(self):
        path = shared("corpus", "mxnet", "clojure-profile-matmul-20iter.json")
        self.events_of(path, 29, 14, json_cut=1)
        path = shared("corpus", "mxnet", "cpu_mnist_cnn_profile_output.json")
        self.events_of(path, 3695, 231 + 231 + 489 + 1724)
        self.assertEqual(sum(n for n, _ in ops(path).values()), 231)


if __name__ == "__main__":
    unittest.main()
