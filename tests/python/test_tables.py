#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tbprof._tables reads back from a run, against spans of given times and against `tbprof stats`."""
import json
import os
import subprocess
import threading
import time
import unittest

import recorded
import tbprof
from tbprof import _tables

MS = 10**9  # picoseconds


class Tables(recorded.Case):
    def record(self, *spans):
        """A run with spans (name, start in ms, duration in ms) of this thread."""
        with tbprof.Profile(self.logdir):
            self.add(*spans)
        return _tables.read(self.run_of())

    @staticmethod
    def add(*spans):
        start_ns = time.time_ns()
        time.sleep(max(start + duration for _, start, duration in spans) / 1000)
        for name, start, duration in spans:
            tbprof.span(name, start_ns + int(start * 1e6), int(duration * 1e6))

    def test_rows(self):
        run = self.record(("a", 0, 10), ("b", 1, 2), ("b", 4, 4), ("c", 5, 1), ("a", 12, 1))
        rows = {row.name: [round(value / MS, 3) for value in (row.total_ps, row.min_ps, row.max_ps, row.self_ps, row.avg_ps)]
                + [row.count] for row in _tables.rows(_tables.nest(run.events))}
        self.assertEqual(rows, {"a": [11, 1, 10, 5, 5.5, 2], "b": [6, 2, 4, 5, 3, 2], "c": [1, 1, 1, 1, 1, 1]})

    def test_what_merely_overlaps_does_not_nest(self):
        first, second, inner = _tables.nest(self.record(("first", 0, 5), ("second", 3, 5), ("inner", 4, 3)).events)
        self.assertEqual((second.parent, inner.parent), (None, second))
        self.assertEqual(first.children, [])

    def test_equal_starts_the_longer_one_is_outside(self):
        outer, inner = _tables.nest(self.record(("inner", 0, 2), ("outer", 0, 5)).events)
        self.assertEqual((outer.name, inner.parent), ("outer", outer))

    def test_threads_do_not_nest_in_each_other(self):
        with tbprof.Profile(self.logdir):
            other = threading.Thread(target=self.add, args=(("other", 1, 2),))
            other.start()
            self.add(("this", 0, 6))
            other.join()
        events = _tables.nest(_tables.read(self.run_of()).events)
        self.assertEqual({event.name: event.parent for event in events}, {"this": None, "other": None})
        self.assertEqual(len({event.thread for event in events}), 2)

    def test_arguments_counters_instants_and_times(self):
        before_ns = time.time_ns()
        with tbprof.Profile(self.logdir):
            with tbprof.Trace("scope", rows=3, ratio=0.5, text="ä"):
                pass
            tbprof.counter("whole", -2)
            tbprof.counter("half", 1.5)
            tbprof.instant("now")
            activity = tbprof.activity_start("activity")
            tbprof.activity_end(activity)
        run = _tables.read(self.run_of())
        scope, activity = run.events
        self.assertEqual(scope.arguments, {"rows": 3, "ratio": 0.5, "text": "ä"})
        self.assertTrue(activity.is_async)
        self.assertEqual([(name, value) for name, _, value in run.counters if name != "process_resident_bytes"],
                         [("whole", -2), ("half", 1.5)])
        self.assertEqual([event.name for event in run.instants], ["now"])
        self.assertLess(before_ns, run.start_ns + scope.start_ps // 1000)
        self.assertLess(run.start_ns + scope.end_ps // 1000, time.time_ns())

    def test_marks_of_pauses_and_bodies_of_steps_are_no_events(self):
        with tbprof.Profile(self.logdir):
            with tbprof.StepTrace("train", step_num=7), tbprof.Scope("work"):
                pass
            tbprof.pause()
            tbprof.resume()
        run = _tables.read(self.run_of())
        step, work = _tables.nest(run.events)
        self.assertEqual((step.name, step.arguments["step_num"], work.parent), ("train", 7, step))
        self.assertEqual(run.instants, [])

    def test_no_run_has_nothing(self):
        for folder in ("", self.logdir):
            self.assertEqual(_tables.read(folder).events, [])

    def test_a_damaged_file_is_an_error_that_says_where(self):
        self.record(("a", 0, 1))
        path = next(os.path.join(self.run_of(), name) for name in os.listdir(self.run_of()) if name.endswith(".pb"))
        with open(path, "r+b") as file:
            file.truncate(os.path.getsize(path) - 5)
        with self.assertRaisesRegex(ValueError, "at byte"):
            _tables.read(self.run_of())

    def test_the_command_stats_says_the_same(self):
        self.record(("a", 0, 10), ("b", 1, 2), ("b", 4, 4), ("c", 5, 1), ("d", 9, 4))
        result = subprocess.run([recorded.TBPROF, "stats", self.run_of(), "--json"], capture_output=True, text=True,
                                check=True)
        theirs = {row["name"]: (row["count"], row["cpu_us"], row["self_cpu_us"]) for row in
                  json.loads(result.stdout)["rows"]}
        rows = _tables.rows(_tables.nest(_tables.read(self.run_of()).events))
        self.assertEqual([row.name for row in rows], ["a", "b", "c", "d"])
        for row in rows:
            count, total_us, self_us = theirs[row.name]
            self.assertEqual(count, row.count)
            self.assertAlmostEqual(total_us, row.total_ps / 10**6, 3)
            self.assertAlmostEqual(self_us, row.self_ps / 10**6, 3)


if __name__ == "__main__":
    unittest.main()
