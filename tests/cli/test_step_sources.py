#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--steps: where steps come from, with values worked out by hand, in reports, pages and the xplane written."""
import json
import os
import shutil
import sys
import unittest

from support import ROOT, SAMPLE, SHARED, Case

sys.path.append(os.path.join(ROOT, "tests", "support"))
from wire import field  # noqa: E402 (after the path)

CASES = os.path.join(SHARED, "cases")


def event(cat, name, ts, dur, pid=1, tid=1, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def loop(at, n):
    """A turn of 1000 us: an op of 400 which launches a kernel of 300, and 100 of another thread."""
    return [event("cpu_op", "aten::zero_", at, 50),
            event("user_annotation", "turn", at + 100, 600),
            event("cpu_op", "aten::mm", at + 100, 400),
            event("cuda_runtime", "cudaLaunchKernel", at + 150, 10, correlation=n),
            event("cpu_op", "aten::add", at + 200, 100, tid=2),
            event("kernel", "gemm", at + 300, 300, 0, 7, device=0, stream=7, correlation=n)]


class StepSources(Case):
    def setUp(self):
        super().setUp()
        self.trace = self.path("w.pt.trace.json")
        events = [e for n in range(4) for e in loop(n * 1000, n + 1)] + [event("cpu_op", "end", 3990, 10)]
        with open(self.trace, "w", encoding="utf-8") as f:
            json.dump({"schemaVersion": 1, "traceEvents": events}, f)

    def rows(self, source, path=None):
        answer = json.loads(self.expect(0, "steps", path or self.trace, "--json", "--steps", source).stdout)
        return [(s["step"], s["start_us"], s["marker_us"], s["busy_us"], s["device_works"]) for s in answer["steps"]]

    def test_nothing_is_guessed(self):
        self.assertEqual(self.rows("auto"), [])
        self.assertEqual(self.rows("markers"), [])

    def test_every(self):
        right = [(n + 1, n * 1000, 1000, 300, 1) for n in range(4)]
        self.assertEqual(self.rows("every=1ms"), right)
        self.assertEqual(self.rows("every 1000 us"), right)
        # 1500 us: launches at 150, 1150 | 2150 | 3150; the third one ends with the last event
        self.assertEqual(self.rows("every=1.5ms"),
                         [(1, 0, 1500, 600, 2), (2, 1500, 1500, 300, 1), (3, 3000, 1000, 300, 1)])

    def test_whole(self):
        self.assertEqual(self.rows("whole"), [(1, 0, 4000, 1200, 4)])

    def test_ranges_of_a_name(self):
        self.assertEqual(self.rows("name=t?rn"), [(n + 1, n * 1000, 600, 300, 1) for n in range(4)])
        answer = json.loads(self.expect(0, "steps", self.trace, "--json", "--steps", "name=turn").stdout)
        self.assertEqual((answer["marked_by"], answer["steps"][0]["period_us"], answer["steps"][0]["gap_us"]),
                         ("option", 1000, 400))

    def test_from_one_event_to_the_next(self):
        self.assertEqual(self.rows("from=aten::zero_"), [(n + 1, n * 1000, 1000, 300, 1) for n in range(4)])
        # events of devices where the host has none: launches at 1150 and 2150 lie in the steps before
        self.assertEqual(self.rows("from=gemm"), [(1, 0, 1000, 300, 1), (2, 1000, 1000, 300, 1),
                                                  (3, 2000, 1000, 300, 1), (4, 3000, 700, 0, 0)])

    def test_only_begins_are_borders(self):
        """`open` nobody ended, so it includes all later ones; 500 is begun twice, `open 2` inside; steps end where the
        next one begins, the last with the last event, at 1600."""
        events = [event("user_annotation", f"open {n}", at, dur) for n, at, dur in (
            (1, 0, 1600), (7, 500, 900), (2, 500, 100), (3, 900, 200))]
        path = self.path("open.pt.trace.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"schemaVersion": 1, "traceEvents": events}, f)
        spans = [(s, start, length) for s, start, length, *_ in self.rows("from=open*", path)]
        self.assertEqual(spans, [(1, 0, 500), (7, 500, 400), (3, 900, 700)])
        self.assertEqual([s for s, *_ in self.rows("name=open*", path)], [1])

    def test_what_is_not_there(self):
        self.assertEqual(self.rows("name=nothing"), [])
        r = self.expect(0, "steps", self.trace, "--steps", "name=nothing")
        self.assertIn("steps: unknown, because --steps finds none", r.stdout)
        self.assertIn("finds nothing in this profile", self.expect(0, "info", self.trace, "--steps",
                                                                   "name=nothing").stdout)

    def test_none_is_told_as_what_was_asked_for(self):
        self.assertIn("steps: none, because --steps none asks for that",
                      self.expect(0, "steps", SAMPLE, "--steps", "none").stdout)
        told = "there are no steps, because --steps none asks for that"
        for command in ("check", "info"):
            out = self.expect(0, command, SAMPLE, "--steps", "none").stdout
            self.assertIn(told, out)
            self.assertNotIn("what --steps asks for is not in the profile", out)

    def test_numbers_are_signed_and_of_64_bits(self):
        numbers = [-3, 9223372036854775807, -9223372036854775808]
        path = self.path("wide.pt.trace.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"schemaVersion": 1, "traceEvents": [
                event("user_annotation", f"ProfilerStep#{n}", 100 * i, 90) for i, n in enumerate(numbers)]}, f)
        self.assertEqual([s for s, *_ in self.rows("auto", path)], numbers)
        self.assertEqual([s for s, *_ in self.rows("name=ProfilerStep#*", path)], numbers)
        text = self.expect(0, "steps", path).stdout.splitlines()
        self.assertEqual([int(line.split()[0]) for line in text[1:4]], numbers)

    def test_conversions_warn_of_names_that_no_event_has(self):
        warning = "no event has the name given to --steps"
        for source, is_told in (("name=nothing", True), ("from=nothing", True), ("name=turn", False), ("none", False)):
            r = self.expect(0, "convert", self.trace, "-o", self.path("warned"), "--steps", source)
            self.assertEqual(warning in r.stderr, is_told, source)

    def test_points_that_are_not_there_are_told(self):
        def keys(*args):
            answer = json.loads(self.expect(0, "steps", self.trace, "--json", "--steps", "every=1ms", *args).stdout)
            return [(f["key"], f["text"]) for f in answer["findings"] if f["key"] == "no_such_op"]
        self.assertEqual(keys("--fp-point", "aten::zero_", "--bp-point", "nosuch"),
                         [("no_such_op", "no op is called 'nosuch' (--bp-point)")])
        self.assertEqual(keys(), [])

    def test_marks_of_the_profile_are_no_steps_any_more(self):
        self.assertEqual(len(self.rows("auto", SAMPLE)), 4)
        self.assertEqual(self.rows("none", SAMPLE), [])
        self.assertEqual(len(self.rows("whole", SAMPLE)), 1)
        self.assertEqual(self.rows("markers", SAMPLE), self.rows("auto", SAMPLE))

    def page_rows(self, *args):
        answer = json.loads(self.expect(0, "tool", "input_pipeline_analyzer", *args).stdout)
        table = next(t for t in answer if [c["id"] for c in t["cols"]][:1] == ["stepnum"])
        columns = [c["id"] for c in table["cols"]]
        return [(r["c"][0]["v"], r["c"][columns.index("deviceComputeTimeMs")]["v"]) for r in table["rows"]]

    def test_pages_and_the_xplane_follow(self):
        # with a GPU the page shows of a step what the device did, 300 us, and calls it by its place
        right = [(str(n), 0.3) for n in range(4)]
        for source in ("every=1ms", "name=turn", "from=aten::zero_"):
            self.assertEqual(self.page_rows(self.trace, "--steps", source), right, source)
            out = self.path("out-" + source.replace("=", "-"))
            self.expect(0, "convert", self.trace, "-o", out, "--steps", source)
            self.assertEqual(self.page_rows(out, "--semantics", "official"), right, source)
        self.assertEqual(self.page_rows(self.trace, "--steps", "none"), [])

    def test_an_xplane_gets_them_too(self):
        out = self.path("logdir")
        self.expect(0, "convert", SAMPLE, "-o", out, "--run", "r", "--steps", "whole")
        self.assertEqual(len(self.page_rows(out, "--semantics", "official")), 1)
        self.assertIn("steps are those of --steps whole: 1", self.expect(0, "info", out).stdout)
        # another source is another reading: nothing of the former is kept
        self.expect(0, "convert", SAMPLE, "-o", out, "--run", "r")
        self.assertEqual(len(self.page_rows(out, "--semantics", "repair")), 4)

    def test_several_hosts(self):
        """Tables of all hosts borrow texts of hosts whose events are given back: what was built anew must stay."""
        folder = self.path("run")
        os.mkdir(folder)
        for rank in (0, 1):
            shutil.copy(self.trace, os.path.join(folder, f"w{rank}.pt.trace.json"))
        one = self.expect(0, "tool", "framework_op_stats", self.trace, "--steps", "from=aten::zero_").stdout
        both = self.expect(0, "tool", "framework_op_stats", folder, "--steps", "from=aten::zero_").stdout
        for op in ("aten/mm", "aten/add", "aten/zero_"):
            self.assertEqual(both.count(f'"{op}"'), one.count(f'"{op}"'))
        self.expect(0, "convert", folder, "-o", self.path("out"), "--steps", "every=1ms")

    def test_a_tpu_keeps_its_own_steps(self):
        path = self.path("tpu.xplane.pb")
        with open(path, "wb") as f:
            f.write(field(1, field(1, 1) + field(2, "/device:TPU:0")))
        self.expect(0, "steps", path, "--steps", "auto")
        told = self.expect(2, "steps", path, "--steps", "whole").stderr
        self.assertIn("each core of a TPU marks its own steps, and nothing links its work to ranges of the host", told)

    def test_wrong_values(self):
        for source in ("every=10", "every=0ms", "name=", "none=1", "steps"):
            for command in (["steps"], ["check"], ["stats"], ["info"], ["convert"], ["tool", "overview_page"]):
                r = self.expect(2, *command, self.trace, "--steps", source)
                self.assertIn("'steps'", r.stderr)
        units = "(ns, us, ms, s, min)"
        self.assertIn(units, self.expect(2, "steps", self.trace, "--steps", "every=10").stderr)
        self.assertIn(units, self.expect(2, "steps", self.trace, "--clock-offset", "1=5").stderr)
        for command in ("steps", "collectives"):
            shown = " ".join(self.expect(0, command, "--help").stdout.split())
            self.assertIn(f"every=10ms {units}", shown)
            self.assertIn(f"1=2.5ms {units}", shown)
        self.assertIn("more than 1000000", self.expect(2, "steps", self.trace, "--steps", "every=1ns").stderr)


@unittest.skipUnless(os.path.isdir(CASES), "the cases are not at hand")
class RightValues(Case):
    def steps(self, path, source):
        answer = json.loads(self.expect(0, "steps", os.path.join(CASES, path), "--json", "--steps", source).stdout)
        return answer["steps"]

    def test_whole_names_only(self):
        path = "nsys-suffixed-nvtx-table-and-substring-markers/report.sqlite"
        rows = self.steps(path, "name=sample_*")
        self.assertEqual([(r["marker_us"], r["device_works"], r["busy_us"]) for r in rows], [(900, 3, 170)] * 2)
        self.assertEqual([r["step"] for r in rows], [0, 1])

    def test_pauses_are_no_borders(self):
        self.assertEqual(self.steps("nsys-start-end-ranges-and-no-markers/nomarkers.sqlite", "auto"), [])

    def test_ranges_that_overlap(self):
        rows = self.steps("nsys-start-end-ranges-and-no-markers/startend.sqlite", "name=train_step")
        self.assertEqual([(r["marker_us"], r["device_works"]) for r in rows], [(1100, 1)] * 3)


if __name__ == "__main__":
    unittest.main()
