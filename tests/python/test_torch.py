#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The style of PyTorch's profiler, without torch: the schedule by hand-made tables, the state machine, the runs."""
import gzip
import importlib.util
import json
import os
import subprocess
import sys
import threading
import time
import unittest
import warnings
from unittest import mock

import recorded
import tbprof
import tbprof.torch
from tbprof._torch_tables import FunctionEventAvg
from tbprof.torch import EventList, ProfilerAction, profile, record_function, tensorboard_trace_handler

RECORDINGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../shared/recordings/torch-2.13")

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

    def test_what_fails_beside_is_one_warning_and_the_loop_goes_on(self):
        class Broken:
            def has_gpu(self):
                return False

            def fail(self, *_):
                raise OSError("torch's profiler is broken")
            begin_step = end_step = fail

            def start(self, *_):
                pass
            prepare = stop = start

        class Unprepared(Broken):
            """Torch's refuses to start, too, then."""
            prepare = start = Broken.fail
            begin_step = end_step = Broken.stop

        for kind, how in ((Broken, "with what this trace has"), (Unprepared, "without torch's own profiler")):
            with mock.patch.object(tbprof._torch_ops, "make", lambda *_, kind=kind: kind()):
                with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=1), native=True) as p:
                    for i in range(5):
                        with record_function(f"work {i}"):
                            pass
                        p.step()
            self.assertEqual(self.labels(p.run), ["ProfilerStep#2", "ProfilerStep#3", "work 2", "work 3"])
            self.assertEqual(self.told()[-1], "tbprof.torch.profile: OSError: torch's profiler is broken; training goes on "
                             + how)
        self.assertEqual(len(self.told()), 2)

    def test_a_trace_that_cannot_be_written_is_one_warning(self):
        open(self.logdir, "w").close()
        handler = tensorboard_trace_handler(os.path.join(self.logdir, "below"), kineto=True)
        with profile(schedule=schedule(wait=0, warmup=0, active=1, repeat=1), on_trace_ready=handler, native=False) as p:
            p.step()
            p.step()
        self.assertEqual(p.step_num, 2)
        (told,) = self.told()
        self.assertIn("could not be written to ", told)

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

    def test_a_handler_of_the_programs_own_may_call_ours(self):
        ours = tensorboard_trace_handler(self.logdir, worker_name="rank0")
        with profile(schedule=schedule(wait=0, warmup=1, active=1, repeat=2), native=False,
                     on_trace_ready=lambda p: ours(p)) as p:  # pylint: disable=unnecessary-lambda
            for _ in range(4):
                p.step()
        found = recorded.runs(self.logdir)
        self.assertEqual([os.listdir(run) for run in found], [["rank0.xplane.pb"]] * 2)
        self.assertEqual([recorded.step_names(run) for run in found], [["ProfilerStep#1 1"], ["ProfilerStep#3 3"]])
        self.assertTrue([name for name in os.listdir(self.logdir) if name.startswith("events.out.tfevents.")])
        self.assertEqual(self.told(), [])
        tensorboard_trace_handler(os.path.join(found[0], "rank0.xplane.pb"))(p)  # a file, where no folder can be
        self.assertEqual(len(self.told()), 1)

    def test_the_exception_of_the_program_arrives_and_the_trace_is_saved(self):
        with self.assertRaises(ZeroDivisionError), \
                profile(native=False, on_trace_ready=tensorboard_trace_handler(self.logdir)):
            1 / 0  # pylint: disable=pointless-statement
        self.run_of()

    def test_a_trace_that_cannot_be_made_is_one_warning_and_the_loop_goes_on(self):
        with open(self.logdir, "w", encoding="ascii"):
            pass
        handler, ready = tensorboard_trace_handler(self.logdir), []
        with profile(schedule=schedule(wait=0, warmup=1, active=1, repeat=2), native=False, on_trace_ready=handler) as p:
            for _ in range(6):
                ready.append(tbprof.is_active())
                p.step()
        self.assertEqual((ready, p.step_num, p.run), ([False] * 6, 6, ""))
        self.assertEqual(len(self.told()), 1)

    def test_a_session_of_another_is_left_alone(self):
        tbprof.start("")
        ready, p = self.loop(3)
        self.assertEqual((ready, p.step_num, len(self.told())), ([], 3, 1))
        self.assertTrue(tbprof.is_active())
        tbprof.stop(save=False)

    def test_a_trace_that_cannot_be_saved_is_one_warning_and_the_next_is(self):
        original = tbprof._core.native.stop

        def stop(save, session):
            original(False, session)
            if save:
                tbprof._core.native.stop = original
                raise OSError("no space left")
        self.addCleanup(setattr, tbprof._core.native, "stop", original)
        tbprof._core.native.stop = stop
        ready, _ = self.loop(4, schedule=schedule(wait=0, warmup=1, active=1, repeat=2))
        self.assertEqual([labels for _, _, labels in ready], [["ProfilerStep#3", "work 3"]])
        self.assertEqual(len(self.told()), 1)
        self.assertIn("no space left", self.told()[0])

    def test_stop_without_start_is_torchs_error(self):
        with self.assertRaisesRegex(AssertionError, "must be initialized before stopping"):
            profile(native=False).stop()

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


TABLE = "".join(line + "  \n" for line in (
    "---------  ------------  ------------  ------------  ------------  ------------  ------------",
    "     Name    Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg    # of Calls",
    "---------  ------------  ------------  ------------  ------------  ------------  ------------",
    "    outer        60.00%       3.000ms       100.00%       5.000ms       5.000ms             1",
    "    inner        40.00%       2.000ms        40.00%       2.000ms       1.000ms             2",
    "---------  ------------  ------------  ------------  ------------  ------------  ------------")) + "Self CPU time total: 5.000ms\n"


class Results(recorded.Case):
    """Tables of spans with times that are given: outer of 5 ms, in it twice inner of 1 ms."""

    def profile(self, *more, **arguments):
        with profile(native=False, **arguments) as p:
            start_ns = time.time_ns()
            time.sleep(0.01)
            for name, at_us, us in (("outer", 0, 5000), ("inner", 1000, 1000), ("inner", 3000, 1000), *more):
                tbprof.span(name, start_ns + at_us * 1000, us * 1000)
        return p

    def averages(self, p, **arguments):
        return {a.key: (a.count, round(a.cpu_time_total), round(a.self_cpu_time_total), round(a.cpu_time))
                for a in p.key_averages(**arguments)}

    def test_averages(self):
        self.assertEqual(self.averages(self.profile()), {"outer": (1, 5000, 3000, 5000), "inner": (2, 2000, 2000, 1000)})

    def test_events(self):
        events = self.profile().events()
        outer, first, second = events
        self.assertEqual([event.name for event in events], ["outer", "inner", "inner"])
        self.assertEqual((outer.cpu_children, outer.cpu_parent, first.cpu_parent), ([first, second], None, outer))
        self.assertAlmostEqual(first.time_range.start - outer.time_range.start, 1000, delta=1)
        self.assertAlmostEqual(first.time_range.elapsed_us(), 1000, delta=1)
        self.assertEqual((first.thread, first.count), (threading.get_native_id(), 1))
        self.assertAlmostEqual(events.self_cpu_time_total, 5000, delta=1)
        total = events.total_average()
        self.assertEqual((total.key, total.count, round(total.cpu_time_total)), ("Total", 3, 7000))

    def test_the_table(self):
        p = self.profile()
        self.assertEqual(p.key_averages().table(sort_by="self_cpu_time_total"), TABLE)
        self.assertEqual(p.key_averages().table(), TABLE)  # in order of time
        lines = TABLE.splitlines(True)
        self.assertEqual(p.key_averages().table(sort_by="count", row_limit=1),
                         "".join(lines[:3] + lines[4:5] + lines[5:]))
        self.assertEqual(p.key_averages().table(sort_by="self_cuda_time_total", row_limit=-1), TABLE)
        self.assertIn("5000.000us", p.key_averages().table(time_unit="us"))
        self.assertTrue(p.key_averages().table(header="MINE").startswith("=" * 93 + "\nMINE\n-----"))
        top = p.events().table(top_level_events_only=True)
        self.assertIn("This report only display top-level ops statistics", top)
        self.assertNotIn("inner", top)
        with self.assertRaises(AttributeError):
            p.key_averages().table(sort_by="nothing")

    def test_widths_are_bounded(self):
        long = "x" * 80
        p = self.profile((long, 6000, 1))
        table = p.key_averages().table()
        self.assertRegex(table, r"(?m)^x{52}\.\.\.  ")
        self.assertRegex(p.key_averages().table(max_name_column_width=20), r"(?m)^x{17}\.\.\.  ")
        self.assertIn(long, p.key_averages().table(max_name_column_width=None))

    def test_one_inside_another_of_its_name_is_one(self):
        p = self.profile(("twin", 6000, 500), ("twin", 6100, 300), ("twin", 6150, 100), ("leaf", 6160, 20))
        self.assertEqual(self.averages(p)["twin"], (1, 500, 480, 500))

    def test_steps_are_one_row_and_have_no_body(self):
        with profile(native=False, schedule=schedule(wait=0, warmup=0, active=3, repeat=1),
                     on_trace_ready=lambda p: found.append(self.averages(p))) as p:
            found = []
            for _ in range(3):
                with record_function("work"):
                    time.sleep(0.005)
                p.step()
        (averages,) = found
        self.assertEqual({name: row[0] for name, row in averages.items()}, {"ProfilerStep*": 3, "work": 3})
        self.assertGreaterEqual(averages["work"][1], 15000)

    def test_shapes(self):
        with profile(native=False, record_shapes=True) as p:
            for shapes in ("[[2, 3]]", "[[2, 3]]", "[[4]]"):
                with tbprof.Scope("op", shapes=shapes):
                    pass
        self.assertEqual([(a.key, a.count, a.input_shapes) for a in p.key_averages(group_by_input_shape=True)],
                         [("op", 2, "[[2, 3]]"), ("op", 1, "[[4]]")])
        self.assertEqual([(a.count, a.input_shapes) for a in p.key_averages()], [(3, "")])
        self.assertIn("Input Shapes", p.key_averages(group_by_input_shape=True).table())

    def test_stacks(self):
        def caller():
            callee()

        def callee():
            with record_function("op"):
                time.sleep(0.005)

        with profile(native=False, with_stack=True) as p:
            caller()
            callee()
        place = os.path.basename(__file__)
        (alone, called) = sorted((a for a in p.key_averages(group_by_stack_n=2) if a.key == "op"),
                                 key=lambda a: len([f for f in a.stack if "caller" in f]))
        self.assertRegex(called.stack[0], rf"^{place}\(\d+\): .*callee$")
        self.assertRegex(called.stack[1], rf"^{place}\(\d+\): .*caller$")
        self.assertEqual((alone.count, called.count), (1, 1))
        path = os.path.join(self._folder.name, "stacks")
        p.export_stacks(path)
        with open(path, encoding="utf-8") as file:
            lines = [line.rsplit(" ", 1) for line in file]
        self.assertTrue(any("caller;" in frames and frames.endswith("callee") and int(us) >= 5000
                            for frames, us in lines), lines)
        with self.assertRaisesRegex(ValueError, "metric should be one of"):
            p.export_stacks(path, "count")
        self.assertIn("Source Location", p.key_averages(group_by_stack_n=1).table())

    def test_chrome_traces(self):
        p = self.profile(("aten::mm", 6000, 100))
        for name, opener in (("t.json", open), ("t.json.gz", gzip.open)):
            path = os.path.join(self._folder.name, name)
            p.export_chrome_trace(path)
            with opener(path, "rt", encoding="utf-8") as file:
                trace = json.load(file)
            spans = [(e["name"], e["cat"], round(e["dur"])) for e in trace["traceEvents"] if e["ph"] == "X"]
            self.assertEqual(spans, [("outer", "user_annotation", 5000), ("inner", "user_annotation", 1000),
                                     ("inner", "user_annotation", 1000), ("aten::mm", "cpu_op", 100)])

    def test_orders_of_calls(self):
        p = profile(native=False)
        with self.assertRaisesRegex(AssertionError, "must be initialized before getting key averages"):
            p.key_averages()
        p.start()
        with self.assertRaisesRegex(RuntimeError, "didn't finish running"):
            p.events()
        p.stop()
        self.assertEqual(p.events().table(), "")
        with self.assertRaisesRegex(AssertionError, "requires with_stack=True"):
            p.export_stacks(os.path.join(self._folder.name, "stacks"))

    def test_of_any_run(self):
        with tbprof.Profile(self.logdir), tbprof.Scope("mine"):
            pass
        self.assertEqual([e.name for e in tbprof.torch.EventList.of_run(self.run_of())], ["mine"])


class Annotations(unittest.TestCase):
    """Where a torch that is imported later finds the collector of its ITT annotations."""

    def told(self, script="", **environment):
        script += "\nimport os, tbprof.torch\nprint(*map(os.environ.get, ('INTEL_LIBITTNOTIFY64', 'INTEL_ITTNOTIFY_GROUPS')))"
        clean = {key: value for key, value in os.environ.items() if not key.startswith("INTEL_")}
        result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True,
                                env={**clean, **environment})
        return result.stdout.split()

    def test_it_is_the_library_that_records(self):
        path, groups = self.told()
        self.assertTrue(os.path.basename(path).startswith("libtbprof.so"), path)
        self.assertTrue(os.path.isfile(path), path)
        self.assertEqual(groups, "all")

    def test_another_collector_stays(self):
        self.assertEqual(self.told(INTEL_LIBITTNOTIFY64="/other.so"), ["/other.so", "None"])

    def test_nothing_is_told_to_a_torch_that_is_there(self):
        self.assertEqual(self.told("import sys, types\nsys.modules['torch'] = types.ModuleType('torch')"),
                         ["None", "None"])


@unittest.skipUnless(os.path.isdir(RECORDINGS), "needs recordings of PyTorch")
class Recorded(unittest.TestCase):
    """Averages that torch 2.13 recorded, in our table: its own text, character by character."""

    def test_tables(self):
        for name in ("torch-plain", "torch-quote"):
            with open(os.path.join(RECORDINGS, name, "oracle-key_averages.json"), encoding="utf-8") as file:
                rows = json.load(file)["key_averages"]
            averages = EventList()
            for row in rows:
                average = FunctionEventAvg()
                average.key, average.count = row["key"], row["count"]
                average.cpu_time_total, average.self_cpu_time_total = row["total_cpu_us"], row["self_cpu_us"]
                averages.append(average)
            for table, arguments in (("oracle-table", {"sort_by": "self_cpu_time_total", "row_limit": -1}),
                                     ("oracle-table-total10", {"sort_by": "cpu_time_total", "row_limit": 10}),
                                     ("oracle-table-header-unsorted", {"header": "MY RUN", "row_limit": 6,
                                                                       "time_unit": "ms"})):
                with self.subTest(name=name, table=table), \
                        open(os.path.join(RECORDINGS, name, table + ".txt"), encoding="utf-8") as file:
                    self.assertEqual(averages.table(**arguments) + "\n", file.read())  # it was printed


@unittest.skipUnless(importlib.util.find_spec("torch"), "needs PyTorch")
class RealTorch(recorded.Case):
    """Torch's profiler beside ours: what we make of our run against what it makes of its own."""

    def test_operators_agree(self):
        import torch
        torch.set_num_threads(1)
        model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
        began = time.perf_counter()
        with profile(schedule=schedule(wait=0, warmup=1, active=3, repeat=1), native=True) as p:
            for _ in range(4):
                with record_function("forward"):
                    loss = model(torch.ones(32, 64)).square().mean()
                loss.backward()
                p.step()
        took_us = (time.perf_counter() - began) * 1e6
        theirs = {a.key: a for a in p.key_averages()}
        ours = {a.key: a for a in EventList.of_run(p.run).key_averages()}
        self.assertEqual({name: a.count for name, a in ours.items()}, {name: a.count for name, a in theirs.items()})
        self.assertEqual(ours["aten::addmm"].count, 6)
        for name, average in ours.items():
            if "::" in name:  # labels are timed twice, by torch and by us; operators by torch alone
                self.assertAlmostEqual(average.cpu_time_total, theirs[name].cpu_time_total, delta=0.1, msg=name)
                self.assertAlmostEqual(average.self_cpu_time_total, theirs[name].self_cpu_time_total, delta=0.1, msg=name)
        for label in ("ProfilerStep*", "forward"):  # around the same operators, whatever else the machine does
            for averages in (ours, theirs):
                self.assertGreater(averages[label].cpu_time_total, ours["aten::linear"].cpu_time_total)
                self.assertLess(averages[label].cpu_time_total, took_us)

    def test_operators_without_torchs_profiler(self):
        """The same training twice, in a process that imports torch after tbprof.torch: by torch's profiler, and by
        its ITT annotations in our run alone."""
        script = """if True:
            import json, sys, warnings
            import tbprof.torch as ours
            import torch
            warnings.simplefilter("ignore")
            torch.set_num_threads(1)
            model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(),
                                        torch.nn.Linear(8 * 62 * 62, 8))
            optimizer = torch.optim.SGD(model.parameters(), 0.01)
            found = []
            for native in (True, False):
                with ours.profile(schedule=ours.schedule(wait=0, warmup=2, active=5, repeat=1), native=native) as p:
                    for _ in range(7):
                        with ours.record_function("forward"):
                            loss = model(torch.ones(8, 3, 64, 64)).square().mean()
                        optimizer.zero_grad()
                        loss.backward()
                        optimizer.step()
                        p.step()
                events = [p.key_averages()] + ([ours.EventList.of_run(p.run).key_averages()] if native else [])
                found += [{a.key: (a.count, a.cpu_time_total) for a in averages} for averages in events]
            print(json.dumps(found))
        """
        result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        theirs, taken_over, annotated = json.loads(result.stdout.splitlines()[-1])
        counts = {name: count for name, (count, _) in theirs.items()}
        self.assertEqual({name: count for name, (count, _) in taken_over.items()}, counts)
        self.assertEqual({name: count for name, (count, _) in annotated.items()}, counts)
        self.assertEqual(counts["aten::conv2d"], 5)
        self.assertEqual(counts["Optimizer.step#SGD.step"], 5)
        # Two runs of one program on a machine that may be busy: each convolution has 6.6 million multiplications, for
        # which 10 us are too short for any processor, and lies in its "forward".
        for averages in (theirs, annotated):
            self.assertGreater(averages["aten::conv2d"][1], 5 * 10)
            self.assertLess(averages["aten::conv2d"][1], averages["forward"][1])


if __name__ == "__main__":
    unittest.main()
