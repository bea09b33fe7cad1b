#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tbprof steps: parts of steps worked out by hand, and the right values of ../shared/cases."""
import json
import os
import unittest

from import_fixtures import message
from support import ROOT, SAMPLE, SHARED, TWO_HOSTS, Case

CASES = os.path.join(SHARED, "cases")


def event(cat, name, ts, dur, pid=1, tid=1, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def kernel(name, ts, dur, correlation, stream=7):
    return event("kernel", name, ts, dur, 0, stream, device=0, stream=stream, correlation=correlation)


def step(at, number):
    """900 us: input 100, forward 100-400, backward 400-700 (other thread), update 750-850, then a gap of 100."""
    return [event("user_annotation", f"ProfilerStep#{number}", at, 900),
            event("user_annotation", "enumerate(DataLoader)#_Iter.__next__", at, 100),
            event("cpu_op", "aten::conv2d", at + 100, 250),
            event("cuda_runtime", "cudaLaunchKernel", at + 120, 10, correlation=number * 10 + 1),
            event("cpu_op", "autograd::engine::evaluate_function: ConvBackward", at + 400, 300, tid=2),
            event("cuda_runtime", "cudaLaunchKernel", at + 450, 10, tid=2, correlation=number * 10 + 2),
            event("user_annotation", "Optimizer.step#SGD.step", at + 750, 100),
            kernel("conv", at + 200, 400, number * 10 + 1),
            kernel("ncclDevKernel_AllReduce_Sum_f32", at + 500, 300, number * 10 + 2, 9)]


class Steps(Case):
    def steps(self, events, *args):
        path = self.path("w.pt.trace.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"schemaVersion": 1, "traceEvents": events}, f)
        return json.loads(self.expect(0, "steps", path, "--json", *args).stdout)

    def test_parts_of_a_step(self):
        answer = self.steps(step(0, 5) + step(1000, 6))
        first, last = answer["steps"]
        right = {"step": 5, "start_us": 0, "marker_us": 900, "period_us": 1000, "gap_us": 100, "input_us": 100,
                 "forward_us": 300, "backward_us": 300, "tail_us": 200, "update_us": 100, "launch_us": 20,
                 "device_us": 600, "busy_us": 600, "all_reduce_us": 300, "exposed_us": 200, "device_works": 2}
        self.assertEqual({k: first[k] for k in right}, right)
        self.assertEqual((last["step"], last["period_us"], last["gap_us"]), (6, None, None))
        self.assertEqual(answer["summary"]["period_us"],
                         {"steps": 1, "mean": 1000, "median": 1000, "min": 1000, "max": 1000})
        self.assertEqual(answer["findings"], [])

    def test_data_pipes_are_input_as_loaders_are(self):
        events = [dict(e, name=e["name"].replace("(DataLoader)#_Iter.__next__", "(DataPipe)#MapperIterDataPipe")) for e in step(0, 5)]
        self.assertEqual([s["input_us"] for s in self.steps(events)["steps"]], [100])

    def input_of_pages(self, path):
        """ms of input per step, of the file and of what is made of it."""
        self.expect(0, "convert", path, "-o", self.path("log"), "--quiet")
        found = []
        for source in (path, self.path("log")):
            page = json.loads(self.expect(0, "tool", "input_pipeline_analyzer", source).stdout)
            (table,) = [t for t in page if any(c["id"] == "infeedTimeMs" for c in t["cols"])]
            column = [c["id"] for c in table["cols"]].index("infeedTimeMs")
            found.append([r["c"][column]["v"] for r in table["rows"]])
        self.assertEqual(found[0], found[1])
        return found[0]

    def test_pages_know_what_data_loaders_took(self):
        """100 of 900 us, once more within itself; what runs in it is no wait of its own. With a device pages do not tell."""
        host = [e for e in step(0, 4) if e["cat"] not in ("kernel", "cuda_runtime")]
        host.append(event("cpu_op", "enumerate(DataPipe)#Mapper", 20, 50))
        host.append(event("cpu_op", "aten::stack", 30, 20))
        for events, ms in ((host, 0.1), (host[:1] + host[2:4], 0), (step(0, 4), 0)):
            self.steps(events)
            self.assertEqual(self.input_of_pages(self.path("w.pt.trace.json")), [ms])

    def test_pages_know_it_from_perfetto(self):
        """A step of 900 us: 100 of them in the loader, 200 in an op."""
        def packet(*fields):
            return message((1, message((10, 1), *fields)))
        data = packet((60, message((1, 5), (4, message((1, 99), (2, 100), (5, "main"))))))
        for us, name, category in ((0, "ProfilerStep#4", "user_annotation"),
                                   (10, "enumerate(DataLoader)#_Iter.__next__", "user_annotation"), (110, "", ""),
                                   (300, "aten::mm", "cpu_op"), (500, "", ""), (900, "", "")):
            what = [(9, 1), (11, 5), (22, category), (23, name)] if name else [(9, 2), (11, 5)]
            data += packet((8, us * 1000), (11, message(*what)))
        with open(self.path("w.pftrace"), "wb") as f:
            f.write(data)
        self.assertEqual(self.input_of_pages(self.path("w.pftrace")), [0.1])

    def test_points_of_the_user(self):
        events = step(0, 1) + [event("cpu_op", "mine", 300, 20), event("cpu_op", "last", 860, 20)]
        row = self.steps(events, "--fp-point", "mine", "--bp-point", "last")["steps"][0]
        self.assertEqual((row["forward_us"], row["backward_us"], row["tail_us"]), (100, 480, 20))

    def test_what_the_profile_does_not_tell_is_null(self):
        row = self.steps([event("user_annotation", "ProfilerStep#1", 0, 10), event("cpu_op", "op", 1, 2)])["steps"][0]
        self.assertEqual(row["marker_us"], 10)
        for key in ("input_us", "forward_us", "backward_us", "update_us", "busy_us", "all_reduce_us", "launch_us"):
            self.assertIsNone(row[key], key)

    def test_no_steps(self):
        answer = self.steps([event("cpu_op", "op", 1, 2)])
        self.assertEqual((answer["known"], answer["steps"], answer["marked_by"]), (False, [], None))
        self.assertEqual([f["key"] for f in answer["findings"]], ["steps_unknown"])
        text = self.expect(0, "steps", self.path("w.pt.trace.json")).stdout
        self.assertIn("steps: unknown, because", text)

    def test_text_and_csv(self):
        self.steps(step(0, 5) + step(1000, 6))
        path = self.path("w.pt.trace.json")
        self.assertIn("Period     mean 1.000ms", self.expect(0, "steps", path).stdout)
        lines = self.expect(0, "steps", path, "--csv", "--limit", "1").stdout.splitlines()
        self.assertEqual((len(lines), lines[0].split(",")[0], lines[1].split(",")[0]), (2, "step", "5"))

    def test_xplanes(self):
        one = json.loads(self.expect(0, "steps", SAMPLE, "--json").stdout)
        self.assertEqual([s["step"] for s in one["steps"]], [2, 3, 4, 5])
        self.assertTrue(all(s["input_us"] > 0.9 * s["marker_us"] for s in one["steps"]))
        two = json.loads(self.expect(0, "steps", TWO_HOSTS, "--json").stdout)
        self.assertEqual([(s["host"], s["step"]) for s in two["steps"]],
                         [(f"worker{h}", n) for h in (0, 1) for n in range(3, 9)])

    def test_info_tells_steps_of_the_pages_and_of_the_program(self):
        """The one batch of the recording is not marked in it; the official rule takes a group of eager ops for a step."""
        path = os.path.join(ROOT, "tests", "data", "tf24-one.xplane.pb")
        self.assertIn("    1 step; 0 marked ('tbprof steps'): the pages count groups of ops that ran one by one, too\n",
                      self.expect(0, "info", path).stdout)
        self.assertIn("    4 steps\n", self.expect(0, "info", SAMPLE).stdout)
        for file, marked in ((path, 0), (SAMPLE, 4)):
            host = json.loads(self.expect(0, "info", file, "--json").stdout)["runs"][0]["hosts"][0]
            self.assertEqual(host["marked_steps"], marked)


@unittest.skipUnless(os.path.isdir(CASES), "the cases are not at hand")
class RightValues(Case):
    def case(self, *parts):
        return json.loads(self.expect(0, "steps", os.path.join(CASES, *parts), "--json").stdout)

    def test_gaps_between_markers(self):
        for file in ("host.xplane.pb", "step-num-unsigned.xplane.pb"):
            answer = self.case("gaps-between-step-markers", file)
            self.assertEqual([s["step"] for s in answer["steps"]], [1, 2, 3, 4])
            self.assertEqual((answer["summary"]["marker_us"]["median"], answer["summary"]["period_us"]["median"]),
                             (600, 1000))
            self.assertEqual(sum(s["busy_us"] for s in answer["steps"]), 800)

    def test_loader_time_outside_of_steps(self):
        answer = self.case("loader-time-outside-the-train-steps", "trace.pt.trace.json")
        self.assertEqual([(s["step"], s["marker_us"], s["input_us"]) for s in answer["steps"]],
                         [(0, 1000, 200), (1, 1000, 100)])
        self.assertEqual(answer["outside"], {"input_us": 800, "device_works": 1, "device_work_us": 30})

    def test_a_step_whose_op_carries_a_stream(self):
        answer = self.case("host-triton-op-carries-stream-0", "trace.pt.trace.json")
        self.assertEqual([(s["step"], s["marker_us"], s["busy_us"]) for s in answer["steps"]], [(3, 350, 30)])

    def test_annotations_of_the_device_are_no_work(self):
        answer = self.case("gpu-user-annotation-counted-as-work", "trace.pt.trace.json")
        self.assertEqual([(s["step"], s["device_us"], s["busy_us"], s["device_works"]) for s in answer["steps"]],
                         [(10, 220, 200, 2)])

    def test_kernels_per_step(self):
        answer = self.case("gpu-work-in-2-of-8-steps-and-one-giant", "trace.pt.trace.json")
        self.assertEqual([s["device_works"] for s in answer["steps"]], [10, 11, 0, 0, 0, 0, 0, 0])
        self.assertEqual({f["key"] for f in answer["findings"]}, {"impossible_durations", "steps_without_device_work"})


if __name__ == "__main__":
    unittest.main()
