#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tbprof export: other tools' formats, read back or compared with what those tools printed (../shared)."""
import csv
import io
import json
import os
import unittest

import facts
from support import SAMPLE, SHARED, TWO_HOSTS, Case
from test_stats import EVENTS

MXNET = os.path.join(SHARED, "recordings", "mxnet-1.9.1")


class Export(Case):
    def profile(self):
        path = self.path("w.pt.trace.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"schemaVersion": 1, "traceEvents": EVENTS}, f)
        return path

    def table(self, path):
        answer = json.loads(self.expect(0, "stats", path, "--json", "--sort-by", "name").stdout)
        return answer["rows"]

    def test_chrome_comes_back_as_the_same_table(self):
        path = self.profile()
        back = self.path("back.json")
        with open(back, "w", encoding="utf-8") as f:
            f.write(self.expect(0, "export", path, "--chrome").stdout)
        with open(back, encoding="utf-8") as f:
            trace = json.load(f)
        self.assertEqual(sum(e["ph"] == "X" for e in trace["traceEvents"]), 10)
        self.assertEqual(self.table(back), self.table(path))

    def chrome(self, path):
        return json.loads(self.expect(0, "export", path, "--chrome").stdout)["traceEvents"]

    def written(self, events, **header):
        path = self.path("w.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({**header, "traceEvents": events}, f)
        return path

    def test_counters_stay_counters(self):
        sample = {"ph": "C", "cat": "hardware_counters", "name": "tensor %", "pid": "GPU 0 Counters", "tid": 0, "ts": 0}
        path = self.written([dict(sample, args={"": 11.5}), dict(sample, ts=2, args={"": 0}), *EVENTS])
        found = [(e["name"], e["ts"], list(e["args"].values())) for e in self.chrome(path) if e["ph"] == "C"]
        self.assertEqual(found, [("tensor %", 0, [11.5]), ("tensor %", 2, [0])])
        self.assertEqual(self.table(path), self.table(self.written(EVENTS)))

    def test_what_is_drawn_above_streams_is_no_kernel(self):
        name = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "/device:GPU:0"}}
        threads = [{"ph": "M", "name": "thread_name", "pid": 1, "tid": i, "args": {"name": text}}
                   for i, text in ((1, "Steps"), (2, "Stream #2(Compute)"))]
        spans = [{"ph": "X", "name": n, "pid": 1, "tid": i, "ts": 0, "dur": 10} for i, n in ((1, "7"), (2, "gemm"))]
        trace = self.written([name, *threads, *spans], displayTimeUnit="ns")
        found = {e["name"]: e["cat"] for e in self.chrome(trace) if e["ph"] == "X"}
        self.assertEqual(found, {"7": "gpu_user_annotation", "gemm": "kernel"})

    def test_rows_of_a_stream_are_one_stream(self):
        kernels = [{"ph": "X", "cat": "kernel", "name": n, "pid": 0, "tid": 7, "ts": ts, "dur": 10,
                    "args": {"device": 0, "stream": 7, "correlation": ts + 1}} for n, ts in (("a", 0), ("b", 5), ("c", 12))]
        path = self.written(kernels, schemaVersion=1)
        trace = self.chrome(path)
        self.assertEqual([(e["name"], e["tid"], e["args"]["stream"]) for e in trace if e["ph"] == "X"],
                         [("a", 7, 7), ("c", 7, 7), ("b", 7, 7)])
        self.assertEqual([e["args"]["name"] for e in trace if e["name"] == "thread_name"], ["Stream #7(Compute)"])
        rows = csv.DictReader(io.StringIO(self.expect(0, "export", path, "--csv").stdout))
        self.assertEqual({r["line"] for r in rows}, {"Stream #7(Compute)"})
        again = self.written(trace, schemaVersion=1)
        self.assertEqual(facts.lines(again), {"Stream #7(Compute)": 2, "Stream #7(Compute) (2)": 1})

    def test_what_is_drawn_above_a_further_row_goes_by_its_name(self):
        """Stream 7 is busy with mm's kernel when add's begins; a row without a number is called as it is."""
        spans = [("cpu_op", "mm", 1, 0, 10, {}), ("cuda_runtime", "launch", 1, 1, 2, {"correlation": 1}),
                 ("cpu_op", "add", 1, 20, 10, {}), ("cuda_runtime", "launch", 1, 21, 2, {"correlation": 2}),
                 ("kernel", "k1", 7, 30, 50, {"device": 0, "stream": 7, "correlation": 1}),
                 ("kernel", "k2", 7, 60, 50, {"device": 0, "stream": 7, "correlation": 2})]
        path = self.written([{"ph": "X", "cat": cat, "name": name, "pid": int(cat != "kernel"), "tid": tid, "ts": ts, "dur": dur,
                              "args": args} for cat, name, tid, ts, dur, args in spans], schemaVersion=1)
        self.expect(0, "convert", path, "-o", self.path("log"))

        def ops(source, *options):
            answer = json.loads(self.expect(0, "tool", "trace_viewer", source, *options).stdout)["traceEvents"]
            rows = {(e["pid"], e["tid"]): e["args"]["name"] for e in answer if e.get("name") == "thread_name"}
            return {(rows[e["pid"], e["tid"]], e["name"]) for e in answer
                    if e.get("ph") == "X" and rows[e["pid"], e["tid"]].startswith("Framework Ops")}
        for source in (path, self.path("log")):
            self.assertEqual(ops(source), {("Framework Ops - from #7", "mm"),
                                           ("Framework Ops - from Stream #7(Compute) (2)", "add")})
            self.assertEqual(ops(source, "--semantics", "official"),
                             {("Framework Ops - from #7", "mm"), ("Framework Ops - from #1000000", "add")})

    def test_backward_ops_name_their_forward_op(self):
        """Flow 1 exists twice: from a launch to its kernel, and from mm to its backward op."""
        def flow(ph, cat, ts, tid):
            return {"ph": ph, "cat": cat, "name": cat, "id": 1, "pid": 1, "tid": tid, "ts": ts}
        back = [{"ph": "X", "cat": "cpu_op", "name": n, "pid": 1, "tid": 2, "ts": 50, "dur": d}
                for n, d in (("engine: MmBackward0", 9), ("MmBackward0", 8))]
        mm = [{"ph": "X", "cat": "cpu_op", "name": n, "pid": 1, "tid": 1, "ts": 10, "dur": d}
              for n, d in (("linear", 20), ("mm", 10))]
        flows = [flow("s", "fwdbwd", 10, 1), flow("f", "fwdbwd", 50, 2), flow("s", "ac2g", 12, 1), flow("f", "ac2g", 70, 7)]
        for events in (mm + back + flows, flows + back[::-1] + mm[::-1]):
            found = {e["name"]: e["args"].get("forward_op") for e in self.chrome(self.written(events)) if e["ph"] == "X"}
            self.assertEqual(found, {"linear": None, "mm": None, "engine: MmBackward0": "mm", "MmBackward0": None})

    def device_trace(self, **header):
        """One kernel of 2 x 3 x 1 blocks, and a copy of 4096 bytes."""
        call = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 5, "dur": 1,
                "args": {"correlation": 1}}
        kernel = {"ph": "X", "cat": "kernel", "name": "k", "pid": 3, "tid": 7, "ts": 20, "dur": 10,
                  "args": {"device": 3, "stream": 7, "correlation": 1, "grid": [2, 3, 1], "block": [128, 2, 1],
                           "registers per thread": 40, "shared memory": 2048, "est. achieved occupancy %": 62.5}}
        copy = {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoH (Device -> Pinned)", "pid": 3, "tid": 7, "ts": 40,
                "dur": 2, "args": {"device": 3, "stream": 7, "correlation": 2, "bytes": 4096}}
        return self.written([call, kernel, copy], schemaVersion=1, **header)

    def again(self, path):
        """The trace exported, and where it is."""
        back = self.path("again.json")
        with open(back, "w", encoding="utf-8") as f:
            f.write(self.expect(0, "export", path, "--chrome").stdout)
        with open(back, encoding="utf-8") as f:
            return json.load(f), back

    def test_launches_keep_what_pytorch_tells_of_them(self):
        path = self.device_trace()
        trace, back = self.again(path)
        args = {e["name"]: e["args"] for e in trace["traceEvents"] if e["ph"] == "X"}
        self.assertEqual({k: args["k"][k] for k in ("device", "stream", "correlation", "grid", "block",
                                                    "registers per thread", "shared memory",
                                                    "est. achieved occupancy %")},
                         {"device": 3, "stream": 7, "correlation": 1, "grid": [2, 3, 1], "block": [128, 2, 1],
                          "registers per thread": 40, "shared memory": 2048, "est. achieved occupancy %": 62.5})
        self.assertEqual(args["Memcpy DtoH (Device -> Pinned)"]["bytes"], 4096)
        page = self.expect(0, "tool", "kernel_stats", path).stdout
        self.assertIn("128,2,1", page)
        self.assertEqual(self.expect(0, "tool", "kernel_stats", back).stdout, page)

    def test_devices_and_rank_come_back(self):
        hopper = {"id": 3, "name": "NVIDIA H100", "totalGlobalMem": 85018279936, "computeMajor": 9, "computeMinor": 0,
                  "numSms": 132}
        job = {"rank": 5, "world_size": 8, "backend": "nccl"}
        path = self.device_trace(deviceProperties=[hopper], distributedInfo=job)
        trace, back = self.again(path)
        self.assertEqual(trace["deviceProperties"], [dict(hopper, vendor="Nvidia")])
        self.assertEqual(trace["distributedInfo"], job)
        self.assertEqual(list(trace)[-1], "traceEvents")  # tools look for the rank before the events
        self.assertIn('"device_type":"Nvidia GPU (Hopper)"', self.expect(0, "tool", "overview_page", back).stdout)
        self.assertEqual(json.loads(self.expect(0, "info", back, "--json").stdout)["runs"][0]["hosts"][0]["rank"], 5)

    def test_devices_of_amd_stay_amds(self):
        """Told by the head of the file, which is not written, and by the calls."""
        path = self.device_trace(hip_runtime_version=60443483)
        launch = {"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 1, "tid": 1, "ts": 5, "dur": 1}
        for source in (path, self.again(path)[1]):
            self.assertIn('"device_type":"AMD GPU"', self.expect(0, "tool", "overview_page", source).stdout)
        with open(self.device_trace(), encoding="utf-8") as f:
            called = self.written([*json.load(f)["traceEvents"], launch], schemaVersion=1)
        self.assertIn('"device_type":"AMD GPU"', self.expect(0, "tool", "overview_page", called).stdout)

    def test_calls_of_python_tell_their_caller(self):
        calls = [("main", 0, 100), ("f", 10, 20), ("g", 12, 5), ("h", 30, 10), ("end", 100, 5)]
        events = [{"ph": "X", "cat": "python_function", "name": n, "pid": 1, "tid": 1, "ts": ts, "dur": dur, "args": {}}
                  for n, ts, dur in calls]
        found = {e["name"]: e["args"] for e in self.chrome(self.written(events)) if e["ph"] == "X"}
        names = {a["Python id"]: n for n, a in found.items()}
        self.assertEqual({n: names.get(a["Python parent id"]) for n, a in found.items()},
                         {"main": None, "f": "main", "g": "f", "h": "main", "end": None})

    def test_calls_without_a_work_stay_calls(self):
        """What one name is called with and without a number is one row, in both files."""
        calls = [{"ph": "X", "cat": "mtia_runtime", "name": "run", "pid": 1, "tid": 1, "ts": 10 * i, "dur": 5, "args": args}
                 for i, args in enumerate(({"correlation": 4}, {}))]
        mark = {"ph": "X", "cat": "user_annotation", "name": "mark", "pid": 1, "tid": 1, "ts": 30, "dur": 5, "args": {}}
        path = self.written([*calls, mark])
        trace, back = self.again(path)
        self.assertEqual([e["cat"] for e in trace["traceEvents"] if e.get("name") == "run"], ["cuda_runtime"] * 2)
        self.assertEqual([r["count"] for r in self.table(path) if r["name"] == "run"], [2])
        self.assertEqual(self.table(back), self.table(path))

    def test_chrome_of_several_hosts(self):
        trace = json.loads(self.expect(0, "export", TWO_HOSTS, "--chrome").stdout)
        hosts = [e["pid"] for e in trace["traceEvents"]
                 if e["ph"] == "M" and e["name"] == "process_name" and e["args"]["name"] == "/host:CPU"]
        self.assertEqual((len(hosts), len(set(hosts))), (2, 2))
        self.assertEqual((trace["deviceProperties"], trace.get("distributedInfo")), ([], None))

    def test_launches_of_several_hosts_stay_apart(self):
        """Both ranks count their launches from 1 on: mm started 10 us of work, add 30; work without a launch has none."""
        os.mkdir(self.path("ranks"))
        for rank, name, us in ((0, "mm", 10), (1, "add", 30)):
            call = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 5, "dur": 1,
                    "args": {"correlation": 1}}
            work = [{"ph": "X", "cat": "kernel", "name": n, "pid": 0, "tid": 7, "ts": 20 + 40 * i, "dur": us, "args":
                     {"device": 0, "stream": 7, "correlation": i}} for i, n in ((1, "k"), (0, "free"), (-1, "none"))]
            op = {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": 0, "dur": 10, "args": {}}
            with open(self.path("ranks", f"rank{rank}.1.pt.trace.json"), "w", encoding="utf-8") as f:
                json.dump({"schemaVersion": 1, "traceEvents": [op, call, *work]}, f)
        back = self.path("back.json")
        with open(back, "w", encoding="utf-8") as f:
            f.write(self.expect(0, "export", self.path("ranks"), "--chrome").stdout)
        for path in (self.path("ranks"), back):
            rows = {r["name"]: r["device_us"] for r in self.table(path)}
            self.assertEqual((rows["mm"], rows["add"], rows["k"]), (10, 30, 40))
        ids = {e["name"]: e["args"].get("correlation") for e in self.chrome(self.path("ranks")) if e["ph"] == "X"}
        self.assertEqual((ids["free"], ids["none"]), (None, None))

    def test_csv(self):
        text = self.expect(0, "export", self.profile(), "--csv").stdout
        rows = {r["name"]: r for r in csv.DictReader(io.StringIO(text)) if not r["name"].startswith("Memory")}
        k = rows["k"]
        self.assertEqual((k["plane"], k["start_us"], k["duration_us"]), ("/device:GPU:0", "60", "20"))
        self.assertEqual(rows["leaf"]["category"], "cpu_op")

    def test_cntk_detail_log(self):
        lines = self.expect(0, "export", self.profile(), "--cntk").stdout.splitlines()
        self.assertEqual(lines[0], "EventDescription,ThreadId,BeginTimeStamp(ms),EndTimeStamp(ms)")
        self.assertTrue(any(r.startswith('"inner",') and r.endswith(",0.01000000,0.04000000") for r in lines))
        ends = [float(r.rsplit(",", 1)[1]) for r in lines[1:]]
        self.assertEqual(ends, sorted(ends))

    def test_one_format_at_a_time(self):
        self.assertIn("takes one of", self.expect(2, "export", SAMPLE).stderr)
        self.expect(2, "export", SAMPLE, "--csv", "--mxnet")

    def test_mxnet_of_any_profile(self):
        text = self.expect(0, "export", self.profile(), "--mxnet").stdout
        self.assertTrue(text.startswith("\nProfile Statistics:\n\tNote the difference"))
        self.assertIn("inner                                   2           0.0400           0.0100           0.0300"
                      "           0.0200\n", text)

    def test_mxnet_counters_are_rows_of_their_domain(self):
        """Values are thousandths there, the total the last one, the average half of the range in whole numbers. Marks
        of an instant have a section without rows."""
        def sample(name, ts, value):
            return {"ph": "C", "cat": "MXNET_C_API", "name": name, "pid": 2, "tid": 1, "ts": ts, "args": {name: value}}
        pair = [{"ph": p, "cat": "MXNET_C_API", "name": "MXInvoke", "pid": 2, "tid": 1, "ts": ts, "id": 1}
                for p, ts in (("b", 10), ("e", 14))]
        mark = {"ph": "n", "cat": "Net,instant_marker", "name": "best", "pid": 3, "tid": 1, "ts": 20, "id": 2}
        names = [{"ph": "M", "name": "process_name", "pid": pid, "args": {"name": n}}
                 for pid, n in ((1, "cpu/0"), (2, "MXNET_C_API"), (3, "Net"))]
        path = self.written([*names, *pair, mark, sample("Calls", 30, 8), sample("Calls", 12, 3), sample("Calls", 11, 5)])
        right = ["MXNET_C_API"] + [f"{n:25}{c:16} {t:16.4f} {a:16.4f} {b:16.4f} {m:16.4f}" for n, c, t, a, b, m in (
            ("Calls", 3, .008, .003, .008, .002), ("MXInvoke", 1, .004, .004, .004, .004))] + ["Net,instant_marker"]
        self.expect(0, "convert", path, "-o", self.path("log"), "--quiet")
        for source in (path, self.path("log")):
            text = self.expect(0, "export", source, "--mxnet").stdout
            ours = [r for r in text.splitlines()[3:] if r and r[0] not in "=-" and not r.startswith("Name ")]
            self.assertEqual(ours, right)

    @unittest.skipUnless(os.path.isdir(MXNET), "recordings are not at hand")
    def test_what_mxnet_printed(self):
        for folder in ("mx-all", "mx-imperative"):
            with open(os.path.join(MXNET, folder, "oracle-total-desc.txt"), encoding="utf-8") as f:
                ours = self.expect(0, "export", os.path.join(MXNET, folder, "profile.json"), "--mxnet").stdout
                self.assertEqual(ours, f.read())


if __name__ == "__main__":
    unittest.main()
