# SPDX-License-Identifier: Apache-2.0
"""Inputs of other tools: counts, sums and steps of fixtures worked out by hand, and of recordings and public files
where they are at hand (../shared)."""
import collections
import csv
import itertools
import json
import os
import re
import shutil
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

    def device_time_is_that_of_the_ops(self, path):
        """Steps and phases that are drawn above the streams are no work of their own."""
        device = json.loads(run("stats", path, "--json").stdout)
        self.assertEqual(device["device_us"], sum(ns for _, ns in ops(path, "Device").values()) / 1000)

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
    def test_sums_of_memory_of_one_moment_in_any_order(self):
        """1, then 2 and 4, then 3 and 1 MiB: they rise, then fall."""
        samples = [(10, 1), (20, 2), (20, 4), (30, 3), (30, 1)]
        for order in itertools.permutations(samples):
            path = self.path("profile.json")
            with open(path, "w", encoding="utf-8") as f:
                json.dump({"traceEvents": [{"ph": "C", "cat": "Device Storage", "name": "Memory: gpu/0", "pid": 0, "tid": 0,
                                            "ts": ts, "args": {"Memory: gpu/0": mib << 20}} for ts, mib in order]}, f)
            timeline = memory_of(path, "gpu/0")[1]["sampledTimelineSnapshots"]
            self.assertEqual([(int(s["timeOffsetPs"]) // 10**6, int(s["aggregationStats"]["heapAllocatedBytes"]) >> 20,
                               s["activityMetadata"]["memoryActivity"], int(s["activityMetadata"]["allocationBytes"]) >> 20)
                              for s in timeline],
                             [(0, 1, "ALLOCATION", 1), (10, 2, "ALLOCATION", 1), (10, 4, "ALLOCATION", 2),
                              (20, 3, "DEALLOCATION", 1), (20, 1, "DEALLOCATION", 2)])

    def test_of_several_domains_of_a_counter_the_first_by_name(self):
        samples = [(domain, {"ph": "C", "cat": domain, "name": "queue", "pid": 0, "tid": 0, "ts": ts, "args": {"queue": 1}})
                   for ts, domain in enumerate(("user", "mine", "own"))]
        for order in itertools.permutations(samples):
            path = self.path("profile.json")
            with open(path, "w", encoding="utf-8") as f:
                json.dump({"traceEvents": [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "cpu/0"}}] +
                           [e for _, e in order]}, f)
            said = json.loads(self.expect(0, "info", path, "--json").stdout)
            self.assertIn('"domain of queue": "mine"', json.dumps(said))

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
        self.device_time_is_that_of_the_ops(path)
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

    def test_a_timeline_alone_is_known_by_its_events(self):
        """MindSpore fills the beginning of a timeline of the CPU with rows for numbers of threads: here 160 kB of them on
        either side of the events."""
        sort = [{"name": "thread_sort_index", "ph": "M", "pid": 0, "tid": 100001 + i, "args": {"sort_index": i}} for i in range(1900)]
        ops = [{"name": "Conv2D-op1", "ph": "X", "tid": "HostCpuOps0", "ts": 1000, "dur": 30, "pid": 0}]
        path = self.path("cpu_timeline_display_0.json")
        for order in (sort + ops + sort, ops + sort + sort):
            with open(path, "w") as f:
                json.dump(order, f)
            self.assertGreater(len(json.dumps(sort)), 150000)
            self.assertEqual(ledger(path)["format"], "mindspore")
            self.assertEqual([r["type"] for r in rows(answer("framework_op_stats", path)) if r["type"] != "IDLE"], ["Conv2D"])

    def test_every_kernel_has_the_launch_that_stands_with_it(self):
        """A thousand different launches, so that the table of texts moves while they are read."""
        n = 1000 # the page shows no more
        os.mkdir(self.path("profiler"))
        with open(self.path("profiler", "gpu_timeline_display_0.json"), "w") as f:
            json.dump([{"name": f"kernel {i}", "ph": "X", "pid": 0, "tid": "1", "ts": 10 * i, "dur": 1,
                        "args": {"type": "cuLaunchKernel", "op_full_name": f"Default/MatMul-op{i}",
                                 "grid_dim": f"{i + 1},1,1", "block_dim": f"1,{i + 1},1"}} for i in range(n)], f)
        found = {r["kernel_name"]: (r["grid_dim"], r["block_dim"])
                 for r in rows(answer("kernel_stats", self.path("profiler", "gpu_timeline_display_0.json")))}
        self.assertEqual(found, {f"kernel {i}": (f"{i + 1},1,1", f"1,{i + 1},1") for i in range(n)})

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
        # MindSpore's own table: each op once with its mean, TransData 0.193765 ms of 3; here each time it ran
        by = lambda key: {r["name"]: r for r in json.loads(run("stats", "--json", "--group-by", key, path).stdout)["rows"]}
        ops = {n: r for n, r in by("name").items() if "TransData-op" in n}
        self.assertEqual(sorted((n[-5:], r["count"]) for n, r in ops.items()), [("op118", 2), ("op124", 1), ("op125", 1)])
        self.assertAlmostEqual(sum(r["avg_us"] for r in ops.values()), 193.765, places=2)
        found = by("type")["TransData"]
        self.assertEqual(found["count"], 4)
        self.assertAlmostEqual(found["device_us"], 46.64 + 47.43 + 82.31 + 64.42, places=2)
        path = shared("corpus", "mindspore", "profiler")
        self.assertEqual(ledger(path)["steps"] + ledger(path)["incomplete_steps"], 20)
        for name, n, ns in (("ascend_timeline_display_0.json", 3, 681100), ("gpu_timeline_display_0.json", 2, 309632)):
            listed = events(os.path.join(path, name))
            found = [e for e in listed if e[1].startswith(("Stream", "Ops"))]
            self.assertEqual((len(found), round(sum(e[4] for e in found), -2)), (n, round(ns, -2)))
        self.assertEqual(ledger(shared("corpus", "mindspore", "ut-analyser"))["events"], 16)


class Ascend(Import):
    def test_tables_and_timeline_of_an_analysed_folder(self):
        path = self.fixture("host0_1_ascend_pt")
        # tables: 2 kernels + 1 step on host and device + 2 times memory + 2 components; timeline: 5 rows + 1 counter
        self.events_of(path, 3 + 2 + 2 + 3 + 14, 2 + 2 + 2 + 2 + 6, short_row=2)
        listed = {e[2]: e for e in events(path)}
        self.assertEqual([s["stepTimeMs"] for s in steps(path)], [0.4])
        self.assertEqual(next(e for e in events(path) if e[2] == "ProfilerStep#7 7" and e[0] == "/host:CPU")[3:5], (0, 450000))
        self.assertEqual(listed["step"][3:5], (100500, 400000))
        self.assertEqual(next(e for e in events(path) if e[1] == "Step trace")[5]["Communication(Not Overlapped)"], "50.5")
        self.assertEqual(listed["launch"][1], "CANN 70")
        self.assertEqual(listed["hcom"][:2], ("/host:CPU", "Communication: Group 0"))
        self.assertEqual(memory_of(path, "NPU:2")[0], 3 << 20)
        self.device_time_is_that_of_the_ops(path)
        self.becomes_a_run(path)

    def test_kernels_of_ascend_have_the_op_that_an_arrow_tells(self):
        path = self.fixture("host0_1_ascend_pt")
        self.assertEqual(ops(path), {"aten/add": (1, 80000), "aten/mul": (1, 20500)})
        self.assertEqual(ops(path, "Device"), {"aten/add": (1, 100250), "hcom_allReduce_1": (1, 50500)})
        self.assertEqual({r["kernel_name"]: r["op_name"] for r in rows(answer("kernel_stats", path))},
                         {"add, fused": "aten/add", "hcom_allReduce_1": "hcom_allReduce_1"})

    def test_arrows_of_ascend_are_numbered_by_time_in_whatever_order_they_stand(self):
        path = self.fixture("host0_1_ascend_pt")
        file = os.path.join(path, "ASCEND_PROFILER_OUTPUT", "trace_view.json")
        with open(file) as f:
            timeline = json.load(f)
        late = {"ph": "s", "bp": "e", "name": "torch_to_npu", "id": 7, "pid": 900, "tid": 70, "ts": "1699999999999905.000",
                "cat": "async_npu"}  # an arrow from mul, which begins before add
        for events in (timeline + [late], [late] + timeline[::-1]):
            with open(file, "w") as f:
                json.dump(events, f)
            trace = json.loads(self.expect(0, "tool", "trace_viewer", path).stdout)["traceEvents"]
            numbers = {e["name"]: e["args"]["correlation_id"] for e in trace if "correlation_id" in e.get("args", {})}
            self.assertEqual(numbers, {"aten::mul": "1", "aten::add": "2", "add, fused": "2", "hcom_allReduce_1": "0"})

    def test_tables_of_ascend_without_a_timeline(self):
        path = self.fixture("host0_1_ascend_pt")
        os.remove(os.path.join(path, "ASCEND_PROFILER_OUTPUT", "trace_view.json"))
        self.assertEqual(ops(path, "Device"), {"add__fused": (1, 100250), "hcom_allReduce_1": (1, 50500)})
        mark = next(e for e in events(path) if e[2] == "step 7" and e[0] == "/host:CPU")
        self.assertEqual(mark[3:5], (0, 400000))

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


def kernels(path):
    """name -> (count, total ns, blocks, device lines) of the kernel page."""
    found = {r["kernel_name"]: (int(r["occurrences"]), round(r["total_duration_us"] * 1000), r["grid_dim"])
             for r in rows(answer("kernel_stats", path))}
    return found


def all_launches(path):
    """(work of a device, the call with its correlation id or None, its start in ns)."""
    listed = events(path)
    calls = {e[5]["correlation_id"]: e[2] for e in listed if e[0] == "/host:CPU" and "correlation_id" in e[5]}
    return [(e[2], calls.get(e[5].get("correlation_id")), e[3]) for e in listed if e[1].startswith("Stream")]


def launches(path):
    return {device: call for device, call, _ in all_launches(path)}


class RocProf(Import):
    def test_table_by_names_of_columns(self):
        path = self.fixture("rocprof_kernel_trace.csv")
        self.events_of(path, 3, 2, short_row=1)
        self.assertEqual(kernels(path), {'f<int, "x">(int)': (1, 500, "4,1,1"), "gemm": (1, 1250, "4,1,1")})
        placed = {e[2]: (e[0], e[1]) for e in events(path) if e[1].startswith("Stream")}
        self.assertEqual(placed, {'f<int, "x">(int)': ("/device:GPU:1", "Stream #2(Compute)"),
                                  "gemm": ("/device:GPU:0", "Stream #1(Compute)")})
        self.becomes_a_run(path)

    def test_folder_of_tables_is_one_run(self):
        path = self.fixture("rocprofv3")
        self.events_of(path, 3 + 1 + 2 + 1, 6, short_row=1, unfinished=1)
        at = {e[2]: e[3:5] for e in events(path) if e[0] == "/host:CPU"}
        self.assertEqual(at["step 0 0"], (0, 1650))
        self.assertEqual(at["step 1 1"], (1650, 1300))  # to the last end of all
        copy = [e for e in events(path) if e[2].startswith("MemcpyHtoD")]
        self.assertEqual([(e[0], e[4]) for e in copy], [("/device:GPU:1", 80)])
        self.assertEqual(ops(path), {"step": (2, 2950)})
        self.assertEqual(ops(path, "Device"), {"step": (1, 500)})  # the kernel that step 0 calls
        self.becomes_a_run(path)

    def rewritten(self, path, change):
        """All files of a fixture, but those in JSON, changed."""
        for folder, _, names in os.walk(path) if os.path.isdir(path) else [("", (), (path,))]:
            for name in names:
                if not name.endswith(".json"):
                    with open(os.path.join(folder, name), "rb+") as f:
                        data = change(f.read())
                        f.seek(0)
                        f.truncate()
                        f.write(data)

    def test_lines_end_as_on_any_system(self):
        """Each fixture with its ends, marks and blank lines changed is what it was; how much that is, is worked out above."""
        changes = [lambda plain: plain.replace(b"\n", b"\r"), lambda plain: plain.replace(b"\n", b"\r\n"),
                   lambda plain: b"\xef\xbb\xbf \n\t\n" + plain.replace(b"\n", b"\n\n"),
                   lambda plain: b"\xef\xbb\xbf" + plain + b"\r\n\xef\xbb\xbf"]
        for name, emitted in (("2020-01-02_03-04-05_detail_3.csv", 9), ("2020-01-02_03-04-05_summary_3.txt", 5),
                              ("rocprof_kernel_trace.csv", 2), ("rocprofv3", 6), ("mindspore", 16), ("host0_1_ascend_pt", 14)):
            path = self.fixture(name)
            was = events(path)
            self.assertEqual(ledger(path)["ledger"]["events"]["emitted"], emitted, name)
            for change in changes:
                path = self.fixture(name)
                self.rewritten(path, lambda data: change(data.replace(b"\r\n", b"\n")))
                self.assertEqual(events(path), was, name)

    def test_a_file_of_a_folder_that_is_no_table_is_a_loss(self):
        for fixture, name in (("mindspore", "ascend_timeline_display_3.json"), ("mindspore", "minddata_pipeline_raw_3.csv"),
                              ("mindspore", "minddata_aicpu_3.txt"), ("rocprofv3", "x_kernel_trace.csv")):
            path = self.fixture(fixture)
            self.assertNotIn("no_table", ledger(path)["ledger"].get("counters", {}))
            with open(os.path.join(path, name), "w") as f:
                f.write("no such table, but text\n")
            self.assertEqual(ledger(path)["ledger"]["counters"]["no_table"]["count"], 1, name)
            self.expect(1, "convert", path, "-o", self.path("o"), "--strict", "-q")
            shutil.rmtree(path)

    def counts(self, path):
        return {key: c["count"] for key, c in ledger(path)["ledger"].get("counters", {}).items()}

    def test_json_in_the_place_of_a_timeline_is_a_loss_unless_it_is_a_list(self):
        for fixture, name in (("mindspore", "ascend_timeline_display_3.json"),
                              ("host0_1_ascend_pt", "ASCEND_PROFILER_OUTPUT/trace_view.json")):
            path = self.fixture(fixture)
            for text, lost in (('{"a": 1}', 1), ("{}", 1), ('{"traceEvents": 5}', 1), ("[]", 0), ('{"traceEvents": []}', 0), ("", 0)):
                with open(os.path.join(path, name), "w") as f:
                    f.write(text)
                self.assertEqual(self.counts(path).get("no_table", 0), lost, f"{name}: {text}")

    def test_a_table_that_lacks_a_column_it_needs_is_a_loss(self):
        needed = {
            "mindspore": {"minddata_pipeline_raw_3.csv": "op_id op_type output_queue_size output_queue_length sample_interval",
                          "aicpu_intermediate_3.csv": "run_start",
                          "step_trace_raw_3_detail_time.csv": "step_num start_point end_point fp_point bp_point "
                                                              "iteration_interval fp_and_bp tail"},
            "host0_1_ascend_pt": {"operator_memory.csv": "Size(KB)|Allocation Time(us)|Release Time(us)|Device Type",
                                  "kernel_details.csv": "Name|Start Time(us)|Duration(us)",
                                  "memory_record.csv": "Component|Timestamp(us)",
                                  "step_trace_time.csv": "Step|Computing|Communication(Not Overlapped)|Free"},
            "rocprofv3": {"x_kernel_trace.csv": "Kernel_Name Agent_Id Start_Timestamp End_Timestamp",
                          "x_memory_copy_trace.csv": "Direction Source_Agent_Id Destination_Agent_Id End_Timestamp",
                          "x_hip_api_trace.csv": "Function Domain", "x_marker_api_trace.csv": "Function Domain Start_Timestamp"}}
        for fixture, tables in needed.items():
            for table, columns in tables.items():
                for column in columns.split("|" if "|" in columns else " "):
                    path = self.fixture(fixture)
                    self.assertNotIn("no_table", self.counts(path))
                    file = os.path.join(path, "ASCEND_PROFILER_OUTPUT" if "ascend" in path else "", table)
                    with open(file) as f:
                        heading, rows = f.read().split("\n", 1)
                    names = [f'"{column}"' if heading.startswith('"') else column, "other"]
                    self.assertEqual(heading.strip().split(",").count(names[0]), 1, heading)
                    with open(file, "w") as f:
                        f.write(",".join(names[1] if name == names[0] else name
                                         for name in heading.strip().split(",")) + "\n" + rows)
                    self.assertEqual(self.counts(path).get("no_table"), 1, f"{table} without {column}")
                    self.expect(1, "convert", path, "-o", self.path("o"), "--strict", "-q")
                    shutil.rmtree(path)

    def test_rows_of_folders_that_say_nothing_are_told(self):
        """Two lines of a queue are good; each of the others is one loss, whatever bytes it is of."""
        path = self.fixture("mindspore")
        was = ledger(path)["ledger"]["events"]
        for name, good in (("device_queue_profiling_3.txt", b"0 1 1 4 10\n1 64 1 3\n"),
                           ("minddata_aicpu_3.txt", b"GetNext_dequeue_wait 70000310 70000330 0\nGetNext 70000340 70000350\n")):
            for bad in (b"<html><body>404</body>\n", b"\xff\x07\x9912\n", b"0 9\n", good.decode().encode("utf-16")[:20] + b"\n"):
                path = self.fixture("mindspore")
                with open(os.path.join(path, name), "wb") as f:
                    f.write(good + bad)
                self.assertEqual(self.counts(path), {"short_row": 1})
                found = ledger(path)["ledger"]["events"]
                self.assertEqual(found["dropped"], was["dropped"] + 1)
                self.assertEqual(found["emitted"], was["emitted"] + (2 if "queue" in name else 1))
                shutil.rmtree(path)
        path = self.fixture("host0_1_ascend_pt")
        was = ledger(path)["ledger"]["events"]
        with open(os.path.join(path, "ASCEND_PROFILER_OUTPUT", "operator_memory.csv"), "a") as f:
            f.write("kept,512,1700000000000020.0,N/A,3,8,,,NPU:2\nno time,512,,,3,8,2,8,NPU:2\n"
                    "no size,,1700000000000020.0,,3,8,2,8,NPU:2\nbad time,512,1700000000000020.0,soon,3,8,2,8,NPU:2\n")
        self.assertEqual(self.counts(path), {"short_row": 2 + 3})
        self.assertEqual(ledger(path)["ledger"]["events"]["emitted"], was["emitted"] + 2)
        with open(os.path.join(path, "ASCEND_PROFILER_OUTPUT", "operator_memory.csv"), "w", encoding="utf-16") as f:
            f.write("Name,Size(KB),Allocation Time(us),Release Time(us),Device Type\n")
        self.assertEqual(self.counts(path)["no_table"], 1)

    def test_what_stands_in_the_place_of_a_table_is_a_loss(self):
        def link(path):
            os.symlink("nowhere", path)

        def loop(path):
            os.symlink(os.path.basename(path), path)

        def endless(path):
            os.symlink("/dev/zero", path)
        for fixture, table in (("mindspore", "step_trace_raw_3_detail_time.csv"), ("mindspore", "minddata_aicpu_3.txt"),
                               ("rocprofv3", "x_marker_api_trace.csv"), ("rocprofv3", "x_kernel_trace.csv"),
                               ("host0_1_ascend_pt", "ASCEND_PROFILER_OUTPUT/kernel_details.csv"),
                               ("host0_1_ascend_pt", "ASCEND_PROFILER_OUTPUT/trace_view.json")):
            for make in (link, loop, endless, os.mkfifo, os.mkdir):
                path = self.fixture(fixture)
                os.remove(os.path.join(path, table))
                self.assertNotIn("no_table", self.counts(path))
                make(os.path.join(path, table))
                self.assertEqual(self.counts(path)["no_table"], 1, f"{table} {make}")
                self.expect(1, "convert", path, "-o", self.path("o"), "--strict", "-q", timeout=60)
                shutil.rmtree(path)

    def test_a_file_of_blanks_is_an_empty_table_to_each_reader(self):
        for fixture, table in (("mindspore", "minddata_pipeline_raw_3.csv"), ("mindspore", "minddata_aicpu_3.txt"),
                               ("rocprofv3", "x_marker_api_trace.csv"),
                               ("host0_1_ascend_pt", "ASCEND_PROFILER_OUTPUT/operator_memory.csv")):
            path = self.fixture(fixture)
            found = []
            for data in (b"", b"\xef\xbb\xbf", b" \n\t\r\n", b"\xef\xbb\xbf \r"):
                with open(os.path.join(path, table), "wb") as f:
                    f.write(data)
                found.append((events(path), self.counts(path)))
                self.assertNotIn("no_table", found[0][1], table)
                self.assertEqual(found[-1], found[0], table)

    def test_nanoseconds_of_arguments_count(self):
        path = self.fixture("rocprof.json")
        self.events_of(path, 3, 2)
        self.assertEqual(kernels(path), {"axpy": (1, 12500, "1,1,1")})
        self.assertEqual([e[1] for e in events(path) if e[2] == "axpy"], ["Stream #3(Compute)"])

    @needs_shared
    def test_case_csv(self):
        case = "rocprof-csv-columns-by-name-short-rows-open-ranges"
        want = expected(case)
        for name in ("v3_old_kernel_trace.csv", "v3_new_kernel_trace.csv"):
            path = shared("cases", case, name)
            found = kernels(path)
            self.assertEqual(sorted(found), sorted(want["names"]))
            self.assertEqual(sorted(ns for _, ns, _ in found.values()), [want["v3_old_kernel_trace.csv"]["axpy"],
                                                                       want["v3_old_kernel_trace.csv"]["gemm"]])
            queues = {e[2][-10:]: e[1] for e in events(path) if e[1].startswith("Stream")}
            self.assertEqual(sorted(queues.values()), ["Stream #1(Compute)", "Stream #2(Compute)"])
        path = shared("cases", case, "v2_results_0.csv")
        self.events_of(path, 3, want["v2_results_0.csv"]["rows"], short_row=len(want["v2_results_0.csv"]["rejected"]))
        self.assertEqual(sorted(ns for _, ns, _ in kernels(path).values()), [500, 1250])
        path = shared("cases", case, "v3_marker_api_trace.csv")
        self.events_of(path, 5, 5, unfinished=1)  # nothing was done in either step: each gets an event that says so
        listed, shown = self.expect(0, "steps", path, "--json"), self.expect(0, "info", path, "--json")
        self.assertEqual([s["step"] for s in json.loads(listed.stdout)["steps"]], [0, 1])
        self.assertEqual(json.loads(shown.stdout)["runs"][0]["hosts"][0]["steps"], 2)
        at = {e[2]: e[4] for e in events(path) if e[0] == "/host:CPU"}
        self.assertEqual(at["step 0 0"], want["v3_marker_api_trace.csv"]["step 0"])

    @needs_shared
    def test_case_json_and_public_file(self):
        want = expected("rocprof-json-fragment")
        path = shared("cases", "rocprof-json-fragment", "results.json")
        self.events_of(path, want["results.json"]["metadata"], want["results.json"]["events"], json_comma=1)
        self.assertIn("no kernels recorded", run("tool", "overview_page", path).stdout)
        full = want["results_full.json"]
        listed = [e for e in events(shared("cases", "rocprof-json-fragment", "results_full.json"))
                  if e[1].startswith("Stream")]
        self.assertEqual((len(listed), sum(e[4] for e in listed)), (full["kernel_count"], full["kernel_sum_ns"]))
        self.assertEqual(listed[1][3] - listed[0][3] - listed[0][4], full["gap_ns"])
        path = shared("corpus", "rocprof", "rpd-matmul_result.json")
        self.events_of(path, 705, 319 + 210)
        self.assertEqual(sum(n for line, n in lines(path).items() if line.startswith("Stream")), 85)
        spans = [e for e in events(path) if e[1].startswith(("Stream", "Hip"))]
        self.assertEqual(sum(e[4] for e in spans), 641552000)


    def test_arrows_tie_work_to_calls_and_steps(self):
        path = self.fixture("rocprof_arrows.json")
        self.events_of(path, 2 + 9 + 8, 9, lost_flow=1)
        self.assertEqual(launches(path), {"a": "hipLaunchKernel", "b": "hipGraphLaunch", "c": None,
                                          "d": "hipLaunchKernel"})
        # c, which no call started, is of the step in which it runs
        self.assertEqual([round(s["stepTimeMs"] * 1e6) for s in steps(path)], [5000, 9000])
        self.becomes_a_run(path)

    @needs_shared
    def test_arrows_of_a_public_file_say_what_its_database_says(self):
        drawn, told = (collections.Counter((device, call) for device, call, _ in all_launches(
            shared("corpus", "rocprof", "rpd-matmul_result" + ext))) for ext in (".json", ".rpd"))
        self.assertEqual((sum(drawn.values()), drawn), (85, told))


class TimelineOfTensorFlow1(Import):
    """A process per stream, one for the kernels of all streams, one for all copies."""
    def timeline(self, *processes):
        """processes: (name, events of (node, op, start us, us))."""
        listed = []
        for pid, (name, work) in enumerate(processes):
            listed.append({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}})
            listed += [{"ph": "X", "cat": "Op", "name": op, "pid": pid, "tid": 0, "ts": ts, "dur": dur,
                        "args": {"name": node, "op": op}} for node, op, ts, dur in work]
        path = self.path("timeline.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"traceEvents": listed}, f)
        return path

    def totals_are(self, path, host, device, merged):
        found = json.loads(self.expect(0, "stats", path, "--json").stdout)
        self.assertEqual((sum(r["self_cpu_us"] or 0 for r in found["rows"]), found["device_us"]), (host, device))
        self.assertEqual(ledger(path)["ledger"]["events"]["merged"], merged)

    MUL, ADD, COPY = ("a/mul", "Mul", 10, 5), ("a/add", "Add", 20, 3), ("edge_1_x", "MEMCPYHtoD", 30, 4)
    LAUNCH = ("a/mul", "Mul", 0, 100)

    def test_what_repeats_the_streams_counts_once(self):
        for device in ("/gpu:0", "/job:localhost/replica:0/task:0/gpu:0", "/job:worker/task:1/device:GPU:0"):
            path = self.timeline((device + " Compute", [self.LAUNCH]),
                                 (device + "/stream:all Compute", [self.MUL, self.ADD]),
                                 (device + "/stream:12 Compute", [self.MUL, self.ADD]),
                                 (device + "/memcpy Compute", [self.COPY]),
                                 (device + "/stream:13 Compute", [self.COPY]))
            self.totals_are(path, 100, 5 + 3 + 4, 5 + 3)  # 5 names of processes
            self.assertEqual({k.split("(")[0]: n for k, n in lines(path).items() if k.startswith("Stream")},
                             {"Stream #12": 2, "Stream #13": 1})

    def test_without_single_streams_all_of_it_is_the_device_s(self):
        path = self.timeline(("/gpu:1/stream:all Compute", [self.MUL, self.ADD]),
                             ("/gpu:1/memcpy Compute", [self.COPY]))
        self.totals_are(path, 0, 12, 2)
        self.assertEqual({(e[0], e[1], e[2], e[4]) for e in events(path) if e[1].startswith("Stream")},
                         {("/device:GPU:1", "Stream #all(Compute)", "Mul", 5000),
                          ("/device:GPU:1", "Stream #all(Compute)", "Add", 3000),
                          ("/device:GPU:1", "Stream #all(Memcpy)", "MEMCPYHtoD", 4000)})

    def test_what_no_stream_has_is_kept(self):
        """Of a file that was cut; and the same work at the same time on another device is no repeat."""
        other = ("a/mul", "Mul", 10, 6)
        path = self.timeline(("/gpu:0/stream:all Compute", [self.MUL, self.ADD]),
                             ("/gpu:0/stream:12 Compute", [self.MUL]),
                             ("/gpu:1/stream:all Compute", [self.MUL, other]))
        self.totals_are(path, 0, 5 + 3 + 5 + 6, 3 + 1)

    def test_streams_are_named_by_what_runs_on_them(self):
        path = self.timeline(*[(f"/gpu:0/stream:{i} Compute", [("e", op, 10 * i, 4)]) for i, op in enumerate(
            ("MEMCPYHtoD", "MEMCPYDtoH", "MEMCPYDtoD", "MEMCPYPtoP", "MEMCPYHtoH", "MEMSET", "MatMul"))])
        self.assertEqual([e[1] for e in events(path)],
                         [f"Stream #{i}({what})" for i, what in enumerate(("MemcpyH2D", "MemcpyD2H", "MemcpyD2D", "MemcpyP2P",
                                                                          "MemcpyOther", "Memset", "Compute"))])

    def test_devices_of_several_workers_are_several(self):
        """Task 10 comes behind task 2; streams of one worker are one device however it is spelled."""
        worker = "/job:worker/replica:0/task:"
        path = self.timeline((worker + "10/gpu:0/stream:7 Compute", [self.MUL]),
                             (worker + "2/gpu:1/stream:7 Compute", [self.ADD]),
                             (worker + "2/gpu:1/stream:all Compute", [self.ADD, self.MUL]),
                             (worker + "2/gpu:0/stream:7 Compute", [self.MUL]),
                             (worker + "2/device:GPU:0/memcpy Compute", [self.COPY]))
        found = {(e[0], e[1], e[2]) for e in events(path)}
        self.assertEqual(found, {("/device:GPU:0", "Stream #7(Compute)", "Mul"),
                                 ("/device:GPU:0", "Stream #all(Memcpy)", "MEMCPYHtoD"),
                                 ("/device:GPU:1", "Stream #7(Compute)", "Add"),
                                 ("/device:GPU:1", "Stream #all(Compute)", "Mul"),
                                 ("/device:GPU:2", "Stream #7(Compute)", "Mul")})
        self.totals_are(path, 0, 5 + 3 + 5 + 5 + 4, 5 + 1)
        planes = json.loads(self.expect(0, "info", path, "--json").stdout)["runs"][0]["hosts"][0]["planes"]
        self.assertEqual({p["name"]: p["stats"].get("tf_device") for p in planes if "GPU" in p["name"]},
                         {f"/device:GPU:{i}": worker + device for i, device in enumerate(("2/gpu:0", "2/gpu:1", "10/gpu:0"))})

    def test_a_worker_told_in_part_is_one(self):
        path = self.timeline(("/job:localhost/replica:0/task:0/gpu:1/stream:7 Compute", [self.MUL]),
                             ("/gpu:1/stream:all Compute", [self.MUL]))
        self.totals_are(path, 0, 5, 2 + 1)
        self.assertEqual({e[0] for e in events(path)}, {"/device:GPU:1"})

    @needs_shared
    def test_a_public_one(self):
        path = shared("corpus", "tf-timeline", "ikhlestov-GPU-timeline_02_step_0.json")
        self.totals_are(path, 113841 + 6, 719 + 59, 17 + 28 + 38 + 7)  # names, arrows, repeats


class Cntk(Import):
    def check(self, path):
        self.assertEqual([(s["stepnum"], s["stepTimeMs"], s["infeedTimeMs"]) for s in steps(path)],
                         [("Minibatch Iteration 1", 4.0, 1.5), ("Minibatch Iteration 2", 3.0, 0.5)])
        found = ops(path)
        self.assertEqual(found["Forward___Backward"], (2, 3250000))
        self.assertEqual({e[2]: e[4] for e in events(path)}['say "a, b"'], 1500000)

    def test_detail(self):
        path = self.fixture("2020-01-02_03-04-05_detail_3.csv")
        self.events_of(path, 12, 9, short_row=3)
        self.check(path)
        self.assertEqual({e[2]: e[3:5] for e in events(path)}["hex thread"], (500000, 500000))
        self.becomes_a_run(path)
        path = self.fixture("2020-01-02_03-04-05_detail_3.json")
        self.events_of(path, 16, 8)
        self.check(path)

    def test_only_a_heading_and_backward_times(self):
        for rows_of, read in (("", 0), ('"back",1,5.0,4.0\n', 1)):
            path = self.path("x_detail_0.csv")
            with open(path, "w") as f:
                f.write("EventDescription,ThreadId,BeginTimeStamp(ms),EndTimeStamp(ms)\n" + rows_of)
            self.events_of(path, read, read, **({"negative_time": 1} if read else {}))

    def test_summary_has_sums_but_no_times(self):
        path = self.fixture("2020-01-02_03-04-05_summary_3.txt")
        self.events_of(path, 2 + 3 + 1, 5, not_shown=1)
        self.assertEqual(ops(path), {"Minibatch_Iteration": (2, 7000000), "Forward___Backward": (3, 183750000000)})
        self.assertIn("laid end to end", run("tool", "overview_page", path).stdout)


class Perfetto(Import):
    def test_names_clocks_slices_and_counters(self):
        path = self.fixture("x.pftrace")
        # 4 slices of begin and end, 2 values, 1 instant, 1 record that is not shown
        self.events_of(path, 8 + 2 + 1 + 1, 7, not_shown=1, dangling_ref=1)
        listed = events(path)
        at = {e[2]: e[:5] for e in listed if e[1] in ("main", "Stream #3(Compute)")}
        self.assertEqual(at["ProfilerStep#7 7"], ("/host:CPU", "main", "ProfilerStep#7 7", 0, 20000))
        self.assertEqual(at["aten::mm"][3:], (2000, 10000))
        self.assertEqual(at["hipLaunchKernel"][3:], (3000, 1000))
        self.assertEqual(at["gemm"], ("/device:GPU:1", "Stream #3(Compute)", "gemm", 5000, 4000))
        self.assertEqual(kernels(path), {"gemm": (1, 4000, "4,1,1")})
        self.assertEqual(ops(path, "Device"), {"aten/mm": (1, 4000)})
        self.assertEqual(lines(path)["_counters_"], 2)
        self.assertEqual(len(steps(path)), 1)
        self.becomes_a_run(path)

    def test_flows_tie_work_to_calls_and_steps(self):
        path = self.fixture("flows.pftrace")
        self.events_of(path, 16, 8)
        self.assertEqual(launches(path), {"a": "launch", "b": "aten::add", "c": None})
        self.assertEqual(ops(path, "Device"), {"aten/mm": (1, 3000), "aten/add": (1, 4000)})
        # from 41 us, when b begins, to 51 us, when c ends: nobody launched it, so it is of the step before
        self.assertEqual([round(s["stepTimeMs"] * 1e6) for s in steps(path)], [3000, 10000])
        self.becomes_a_run(path)

    @needs_shared
    def test_perfetto_json_of_jax(self):
        folder = shared("recordings", "jax-0.10.2", "jax-perfetto", "plugins", "profile", "2026_11_28_00_25_00")
        path = os.path.join(folder, "perfetto_trace.json.gz")
        self.events_of(path, 6 + 437, 437, repair_step_num=4)
        self.assertEqual(sum(e[4] for e in events(path)), 16184445)
        self.assertEqual(len(steps(path)), 4)


if __name__ == "__main__":
    unittest.main()
