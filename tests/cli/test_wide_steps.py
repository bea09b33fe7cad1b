# SPDX-License-Identifier: Apache-2.0
"""Numbers of steps beyond 2^63-1, in every format that has numbers: unsigned in the file, they are read as signed ones of
the same 64 bits, as those of xplanes are, and counted."""
import json
import os
import sqlite3
import unittest

import import_fixtures
import sqlite_fixtures
from support import Case, run
from wire import field  # import_fixtures knows where

WIDE = (1 << 63) + 5
SIGNED = 5 - (1 << 63)


class WideSteps(Case):
    def shown(self, path):
        """(numbers of steps, how many were unsigned, and the same of the xplane written)"""
        self.expect(0, "convert", path, "-q", "-o", self.path("log"), "--run", "r", "--host", "h")
        found = []
        for profile in (path, self.path("log", "plugins", "profile", "r", "h.xplane.pb")):
            info = json.loads(self.expect(0, "info", "--json", profile).stdout)["runs"][0]["hosts"][0]
            steps = json.loads(self.expect(0, "steps", "--json", profile).stdout)["steps"]
            found += [[s["step"] for s in steps], info["ledger"]["counters"].get("repair_unsigned", {}).get("count", 0)]
        return found

    def written(self, name, data):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as f:
            f.write(data if isinstance(data, bytes) else data.encode())
        return self.path(name)

    def folder(self, name, old, new):
        """A folder of import_fixtures with another text in all of its files."""
        for below, text in import_fixtures.FOLDERS[name]().items():
            self.written(os.path.join(name, below), text.replace(old, new))
        return self.path(name)

    def test_names_in_json(self):
        def trace(*numbers):
            return json.dumps({"schemaVersion": 1, "traceEvents": [
                {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{n}", "pid": 1, "tid": 1, "ts": 100 * i,
                 "dur": 90} for i, n in enumerate(numbers)]})
        path = self.written("w.pt.trace.json", trace(7, WIDE, (1 << 64) - 1))
        self.assertEqual(self.shown(path), [[7, SIGNED, -1], 2] * 2)
        path = self.written("w.pt.trace.json", trace(-3, (1 << 63) - 1, -(1 << 63), 1 << 64))  # the last is no number
        self.assertEqual(self.shown(path), [[-3, (1 << 63) - 1, -(1 << 63)], 0] * 2)

    def test_arguments_in_json(self):
        events = [{"ph": "X", "name": "train", "pid": 1, "tid": 1, "ts": 100 * i, "dur": 90,
                   "args": {"step_num": n, "address": (1 << 64) - 1}} for i, n in enumerate((str(WIDE), WIDE + 1))]
        path = self.written("w.json", json.dumps(events))
        self.assertEqual(self.shown(path), [[SIGNED, SIGNED + 1], 2] * 2)
        trace = json.loads(self.expect(0, "tool", "trace_viewer", path).stdout)["traceEvents"]
        self.assertEqual([e["args"]["address"] for e in trace if e.get("ph") == "X"], [str((1 << 64) - 1)] * 2)

    def test_perfetto(self):
        def packet(us, *event):
            return field(1, field(10, 1) + field(8, us * 1000) + field(11, b"".join(event) + field(11, 3)))
        named = packet(1, field(9, 1), field(23, f"ProfilerStep#{WIDE}".encode())) + packet(9, field(9, 2))
        self.assertEqual(self.shown(self.written("n.pftrace", named)), [[SIGNED], 1] * 2)
        note = field(4, field(10, b"step_num") + field(3, WIDE))
        noted = packet(1, field(9, 1), field(23, b"train"), note) + packet(9, field(9, 2))
        self.assertEqual(self.shown(self.written("a.pftrace", noted)), [[SIGNED], 1] * 2)

    def test_ascend(self):
        self.assertEqual(self.shown(self.folder("host0_1_ascend_pt", "ProfilerStep#7", f"ProfilerStep#{WIDE}"))[1], 1)
        text = import_fixtures.ascend()["ASCEND_PROFILER_OUTPUT/step_trace_time.csv"]
        self.assertIn("2,7,100.25", text)  # a step that the host does not know
        self.assertEqual(self.shown(self.folder("host0_1_ascend_pt", "2,7,100.25", f"2,{WIDE},100.25"))[1], 1)

    def test_mindspore(self):
        path = self.folder("mindspore", "\n2,7000031000,", f"\n{WIDE},7000031000,")
        self.assertEqual(self.shown(path), [[1, SIGNED], 1] * 2)

    def test_rocprof(self):
        self.assertEqual(self.shown(self.folder("rocprofv3", '"step 1"', f'"step {WIDE}"')), [[0, SIGNED], 1] * 2)

    def test_databases(self):
        for name, table, column, old, new, steps in (
                ("nsys.sqlite", "NVTX_EVENTS", "text", "step 1", "step ", [0, SIGNED]),
                ("nvprof.nvvp", "StringTable", "value", "step", "step ", [SIGNED]),
                ("rpd.rpd", "rocpd_string", "string", "iteration 4", "iteration ", [SIGNED]),
                ("rocpd.db", "rocpd_string" + sqlite_fixtures.GUID, "string", "step_3", "step_", [SIGNED])):
            with self.subTest(name=name):
                path = sqlite_fixtures.FILES[name](self.path(name))
                db = sqlite3.connect(path)
                db.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE "{column}" = ?', (f"{new}{WIDE}", old))
                db.commit()
                db.close()
                if "built without SQLite" in run("info", path).stderr:
                    self.skipTest("this tbprof was built without SQLite")
                self.assertEqual(self.shown(path), [steps, 1] * 2)


if __name__ == "__main__":
    unittest.main()
