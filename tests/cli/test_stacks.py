#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tbprof stacks: folded stacks, worked out by hand, and the sums of what PyTorch exported itself (../shared)."""
import collections
import glob
import json
import os
import unittest

from support import SAMPLE, SHARED, Case

RECORDED = os.path.join(SHARED, "recordings", "torch-2.13", "torch-full")


def event(cat, name, ts, dur, pid=1, tid=1, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


PYTHON = [event("python_function", "a.py(1): main loop", 0, 100),
          event("python_function", "a.py(9): step;x", 10, 60),
          event("cpu_op", "aten::mm", 20, 30),
          event("cuda_runtime", "cudaLaunchKernel", 30, 5, correlation=3),
          event("kernel", "k", 60, 44, 0, 7, device=0, stream=7, correlation=3),
          event("cpu_op", "aten::add", 80, 10)]


class Stacks(Case):
    def stacks(self, events, *args):
        path = self.path("w.pt.trace.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"schemaVersion": 1, "traceEvents": events}, f)
        text = self.expect(0, "stacks", path, *args).stdout
        return {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in text.splitlines()}

    def test_python_frames_hold_what_they_called(self):
        """The op (25 without the launch) and the launch (5) below step, step (60 - 30) and add below main."""
        self.assertEqual(self.stacks(PYTHON), {"a.py(1):_main_loop": 40, "a.py(1):_main_loop;a.py(9):_step_x": 30})

    def test_frames_deeper_than_a_stack_may_be_count_for_the_last(self):
        depth = 5000
        found = self.stacks([event("cpu_op", "ab"[i % 2], i, 2 * (depth - i)) for i in range(depth)], "--frames", "all")
        self.assertEqual((len(found), max(k.count(";") for k in found)), (4096, 4095))
        self.assertEqual(sum(found.values()), 2 * depth)

    def test_every_event_as_frame(self):
        main, step = "a.py(1):_main_loop", "a.py(1):_main_loop;a.py(9):_step_x"
        self.assertEqual(self.stacks(PYTHON, "--frames", "all"),
                         {main: 30, main + ";aten::add": 10, step: 30, step + ";aten::mm": 25,
                          step + ";aten::mm;cudaLaunchKernel": 5})

    def test_device_time_where_it_was_launched(self):
        self.assertEqual(self.stacks(PYTHON, "--metric", "self_cuda_time_total"),
                         {"a.py(1):_main_loop;a.py(9):_step_x": 44})

    def test_stacks_given_as_text(self):
        events = [event("cpu_op", "aten::mm", 0, 7, **{"Call stack": "c.py(3): f;b.py(2): g;a.py(1): h;"}),
                  event("cpu_op", "aten::mm", 10, 5, **{"Call stack": "c.py(3): f;b.py(2): g;a.py(1): h;"})]
        self.assertEqual(self.stacks(events), {"a.py(1):_h;b.py(2):_g;c.py(3):_f": 12})

    def test_backward_ops_stand_below_their_forward_op(self):
        """mm took 10 in the forward pass; the engine's call of its gradient 30, with all that is in it."""
        def flow(ph, ts, tid):
            return {"ph": ph, "cat": "fwdbwd", "name": "fwdbwd", "id": 1, "pid": 1, "tid": tid, "ts": ts}
        forward, engine = "f.py(3): forward;m.py(9): main;", "torch/autograd/__init__.py(255): backward;m.py(10): main;"
        back = {"tid": 2, "Call stack": engine}
        events = [event("cpu_op", "aten::mm", 0, 10, **{"Call stack": forward}),
                  event("cpu_op", "engine: MmBackward0", 50, 30, **back), event("cpu_op", "MmBackward0", 55, 20, **back),
                  event("cpu_op", "aten::t", 60, 8, **back), event("cpu_op", "aten::ones_like", 40, 4, **back),
                  flow("s", 0, 1), flow("f", 55, 2)]
        self.assertEqual(self.stacks(events), {"m.py(9):_main;f.py(3):_forward": 40, "m.py(10):_main": 4})

    def test_json_and_other_formats(self):
        answer = json.loads(self.expect(0, "stacks", SAMPLE, "--json").stdout)
        self.assertEqual(answer["metric"], "self_cpu_time_total")
        self.assertTrue(any(s["stack"].startswith("Profiled_batch;") for s in answer["stacks"]))

    def test_why_there_is_no_stack(self):
        def said(*args, events=(event("cpu_op", "aten::mm", 0, 7),)):
            self.assertEqual(self.stacks(list(events), *args), {})
            return self.expect(0, "stacks", self.path("w.pt.trace.json"), "--quiet", *args).stderr
        self.assertIn("the profile has no device times", said("--metric", "self_device_time_total"))
        self.assertIn("the profile has no Python functions: --frames all shows every event", said("--frames", "python"))
        self.assertIn("no stack of a microsecond", said(events=[event("cpu_op", "aten::mm", 0, 0.5)]))
        self.assertIn("no events that nest", said(events=[]))

    def test_deep_stacks_end_well(self):
        events = [event("cpu_op", "f", i, 20000 - 2 * i) for i in range(9000)]
        self.assertGreater(len(self.stacks(events)), 1)

    def test_what_began_inside_a_function_and_outlasts_it_stands_below_it(self):
        """A step as PyTorch records it: its 100 and the 5 of enter, each below who called it."""
        below = {"Call stack": "a.py(9): enter;a.py(1): main;"}
        events = [event("python_function", "a.py(1): main", 0, 110),
                  event("python_function", "a.py(9): enter", 0, 5, **{"Call stack": "a.py(1): main;"}),
                  event("user_annotation", "ProfilerStep#3", 2, 100, **below)]
        self.assertEqual(self.stacks(events), {"a.py(1):_main": 5, "a.py(1):_main;a.py(9):_enter": 100})

    @unittest.skipUnless(os.path.isdir(RECORDED), "recordings are not at hand")
    def test_recorded_stacks(self):
        """Of each event PyTorch drops the part below a microsecond: of as many as the file has with that stack, or, with
        the backward ops that were moved there, as PyTorch shows and some. 7 of 136 differ otherwise: PyTorch shows a
        backward op below the first op that had its sequence number, even one without a gradient (add_ of batch norm's
        counter, stack of the loader), where the flows of the file, and we, name the op that has it."""
        path = glob.glob(os.path.join(RECORDED, "worker0*.json"))[0]
        begun, shown, right = collections.Counter(), collections.Counter(), collections.Counter()
        with open(path, encoding="utf-8") as f:
            for e in json.load(f)["traceEvents"]:
                frames = e.get("args", {}).get("Call stack", "").split(";")
                begun[";".join(frame.replace(" ", "_") for frame in reversed(frames) if frame)] += 1
        with open(os.path.join(RECORDED, "oracle-stacks-cycle0.txt"), encoding="utf-8") as f:
            for line in f:
                stack, us = line.rstrip("\n").rsplit(" ", 1)
                right[stack] += int(us)
                shown[stack] += 1
        ours = dict(line.rsplit(" ", 1) for line in self.expect(0, "stacks", path).stdout.splitlines())
        equal = sum(us <= int(ours.get(s, 0)) <= us + max(begun[s], 2 * shown[s] + 8) for s, us in right.items())
        self.assertEqual((equal, len(right)), (129, 136))


if __name__ == "__main__":
    unittest.main()
