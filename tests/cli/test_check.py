#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tbprof check: what speaks against the figures of a profile; small traces made here, and ../shared/cases."""
import json
import os
import shutil
import unittest

from support import SAMPLE, SHARED, Case, run

CASES = os.path.join(SHARED, "cases")


def event(cat, name, ts, dur, pid=1, tid=1, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def launch(ts, correlation, name="cudaLaunchKernel"):
    return event("cuda_runtime", name, ts, 2, correlation=correlation)


def kernel(ts, dur, correlation, name="k", **args):
    return event("kernel", name, ts, dur, 0, 7, device=0, stream=7, correlation=correlation, **args)


def step(number, ts, dur):
    return event("user_annotation", f"ProfilerStep#{number}", ts, dur)


def healthy(steps=4):
    events = []
    for i in range(steps):
        at = 1000 * i
        events += [step(i, at, 900), launch(at + 10, i + 1), kernel(at + 20, 50, i + 1)]
    return events


class Base(Case):
    def findings(self, events, *args, code=None, **header):
        path = self.path("rank.pt.trace.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"schemaVersion": 1, **header, "traceEvents": events}, f)
        return self.answer(path, *args, code=code)

    def answer(self, path, *args, code=None):
        r = run("check", path, "--json", *args)
        got = json.loads(r.stdout)
        self.assertEqual(r.returncode, 0 if got["fit"] else 1, r.stderr)
        self.assertEqual(got["fit"], not any(f["serious"] for f in got["findings"]))
        if code is not None:
            self.assertEqual(r.returncode, code, got)
        return {f["key"]: (f["count"], f["of"]) for f in got["findings"]}


class Check(Base):
    def test_a_sound_profile_is_fit(self):
        self.assertEqual(self.findings(healthy(), code=0), {})
        self.assertIn("fit: 0 serious", run("check", self.path("rank.pt.trace.json")).stdout)

    def test_steps_without_device_work(self):
        found = self.findings(healthy() + [step(9, 5000, 900)], code=1)
        self.assertEqual(found, {"steps_without_device_work": (1, 5)})

    def test_no_steps_are_told_but_tables_stay_good(self):
        self.assertEqual(self.findings([launch(0, 1), kernel(5, 10, 1)], code=0), {"steps_unknown": (1, None)})

    def test_ignored_findings_do_not_count(self):
        events = healthy() + [step(9, 5000, 900)]
        self.assertEqual(self.findings(events, "--ignore", "steps_without_device_work", code=0), {})

    def test_a_duration_beyond_its_successor(self):
        events = healthy(8) + [launch(8000, 99), kernel(8001, 5000, 99), launch(8002, 98), kernel(8010, 50, 98)]
        self.assertEqual(self.findings(events, code=1)["impossible_durations"], (1, 10))

    def test_kernels_that_merely_overlap_are_no_error(self):
        events = healthy() + [launch(5000, 50), kernel(5010, 50, 50), launch(5001, 51), kernel(5030, 60, 51)]
        self.assertEqual(self.findings(events, code=0), {})

    def test_launches_without_records(self):
        self.assertEqual(self.findings(healthy() + [launch(3500, 70)], code=1), {"launches_without_record": (1, 5)})
        none = self.findings([launch(0, 1), launch(5, 2), step(0, 0, 10)], code=1)
        self.assertEqual(none, {"no_device_records": (2, 2)})
        table = json.loads(self.expect(0, "stats", self.path("rank.pt.trace.json"), "--json").stdout)
        self.assertEqual((table["device_us"], table["rows"][0]["device_us"]), (None, None))
        self.assertEqual(table["findings"][0]["key"], "no_device_records")
        self.assertIn("unknown, because", self.expect(0, "stats", self.path("rank.pt.trace.json")).stdout)

    def test_graph_launches_without_records(self):
        events = healthy() + [launch(3500 + i, 70 + i, "cudaGraphLaunch") for i in range(2)]
        events += [kernel(3600, 10, 70), kernel(3620, 10, 70)]
        self.assertEqual(self.findings(events, code=1), {"graph_replays_without_record": (1, 2)})

    def test_work_before_its_launch(self):
        events = healthy() + [launch(3999, 50), kernel(1500, 10, 50)]
        self.assertEqual(self.findings(events, code=1), {"work_before_launch": (1, 5)})

    def test_a_collective_that_waited(self):
        events = healthy()
        for i in range(4):
            at = 10000 + 10000 * i
            events += [launch(at, 50 + i), kernel(at + 5, 5000 if i == 0 else 20, 50 + i, "ncclDevKernel_AllReduce_Sum")]
        self.assertEqual(self.findings(events, code=1), {"collective_waits": (1, None)})

    def test_ranks_missing(self):
        found = self.findings(healthy(), code=0, distributedInfo={"rank": 1, "world_size": 4})
        self.assertEqual(found, {"ranks_missing": (3, 4)})

    def test_damage_and_emptiness(self):
        path = self.path("cut.json")
        with open(path, "w", encoding="utf-8") as f:
            f.write(json.dumps({"schemaVersion": 1, "traceEvents": healthy()})[:-200])
        self.assertIn("file_damaged", self.answer(path, code=1))
        self.assertIn("nothing_recorded", self.findings([], code=1))

    def test_a_host_profile_without_devices_is_fit(self):
        self.assertEqual(self.answer(SAMPLE, code=0), {})

    def advice(self, events, *args):
        path = self.path("rank.pt.trace.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"schemaVersion": 1, "traceEvents": events}, f)
        return {a["key"]: round(a["share"], 4) for a in json.loads(run("check", path, "--advice", "--json").stdout)["advice"]}

    def test_advice_of_steps(self):
        events = []
        for i in range(4):
            at = 1000 * i
            events += [step(i, at, 1000), event("user_annotation", "enumerate(DataLoader)#_Iter.__next__", at, 300),
                       event("cuda_runtime", "cudaLaunchKernel", at + 400, 100, correlation=i + 1),
                       kernel(at + 500, 150, i + 1, "gemm"),
                       event("cuda_runtime", "cudaLaunchKernel", at + 500, 20, correlation=i + 11),
                       kernel(at + 700, 50, i + 11, "ncclDevKernel_AllReduce_Sum_f32")]
        self.assertEqual(self.advice(events), {"input_bound": 0.3, "launch_bound": 0.12, "communication_bound": 0.05,
                                               "device_idle": 0.8})

    def test_no_advice_without_a_figure(self):
        self.assertEqual(self.advice([event("cpu_op", "op", 0, 10)]), {})

    def test_advice_of_kernels(self):
        events = healthy()
        for e in events:
            if e["cat"] == "kernel":
                e["args"]["est. achieved occupancy %"] = 10
                e["dur"] = 900
        self.assertEqual(self.advice(events), {"low_occupancy": 0.1})

    def test_advice_as_text(self):
        text = run("check", SAMPLE, "--advice").stdout
        self.assertRegex(text, r"-> waiting for data takes .* per step: 9\d\.\d %, which is much \[input_bound\]")
        self.assertNotIn("->", run("check", SAMPLE).stdout)


@unittest.skipUnless(os.path.isdir(CASES), "the cases are not at hand")
class Cases(Base):
    def case(self, name, file="trace.pt.trace.json", **kw):
        return self.answer(os.path.join(CASES, name, file), **kw)

    def test_two_of_eight_steps_and_a_giant(self):
        name = "gpu-work-in-2-of-8-steps-and-one-giant"
        self.assertEqual(self.case(name, code=1),
                         {"impossible_durations": (1, 21), "steps_without_device_work": (6, 8)})
        text = run("check", os.path.join(CASES, name, "trace.pt.trace.json")).stdout
        for figure in ("94.520548 %", "400.000us", "450.000us"):
            self.assertIn(figure, text)

    def test_a_late_rank(self):
        self.assertIn("collective_waits", self.case("collective-wait-of-a-late-rank", "rank0.pt.trace.json", code=1))
        other = self.case("collective-wait-of-a-late-rank", "rank1.pt.trace.json", code=0)
        self.assertEqual(set(other), {"steps_unknown", "ranks_missing"})

    def test_both_ranks_as_one_run(self):
        for rank in (0, 1):
            name = f"rank{rank}.pt.trace.json"
            shutil.copy(os.path.join(CASES, "collective-wait-of-a-late-rank", name), self.path(name))
        self.assertEqual(set(self.answer(self.tmp, code=1)), {"collective_waits", "start_skew", "steps_unknown"})

    def test_another_clock(self):
        self.assertEqual(self.case("a-cluster-of-events-in-the-far-future", "timeline.json")["other_clock"], (3, 26))

    def test_sound_ones(self):
        for name in ("gpu-user-annotation-counted-as-work", "host-triton-op-carries-stream-0"):
            self.assertEqual(self.case(name, code=0), {})
        for file in ("old.pt.trace.json", "new.pt.trace.json"):
            self.assertNotIn("impossible_durations", self.case("rocm-streams-share-hardware-queues", file, code=0))



if __name__ == "__main__":
    unittest.main()
