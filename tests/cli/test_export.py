#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tbprof export: other tools' formats, read back or compared with what those tools printed (../shared)."""
import csv
import io
import json
import os
import unittest

from support import SAMPLE, SHARED, TWO_HOSTS, Case
from test_stats import EVENTS

MXNET = os.path.join(SHARED, "recordings", "mxnet-1.9.1")


class Export(Case):
    def profile(self):
        path = self.path("w.pt.trace.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"schemaVersion": 1, "traceEvents": EVENTS}, f)
        return path

    def table(self, path):
        answer = json.loads(self.expect(0, "stats", path, "--json", "--sort-by", "name").stdout)
        return answer["rows"]

    def test_chrome_comes_back_as_the_same_table(self):
        path = self.profile()
        back = self.path("back.json")
        with open(back, "w", encoding="utf-8") as f:
            f.write(self.expect(0, "export", path, "--chrome").stdout)
        with open(back, encoding="utf-8") as f:
            trace = json.load(f)
        self.assertEqual(sum(e["ph"] == "X" for e in trace["traceEvents"]), 10)
        self.assertEqual(self.table(back), self.table(path))

    def test_chrome_of_several_hosts(self):
        trace = json.loads(self.expect(0, "export", TWO_HOSTS, "--chrome").stdout)
        hosts = [e["pid"] for e in trace["traceEvents"]
                 if e["ph"] == "M" and e["name"] == "process_name" and e["args"]["name"] == "/host:CPU"]
        self.assertEqual((len(hosts), len(set(hosts))), (2, 2))

    def test_csv(self):
        text = self.expect(0, "export", self.profile(), "--csv").stdout
        rows = {r["name"]: r for r in csv.DictReader(io.StringIO(text)) if not r["name"].startswith("Memory")}
        k = rows["k"]
        self.assertEqual((k["plane"], k["start_us"], k["duration_us"]), ("/device:GPU:0", "60", "20"))
        self.assertEqual(rows["leaf"]["category"], "cpu_op")

    def test_cntk_detail_log(self):
        lines = self.expect(0, "export", self.profile(), "--cntk").stdout.splitlines()
        self.assertEqual(lines[0], "EventDescription,ThreadId,BeginTimeStamp(ms),EndTimeStamp(ms)")
        self.assertTrue(any(r.startswith('"inner",') and r.endswith(",0.01000000,0.04000000") for r in lines))
        ends = [float(r.rsplit(",", 1)[1]) for r in lines[1:]]
        self.assertEqual(ends, sorted(ends))

    def test_one_format_at_a_time(self):
        self.assertIn("takes one of", self.expect(2, "export", SAMPLE).stderr)
        self.expect(2, "export", SAMPLE, "--csv", "--mxnet")

    def test_mxnet_of_any_profile(self):
        text = self.expect(0, "export", self.profile(), "--mxnet").stdout
        self.assertTrue(text.startswith("\nProfile Statistics:\n\tNote the difference"))
        self.assertIn("inner                                   2           0.0400           0.0100           0.0300"
                      "           0.0200\n", text)

    @unittest.skipUnless(os.path.isdir(MXNET), "recordings are not at hand")
    def test_what_mxnet_printed(self):
        """All rows but those of counters, which are printed as if they were times."""
        for folder, right in (("mx-all", 49), ("mx-imperative", 7)):
            ours = self.expect(0, "export", os.path.join(MXNET, folder, "profile.json"), "--mxnet").stdout
            with open(os.path.join(MXNET, folder, "oracle-total-desc.txt"), encoding="utf-8") as f:
                theirs = f.read()
            rows = {x for x in theirs.splitlines() if x and x[-1].isdigit()}
            self.assertEqual(len(rows & set(ours.splitlines())), right, rows - set(ours.splitlines()))
            self.assertEqual(ours.splitlines()[:7], theirs.splitlines()[:7])


if __name__ == "__main__":
    unittest.main()
