#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The style of MindSpore's profiler: order of calls and errors, and the files with their columns, which are those of
recordings of MindSpore 2.0.0."""
import csv
import json
import os
import stat
import time
import unittest
from unittest import mock

import recorded
import tbprof
from tbprof import mindspore

CONV = "Default/network-Net/c-Conv2d/Conv2D-op34"
RELU = "Default/network-Net/r-ReLU/ReLU-op35"
RELU_2 = "Default/network-Net/ReLU-op36"
GRAD = "Gradients/Default/network-Net/c-Conv2d/Conv2DBackpropFilter-op46"


class Mindspore(recorded.Case):
    def setUp(self):
        super().setUp()
        self.folder = os.path.join(self.logdir, "profiler")
        self.addCleanup(setattr, mindspore.Profiler, "_has_initialized", False)
        self.addCleanup(self.stop)

    @staticmethod
    def stop():
        try:
            tbprof.stop(save=False)
        except tbprof.errors.UnavailableError:
            pass

    def path(self, name):
        return os.path.join(self.folder, name)

    def table(self, name):
        with open(self.path(name), encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def json(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return json.load(file)

    def train(self, steps=2, **arguments):
        """Per step 10 ms of Conv2D, 2 x 5 ms of two ReLUs, and 5 ms of a gradient with shapes."""
        profiler = mindspore.Profiler(output_path=self.logdir, **arguments)
        for step in range(1, steps + 1):
            with tbprof.StepTrace("train", step_num=step):
                for name, sleep in ((CONV, 0.01), (RELU, 0.005), (RELU_2, 0.005)):
                    with tbprof.Scope(name):
                        time.sleep(sleep)
                with tbprof.Scope(GRAD, shapes="[16, 1]"):
                    time.sleep(0.005)
        profiler.analyse()
        return profiler


class Files(Mindspore):
    def test_types(self):
        self.train()
        with open(self.path("cpu_op_type_info_0.csv"), encoding="utf-8") as file:
            self.assertEqual(file.readline(), "op_type,type_occurrences,execution_frequency(per-step),"
                                              "total_compute_time,avg_time(ms),percent\n")
        rows = {row["op_type"]: row for row in self.table("cpu_op_type_info_0.csv")}
        self.assertEqual({name: (row["type_occurrences"], row["execution_frequency(per-step)"])
                          for name, row in rows.items()},
                         {"Conv2D": ("2", "1"), "ReLU": ("4", "2"), "Conv2DBackpropFilter": ("2", "1")})
        for name, least in (("Conv2D", 20), ("ReLU", 20), ("Conv2DBackpropFilter", 10)):
            total = float(rows[name]["total_compute_time"])
            self.assertGreaterEqual(total, least)
            self.assertAlmostEqual(float(rows[name]["avg_time(ms)"]), total / int(rows[name]["type_occurrences"]), 3)
        self.assertAlmostEqual(sum(float(row["percent"]) for row in rows.values()), 1, 4)

    def test_operators(self):
        self.train()
        rows = self.table("cpu_op_detail_info_0.csv")
        self.assertEqual(list(rows[0]), ["op_side", "op_type", "op_name", "full_op_name", "op_occurrences",
                                         "op_total_time(ms)", "op_avg_time(ms)", "total_proportion", "subgraph", "pid"])
        self.assertEqual([(row["op_side"], row["op_type"], row["op_name"], row["full_op_name"], row["op_occurrences"],
                           row["subgraph"], row["pid"]) for row in rows],
                         [("Host", "Conv2D", "Conv2D-op34", CONV, "2", "Default", str(os.getpid())),
                          ("Host", "ReLU", "ReLU-op35", RELU, "2", "Default", str(os.getpid())),
                          ("Host", "ReLU", "ReLU-op36", RELU_2, "2", "Default", str(os.getpid())),
                          ("Host", "Conv2DBackpropFilter", "Conv2DBackpropFilter-op46", GRAD, "2", "Gradients",
                           str(os.getpid()))])

    def test_times_of_each(self):
        self.train()
        with open(self.path("cpu_op_execute_timestamp_0.txt"), encoding="utf-8") as file:
            name, unit, spans = file.readline().rstrip("\n").split(";")
        self.assertEqual((name, unit), (CONV, "HostCpuOps"))
        spans = [span.split(",") for span in spans.split()]
        self.assertEqual([span[2] for span in spans], ["0", "0"])
        self.assertGreaterEqual(min(float(span[1]) for span in spans), 10)
        self.assertGreaterEqual(int(spans[1][0]) - int(spans[0][0]), 25_000_000)  # a step of ours is 25 ms

    def test_calls_with_their_shapes(self):
        self.train(steps=1)
        with open(self.path("cpu_framework_0.txt"), encoding="utf-8") as file:
            self.assertEqual(file.read().splitlines(),
                             ["Conv2D;Conv2D-op34;0;", "ReLU;ReLU-op35;0;", "ReLU;ReLU-op36;0;",
                              "Conv2DBackpropFilter;Conv2DBackpropFilter-op46;0;input_1:[16, 1];"])

    def test_the_timeline(self):
        self.train(steps=1)
        events = [event for event in self.json("cpu_timeline_display_0.json") if event["ph"] == "X"]
        ops = [event["name"] for event in events if event["tid"] == "HostCpuOps0"]
        self.assertEqual(ops, ["Conv2D-op34", "ReLU-op35", "ReLU-op36", "Conv2DBackpropFilter-op46"])
        self.assertEqual([event["name"] for event in events if event["tid"] == 100000], ["1"])
        scopes = sorted((event["scope_level"], event["ts"], event["name"]) for event in events if event["tid"] == 100001)
        self.assertEqual([(level, name) for level, _, name in scopes],
                         [(0, "Default"), (0, "Gradients"), (1, "network-Net"), (1, "Default"), (2, "c-Conv2d"),
                          (2, "r-ReLU"), (2, "network-Net"), (3, "c-Conv2d")])
        (network,) = [event for event in events if event.get("scope_level") == 1 and event["name"] == "network-Net"]
        self.assertGreaterEqual(network["dur"], 20000)  # around three operators
        summary = self.json("cpu_timeline_summary_0.json")
        self.assertGreaterEqual(summary.pop("total_time"), 25)
        self.assertEqual(summary, {"num_of_streams": 1, "num_of_ops": 4, "op_exe_times": 4, "max_scope_name_num": 4})

    def test_a_limit_of_the_timeline(self):
        with mock.patch("tbprof._mindspore_files._span", side_effect=lambda name, thread, *_, **__: {
                "ph": "X", "tid": thread, "name": "x" * 700_000}):
            self.train(steps=1, timeline_limit=2)
        events = [event for event in self.json("cpu_timeline_display_0.json") if event.get("tid") == "HostCpuOps0"]
        self.assertEqual(len(events), 2)  # 3 x 700 kB are more than 2 MB

    def test_the_table_of_mindspore_1(self):
        self.train(is_show_op_path=True)
        with open(self.path("output_op_compute_time_detail_0.txt"), encoding="utf-8") as file:
            types, details = file.read().split("\n\nDetail:\n")
        lines = [line.split(" ") for line in types.split("\n")]
        self.assertEqual(lines[:2], [["title:op", "compute", "time"],
                                     "optype_name compute_time(ms, per-step) called_times(per-step) percent".split(" ")])
        self.assertEqual({line[0]: line[2] for line in lines[2:]}, {"Conv2D": "1", "ReLU": "2", "Conv2DBackpropFilter": "1"})
        times = [float(line[1]) for line in lines[2:]]
        self.assertEqual(times, sorted(times, reverse=True))
        self.assertGreaterEqual(min(times), 5)
        heads, *rows = [line.split(" ") for line in details.splitlines()]
        self.assertEqual(heads, ["op_name", "op_type", "avg_execution_time", "subgraph", "full_op_name"])
        self.assertEqual({row[-1] for row in rows}, {CONV, RELU, RELU_2, GRAD})

    def test_without_detail(self):
        self.train(is_detail=False)
        self.assertFalse(os.path.exists(self.path("cpu_op_detail_info_0.csv")))
        with open(self.path("output_op_compute_time_detail_0.txt"), encoding="utf-8") as file:
            self.assertNotIn("Detail", file.read())

    def test_filters(self):
        for arguments, expected in ((dict(subgraph="Gradients"), ["Conv2DBackpropFilter"]),
                                    (dict(subgraph="Default"), ["Conv2D", "ReLU"]),
                                    (dict(optypes_to_deal="ReLU,Conv2D", optypes_not_deal="Conv2D"), ["ReLU"])):
            with self.subTest(**arguments):
                self.train(steps=1, **arguments)
                self.assertEqual([row["op_type"] for row in self.table("cpu_op_type_info_0.csv")], expected)

    def test_own_times_without_those_inside(self):
        profiler = mindspore.Profiler(output_path=self.logdir)
        began = time.perf_counter()
        with tbprof.Scope("outer"):
            with tbprof.Scope("inner"):
                time.sleep(0.02)
            time.sleep(0.005)
        took_ms = (time.perf_counter() - began) * 1000
        profiler.analyse()
        rows = {row["op_type"]: float(row["total_compute_time"]) for row in self.table("cpu_op_type_info_0.csv")}
        self.assertGreaterEqual(rows["outer"], 5)
        self.assertGreaterEqual(rows["inner"], 20)
        self.assertLess(rows["outer"] + rows["inner"], took_ms)

    def test_info_rank_and_run(self):
        with mock.patch.dict(os.environ, RANK_ID="2", RANK_SIZE="4"):
            self.train(steps=1)
        info = self.json("profiler_info_2.json")
        self.assertEqual((info["rank_id"], info["rank_size"], info["is_heterogeneous"]), ("2", 4, False))
        self.assertRegex(info["profiling_start_time"], r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$")
        self.assertEqual(recorded.step_names(self.run_of()), ["train 1"])

    def test_op_analyse(self):
        profiler = self.train()
        found = json.loads(profiler.op_analyse(["ReLU", "Conv2DBackpropFilter"]))
        self.assertEqual(found["device_id"], "0")
        (relu,), (grad,) = found["ReLU"], found["Conv2DBackpropFilter"]
        self.assertEqual((relu["op_side"], relu["input_shape"], relu["op_occurrences"]), ("cpu", "", 4))
        self.assertEqual((grad["input_shape"], grad["op_occurrences"]), ("[16, 1]", 2))
        self.assertGreaterEqual(relu["op_total_time(us)"], 20000)
        self.assertAlmostEqual(relu["op_avg_time(us)"], relu["op_total_time(us)"] / 4, 3)
        for arguments in ((3,), ("",), ([],), ("ReLU", "x")):
            with self.assertRaises(TypeError):
                profiler.op_analyse(*arguments)
        with self.assertRaisesRegex(RuntimeError, "<MatMul> is not found"):
            profiler.op_analyse("MatMul")


class Orders(Mindspore):
    def test_one_at_a_time(self):
        profiler = mindspore.Profiler(output_path=self.logdir)
        with self.assertRaisesRegex(RuntimeError, "Do not init twice in the profiler."):
            mindspore.Profiler(output_path=self.logdir)
        profiler.analyse()
        mindspore.Profiler(output_path=self.logdir).analyse()

    def test_start_and_stop(self):
        profiler = mindspore.Profiler(output_path=self.logdir, start_profile=False)
        with self.assertRaisesRegex(RuntimeError, "has not started, so can not stop"):
            profiler.stop()
        with tbprof.Scope("before"):
            pass
        profiler.start()
        with self.assertRaisesRegex(RuntimeError, "already started"):
            profiler.start()
        with tbprof.Scope("inside"):
            pass
        profiler.stop()
        with tbprof.Scope("after"):
            pass
        with self.assertRaisesRegex(RuntimeError, "repeated start and stop actions are not supported"):
            profiler.start()
        profiler.analyse()
        self.assertEqual([row["op_type"] for row in self.table("cpu_op_type_info_0.csv")], ["inside"])

    def test_nothing_profiled(self):
        mindspore.Profiler(output_path=self.logdir, start_profile=False).analyse()
        self.assertEqual(sorted(os.listdir(self.folder)), ["cpu_timeline_display_0.json", "cpu_timeline_summary_0.json",
                                                           "profiler_info_0.json"])
        self.assertEqual(self.json("cpu_timeline_summary_0.json")["op_exe_times"], 0)

    def test_a_folder_that_cannot_be_written(self):
        profiler = mindspore.Profiler(output_path=self.logdir)
        os.rmdir(self.folder)
        with self.assertRaisesRegex(RuntimeError, "Fail to write timeline data."):
            profiler.analyse()

    def test_refused_arguments(self):
        for arguments, kind, words in (
                (dict(start_profile=1), TypeError, "start_profile must be bool"),
                (dict(is_detail="yes"), TypeError, "Parameter is_detail: input type must be bool!"),
                (dict(is_show_op_path=0), TypeError, "Parameter is_show_op_path"),
                (dict(output_path=""), RuntimeError, "The path is invalid!"),
                (dict(subgraph="none"), ValueError, "subgraph must be all or Default or Gradients, but got none.")):
            with self.subTest(**arguments), self.assertRaisesRegex(kind, words):
                mindspore.Profiler(**{"output_path": self.logdir, **arguments})
        self.assertFalse(tbprof.is_active(0))

    def test_what_is_told(self):
        mindspore.Profiler(output_path=self.logdir, profile_memory=True, timeline_limit=0).analyse()
        mindspore.Profiler(output_path=self.logdir).analyse()
        self.assertEqual(len(self.told()), 3, self.told())
        self.assertEqual(self.told()[0], "profile_memory is an invalid param which doesn't work.")
        self.assertIn("it will be set to 500", self.told()[1])
        self.assertIn("The target dir already exists", self.told()[2])

    def test_a_session_of_another(self):
        tbprof.start(self.logdir)
        with self.assertRaises(tbprof.errors.AlreadyExistsError):
            mindspore.Profiler(output_path=self.logdir)
        tbprof.stop()
        mindspore.Profiler(output_path=self.logdir).analyse()

    def test_the_folder_is_the_users_own_and_may_come_from_the_environment(self):
        with mock.patch.dict(os.environ, MS_DIAGNOSTIC_DATA_PATH=self.logdir):
            mindspore.Profiler().analyse()
        self.assertEqual(stat.S_IMODE(os.stat(self.folder).st_mode), 0o700)


if __name__ == "__main__":
    unittest.main()
