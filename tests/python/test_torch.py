#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The style of PyTorch's profiler, without torch: the schedule by hand-made tables, the state machine, the runs."""
import os
import unittest
import warnings

import recorded
import tbprof
import tbprof.torch
from tbprof.torch import ProfilerAction, profile, record_function, tensorboard_trace_handler

LETTERS = {ProfilerAction.NONE: ".", ProfilerAction.WARMUP: "w", ProfilerAction.RECORD: "R",
           ProfilerAction.RECORD_AND_SAVE: "S"}


def schedule(**arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tbprof.torch.schedule(**arguments)


class Schedule(unittest.TestCase):
    def test_actions_step_by_step(self):
        for arguments, expected in (
                (dict(wait=1, warmup=1, active=2), ".wRS.wRS.wRS"),
                (dict(wait=1, warmup=1, active=2, repeat=1), ".wRS........"),
                (dict(wait=1, warmup=1, active=2, repeat=2, skip_first=2), "...wRS.wRS.."),
                (dict(wait=3, warmup=0, active=1, skip_first=1, skip_first_wait=1), ".S...S...S.."),
                (dict(wait=2, warmup=1, active=1, repeat=1, skip_first_wait=1), "wS.........."),
                (dict(wait=0, warmup=0, active=1), "SSSSSSSSSSSS"),
                (dict(wait=0, warmup=2, active=3, repeat=1), "wwRRS......."),
                (dict(wait=2, warmup=1, active=1, repeat=1, skip_first=12), "............")):
            with self.subTest(**arguments):
                action = schedule(**arguments)
                self.assertEqual("".join(LETTERS[action(i)] for i in range(12)), expected)

    def test_refused_arguments(self):
        for arguments in (dict(wait=-1, warmup=1, active=1), dict(wait=1, warmup=-1, active=1),
                          dict(wait=1, warmup=1, active=0), dict(wait=1, warmup=1, active=1, repeat=-1)):
            with self.assertRaisesRegex(AssertionError, "Invalid profiler schedule arguments"):
                schedule(**arguments)
        with self.assertRaisesRegex(AssertionError, "non-negative"):
            schedule(wait=1, warmup=1, active=1)(-1)

    def test_no_warm_up_is_told(self):
        with self.assertWarnsRegex(UserWarning, "won't be using warmup"):
            tbprof.torch.schedule(wait=1, warmup=0, active=1)


class Profile(recorded.Case):
    def loop(self, steps, **arguments):
        ready = []
        with profile(on_trace_ready=lambda p: ready.append((p.step_num, p.run, self.labels(p.run))), native=False,
                     **arguments) as p:
            for i in range(steps):
                with record_function(f"work {i}"):
                    pass
                p.step()
        return ready, p

    def labels(self, run):
        return sorted(e["name"].split(" ", 1)[0] if "#" in e["name"] else e["name"] for e in recorded.events(run)
                      if e["name"].startswith(("work", "ProfilerStep")))

    def test_each_cycle_is_a_trace_of_its_steps(self):
        ready, _ = self.loop(8, schedule=schedule(wait=1, warmup=1, active=2, repeat=2))
        self.assertEqual([(number, labels) for number, _, labels in ready],
                         [(4, ["ProfilerStep#2", "ProfilerStep#3", "work 2", "work 3"]),
                          (8, ["ProfilerStep#6", "ProfilerStep#7", "work 6", "work 7"])])

    def test_without_a_schedule_all_is_recorded_without_steps(self):
        ready, _ = self.loop(2)
        self.assertEqual([labels for _, _, labels in ready], [["work 0", "work 1"]])

    def test_leaving_while_recording_saves_while_warming_up_does_not(self):
        ready, _ = self.loop(3, schedule=schedule(wait=0, warmup=2, active=5))
        self.assertEqual([labels[-1] for _, _, labels in ready], ["work 2"])
        ready, _ = self.loop(1, schedule=schedule(wait=0, warmup=2, active=5))
        self.assertEqual(ready, [])
        self.assertFalse(tbprof.is_active())

    def test_incorrect_schedules_are_told(self):
        actions = [ProfilerAction.WARMUP, ProfilerAction.NONE, ProfilerAction.WARMUP, ProfilerAction.RECORD,
                   ProfilerAction.NONE, ProfilerAction.RECORD, ProfilerAction.WARMUP, ProfilerAction.NONE]
        ready, _ = self.loop(7, schedule=lambda step: actions[step])
        self.assertEqual(ready, [])
        self.assertEqual(self.told(), ["Incorrect schedule: WARMUP followed by NONE",
                                       "Incorrect schedule: RECORD followed by NONE",
                                       "Incorrect schedule: RECORD followed by WARMUP",
                                       "Incorrect schedule: WARMUP followed by NONE"])

    def test_torchs_own_actions_are_as_good(self):
        import enum
        theirs = enum.Enum("theirs", {"NONE": 0, "WARMUP": 1, "RECORD": 2, "RECORD_AND_SAVE": 3})
        ready, _ = self.loop(3, schedule=lambda step: theirs.RECORD_AND_SAVE if step == 1 else theirs.NONE)
        self.assertEqual([labels for _, _, labels in ready], [["ProfilerStep#1", "work 1"]])

    def test_the_handler_makes_runs_in_its_folder(self):
        with profile(schedule=schedule(wait=0, warmup=1, active=1, repeat=2), native=False,
                     on_trace_ready=tensorboard_trace_handler(self.logdir, worker_name="rank0")) as p:
            for _ in range(4):
                p.step()
        found = recorded.runs(self.logdir)
        self.assertEqual(len(found), 2)
        self.assertTrue(all("rank0.xplane.pb" in os.listdir(run) for run in found))
        self.assertEqual([recorded.step_names(run) for run in found], [["ProfilerStep#1 1"], ["ProfilerStep#3 3"]])

    def test_the_exception_of_the_program_arrives_and_the_trace_is_saved(self):
        with self.assertRaises(ZeroDivisionError), \
                profile(native=False, on_trace_ready=tensorboard_trace_handler(self.logdir)):
            1 / 0  # pylint: disable=pointless-statement
        self.run_of()

    def test_temporary_runs_go_with_the_profile(self):
        _, p = self.loop(1)
        run = p.run
        self.assertTrue(os.path.isdir(run))
        del p
        self.assertFalse(os.path.exists(run))

    def test_refused_and_deprecated_arguments(self):
        with self.assertRaisesRegex(AssertionError, "No valid profiler activities"):
            profile(activities=[])
        with self.assertWarnsRegex(FutureWarning, "use_cuda"):
            profile(use_cuda=True)

    def test_record_function_is_a_decorator_too_and_takes_a_text(self):
        @record_function("decorated")
        def function():
            return 1
        with profile(native=False) as p, record_function("with", "text"):
            function()
        found = {e["name"]: e.get("args") for e in recorded.events(p.run)}
        self.assertIn("decorated", found)
        self.assertEqual(found["with"]["args"], "text")


if __name__ == "__main__":
    unittest.main()
