#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tbprof check: what speaks against the figures of a profile; small traces made here, and ../shared/cases."""
import json
import os
import shutil
import unittest

from import_fixtures import message
from support import ROOT, SAMPLE, SHARED, Case, run

CASES = os.path.join(SHARED, "cases")


def event(cat, name, ts, dur, pid=1, tid=1, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def launch(ts, correlation, name="cudaLaunchKernel"):
    return event("cuda_runtime", name, ts, 2, correlation=correlation)


def kernel(ts, dur, correlation, name="k", **args):
    return event("kernel", name, ts, dur, 0, 7, device=0, stream=7, correlation=correlation, **args)


def step(number, ts, dur):
    return event("user_annotation", f"ProfilerStep#{number}", ts, dur)


def healthy(steps=4):
    events = []
    for i in range(steps):
        at = 1000 * i
        events += [step(i, at, 900), launch(at + 10, i + 1), kernel(at + 20, 50, i + 1)]
    return events


def xspace(plane, errors=()):
    return message((1, plane), *((2, e) for e in errors))


def gpu_plane(events):
    """Events of one stream: name, start and duration in us, stats (numbers, or texts)."""
    names = sorted({e[0] for e in events})
    keys = sorted({k for e in events for k in e[3]})
    body = [(2, "/device:GPU:0")]
    rows = []
    for name, start, duration, stats in events:
        row = [(1, names.index(name) + 1), (2, start * 1000000), (3, duration * 1000000)]
        row += [(4, message((1, keys.index(k) + 1), (5 if isinstance(v, str) else 4, v))) for k, v in stats.items()]
        rows.append((4, message(*row)))
    body.append((3, message((1, 7), (2, "Stream #7"), *rows)))
    body += [(4, message((1, i + 1), (2, message((1, i + 1), (2, n))))) for i, n in enumerate(names)]
    body += [(5, message((1, i + 1), (2, message((1, i + 1), (2, k))))) for i, k in enumerate(keys)]
    return message(*body)


class Base(Case):
    def findings(self, events, *args, code=None, **header):
        path = self.path("rank.pt.trace.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"schemaVersion": 1, **header, "traceEvents": events}, f)
        return self.answer(path, *args, code=code)

    def answer(self, path, *args, code=None):
        r = run("check", path, "--json", *args)
        got = json.loads(r.stdout)
        self.assertEqual(r.returncode, 0 if got["fit"] else 1, r.stderr)
        self.assertEqual(got["fit"], not any(f["serious"] for f in got["findings"]))
        if code is not None:
            self.assertEqual(r.returncode, code, got)
        return {f["key"]: (f["count"], f["of"]) for f in got["findings"]}


class Check(Base):
    def test_a_sound_profile_is_fit(self):
        self.assertEqual(self.findings(healthy(), code=0), {})
        self.assertIn("fit: 0 serious", run("check", self.path("rank.pt.trace.json")).stdout)

    def test_steps_without_device_work(self):
        found = self.findings(healthy() + [step(9, 5000, 900)], code=1)
        self.assertEqual(found, {"steps_without_device_work": (1, 5)})

    def test_one_marker_has_and_two_have(self):
        again = [step(1, 5000, 10), step(2, 6000, 10)]
        for n, text in ((1, "1 step marker has the number"), (2, "2 step markers have the number")):
            self.assertEqual(self.findings(healthy() + again[:n])["steps_again"], (n, 4 + n))
            self.assertIn(text + " of another one at another time", run("check", self.path("rank.pt.trace.json")).stdout)

    def test_mistyped_keys_are_told(self):
        self.findings(healthy())
        path = self.path("rank.pt.trace.json")
        r = self.expect(0, "check", path, "--ignore", "steps_unknwon", "--ignore", "start_skew")
        self.assertIn("'--ignore steps_unknwon': no finding is called so; did you mean 'steps_unknown'?", r.stderr)
        self.assertNotIn("start_skew", r.stderr)

    def test_times_that_cannot_be_read_are_losses(self):
        events = healthy() + [event("cpu_op", "a", "abc", 1), event("cpu_op", "b", 10, "zz")]
        self.assertEqual(self.findings(events, code=1), {"records_dropped": (2, 14)})
        absent = event("cpu_op", "c", 10, 1)
        del absent["dur"]
        self.assertEqual(self.findings(healthy() + [absent], code=0), {})

    def test_events_without_an_end(self):
        """What begins and does not end lasts as long as its thread: stats alone would show it as measured."""
        begun = [{"ph": "B", "name": f"open{i}", "pid": 1, "tid": 9, "ts": i} for i in range(2)]
        def after(n):
            return [event("cpu_op", "op", 10 + 10 * i, 5, tid=9) for i in range(n)]
        self.assertEqual(self.findings([step(1, 0, 999)] + begun + after(7), code=1), {"events_without_end": (2, 10)})
        path = self.path("rank.pt.trace.json")
        for command in ("stats", "steps"):
            told = json.loads(self.expect(0, command, path, "--json").stdout)["findings"]
            self.assertEqual([(f["key"], f["count"], f["of"]) for f in told], [("events_without_end", 2, 10)])
        self.assertIn("2 of 10 events have no end in the file", self.expect(0, "stats", path).stdout)
        # 2 of 40: 5 %
        self.assertEqual(self.findings([step(1, 0, 999)] + begun + after(37), code=0), {"events_without_end": (2, 40)})
        ended = begun + [{"ph": "E", "pid": 1, "tid": 9, "ts": 900 + i} for i in range(2)]
        self.assertEqual(self.findings([step(1, 0, 999)] + ended + after(7), code=0), {})

    def test_no_steps_are_told_but_tables_stay_good(self):
        self.assertEqual(self.findings([launch(0, 1), kernel(5, 10, 1)], code=0), {"steps_unknown": (1, None)})

    def test_ignored_findings_do_not_count(self):
        events = healthy() + [step(9, 5000, 900)]
        self.assertEqual(self.findings(events, "--ignore", "steps_without_device_work", code=0), {})

    def test_a_duration_beyond_its_successor(self):
        events = healthy(8) + [launch(8000, 99), kernel(8001, 5000, 99), launch(8002, 98), kernel(8010, 50, 98)]
        self.assertEqual(self.findings(events, code=1)["impossible_durations"], (1, 10))

    def test_kernels_that_merely_overlap_are_no_error(self):
        events = healthy() + [launch(5000, 50), kernel(5010, 50, 50), launch(5001, 51), kernel(5030, 60, 51)]
        self.assertEqual(self.findings(events, code=0), {})

    def test_durations_are_compared_with_those_of_the_whole_stream(self):
        # It overlaps the kernel before it, so it is shown on a row of its own with the one that it contains: a tenth of
        # it, but the others of the stream are a hundredth.
        giant = [kernel(15, 2000, 90), kernel(100, 200, 91)]
        others = [kernel(10, 20, 92), *[kernel(3000 + 30 * i, 20, 100 + i) for i in range(20)]]
        self.assertEqual(self.findings(giant + others)["impossible_durations"], (1, 23))

    def test_launches_without_records(self):
        self.assertEqual(self.findings(healthy() + [launch(3500, 70)], code=1), {"launches_without_record": (1, 5)})
        none = self.findings([launch(0, 1), launch(5, 2), step(0, 0, 10)], code=1)
        self.assertEqual(none, {"no_device_records": (2, 2)})
        table = json.loads(self.expect(0, "stats", self.path("rank.pt.trace.json"), "--json").stdout)
        self.assertEqual((table["device_us"], table["rows"][0]["device_us"]), (None, None))
        self.assertEqual(table["findings"][0]["key"], "no_device_records")
        self.assertIn("unknown, because", self.expect(0, "stats", self.path("rank.pt.trace.json")).stdout)

    def test_graph_launches_without_records(self):
        events = healthy() + [launch(3500 + i, 70 + i, "cudaGraphLaunch") for i in range(2)]
        events += [kernel(3600, 10, 70), kernel(3620, 10, 70)]
        self.assertEqual(self.findings(events, code=1), {"graph_replays_without_record": (1, 2)})

    def test_work_before_its_launch(self):
        events = healthy() + [launch(3999, 50), kernel(1500, 10, 50)]
        self.assertEqual(self.findings(events, code=1), {"work_before_launch": (1, 5)})

    def test_a_collective_that_waited(self):
        events = healthy()
        for i in range(4):
            at = 10000 + 10000 * i
            events += [launch(at, 50 + i), kernel(at + 5, 5000 if i == 0 else 20, 50 + i, "ncclDevKernel_AllReduce_Sum")]
        self.assertEqual(self.findings(events, code=1), {"collective_waits": (1, None)})

    def test_ranks_missing(self):
        found = self.findings(healthy(), code=0, distributedInfo={"rank": 1, "world_size": 4})
        self.assertEqual(found, {"ranks_missing": (3, 4)})

    def test_damage_and_emptiness(self):
        path = self.path("cut.json")
        with open(path, "w", encoding="utf-8") as f:
            f.write(json.dumps({"schemaVersion": 1, "traceEvents": healthy()})[:-200])
        self.assertIn("file_damaged", self.answer(path, code=1))
        self.assertIn("nothing_recorded", self.findings([], code=1))

    def test_findings_outlive_the_load_they_were_made_of(self):
        """Advice asks for tables, for which a profile of steps with loops is loaded anew."""
        path = self.path("loop.xplane.pb")
        with open(os.path.join(ROOT, "tests", "data", "tf221-loop.xplane.pb"), "rb") as f, open(path, "wb") as out:
            out.write(f.read()[:-1])
        plain, advised = (json.loads(run("check", path, "--json", *more).stdout)["findings"] for more in ((), ("--advice",)))
        self.assertEqual([(f["key"], f["host"]) for f in advised], [("file_damaged", "loop")])
        self.assertEqual(advised, plain)

    def test_records_that_could_not_be_read(self):
        path = self.path("cut.pt.trace.json")
        with open(path, "w", encoding="utf-8") as f:
            f.write(json.dumps({"schemaVersion": 1, "traceEvents": healthy(1) + [event("cpu_op", "last", 0, 5)]})[:-30])
        self.assertEqual(self.answer(path, code=1), {"records_dropped": (1, 4), "file_damaged": (1, None)})

    def after_converting(self, path, *options):
        """Findings of a file, which those of the xplane made of it must be, also of that file alone, and converted again,
        and those of the export in Chrome's format of any of them."""
        found = self.answer(path)
        self.expect(0, "convert", path, "-o", self.path("log"), "--run", "r", "--host", "h", *options)
        self.assertEqual(self.answer(self.path("log")), found)
        shutil.copy(self.path("log", "plugins", "profile", "r", "h.xplane.pb"), self.path("moved.xplane.pb"))
        self.assertEqual(self.answer(self.path("moved.xplane.pb")), found)
        self.expect(0, "convert", self.path("moved.xplane.pb"), "-o", self.path("log2"), "--steps", "none")
        self.assertEqual(self.answer(self.path("log2")), found)
        for source in (path, self.path("moved.xplane.pb"), self.path("log2"), self.path("export.json")):
            with open(self.path("export.json.new"), "w", encoding="utf-8") as f:
                f.write(self.expect(0, "export", source, "--chrome").stdout)
            os.replace(self.path("export.json.new"), self.path("export.json"))
            self.assertEqual(self.answer(self.path("export.json")), found, source)
        shutil.rmtree(self.path("log"))
        shutil.rmtree(self.path("log2"))
        return found

    def test_converting_makes_no_profile_fit(self):
        op = [event("cpu_op", "op", 10 * i, 5) for i in range(9)]
        other_clock = event("cpu_op", "far", 1e15, 5)
        ended = {"ph": "E", "name": "never begun", "pid": 1, "tid": 1, "ts": 300}
        begun = dict(ended, ph="B", ts=310)
        for right, events in ({"records_dropped": (1, 11), "events_without_end": (1, 10)}, op + [ended, begun]), \
                ({"records_dropped": (2, 11)}, op + [dict(op[0], ts="x"), dict(op[0], dur="x")]), \
                ({"other_clock": (1, 10)}, op + [other_clock]), \
                ({"nothing_recorded": (1, None), "records_dropped": (1, 1)}, [dict(op[0], ts="x")]):
            path = self.path("t.pt.trace.json")
            with open(path, "w", encoding="utf-8") as f:
                json.dump({"schemaVersion": 1, "traceEvents": events}, f)
            self.assertEqual(self.after_converting(path), dict(right, steps_unknown=(1, None)))
            with open(path, "r+", encoding="utf-8") as f:
                f.truncate(len(f.read()) - 30)
            self.assertIn("file_damaged", self.after_converting(path))
        with open(SAMPLE, "rb") as f, open(self.path("cut.xplane.pb"), "wb") as g:
            g.write(f.read()[:40000])
        self.assertEqual(set(self.after_converting(self.path("cut.xplane.pb"))),
                         {"records_dropped", "file_damaged", "steps_unknown"})

    def exported(self, source):
        with open(self.path("exported.json"), "w", encoding="utf-8") as f:
            f.write(self.expect(0, "export", source, "--chrome").stdout)
        return self.path("exported.json")

    def test_an_export_tells_what_each_of_its_hosts_lost(self):
        """Of 5 events 1 has no time, of 6 there are 2."""
        bad = dict(event("cpu_op", "op", 0, 5), ts="x")
        ranks = [[event("cpu_op", "op", 10 * i, 5) for i in range(4)] + [bad] * n for n in (1, 2)]
        path = self.exported(self.ranks(*ranks))
        self.assertEqual(self.answer(path), {"records_dropped": (3, 11), "steps_unknown": (1, None)})
        for command in ("stats", "steps"):
            self.assertIn("3 of 11 events could not be read", run(command, path).stdout, command)

    def test_an_export_tells_what_the_recorder_said(self):
        with open(self.path("h.xplane.pb"), "wb") as f:
            f.write(xspace(gpu_plane([("k", 0, 5, {})]), errors=['Dropped 17 events: "buffers" full\n']))
        path = self.exported(self.path("h.xplane.pb"))
        self.assertEqual(self.answer(path, "--ignore", "steps_unknown", code=1), {"recorder_dropped": (1, None)})
        self.assertIn('Dropped 17 events: "buffers" full', run("check", path).stdout)

    def test_an_export_of_a_sound_profile_has_nothing_to_tell(self):
        with open(self.path("t.pt.trace.json"), "w", encoding="utf-8") as f:
            json.dump({"schemaVersion": 1, "traceEvents": healthy()}, f)
        with open(self.exported(self.path("t.pt.trace.json")), encoding="utf-8") as f:
            self.assertNotIn("tbprof", json.load(f))

    def test_notes_that_no_export_has(self):
        marks = {"tbprof_events_dropped": -5, "tbprof_event_dropped": "7", "tbprof_json_cut": [1], "tbprof_no_such": 3,
                 "tbprof_truncated": 1 << 70, "event_dropped": 9, "tbprof_%s%n": 1}
        for notes in (None, 5, [], {"lost": 5, "errors": {"a": ["b"]}, "warnings": [1, ["c"], None]}, {"lost": marks},
                      {"lost": {f"tbprof_{i}": 1 for i in range(100000)}}):
            self.assertEqual(self.findings(healthy(), code=0, tbprof=notes), {}, str(notes)[:80])
        lost = {"lost": {"tbprof_events_dropped": 2}}
        self.assertEqual(self.findings(healthy(), code=1, tbprof=lost), {"records_dropped": (2, 14)})

    def test_info_tells_what_was_lost_before(self):
        path = self.path("cut.json")
        with open(path, "w", encoding="utf-8") as f:
            f.write(json.dumps({"schemaVersion": 1, "traceEvents": healthy()})[:-30])
        self.expect(0, "convert", path, "-o", self.path("log"))
        def host(where):
            return json.loads(self.expect(0, "info", "--json", where).stdout)["runs"][0]["hosts"][0]
        first, written = host(path), host(self.path("log"))
        self.assertIsNone(first["lost_before"])
        self.assertEqual(written["ledger"]["counters"], {})
        self.assertEqual({k: v["count"] for k, v in written["lost_before"]["counters"].items()},
                         {k: v["count"] for k, v in first["ledger"]["counters"].items()})
        self.assertIn("converted from an input with\n      event_dropped 1: ",
                      self.expect(0, "info", self.path("log")).stdout)

    def test_what_the_recorder_says_it_lost(self):
        path = self.path("h.xplane.pb")
        with open(path, "wb") as f:
            f.write(xspace(gpu_plane([("k", 0, 5, {})]), errors=["Dropped 17 events: buffers full"]))
        self.assertEqual(self.answer(path, "--ignore", "steps_unknown", code=1), {"recorder_dropped": (1, None)})
        self.assertIn("Dropped 17 events", run("check", path).stdout)

    def test_replays_with_fewer_kernels_than_others(self):
        path = self.path("h.xplane.pb")
        replay = [("k", 10 * i, 5, {"correlation_id": 1 + i // 3, "cuda_graph_exec_id": 8}) for i in range(8)]
        with open(path, "wb") as f: # three replays: 3, 3 and 2 kernels
            f.write(xspace(gpu_plane(replay)))
        self.assertEqual(self.answer(path, "--ignore", "steps_unknown", code=1), {"graph_replays_in_part": (1, 3)})

    def ranks(self, *of_rank, wall_us=0):
        for rank, events in enumerate(of_rank):
            with open(self.path(f"w{rank}.pt.trace.json"), "w", encoding="utf-8") as f:
                json.dump({"schemaVersion": 1, "baseTimeNanoseconds": 1780000000000000000 + rank * wall_us * 1000,
                           "traceEvents": events}, f)
        return self.tmp

    def with_bytes(self, folder, **of_rank):
        for rank, data in of_rank.items():
            with open(os.path.join(folder, rank + ".pt.trace.json"), "wb") as f:
                f.write(data)
        return folder

    def test_a_rank_that_cannot_be_read_is_told_and_the_others_are_checked(self):
        folder = self.ranks(healthy(), [], healthy() + [step(9, 5000, 900)], [])
        self.with_bytes(folder, w1=b"no profile, but text\n", w3=b"\x1f\x8b\x08\x00")
        got = json.loads(run("check", folder, "--json", "--advice").stdout)
        found = {(f["key"], f["host"]): (f["serious"], f["count"], f["of"]) for f in got["findings"]}
        self.assertEqual(found, {("file_unreadable", "w1"): (True, 1, None), ("file_unreadable", "w3"): (True, 1, None),
                                 ("steps_without_device_work", "w2"): (True, 1, 5),
                                 ("steps_not_common", None): (False, 1, 5)})
        self.assertEqual((got["fit"], got["advice"]), (False, []))
        self.assertRegex(self.expect(1, "check", folder).stdout, r"!! w1: cannot be read: .*text \[file_unreadable\]")

    def test_where_no_rank_can_be_read_check_fails(self):
        folder = self.with_bytes(self.ranks(healthy(), [], []), w1=b"text\n", w2=b"text, too\n")
        self.expect(0, "check", folder, "--host", "w0")
        self.expect(0, "check", folder, "--ignore", "file_unreadable")
        self.assertEqual(self.expect(1, "check", folder, "--host", "w1").stdout, "")
        self.with_bytes(folder, w0=b"and again\n")
        self.assertEqual(self.expect(1, "check", folder).stdout, "")

    def test_steps_that_not_all_hosts_have(self):
        folder = self.ranks([step(n, n * 10, 9) for n in (1, 2, 3)], [step(n, n * 10 - 10, 9) for n in (2, 3, 4)])
        self.assertEqual(self.answer(folder, code=0), {"steps_not_common": (2, 4)})
        folder = self.ranks([step(1, 0, 9)], [step(7, 0, 9)])
        self.assertEqual(self.answer(folder, code=1), {"steps_not_common": (2, 2)})
        folder = self.ranks(*[[step(n, 10 * i, 9) for i, n in enumerate(of)] for of in ((1, 2, 3, 4), (2, 3, 4), (3, 4, 5))])
        self.assertEqual(self.answer(folder, code=0), {"steps_not_common": (3, 5)})

    def test_recordings_that_did_not_begin_together(self):
        steps = [step(1, 0, 1000)]
        self.assertEqual(self.answer(self.ranks(steps, steps, wall_us=99), code=0), {})
        self.assertEqual(self.answer(self.ranks(steps, steps, wall_us=100), code=0), {"start_skew": (1, None)})
        self.assertEqual(self.answer(self.ranks(steps, steps, wall_us=1000), code=1), {"start_skew": (1, None)})

    def test_reports_repeat_what_spoils_them(self):
        """A finding stands beside the figure that it spoils, and only there."""
        self.findings(healthy() + [step(9, 9000, 900), kernel(9100, 5000, 9), kernel(9200, 1, 10)])
        path = self.path("rank.pt.trace.json")
        keys = {c: {f["key"] for f in json.loads(run(c, path, "--json").stdout)["findings"]} for c in ("stats", "steps")}
        self.assertEqual(keys, {"stats": {"impossible_durations"}, "steps": {"impossible_durations"}})
        self.findings([launch(0, 1), kernel(5, 10, 1)])
        keys = {c: {f["key"] for f in json.loads(run(c, path, "--json").stdout)["findings"]} for c in ("stats", "steps")}
        self.assertEqual(keys, {"stats": set(), "steps": {"steps_unknown"}})

    def test_a_host_profile_without_devices_is_fit(self):
        self.assertEqual(self.answer(SAMPLE, code=0), {})

    def advice(self, events, *args):
        path = self.path("rank.pt.trace.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"schemaVersion": 1, "traceEvents": events}, f)
        return {a["key"]: round(a["share"], 4) for a in json.loads(run("check", path, "--advice", "--json").stdout)["advice"]}

    def test_advice_of_steps(self):
        events = []
        for i in range(4):
            at = 1000 * i
            events += [step(i, at, 1000), event("user_annotation", "enumerate(DataLoader)#_Iter.__next__", at, 300),
                       event("cuda_runtime", "cudaLaunchKernel", at + 400, 100, correlation=i + 1),
                       kernel(at + 500, 150, i + 1, "gemm"),
                       event("cuda_runtime", "cudaLaunchKernel", at + 500, 20, correlation=i + 11),
                       kernel(at + 700, 50, i + 11, "ncclDevKernel_AllReduce_Sum_f32")]
        self.assertEqual(self.advice(events), {"input_bound": 0.3, "launch_bound": 0.12, "communication_bound": 0.05,
                                               "device_idle": 0.8})

    def test_data_pipes_are_input_as_loaders_are(self):
        """As on the pages: 300 of 1000 us."""
        events = []
        for i in range(4):
            events += [step(i, 1000 * i, 1000),
                       event("user_annotation", "enumerate(DataPipe)#MapperIterDataPipe", 1000 * i, 300)]
        self.assertEqual(self.advice(events), {"input_bound": 0.3})

    def test_no_advice_without_a_figure(self):
        self.assertEqual(self.advice([event("cpu_op", "op", 0, 10)]), {})

    def stalls_of(self, periods, numbers=None):
        """Steps of 5 us, each so many us before the next one; the last has none behind it."""
        starts = [sum(periods[:i]) for i in range(len(periods) + 1)]
        path = self.path("stalls.pt.trace.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"schemaVersion": 1, "traceEvents": [
                step(numbers[i] if numbers else i + 1, at, 5) for i, at in enumerate(starts)]}, f)
        found = json.loads(run("check", path, "--advice", "--json").stdout)["advice"]
        return [(round(a["share"], 4), a["text"]) for a in found if a["key"] == "periodic_stall"]

    def test_advice_of_stalls_at_equal_distances(self):
        # 4 of 24 periods take 40 us, the others 10: 4 * 30 of 4 * 40 + 20 * 10 us are lost
        periods = ([10] * 5 + [40]) * 4
        right = [(0.3333, "one step of every 6 takes 4.0 times as long as the others on stalls: 40.000us against 10.000us, "
                          "medians of 4 and 20 (steps 6, 12, 18 …): 33.3 % of all time")]
        self.assertEqual(self.stalls_of(periods), right)
        # the first step compiles: 120 of 450 us
        (share, text), = self.stalls_of([100] + periods[1:])
        self.assertEqual(share, 0.2667)
        self.assertIn("one step of every 6 takes", text)

    def test_no_advice_of_stalls_by_chance(self):
        periods = ([10] * 5 + [40]) * 4
        for name, others in (("two alone", periods[:12]), ("one place is fast", periods[:11] + [10] + periods[12:]),
                             ("slow ones anywhere", [40 if i in (2, 3, 9, 13, 20) else 10 for i in range(24)]),
                             ("every other one", [10, 40] * 12), ("hardly lost", ([10] * 59 + [20]) * 4)):
            self.assertEqual(self.stalls_of(others), [], name)
        # a schedule that records 6 steps of every 20: what lies in between was not recorded
        self.assertEqual(self.stalls_of(periods, [i // 6 * 20 + i % 6 for i in range(25)]), [])

    def test_advice_of_kernels(self):
        events = healthy()
        for e in events:
            if e["cat"] == "kernel":
                e["args"]["est. achieved occupancy %"] = 10
                e["dur"] = 900
        self.assertEqual(self.advice(events), {"low_occupancy": 0.1})

    def advice_of(self, path):
        return {a["key"]: round(a["share"], 4) for a in json.loads(run("check", path, "--advice", "--json").stdout)["advice"]}

    def test_advice_of_tensor_cores(self):
        path = self.path("h.xplane.pb")
        for kernel_name, right in (("sgemm_128x128", {"no_tensor_cores": 1.0}), ("volta_fp16_s884gemm_fp16", {})):
            with open(path, "wb") as f:
                f.write(xspace(gpu_plane([(kernel_name, 0, 80, {"tf_op": "dense/MatMul:MatMul", "correlation_id": 1,
                                                                 "kernel_details": "regs:32 occ_pct:50"})])))
            self.assertEqual(self.advice_of(path), right)

    def test_advice_of_memory(self):
        def memory(ts, size, allocated, reserved):
            return {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": ts,
                    "args": {"Device Type": 1, "Device Id": 0, "Addr": ts, "Bytes": size, "Total Allocated": allocated,
                             "Total Reserved": reserved}}
        mib = 1 << 20
        op = [event("cpu_op", "op", 0, 100)]
        self.assertEqual(self.advice(op + [memory(10, 60 * mib, 60 * mib, 100 * mib)]), {"fragmentation": 0.4})
        self.assertEqual(self.advice(op + [memory(10, 80 * mib, 80 * mib, 100 * mib)]), {})
        self.assertEqual(self.advice(op + [memory(10, 6 * mib, 6 * mib, 10 * mib)]), {}) # small: of no concern

    def minddata(self, pipeline=(), queue="", get_next=""):
        folder = self.path("ms", "profiler")
        os.makedirs(folder, exist_ok=True)
        head = ("op_id,op_type,num_workers,output_queue_size,output_queue_average_size,output_queue_length,"
                "output_queue_usage_rate,sample_interval,parent_id,children_id\n")
        files = {"step_trace_raw_3_detail_time.csv":
                 "step_num,start_point,end_point,total,fp_point,bp_point,iteration_interval,fp_and_bp,tail\n"
                 "1,7000001000,7000031000,30000,7000001000,7000025000,0,24000,6000\n",
                 "minddata_pipeline_raw_3.csv": head + "".join(
                     f'{n},{op},1,"{sizes}",0,10,0,10,{parent},\n' for n, op, sizes, parent in pipeline),
                 "device_queue_profiling_3.txt": queue, "minddata_aicpu_3.txt": get_next}
        for name, text in files.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.write(text)
        wanted = ("queue_empty", "getnext_starved", "dataset_op_slow")
        return {k: v for k, v in self.advice_of(folder).items() if k in wanted}

    def test_advice_of_the_queue_to_the_device(self):
        self.assertEqual(self.minddata(queue="1 64 1 0\n1 64 2 0\n1 64 3 5\n1 64 4 0\n"), {"queue_empty": 0.75})
        self.assertEqual(self.minddata(queue="1 64 1 9\n1 64 2 8\n1 64 3 5\n"), {})

    def test_advice_of_get_next(self):
        rows = "".join(f"GetNext_dequeue_wait {70000010 + 10 * i} {70000011 + 10 * i} {size}\n"
                       for i, size in enumerate((0, 3, 0, 1)))
        self.assertEqual(self.minddata(get_next=rows), {"getnext_starved": 0.5})

    def test_advice_of_the_slow_op_of_a_dataset(self):
        # queues of 10: before Map 80 % full, behind it 10 %
        self.assertEqual(self.minddata([(0, "Batch", "[1, 1]", ""), (1, "Map", "[0, 2]", 0), (2, "Reader", "[9, 7]", 1)]),
                         {"dataset_op_slow": 0.7})
        # nothing anywhere: reading is slow
        self.assertEqual(self.minddata([(0, "Batch", "[0, 0]", ""), (1, "Map", "[0, 0]", 0), (2, "Reader", "[1, 0]", 1)]),
                         {"dataset_op_slow": 0.95})
        # all full: the dataset is faster than the device
        self.assertEqual(self.minddata([(0, "Batch", "[9, 9]", ""), (1, "Map", "[9, 9]", 0), (2, "Reader", "[9, 9]", 1)]),
                         {})

    def test_advice_of_hosts_that_are_slow(self):
        for rank, dur in ((0, 1000), (1, 1200)):
            with open(self.path(f"w{rank}.pt.trace.json"), "w", encoding="utf-8") as f:
                json.dump({"schemaVersion": 1, "traceEvents": [step(n, n * 2000, dur) for n in (1, 2)]}, f)
        self.assertEqual(self.advice_of(self.tmp), {"straggler": 0.2})

    def test_advice_as_text(self):
        text = run("check", SAMPLE, "--advice").stdout
        self.assertRegex(text, r"-> waiting for data takes .* per step: 9\d\.\d %, which is much \[input_bound\]")
        self.assertNotIn("->", run("check", SAMPLE).stdout)


@unittest.skipUnless(os.path.isdir(CASES), "the cases are not at hand")
class Cases(Base):
    def case(self, name, file="trace.pt.trace.json", **kw):
        return self.answer(os.path.join(CASES, name, file), **kw)

    def test_two_of_eight_steps_and_a_giant(self):
        name = "gpu-work-in-2-of-8-steps-and-one-giant"
        self.assertEqual(self.case(name, code=1),
                         {"impossible_durations": (1, 21), "steps_without_device_work": (6, 8)})
        text = run("check", os.path.join(CASES, name, "trace.pt.trace.json")).stdout
        for figure in ("94.5 %", "400.000us", "450.000us"):
            self.assertIn(figure, text)

    def test_a_late_rank(self):
        self.assertIn("collective_waits", self.case("collective-wait-of-a-late-rank", "rank0.pt.trace.json", code=1))
        other = self.case("collective-wait-of-a-late-rank", "rank1.pt.trace.json", code=0)
        self.assertEqual(set(other), {"steps_unknown", "ranks_missing"})

    def test_both_ranks_as_one_run(self):
        for rank in (0, 1):
            name = f"rank{rank}.pt.trace.json"
            shutil.copy(os.path.join(CASES, "collective-wait-of-a-late-rank", name), self.path(name))
        self.assertEqual(set(self.answer(self.tmp, code=1)), {"collective_waits", "start_skew", "steps_unknown"})

    def test_another_clock(self):
        self.assertEqual(self.case("a-cluster-of-events-in-the-far-future", "timeline.json")["other_clock"], (3, 26))

    def test_sound_ones(self):
        for name in ("gpu-user-annotation-counted-as-work", "host-triton-op-carries-stream-0"):
            self.assertEqual(self.case(name, code=0), {})
        for file in ("old.pt.trace.json", "new.pt.trace.json"):
            self.assertNotIn("impossible_durations", self.case("rocm-streams-share-hardware-queues", file, code=0))



if __name__ == "__main__":
    unittest.main()
