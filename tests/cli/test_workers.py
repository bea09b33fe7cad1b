# SPDX-License-Identifier: Apache-2.0
"""Folders with a trace of each worker of a job: one run, each worker a host. Own small traces; the public case needs
../shared."""
import gzip
import json
import os
import shutil
import unittest

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
        os.makedirs(self.path("traces"), exist_ok=True)
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

    def test_traces_beside_xplanes_are_told(self):
        self.write("a.100.pt.trace.json", trace(1))
        shutil.copy(SAMPLE, self.path("traces", "b.xplane.pb"))
        r = self.expect(0, "convert", "-o", self.path("log"), self.path("traces"))
        self.assertIn("a.100.pt.trace.json': it lies beside xplanes: name the file itself", r.stderr)
        self.assertEqual(list(self.hosts(self.path("traces"))["traces"]), ["b"])

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
