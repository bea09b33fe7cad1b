#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The style of CNTK's profiler: order of calls, the two files by their columns, and what fits into reserved memory."""
import csv
import glob
import os
import re
import time
import unittest
from unittest import mock

import recorded
import tbprof
from tbprof import cntk

HEADING = ("Description................ ............Mean ..........StdDev .............Min .............Max "
           "...........Count ...........Total")
TIME = r" *\d+\.\d{3} ms"
ROW = re.compile(rf"(.{{26}}): ({TIME}) ({TIME}) ({TIME}) ({TIME}) ( *\d+) ({TIME})")


class Cntk(recorded.Case):
    def setUp(self):
        super().setUp()
        self.addCleanup(cntk.stop_profiler)

    def files(self, kind):
        return glob.glob(os.path.join(self._folder.name, "p", f"*_{kind}"))

    def start(self, **arguments):
        cntk.start_profiler(os.path.join(self._folder.name, "p"), **arguments)

    def report(self):
        """The summary's lines, and name -> (mean, deviation, min, max, count, total) of its rows in milliseconds."""
        (path,) = self.files("summary_.txt")
        self.assertRegex(os.path.basename(path), r"^\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d_summary_\.txt$")
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
        rows = {}
        for match in filter(None, map(ROW.fullmatch, lines)):
            name, *values = match.groups()
            rows[name.rstrip()] = tuple(float(value.replace(" ms", "")) for value in values)
        return lines, rows

    def test_what_is_enabled_is_in_the_report(self):
        self.start()
        with cntk.profile_scope("Epoch"):
            pass  # not enabled
        cntk.enable_profiler()
        for sleep in (0.01, 0.03):
            with cntk.profile_scope("_Minibatch Iteration"), cntk.profile_scope("mine, \"quoted\""):
                time.sleep(sleep)
        cntk.disable_profiler()
        with cntk.profile_scope("Epoch"):
            pass
        cntk.enable_profiler()
        with cntk.profile_scope("Prefetch Minibatch"):
            pass
        cntk.stop_profiler()

        lines, rows = self.report()
        self.assertEqual(lines[0], "CNTK Performance Profiler Summary Report")
        self.assertRegex(lines[2], r"^Time Stamp: \d{4}/\d\d/\d\d \d\d:\d\d:\d\d$")
        self.assertEqual(lines[4], HEADING)
        self.assertLess(lines.index("Main Thread"), lines.index("Data Reader"))
        self.assertEqual(list(rows), ["_Minibatch Iteration", "Prefetch Minibatch"])
        mean, deviation, least, most, count, total = rows["_Minibatch Iteration"]
        self.assertEqual(count, 2)
        self.assertGreaterEqual(least, 9.9)
        self.assertGreaterEqual(most, 29.9)
        self.assertAlmostEqual(total, least + most, delta=0.002)
        self.assertAlmostEqual(mean, total / 2, delta=0.002)
        self.assertAlmostEqual(deviation, (most - least) / 2, delta=0.002)  # of two values: half their distance

        (path,) = self.files("detail_.csv")
        with open(path, encoding="utf-8") as file:
            heading, *events = file.read().splitlines()
        self.assertEqual(heading, "EventDescription,ThreadId,BeginTimeStamp(ms),EndTimeStamp(ms)")
        events = [event.rsplit(",", 3) for event in events]
        self.assertEqual([event[0] for event in events],
                         ['"mine, "quoted""', '"_Minibatch Iteration"'] * 2 + ['"Prefetch Minibatch"'])
        self.assertEqual({int(event[1]) for event in events}, {os.getpid()})  # the main thread
        begin, end = (float(ms) for ms in events[0][2:])
        self.assertGreaterEqual(end - begin, 9.999)
        self.assertAlmostEqual(begin / 1000, time.time(), delta=60)
        self.assertRegex(events[0][2], r"^\d+\.\d{8}$")

    def test_the_run_is_beside_them(self):
        self.start()
        cntk.enable_profiler()
        with cntk.profile_scope("Epoch"):
            pass
        cntk.stop_profiler()
        self.assertEqual(len(recorded.named(self.run_of(os.path.join(self._folder.name, "p")), "Epoch")), 1)

    def test_orders_of_calls(self):
        for call in (cntk.enable_profiler, cntk.disable_profiler, cntk.stop_profiler):
            call()  # nothing happens before start_profiler
        self.start()
        with self.assertRaisesRegex(RuntimeError, "ProfilerInit: Profiler already initialized"):
            self.start()
        cntk.disable_profiler()
        cntk.enable_profiler()
        cntk.enable_profiler()
        cntk.stop_profiler()
        cntk.stop_profiler()
        self.start()  # again, into the same directory
        with self.assertRaises(tbprof.errors.AlreadyExistsError):
            tbprof.start(self.logdir)

    def test_a_directory_that_cannot_be_made(self):
        with self.assertRaisesRegex(RuntimeError, "Cannot create directory <.*a/b>"):
            cntk.start_profiler(os.path.join(self._folder.name, "a", "b"))  # one level, as CNTK does
        self.assertFalse(tbprof.is_active(0))

    def test_reserved_memory_bounds_what_is_kept(self):
        self.start(reserve_mem=1024 * 1024)
        cntk.enable_profiler()
        for _ in range(100000):  # 3.2 MB
            with cntk.profile_scope("event"):
                pass
        cntk.stop_profiler()
        (path,) = self.files("detail_.csv")
        with open(path, encoding="utf-8") as file:
            kept = sum(1 for _ in csv.reader(file)) - 1
        self.assertGreater(kept, 1000)
        self.assertLess(kept, 60000)
        self.assertIn("Warning: Performance Profiler: Buffer is full, no more events will be recorded.", self.told())

    def test_the_rank_names_the_files(self):
        with mock.patch.dict(os.environ, OMPI_COMM_WORLD_RANK="3"):
            self.start()
            cntk.stop_profiler()
        self.assertEqual((len(self.files("summary_3.txt")), len(self.files("detail_3.csv"))), (1, 1))

    def test_a_minute_and_more_is_hours_minutes_seconds(self):
        row = cntk._tables.Row("Epoch")  # pylint: disable=protected-access
        row.add(3723_500 * 10**9)        # 1 h 2 min 3.5 s
        self.assertEqual(cntk._row(row),  # pylint: disable=protected-access
                         "Epoch                     :     01:02:03.500         0.000 ms     01:02:03.500 "
                         "    01:02:03.500                1     01:02:03.500\n")


if __name__ == "__main__":
    unittest.main()
