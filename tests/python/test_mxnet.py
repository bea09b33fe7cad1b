#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The style of MXNet's profiler: order of calls and errors, the aggregate in all its orders (against recordings of
MXNet 1.9.1 where these are at hand), profile.json by its phases, autostart."""
import glob
import importlib
import json
import os
import subprocess
import sys
import time
import types
import unittest
from unittest import mock

import recorded
import tbprof
from tbprof import _mxnet_stats, mxnet

RECORDINGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../shared/recordings/mxnet-1.9.1")
HEADING = "Name                          Total Count        Time (ms)    Min Time (ms)    Max Time (ms)    Avg Time (ms)"


class Mxnet(recorded.Case):
    def setUp(self):
        super().setUp()
        self.path = os.path.join(self._folder.name, "profile.json")
        importlib.reload(mxnet)
        self.addCleanup(mxnet._profiler.at_exit)  # pylint: disable=protected-access

    def configure(self, **settings):
        mxnet.set_config(**{"filename": self.path, "logdir": self.logdir, "aggregate_stats": True, **settings})

    def trace(self):
        with open(self.path, encoding="utf-8") as file:
            return json.load(file)

    def events(self):
        return [event for event in self.trace()["traceEvents"] if event["ph"] != "M"]

    def rows(self, **how):
        """type -> {name: {"Count": …}} of the aggregate, without the process's memory."""
        found = json.loads(mxnet.dumps(format="json", **how))
        return {**found["Time"], **found["Memory"]}


class Aggregates(Mxnet):
    def test_durations_counters_and_markers(self):
        self.configure(profile_memory=False)
        mxnet.set_state("run")
        domain = mxnet.Domain("Training")
        task, frame, event = domain.new_task("epoch"), domain.new_frame("batch"), mxnet.Event("read")
        counter, marker = domain.new_counter("samples", 10), domain.new_marker("best")
        task.start()
        for sleep in (0.01, 0.02, 0.03):
            frame.start()
            time.sleep(sleep)
            frame.stop()
        task.stop()
        event.start()
        event.stop()
        counter += 32
        counter -= 2
        marker.mark()
        with tbprof.Scope("matmul"):
            time.sleep(0.01)
        rows = self.rows()
        self.assertEqual(list(rows), ["Training", "Training,frame", "Training,instant_marker", "event", "operator"])
        epoch, batch = rows["Training"]["epoch"], rows["Training,frame"]["batch"]
        self.assertEqual((epoch["Count"], batch["Count"], rows["event"]["read"]["Count"]), (1, 3, 1))
        self.assertGreaterEqual(batch["Min"], 10)
        self.assertGreaterEqual(batch["Max"], 30)
        self.assertGreaterEqual(batch["Total"], 60)
        self.assertGreaterEqual(epoch["Total"], 60)
        self.assertAlmostEqual(batch["Avg"], batch["Total"] / 3, delta=0.1)
        # Of a counter: how often it was set, its last value, and half the distance of 10 and 42; in thousandths.
        self.assertEqual(rows["Training"]["samples"], {"Count": 3, "Total": 0.04, "Min": 0.01, "Max": 0.042, "Avg": 0.016})
        self.assertEqual(rows["Training,instant_marker"], {})
        self.assertEqual(rows["operator"]["matmul"]["Count"], 1)
        self.assertGreaterEqual(rows["operator"]["matmul"]["Total"], 10)

    def test_tasks_overlap_and_repeat(self):
        self.configure()
        mxnet.set_state("run")
        domain = mxnet.Domain("d")
        first, second = domain.new_task("first"), domain.new_task("second")
        second.stop()  # never started: counts not
        first.start()
        second.start()
        first.stop()
        first.start()
        second.stop()
        first.stop()
        self.assertEqual({name: row["Count"] for name, row in self.rows()["d"].items()}, {"first": 2, "second": 1})

    def test_the_table(self):
        self.configure(profile_memory=False)
        mxnet.set_state("run")
        domain = mxnet.Domain("d")
        for value in (2000, 500):
            domain.new_counter("a counter", value)
        lines = mxnet.dumps().split("\n")
        self.assertEqual(lines, [
            "", "Profile Statistics:", "\tNote the difference in units for different entries.", "d", "=================",
            HEADING, "----                          -----------        ---------    -------------    -------------    "
            "-------------",
            "a counter                               2           0.5000           0.5000           2.0000           "
            "0.7500", "", ""])

    def test_sorting(self):
        self.configure()
        mxnet.set_state("run")
        domain = mxnet.Domain("d")
        for name, values in (("a", (1, 9)), ("b", (5,)), ("c", (3, 3, 3)), ("d", (5,))):
            for value in values:
                domain.new_counter(name, value)
        for sort_by, expected in (("total", "adbc"), ("avg", "adcb"), ("min", "dbca"), ("max", "adbc"),
                                  ("count", "cadb")):
            self.assertEqual("".join(self.rows(sort_by=sort_by)["d"]), expected, sort_by)
        self.assertEqual("".join(self.rows(sort_by="count", ascending=True)["d"]), "dbac")

    def test_reset_forgets(self):
        self.configure(profile_memory=False)
        mxnet.set_state("run")
        mxnet.Domain("d").new_counter("c", 1)
        self.assertEqual(list(self.rows(reset=True)), ["d"])
        self.assertEqual(self.rows(), {})

    def test_without_aggregate_stats_there_are_none(self):
        self.configure(aggregate_stats=False)
        mxnet.set_state("run")
        self.assertEqual(mxnet.dumps(), "")

    def test_memory_of_the_process(self):
        self.configure()
        mxnet.set_state("run")
        end = time.monotonic() + 120
        while "Device Storage" not in self.rows() and time.monotonic() < end:
            time.sleep(0.05)  # it is looked at every 100 ms, by a thread
        memory = self.rows()["Device Storage"]["Memory: process"]
        self.assertGreater(memory["Max"], 1000)
        self.assertNotIn("Total", memory)


class Files(Mxnet):
    def test_profile_json(self):
        self.configure()
        mxnet.set_state("run")
        domain = mxnet.Domain("Training")
        for duration in (domain.new_task("a task"), domain.new_frame("a frame"), mxnet.Event("an \"event\"")):
            duration.start()
            time.sleep(0.005)
            duration.stop()
        domain.new_counter("a counter", 7)
        domain.new_marker("a marker").mark("thread")
        with tbprof.Scope("a scope"):
            pass
        mxnet.dump()
        trace = self.trace()
        self.assertEqual(trace["displayTimeUnit"], "ms")
        processes = {event["pid"]: event["args"]["name"] for event in trace["traceEvents"] if event["ph"] == "M"}
        self.assertEqual(processes[0], "cpu/0")
        found = [(e["name"], e["cat"], e["ph"], processes[e["pid"]]) for e in self.events()
                 if e["cat"] != "Device Storage"]
        self.assertEqual(sorted(found), sorted([
            ("a task", "Training", "b", "Training"), ("a task", "Training", "e", "Training"),
            ("a frame", "Training,frame", "(", "Training,frame"), ("a frame", "Training,frame", ")", "Training,frame"),
            ("an \"event\"", "event", "B", "event"), ("an \"event\"", "event", "E", "event"),
            ("a counter", "Training", "C", "Training"),
            ("a marker", "Training,instant_marker", "n", "Training,instant_marker"),
            ("a scope", "operator", "B", "cpu/0"), ("a scope", "operator", "E", "cpu/0")]))
        by_name = {(e["name"], e["ph"]): e for e in self.events()}
        begin, end = by_name["a task", "b"], by_name["a task", "e"]
        self.assertEqual((begin["id"], begin["tid"]), (end["id"], end["tid"]))
        self.assertGreaterEqual(end["ts"] - begin["ts"], 5000)
        self.assertEqual(by_name["a marker", "n"]["s"], "t")
        self.assertEqual(by_name["a counter", "C"]["args"], {"a counter": 7})

    def test_the_run(self):
        self.configure()
        mxnet.set_state("run")
        task = mxnet.Domain("d").new_task("task")
        task.start()
        time.sleep(0.01)
        task.stop()
        mxnet.dump()
        (event,) = recorded.named(self.run_of(), "task")
        self.assertGreaterEqual(event["dur"], 10000)
        self.assertEqual((event["args"]["category"], event["args"]["kind"]), ("d", "task"))

    def test_the_run_is_beside_the_file_where_nothing_else_is_said(self):
        mxnet.set_config(filename=self.path)
        mxnet.set_state("run")
        mxnet.dump()
        self.assertTrue(os.path.isdir(self.run_of(self._folder.name)))

    def test_dumps_in_between_append(self):
        self.configure()
        mxnet.set_state("run")
        domain = mxnet.Domain("d")
        domain.new_marker("first").mark()
        mxnet.dump(finished=False)
        domain.new_marker("second").mark()
        mxnet.dump()
        self.assertEqual([e["name"] for e in self.events() if e["ph"] == "n"], ["first", "second"])
        self.assertEqual(len(recorded.runs(self.logdir)), 2)

    def test_an_old_file_is_removed_by_set_config(self):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("old")
        self.configure()
        self.assertFalse(os.path.exists(self.path))


class Orders(Mxnet):
    def marks(self):
        return [event["name"] for event in self.events() if event["ph"] == "n"]

    def test_pause_resume_stop_run(self):
        self.configure()
        marker = mxnet.Domain("d").new_marker
        marker("before").mark()
        mxnet.set_state("run")
        marker("1").mark()
        mxnet.pause()
        marker("paused").mark()
        mxnet.resume()
        marker("2").mark()
        mxnet.set_state("stop")
        marker("stopped").mark()
        mxnet.set_state("run")
        mxnet.set_state("run")
        marker("3").mark()
        mxnet.dump()
        marker("after").mark()
        self.assertEqual(self.marks(), ["before", "1", "2", "3"])

    def test_dump_without_a_run(self):
        self.configure()
        with self.assertRaisesRegex(mxnet.MXNetError, "Profiler hasn't been run"):
            mxnet.dump()
        mxnet.set_state("run")
        mxnet.dump()
        with self.assertRaisesRegex(mxnet.MXNetError, "Profiler hasn't been run"):
            mxnet.dump()

    def test_without_continuous_dump_dumps_is_the_last(self):
        self.configure(continuous_dump=False)
        mxnet.set_state("run")
        mxnet.Domain("d").new_marker("m").mark()
        mxnet.dumps()
        self.assertEqual(self.marks(), ["m"])
        with self.assertRaisesRegex(mxnet.MXNetError, "Profiler hasn't been run"):
            mxnet.dump()

    def test_refused_settings(self):
        for settings, words in (({"profile_al": True}, "Cannot find argument 'profile_al'; did you mean 'profile_all'"),
                                ({"profile_all": "yes"}, "profile_all expect boolean but value='yes'"),
                                ({"dump_period": "x"}, "dump_period expect float"),
                                ({"dump_period": 0}, "dump_period"),
                                ({"profile_process": "other"}, "valid values are"),
                                ({"profile_process": "server"}, "kvstore")):
            with self.subTest(**settings), self.assertRaisesRegex(mxnet.MXNetError, words):
                mxnet.set_config(**settings)
        mxnet.set_config(filename=self.path, profile_all="true", dump_period="0.5")  # as texts, as MXNet takes them

    def test_refused_arguments(self):
        for call in (lambda: mxnet.set_state("pause"), lambda: mxnet.set_state("run", profile_process="x")):
            with self.assertRaises(KeyError):
                call()
        for arguments in ({"format": "csv"}, {"sort_by": "name"}, {"ascending": 2}, {"reset": "x"}):
            with self.assertRaisesRegex(AssertionError, "Invalid value provided for " + next(iter(arguments))):
                mxnet.dumps(**arguments)
        with self.assertRaisesRegex(mxnet.MXNetError, "valid values are"):
            mxnet.Domain("d").new_marker("m").mark("everywhere")
        with self.assertRaises(mxnet.MXNetError):
            mxnet.Domain("")
        with self.assertRaises(mxnet.MXNetError):
            mxnet.pause(profile_process="server")

    def test_a_session_of_another(self):
        tbprof.start(self.logdir)
        self.addCleanup(tbprof.stop)
        with self.assertRaisesRegex(mxnet.MXNetError, "does not start"):
            mxnet.set_state("run")

    def test_errors_are_also_those_of_mxnet(self):
        class Theirs(RuntimeError):
            pass
        with mock.patch.dict(sys.modules, mxnet=types.SimpleNamespace(base=types.SimpleNamespace(MXNetError=Theirs))), \
                self.assertRaises(Theirs):
            mxnet.dump()

    def test_deprecated_names(self):
        mxnet.profiler_set_config("all", self.path)
        mxnet.profiler_set_state("run")
        mxnet.dump_profile()
        self.assertEqual(len(self.told()), 3)
        self.assertIn("profiler.dump_profile() is deprecated. Please use profiler.dump() instead", self.told())

    def test_names(self):
        domain = mxnet.Domain("d")
        self.assertEqual([str(x) for x in (domain, domain.new_task("t"), domain.new_frame("f"), mxnet.Event("e"),
                                           domain.new_counter("c"))], list("dtfec"))

    def test_scopes_are_joined(self):
        with mxnet.scope("outer:"), mxnet.scope("inner"):
            self.assertEqual(mxnet._current_scope.get(), "outer:inner:")  # pylint: disable=protected-access
            with mxnet.scope("alone", append_mode=False):
                self.assertEqual(mxnet._current_scope.get(), "alone:")  # pylint: disable=protected-access
        self.assertEqual(mxnet._current_scope.get(), "<unk>:")  # pylint: disable=protected-access


class Processes(Mxnet):
    def run_script(self, script, **environment):
        result = subprocess.run([sys.executable, "-c", script], env={**os.environ, **environment}, cwd=self._folder.name,
                                capture_output=True, text=True, check=True)
        self.assertEqual(result.stderr, "")
        return result.stdout

    def test_what_was_not_dumped_is_at_the_end(self):
        self.run_script("from tbprof import mxnet\nmxnet.set_state('run')\nmxnet.Domain('d').new_marker('m').mark()")
        self.assertEqual([e["name"] for e in self.events() if e["ph"] == "n"], ["m"])
        self.run_of(self._folder.name)

    def test_autostart(self):
        self.run_script("from tbprof import mxnet\nmxnet.Domain('d').new_marker('m').mark()",
                        MXNET_PROFILER_AUTOSTART="1", TBPROF_LOGDIR=self.logdir)
        self.assertEqual([e["name"] for e in self.events() if e["ph"] == "n"], ["m"])
        self.run_of()

    def test_autostart_0_is_none(self):
        self.run_script("from tbprof import mxnet", MXNET_PROFILER_AUTOSTART="0")
        self.assertEqual(os.listdir(self._folder.name), [])


@unittest.skipUnless(os.path.isdir(RECORDINGS), "needs recordings of MXNet")
class Recorded(unittest.TestCase):
    """The events that MXNet 1.9.1 wrote, in our aggregate: byte for byte the tables that it made of them itself."""

    def aggregate(self, folder):
        with open(os.path.join(folder, "profile.json"), encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        stats, begins = _mxnet_stats.Aggregate(), {}
        for e in events:
            key = (e["name"], e.get("cat"), e.get("tid"))
            if e["ph"] == "C":
                stats.add(e["cat"], e["name"], _mxnet_stats.COUNTER, e["args"][e["name"]])
            elif e["ph"] == "n":
                stats.add(e["cat"], e["name"], _mxnet_stats.OTHER)
            elif e["ph"] in "B(" or (e["ph"] == "b" and e["cat"] != "operator"):
                begins[key] = e["ts"]
            elif e["ph"] in "E)" or (e["ph"] == "e" and e["cat"] != "operator"):
                stats.add(e["cat"], e["name"], _mxnet_stats.DURATION, e["ts"] - begins.pop(key))
        return stats

    def test_tables(self):
        folders = [os.path.dirname(path) for path in glob.glob(os.path.join(RECORDINGS, "*", "oracle-total.json"))]
        self.assertTrue(folders)
        for folder in folders:
            stats = self.aggregate(folder)
            for path in glob.glob(os.path.join(folder, "oracle-*-*.txt")):
                sort_by, direction = os.path.basename(path)[:-4].split("-")[1:]
                with self.subTest(path=path), open(path, encoding="utf-8") as file:
                    self.assertEqual(stats.table(sort_by, direction == "asc"), file.read())
            with open(os.path.join(folder, "oracle-total.json"), encoding="utf-8") as file:
                expected = json.load(file)
            self.assertEqual(json.dumps(json.loads(stats.json("total", False))), json.dumps(expected))


if __name__ == "__main__":
    unittest.main()
