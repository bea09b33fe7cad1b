# SPDX-License-Identifier: Apache-2.0
"""Folders with a trace of each worker of a job: one run, each worker a host. Own small traces; the public case needs
../shared."""
import gzip
import json
import os
import shutil
import unittest

import import_fixtures
from support import SAMPLE, SHARED, Case


def trace(kernel_us, rank=None):
    """One op that launches one kernel of this length."""
    doc = {
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": "A"}],
        "traceEvents": [
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 100, "dur": 50,
             "args": {"External id": 1}},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 110, "dur": 5,
             "args": {"External id": 1, "correlation": 7}},
            {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 120, "dur": kernel_us,
             "args": {"External id": 1, "correlation": 7, "device": 0, "stream": 7}},
        ],
    }
    if rank is not None:
        doc["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 4}
    return json.dumps(doc)


class Workers(Case):
    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path("traces", name)), exist_ok=True)
        with (gzip.open if name.endswith(".gz") else open)(self.path("traces", name), "wt") as f:
            f.write(text)

    def hosts(self, folder):
        runs = json.loads(self.expect(0, "info", "--json", folder).stdout)["runs"]
        return {r["run"]: {h["host"]: (h["rank"], h.get("rank_told_by")) for h in r["hosts"]} for r in runs}

    def test_each_worker_is_a_host_of_one_run(self):
        self.write("box_1.1780#0.pt.trace.json", trace(10))
        self.write("box_1.1780#3.pt.trace.json", trace(20))
        self.write("gpu-07.rack 2_9.1790.pt.trace.json.gz", trace(30, rank=1))
        self.assertEqual(self.hosts(self.path("traces")), {"traces": {
            "box_1_0": (None, None), "box_1_3": (3, "name"), "gpu-07.rack 2_9": (1, "file")}})
        self.expect(0, "convert", "-o", self.path("log"), self.path("traces"))
        made = os.listdir(self.path("log", "plugins", "profile", "traces"))
        for host in ("box_1_0", "box_1_3", "gpu-07.rack 2_9", "ALL_HOSTS"):
            self.assertIn(host + ".kernel_stats.json", made)
        run = self.path("log", "plugins", "profile", "traces")
        rows = json.loads(self.expect(0, "tool", "kernel_stats", run).stdout)
        names = [c["id"] for c in rows["cols"]]
        self.assertEqual(sorted(r["c"][names.index("total_duration_us")]["v"] for r in rows["rows"]), [10, 20, 30])

    def test_each_further_span_is_a_run(self):
        self.write("a.100.pt.trace.json", trace(1))
        self.write("a.200.pt.trace.json", trace(2))
        self.write("b.105.pt.trace.json", trace(3))
        found = self.hosts(self.path("traces"))
        self.assertEqual({r: sorted(h) for r, h in found.items()},
                         {"traces_span1": ["a", "b"], "traces_span2": ["a"]})

    def test_folders_of_ranks_are_one_run(self):
        for rank in (0, 1, 10):
            self.write(f"rank_{rank}/trace.pt.trace.json", trace(10 + rank))
        self.assertEqual(self.hosts(self.path("traces")), {"traces": {
            "rank_0": (0, "name"), "rank_1": (1, "name"), "rank_10": (10, "name")}})
        self.expect(0, "convert", "-o", self.path("log"), self.path("traces"))
        self.assertEqual(os.listdir(self.path("log", "plugins", "profile")), ["traces"])
        rows = json.loads(self.expect(0, "stats", "--json", "--group-by", "host", self.path("traces")).stdout)["rows"]
        self.assertEqual({r["group"]: r["device_us"] for r in rows if r["name"] == "gemm"},
                         {"rank_0": 10, "rank_1": 11, "rank_10": 20})
        with open(self.path("log", "plugins", "profile", "traces", "rank_1.tbprof.json")) as f:
            self.assertEqual(json.load(f)["input"], "rank_1/trace.pt.trace.json")

    def test_folders_of_ranks_below_others_and_with_spans(self):
        for job in "ab":
            for rank in (0, 1):
                for time in (100, 200):
                    self.write(f"{job}/rank{rank}/out/w.{time + rank}.pt.trace.json", trace(1))
        self.assertEqual({r: sorted(h) for r, h in self.hosts(self.path("traces")).items()},
                         {f"{job}_span{n}": ["rank0", "rank1"] for job in "ab" for n in (1, 2)})

    def test_ranks_named_one_by_one_are_hosts_of_the_run_asked_for(self):
        for rank in (0, 1):
            self.write(f"rank{rank}/t.pt.trace.json", trace(10 + rank))
        files = [self.path("traces", f"rank{rank}", "t.pt.trace.json") for rank in (0, 1)]
        for inputs in (files, [os.path.dirname(f) for f in files]):
            log = self.path(os.path.basename(inputs[0]))
            self.expect(0, "convert", *inputs, "--run", "both", "-o", log)
            self.assertEqual(self.hosts(log), {"both": {"rank0": (0, "name"), "rank1": (1, "name")}})
        self.write("rank1/other.pt.trace.json", trace(5))
        self.expect(0, "convert", *map(os.path.dirname, files), "--run", "both", "-o", self.path("three"))
        self.assertEqual(sorted(self.hosts(self.path("three"))["both"]), ["other", "rank0_t", "rank1_t"])
        for folder in ("a", "b"):
            self.write(f"{folder}/t.pt.trace.json", trace(1))
        r = self.expect(2, "convert", self.path("traces", "a"), self.path("traces", "b"), "--run", "both")
        self.assertIn("two files of host 't' in run 'both'", r.stderr)
        self.assertIn("with another --host NAME for each", r.stderr)

    def test_runs_of_one_name_are_chosen_by_their_folders(self):
        for name in ("rank0/plugins/profile/T", "rank1/plugins/profile/T"):
            os.makedirs(self.path("log", name))
            shutil.copy(SAMPLE, self.path("log", name, "h.xplane.pb"))
        r = self.expect(2, "stats", self.path("log"), "--run", "T")
        self.assertIn("several runs ('rank0/T', 'rank1/T' …): choose with --run NAME", r.stderr)
        self.assertIn("nearest is 'rank1/T'", self.expect(2, "stats", self.path("log"), "--run", "rank1/t").stderr)
        self.assertEqual(self.expect(0, "stats", self.path("log"), "--run", "rank1/T").stdout,
                         self.expect(0, "stats", self.path("log", "rank1", "plugins", "profile", "T")).stdout)
        self.expect(0, "convert", self.path("log", "rank0"), self.path("log", "rank1"), "--run", "T", "-o", self.path("one"))
        self.assertEqual(sorted(self.hosts(self.path("one"))["T"]), ["rank0", "rank1"])
        for name, us in (("p/job/rank0", 1), ("p/job/rank1", 2), ("q/job/rank0", 4), ("q/job/rank1", 8), ("q/x/job", 16)):
            self.write(f"{name}/w.pt.trace.json", trace(us))
        for run, us in (("p/job", 3), ("q/job", 12), ("q/x/job", 16)):
            for inputs in ([self.path("traces")], [self.path("traces") + "/"]):
                rows = json.loads(self.expect(0, "stats", "--json", *inputs, "--run", run).stdout)["rows"]
                self.assertEqual([r["device_us"] for r in rows if r["name"] == "gemm"], [us])

    def test_other_folders_side_by_side_stay_runs(self):
        for names in (["epoch_1", "epoch_2"], ["run0", "run1"], ["rank_0", "rank_00"], ["rank_0_a", "rank_1_b"],
                      ["frank0", "frank1"], ["rank_0"]):
            for name in names:
                self.write(f"{name}/w.pt.trace.json", trace(1))
            self.assertEqual(sorted(self.hosts(self.path("traces"))), sorted(names))
            shutil.rmtree(self.path("traces"))
        for name in ("rank_0/a", "rank_1/a", "rank_1/b"):  # two workers of one rank
            self.write(f"{name}.pt.trace.json", trace(1))
        self.assertEqual(sorted(self.hosts(self.path("traces"))), ["rank_0", "rank_1"])

    def test_what_files_tell_of_ranks_wins_over_folders(self):
        """Two runs of one process each; ranks that the folders count from 1; one of three that is told otherwise."""
        for names, runs in (({"lora_rank8": 0, "lora_rank16": 0}, ["lora_rank16", "lora_rank8"]),
                            ({"rank_1": 0, "rank_2": 1}, ["traces"]),
                            ({"rank_0": 0, "rank_1": None}, ["traces"]),
                            ({"rank_8": 0, "rank_16": None}, ["rank_16", "rank_8"])):
            for ending in ("", ".gz"):
                for name, rank in names.items():
                    self.write(f"{name}/w.pt.trace.json{ending}", trace(1, rank=rank))
                self.assertEqual(sorted(self.hosts(self.path("traces"))), runs)
                shutil.rmtree(self.path("traces"))

    def test_a_rank_behind_a_long_head_is_found(self):
        head = {"padding": [[1, {"rank": 9}], 9000 * "x"], **json.loads(trace(1, rank=0))}
        events = head.pop("traceEvents")
        for name in ("a_rank8", "a_rank16"):
            self.write(f"{name}/w.pt.trace.json", json.dumps({**head, "traceEvents": events}))
        self.assertEqual(sorted(self.hosts(self.path("traces"))), ["a_rank16", "a_rank8"])

    def ascend(self, *names, ranks=None):
        for i, name in enumerate(names):
            files = import_fixtures.ascend()
            files["profiler_info.json"] = json.dumps({"rank_id": ranks[i] if ranks else i})
            for file, text in files.items():
                path = self.path("npu", name, file)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w") as f:
                    f.write(text)
        found = {r: sorted(h) for r, h in self.hosts(self.path("npu")).items()}
        shutil.rmtree(self.path("npu"))
        return found

    def test_workers_of_ascend_are_one_run(self):
        a, b = "host_1_20260725180104147_ascend_pt", "host_2_20260725180203146_ascend_pt"
        self.assertEqual(self.ascend(a, b), {"npu": ["host_1", "host_2"]})
        self.assertEqual(self.ascend(a, b, "host_1_20260725190000000_ascend_pt", "host_2_20260725190000001_ascend_pt"),
                         {"npu_span1": ["host_1", "host_2"], "npu_span2": ["host_1", "host_2"]})
        self.assertEqual(self.ascend("0_ascend_pt", "1_ascend_pt"), {"npu": ["0", "1"]})
        for late in ("host_2_20260725180204147_ascend_pt", "host_2_20260726180104147_ascend_pt",
                     "host_1_20260725180104148_ascend_pt"):  # a minute, a day later; the same worker
            self.assertEqual(self.ascend(a, late), {a: [a], late: [late]})
        self.assertEqual(self.ascend(a, b, ranks=[3, 3]), {a: [a], b: [b]})  # of one rank: two jobs

    def test_workers_of_ascend_begin_together_in_any_calendar(self):
        def pair(begin, later):
            return f"a_1_{begin}_ascend_pt", f"b_2_{later}_ascend_pt"
        for begin, later in (("20260725235959900", "20260726000000100"), ("20260731235930", "20260801000029"),
                             ("20261231235959", "20270101000000"), ("20240229235959", "20240301000000"),
                             ("20260228235959", "20260301000000")):
            self.assertEqual(self.ascend(*pair(begin, later)), {"npu": ["a_1", "b_2"]}, (begin, later))
        for begin, later in (("20240228235959", "20240301000000"), ("20260725235900", "20260726000000"),
                             ("20260731000000", "20260801000000")):
            a, b = pair(begin, later)
            self.assertEqual(self.ascend(a, b), {a: [a], b: [b]})

    def test_traces_beside_xplanes_are_told(self):
        self.write("a.100.pt.trace.json", trace(1))
        shutil.copy(SAMPLE, self.path("traces", "b.xplane.pb"))
        r = self.expect(0, "convert", "-o", self.path("log"), self.path("traces"))
        self.assertIn("a.100.pt.trace.json': it lies beside xplanes: name the file itself", r.stderr)
        self.assertEqual(list(self.hosts(self.path("traces"))["traces"]), ["b"])

    def test_traces_with_other_names_are_told(self):
        """What is no trace is not: neither a configuration nor what tbprof writes itself."""
        self.write("rank_0/x.json", trace(1))
        self.write("rank_0/z.json.gz", trace(1))
        self.write("rank_1/y.pt.trace.json", trace(2))
        self.write("rank_1/config.json", '{"lr": 0.1}')
        self.write("log/plugins/profile/r/y.trace.json.gz", trace(1))
        r = self.expect(0, "info", "--json", self.path("traces"))
        self.assertEqual([os.path.relpath(s["path"], self.path("traces")) for s in json.loads(r.stdout)["skipped"]],
                         ["rank_0/x.json", "rank_0/z.json.gz"])
        self.assertIn("x.json': it has no name by which folders tell profiles", r.stderr)
        self.expect(1, "convert", self.path("traces"), "-o", self.path("log"), "--strict")
        shutil.rmtree(self.path("traces", "rank_1"))
        self.assertIn("x.json' has no name", self.expect(2, "info", self.path("traces")).stderr)

    def test_a_worker_without_bytes_is_a_loss(self):
        self.write("a.100.pt.trace.json", trace(1))
        self.expect(0, "convert", self.path("traces"), "-o", self.path("log"), "--strict")
        self.write("b.100.pt.trace.json", "")
        self.expect(0, "convert", self.path("traces"), "-o", self.path("log"))
        self.expect(1, "convert", self.path("traces"), "-o", self.path("log"), "--strict")
        hosts = json.loads(self.expect(0, "info", "--json", self.path("traces")).stdout)["runs"][0]["hosts"]
        self.assertEqual([h["format"] for h in hosts], ["kineto", "empty"])

    def test_a_folder_of_spools_names_the_command_for_them(self):
        os.mkdir(self.path("spools"))
        with open(self.path("spools", "vm_77.tbs"), "wb") as f:
            f.write(b"TBPSPOOL" + (1).to_bytes(4, "little") + bytes(8180))
        r = self.expect(2, "convert", self.path("spools"), "-o", self.path("log"))
        self.assertIn("vm_77.tbs' is the spool of a recording: 'tbprof recover'", r.stderr)

    def test_a_lone_file_has_the_workers_name(self):
        self.write("node.7_1.1780.pt.trace.json", trace(1))
        self.assertEqual(list(self.hosts(self.path("traces", "node.7_1.1780.pt.trace.json")).values()),
                         [{"node.7_1": (None, None)}])

    @unittest.skipUnless(os.path.isdir(SHARED), "the folder of public cases is not at hand")
    def test_ranks_of_the_public_case(self):
        case = os.path.join(SHARED, "cases", "rank-in-the-file-name")
        with open(os.path.join(case, "expect.json")) as f:
            expected = json.load(f)["values"]
        found = self.hosts(case)["run"]
        self.assertEqual(len(found), expected["distinct_hosts"])
        self.assertIn(expected["worker_of_third"], found)
        self.assertEqual(sorted(map(str, (r for r, _ in found.values()))), sorted(map(str, expected["rank"].values())))


if __name__ == "__main__":
    unittest.main()
