#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reports of a folder of ranks in which files of some cannot be read: they are of the others, and say so."""
import csv
import io
import json
import os
import unittest

from support import Case, run


def event(cat, name, ts, dur, pid=1, tid=1, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def events_of(rank):
    """Three steps of 90 us, each with an op of 20 us and an all-reduce to which rank n comes n us late."""
    events = []
    for k in (100, 200, 300):
        events += [event("user_annotation", f"ProfilerStep#{k // 100}", k, 90), event("cpu_op", "aten::mm", k + 5, 20),
                   event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", k + 30 + rank, 20 - rank, 0, 7, device=0,
                         stream=7)]
    return events


class UnreadableRank(Case):
    def write(self, rank, data):
        os.makedirs(self.path("run"), exist_ok=True)
        with open(self.path("run", f"w{rank}.pt.trace.json"), "wb") as f:
            f.write(data)

    def run_of(self, unreadable):
        for rank in range(4):
            self.write(rank, json.dumps({
                "schemaVersion": 1, "baseTimeNanoseconds": 10 ** 18, "traceEvents": events_of(rank),
                "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 4}}).encode())
        for rank in unreadable:
            self.write(rank, b"\x1f\x8b\x08\x00" if rank == 3 else b"no profile, but text\n")
        return self.path("run")

    def part(self, *args):
        """The answer of ranks 0 and 2."""
        got = self.expect(1, *args)
        self.assertRegex(got.stderr, r"warning: .*w1\.pt\.trace\.json: not a profile in a known format")
        self.assertRegex(got.stderr, r"warning: .*w3\.pt\.trace\.json: compressed input is cut")
        self.assertIn("2 of 4 hosts cannot be read: the answer is of the others", got.stderr)
        return got.stdout

    def answer(self, command):
        got = json.loads(self.part(command, self.run_of([1, 3]), "--json"))
        found = [(f["host"], f["serious"]) for f in got["findings"] if f["key"] == "file_unreadable"]
        self.assertEqual(found, [("w1", True), ("w3", True)])
        return got

    def test_a_link_to_nothing_in_the_place_of_a_rank_is_told(self):
        run = self.run_of([])
        os.remove(self.path("run", "w1.pt.trace.json"))
        os.symlink("nowhere", self.path("run", "w1.pt.trace.json"))
        os.remove(self.path("run", "w3.pt.trace.json"))
        os.mkfifo(self.path("run", "w3.pt.trace.json"))
        got = self.expect(0, "stats", run, timeout=60)
        self.assertRegex(got.stderr, r"w1\.pt\.trace\.json': it is a link to nothing")
        self.assertRegex(got.stderr, r"w3\.pt\.trace\.json': it is no regular file")

    def test_a_rank_that_is_not_analysed_yet_is_told(self):
        for rank in range(2):
            os.makedirs(self.path("ranks", f"{rank}_ascend_pt", "PROF_1"))
            with open(self.path("ranks", f"{rank}_ascend_pt", "profiler_info.json"), "w") as f:
                json.dump({"rank_id": rank}, f)
        os.mkdir(self.path("ranks", "0_ascend_pt", "ASCEND_PROFILER_OUTPUT"))
        with open(self.path("ranks", "0_ascend_pt", "ASCEND_PROFILER_OUTPUT", "kernel_details.csv"), "w") as f:
            f.write("Device_id,Name,Type,Start Time(us),Duration(us)\n0,add,Add,1000.5,3\n")
        got = self.expect(1, "stats", self.path("ranks"))
        self.assertIn("add", got.stdout)
        self.assertIn("1_ascend_pt' holds raw data only", got.stderr)
        self.assertIn("1 of 2 hosts cannot be read: the answer is of the others", got.stderr)

    def test_what_stands_in_the_place_of_a_folder_of_a_rank_is_told(self):
        def rank(n):
            return self.path("job", f"node{n}_2023111410201{n}_ascend_pt")
        for n in (0, 2):
            os.makedirs(os.path.join(rank(n), "ASCEND_PROFILER_OUTPUT"))
            with open(os.path.join(rank(n), "ASCEND_PROFILER_OUTPUT", "kernel_details.csv"), "w") as f:
                f.write("Device_id,Name,Type,Start Time(us),Duration(us)\n0,add,Add,1000.5,3\n")
        self.assertEqual(self.expect(0, "convert", self.path("job"), "--strict", "-q", "-o", self.path("whole")).stderr, "")

        def is_told(why):
            for args in (("stats",), ("check",), ("steps",)):
                got = run(*args, self.path("job"))
                self.assertRegex(got.stderr, r"skipped '.*node1_\w+': it " + why)
            got = run("convert", self.path("job"), "--strict", "-q", "-o", self.path("o"))
            self.assertEqual(got.returncode, 1, got.stderr)
        os.symlink("nowhere", rank(1))
        is_told("is a link to nothing")
        os.remove(rank(1))
        os.mkfifo(rank(1))
        is_told("is no folder")
        os.remove(rank(1))
        with open(rank(1), "w") as f:
            f.write("x")
        is_told("is no folder")
        os.remove(rank(1))
        os.makedirs(os.path.join(rank(1), "logs"))
        is_told("has the name of a rank's folder and holds no profile")

    def test_stats_are_of_the_others(self):
        got = self.answer("stats")
        self.assertEqual(got["hosts"], ["w0", "w2"])
        rows = {r["name"]: (r["count"], r["avg_us"]) for r in got["rows"]}
        self.assertEqual(rows["aten::mm"], (6, 20))
        self.assertEqual(rows["ncclDevKernel_AllReduce_Sum_f32_RING_LL"], (6, 19))
        self.assertIn("!! w1: cannot be read: ", self.part("stats", self.path("run")))
        rows = list(csv.DictReader(io.StringIO(self.part("stats", self.path("run"), "--csv"))))
        self.assertEqual([r["count"] for r in rows if r["name"] == "aten::mm"], ["6"])

    def test_steps_are_of_the_others(self):
        self.assertEqual([(s["host"], s["step"], s["marker_us"]) for s in self.answer("steps")["steps"]],
                         [(h, n, 90) for h in ("w0", "w2") for n in (1, 2, 3)])
        self.assertIn("!! w3: cannot be read: ", self.part("steps", self.path("run")))

    def test_collectives_are_of_the_others(self):
        got = self.answer("collectives")
        self.assertEqual([(h["host"], h["waited_us"], h["times_late"]) for h in got["hosts"]],
                         [("w0", 6, 0), ("w2", 0, 3)])
        self.assertIn("ranks_missing", [f["key"] for f in got["findings"]])
        self.assertIn("!! w1: cannot be read: ", self.part("collectives", self.path("run")))
        self.part("collectives", self.path("run"), "--clock-offset", "w1=1ms")

    def test_findings_have_the_clocks_of_their_hosts(self):
        """w2's clock is 5 s ahead: stated, it starts with w0; the hosts between cannot be read."""
        folder = self.run_of([1, 3])
        self.write(2, json.dumps({"schemaVersion": 1, "baseTimeNanoseconds": 10 ** 18 + 5 * 10 ** 9,
                                  "traceEvents": events_of(2)}).encode())
        def keys(*args):
            return [f["key"] for f in json.loads(self.part("collectives", folder, "--json", *args))["findings"]]
        self.assertNotIn("start_skew", keys("--clock-offset", "w2=5s"))
        self.assertIn("start_skew", keys("--clock-offset", "w2=2s"))

    def test_stacks_and_exports_are_of_the_others(self):
        stacks = {s["stack"]: s["self_us"] for s in self.answer("stacks")["stacks"]}
        self.assertEqual(stacks["ProfilerStep#1;aten::mm"], 40)
        events = json.loads(self.part("export", self.path("run"), "--chrome"))["traceEvents"]
        self.assertEqual(sum(e["name"] == "aten::mm" for e in events), 6)
        self.assertIn("aten::mm", self.part("export", self.path("run"), "--mxnet"))
        self.assertEqual({line.split(",")[0] for line in self.part("export", self.path("run"), "--csv").split("\n")[1:-1]},
                         {"w0", "w2"})

    def test_info_compares_the_clocks_of_the_others(self):
        got = json.loads(self.expect(1, "info", self.run_of([1, 3]), "--json").stdout)
        self.assertEqual([(c["host"], c["compared_by"]) for c in got["runs"][0]["clocks"]], [("w0", 0), ("w2", 3)])

    def test_where_none_can_be_read_there_is_no_report(self):
        folder = self.run_of([0, 1, 2, 3])
        for args in (["stats"], ["steps"], ["collectives"], ["stacks"]):
            got = self.expect(1, *args, folder, "--json")
            self.assertRegex(json.loads(got.stdout)["error"]["message"], "not a profile in a known format")
            self.assertRegex(got.stderr, r"error: .*w0\.pt\.trace\.json")
        self.run_of([1])
        self.assertEqual(self.expect(1, "stats", folder, "--host", "w1").stdout, "")
        self.expect(0, "stats", folder, "--host", "w0")


if __name__ == "__main__":
    unittest.main()
