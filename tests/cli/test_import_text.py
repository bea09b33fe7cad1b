# SPDX-License-Identifier: Apache-2.0
"""Inputs of other tools: counts, sums and steps of fixtures worked out by hand, and of recordings and public files
where they are at hand (../shared)."""
import csv
import json
import os
import re
import unittest

from facts import answer, events, ledger, lines, ops, rows, steps, sums
from import_fixtures import write
from support import SHARED, Case, run

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


class MindSpore(Import):
    def test_steps_ops_waits_and_queues_of_a_folder(self):
        path = self.fixture("mindspore")
        # 3 of the timeline; 2 steps here and on the device; 5 phases, one of them here, too; averages; 2 sizes; 1 wait
        self.events_of(path, 3 + 4 + 6 + 1 + 2 + 1, 16)
        self.assertEqual(ops(path, "Device"), {"Default/net/MatMul-op1": (2, 200000), "InitData": (1, 5000)})
        kinds = {r["operation"]: r["type"] for r in rows(answer("framework_op_stats", path))}
        self.assertEqual(kinds["Default/net/MatMul-op1"], "MatMul")
        listed = events(path)
        at = {e[2]: e[3:5] for e in listed if e[0] == "/host:CPU"}
        self.assertEqual(at["step 1"], (10000, 300000))
        self.assertEqual(at["step 2"], (310000, 200000))
        self.assertEqual(at["IteratorGetNext: iteration_interval"], (310000, 50000))
        self.assertEqual(at["IteratorGetNext: GetNext_dequeue_wait"], (310000, 20000))
        self.assertEqual(lines(path)["_counters_"], 2)
        found = steps(path)
        self.assertEqual([s["stepTimeMs"] for s in found], [0.3, 0.2])
        self.assertEqual([s["deviceComputeTimeMs"] for s in found], [0.12, 0.08])
        self.becomes_a_run(path)

    @needs_shared
    def test_recording_of_cpu_has_the_types_and_sums_of_its_own_table(self):
        path = shared("recordings", "mindspore-2.0.0", "ms-graph", "profiler")
        self.events_of(path, 2677, 1404)
        types = {}
        for r in rows(answer("framework_op_stats", path)):
            if r["type"] != "IDLE":
                n, us = types.get(r["type"], (0, 0))
                types[r["type"]] = (n + int(r["occurrences"]), us + r["total_time"])
        with open(os.path.join(path, "cpu_op_type_info_0.csv")) as f:
            table = {row["op_type"]: (int(row["type_occurrences"]), float(row["total_compute_time"]))
                     for row in csv.DictReader(f)}
        self.assertEqual({k: n for k, (n, _) in types.items()}, {k: n for k, (n, _) in table.items()})
        for kind, (_, ms) in table.items():  # printed with six digits
            self.assertAlmostEqual(types[kind][1] / 1000, ms, delta=1e-5 * ms + 1e-6)
        self.assertEqual(sum(n for n, _ in types.values()), 260)
        marks = [e for e in events(path) if e[1] == "MindSpore steps"]
        self.assertEqual((len(marks), sum(e[4] for e in marks)), (20, 38720490))

    @needs_shared
    def test_public_folders(self):
        path = shared("corpus", "mindspore", "run_2", "normal_run", "profiler")
        device = [e for e in events(path) if e[0].startswith("/device:GPU") and e[1].startswith("Stream")]
        self.assertEqual(len(device), 112)
        self.assertAlmostEqual(sum(e[4] for e in device), 23981320, delta=112)
        mark = [e for e in events(path) if e[2] == "step 1" and e[0] == "/host:CPU"]
        self.assertEqual([e[4] for e in mark], [23709050])
        parts = {e[2]: e[4] for e in events(path) if e[1] == "Step phases"}
        self.assertEqual(parts, {"fp_and_bp": 23668080, "tail": 40970})
        path = shared("corpus", "mindspore", "profiler")
        self.assertEqual(ledger(path)["steps"] + ledger(path)["incomplete_steps"], 20)
        for name, n, ns in (("ascend_timeline_display_0.json", 3, 681100), ("gpu_timeline_display_0.json", 2, 309632)):
            listed = events(os.path.join(path, name))
            found = [e for e in listed if e[1].startswith(("Stream", "Ops"))]
            self.assertEqual((len(found), round(sum(e[4] for e in found), -2)), (n, round(ns, -2)))
        self.assertEqual(ledger(shared("corpus", "mindspore", "ut-analyser"))["events"], 16)


class Ascend(Import):
    def test_tables_of_an_analysed_folder(self):
        path = self.fixture("host0_1_ascend_pt")
        self.events_of(path, 3 + 2 + 2, 6, short_row=1)
        self.assertEqual(ops(path, "Device"), {"add__fused": (1, 100250), "hcom_allReduce_1": (1, 50500)})
        mark = next(e for e in events(path) if e[2] == "step 7" and e[0] == "/host:CPU")
        self.assertEqual(mark[3:5], (0, 400000))
        self.assertEqual([s["stepTimeMs"] for s in steps(path)], [0.4])
        self.assertEqual(mark[5]["Communication(Not Overlapped)"], "50.5")
        self.assertEqual(memory_of(path, "NPU:2")[0], 3 << 20)
        self.becomes_a_run(path)

    def test_raw_folder_is_refused_with_what_to_do(self):
        os.makedirs(self.path("host0_2_ascend_pt", "FRAMEWORK"))
        with open(self.path("host0_2_ascend_pt", "profiler_info.json"), "w") as f:
            f.write("{}")
        r = run("convert", "-o", self.path("log"), self.path("host0_2_ascend_pt"))
        self.assertNotEqual(r.returncode, 0)
        self.assertIn("raw data only", r.stderr)
        self.assertIn("analyse", r.stderr)

    @needs_shared
    def test_case_ascend_folder_not_yet_analysed(self):
        want = expected("ascend-folder-not-yet-analysed")["rank1"]
        folder = shared("cases", "ascend-folder-not-yet-analysed")
        path = os.path.join(folder, "host1_67890_20260725180104150_ascend_pt")
        listed = events(path)
        marks = [e for e in listed if e[2].startswith("step ") and e[0] == "/host:CPU"]
        self.assertEqual([int(e[5]["step_num"]) for e in marks], want["steps"])
        for key, column in (("computing", "Computing"), ("communication_not_overlapped", "Communication(Not Overlapped)"),
                            ("free", "Free")):
            self.assertEqual([float(e[5][column]) for e in marks], want[key])
        self.assertEqual([s["stepTimeMs"] for s in steps(path)], [0.85, 0.8])
        kernels = [e for e in listed if e[1].startswith("Stream")]
        self.assertEqual([e[4] / 1000 for e in kernels], list(want["kernels"].values()))
        self.assertEqual(sum("step_id" not in e[5] for e in kernels), want["kernel_without_step"])
        self.assertEqual(float(kernels[1][5]["wait_us"]), want["wait_time_second"])
        self.assertEqual([e[3] - kernels[0][3] for e in kernels], [0, 300380, 549880])  # from …000.120 us
        r = run("info", os.path.join(folder, "host1_67889_20260725180104147_ascend_pt"))
        self.assertNotEqual(r.returncode, 0)
        self.assertIn("raw data only", r.stderr)


if __name__ == "__main__":
    unittest.main()
