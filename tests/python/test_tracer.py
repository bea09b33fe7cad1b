#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python function tracer; runs the same under every version of Python there is (TBPROF_PYTHONS, a list)."""
import itertools
import os
import subprocess
import sys
import threading
import time
import unittest
import warnings

import interrupt
import recorded
import tbprof
import tbprof._core


def leaf(x):
    return x + 1


def generator():
    for i in range(3):
        yield leaf(i)


def raising():
    raise ValueError


def catching():
    try:
        raising()
    except ValueError:
        return sorted([2, 1])


def recursive(n):
    return recursive(n - 1) if n else 0


def tail_of(e):
    return e["name"].rsplit(" ", 1)[-1]


def is_on():
    if hasattr(sys, "monitoring"):
        return "tbprof" in map(sys.monitoring.get_tool, range(6))
    return threading._profile_hook is not None  # pylint: disable=protected-access


class Tracer(recorded.Case):
    def traced(self, call, level=1, **options):
        tbprof.start(self.logdir, python_tracer_level=level, **options)
        call()
        tbprof.stop()
        return recorded.events(self.run_of())

    def count(self, found, name):
        return len([e for e in found if tail_of(e) == name])

    def test_names_have_file_line_and_function(self):
        found = self.traced(lambda: leaf(1))
        line = leaf.__code__.co_firstlineno
        self.assertEqual(self.count(found, "leaf"), 1)
        self.assertIn(f"$test_tracer.py:{line} leaf", {e["name"] for e in found})

    def test_callbacks_called_by_hand_do_no_harm(self):
        def by_hand():
            for name in ("on_start", "on_return", "on_throw", "on_unwind", "on_call", "on_c_return"):
                for args in ((), (None,), (1, 2), ("code", 0, len), (leaf.__code__, 0, None, None)):
                    getattr(tbprof._core.native, name)(*args)
                    getattr(tbprof._core.native, name)(*args, keyword=1)
        by_hand()
        found = self.traced(lambda: [by_hand(), leaf(1)], 2)
        self.assertGreaterEqual(self.count(found, "leaf"), 1)

    @unittest.skipUnless(hasattr(sys, "monitoring"), "since Python 3.12")
    def test_a_tool_that_somebody_took_away_is_one_warning(self):
        tbprof.start(self.logdir, python_tracer_level=1)
        sys.monitoring.free_tool_id(sys.monitoring.PROFILER_ID)
        tbprof.stop()
        self.assertEqual(len(self.told()), 1, self.told())
        self.assertIn("in the function tracer", self.told()[0])
        self.run_of()

    def interrupted(self, call_of):
        """Calls call_of() anew until a signal at each of its lines was tried; yields the places."""
        for line in itertools.count():
            place = interrupt.at_line(call_of(), line)
            yield place
            if not place:
                break
        self.assertGreater(line, 20)

    def assert_gone(self, place):
        self.assertFalse(is_on(), place)
        self.assertIsNone(sys.getprofile(), place)
        with self.assertRaises(tbprof.errors.UnavailableError, msg=place):
            tbprof.stop()

    def test_a_signal_at_any_line_of_a_start_leaves_neither_tracer_nor_session(self):
        sessions = []

        def start():
            sessions.append(tbprof._core.Session())
            return lambda: sessions[-1].start("", python_tracer_level=2)
        for place in self.interrupted(start):
            if place is None or sessions[-1].is_open:  # the signal came after all was done
                sessions[-1].drop()
            self.assert_gone(place)
        self.assertEqual(self.told(), [])
        self.assertEqual(self.count(self.traced(lambda: leaf(1)), "leaf"), 1)

    def test_a_signal_at_any_line_of_a_stop_leaves_no_tracer(self):
        def stop():
            session = tbprof._core.Session()
            session.start("", python_tracer_level=2)
            return session.stop
        for place in self.interrupted(stop):
            if tbprof.is_active(0):  # before its first line
                tbprof.stop()
            self.assert_gone(place)
        self.assertEqual(self.told(), [])

    def test_a_child_is_traced_only_if_it_is_recorded(self):
        for options, expected in (({}, False), ({"follow_fork": True}, True)):
            tbprof.start(self.logdir, python_tracer_level=1, **options)
            self.assertTrue(is_on())
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a fork beside threads
                child = os.fork()
            if child == 0:
                os._exit(is_on())
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), expected, options)
            self.assertTrue(is_on())
            tbprof.stop()
            self.assertFalse(is_on())

    def test_a_session_that_begins_later_is_traced_from_then_on(self):
        def paused():
            leaf(1)
            tbprof.resume()
            leaf(2)
        self.assertEqual(self.count(self.traced(paused, start_paused=True), "leaf"), 1)

    def test_generators_run_in_pieces(self):
        found = self.traced(lambda: list(generator()))
        self.assertEqual((self.count(found, "generator"), self.count(found, "leaf")), (4, 3))

    def test_exceptions_close_what_they_leave(self):
        def both():
            catching()
            leaf(0)
        found = self.traced(both)
        by_name = {tail_of(e): e for e in found}
        raised, left = by_name["raising"], by_name["leaf"]
        self.assertLessEqual(raised["ts"] + raised["dur"], left["ts"])
        self.assert_nested(found)

    def assert_nested(self, found):
        lines = {}
        for e in sorted(found, key=lambda e: (e["ts"], -e["dur"])):
            open_ends = lines.setdefault(e["tid"], [])
            while open_ends and open_ends[-1] <= e["ts"]:
                open_ends.pop()
            if open_ends:
                self.assertLessEqual(e["ts"] + e["dur"], open_ends[-1] + 0.001)
            open_ends.append(e["ts"] + e["dur"])

    def test_c_functions_only_at_level_two(self):
        self.assertEqual(self.count(self.traced(catching), "$builtins.sorted"), 0)
        self.logdir += "2"
        found = self.traced(catching, level=2)
        self.assertEqual(self.count(found, "$builtins.sorted"), 1)
        self.assert_nested(found)

    def test_threads_that_start_meanwhile_are_traced(self):
        def start():
            thread = threading.Thread(target=leaf, args=(1,))
            thread.start()
            thread.join()
        found = self.traced(start)
        tids = {e["tid"] for e in found if tail_of(e) in ("start", "leaf")}
        self.assertEqual(len(tids), 2)

    def test_depth_is_bounded_and_told(self):
        found = self.traced(lambda: recursive(700))
        self.assertLessEqual(self.count(found, "recursive"), 512)
        self.assertGreater(self.count(found, "recursive"), 480)
        self.assert_nested(found)
        overview = recorded.page("overview_page", self.run_of())
        self.assertIn("nested deeper than 512", str(overview))

    def test_files_can_be_left_out(self):
        found = self.traced(lambda: (leaf(1), os.path.join("a", "b")), exclude=(__file__,))
        self.assertEqual(self.count(found, "leaf"), 0)
        self.assertEqual(self.count(found, "join"), 1)
        self.logdir += "2"  # and are back in the next session
        self.assertEqual(self.count(self.traced(lambda: leaf(1)), "leaf"), 1)

    def test_nothing_stays_behind(self):
        self.traced(lambda: leaf(1))
        self.assertIsNone(sys.getprofile())
        self.assertIsNone(getattr(threading, "_profile_hook", None))
        if hasattr(sys, "monitoring"):
            self.assertEqual([sys.monitoring.get_tool(i) for i in range(2, 6)], [None] * 4)

    def test_another_profiler_is_left_alone(self):
        if hasattr(sys, "monitoring"):
            for tool in (2, 3, 4, 5):
                sys.monitoring.use_tool_id(tool, "other")
                self.addCleanup(sys.monitoring.free_tool_id, tool)
        else:
            sys.setprofile(lambda *_: None)
            self.addCleanup(sys.setprofile, None)
        found = self.traced(lambda: leaf(1))
        self.assertEqual(self.count(found, "leaf"), 0)
        self.assertIn("Python functions were not traced", str(recorded.page("overview_page", self.run_of())))

    def test_many_threads_and_sessions(self):
        stop = threading.Event()

        def busy():
            while not stop.is_set():
                catching()
                list(generator())
        threads = [threading.Thread(target=busy) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            for i in range(8):
                tbprof.start(f"{self.logdir}{i}", python_tracer_level=1 + i % 2)
                time.sleep(0.01)
                tbprof.stop()
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        for i in range(8):
            self.assert_nested(recorded.events(self.run_of(f"{self.logdir}{i}")))


class OtherPythons(unittest.TestCase):
    """The one module, in every Python that it says it serves."""

    def test_other_versions(self):
        others = [p for p in os.environ.get("TBPROF_PYTHONS", "").split(os.pathsep) if os.path.exists(p)]
        if not others or os.environ.get("TBPROF_INNER"):
            self.skipTest("TBPROF_PYTHONS names no other Python")
        folder = os.path.dirname(os.path.abspath(__file__))
        for python in others:
            for name in ("test_tracer.py", "test_trace.py", "test_session.py"):
                with self.subTest(python=python, test=name):
                    result = subprocess.run([python, os.path.join(folder, name)], capture_output=True, text=True,
                                            env=dict(os.environ, TBPROF_INNER="1"))
                    self.assertEqual(result.returncode, 0, result.stderr[-3000:])


if __name__ == "__main__":
    unittest.main()
