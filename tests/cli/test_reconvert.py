# SPDX-License-Identifier: Apache-2.0
"""Runs that tbprof wrote, converted again: what was repaired is told for ever, and nothing else changes."""
import glob
import json
import os
import subprocess
import unittest

from support import SAMPLE, SHARED, Case

XPT = os.environ.get("XPT", "")
HOST = 'plane 9 "/host:CPU"\n'
# Text form of a profile (tests/support/xpt.h) and what is repaired in it, counted by hand.
REPAIRED = {
    "steps": ('plane 1 "/host:CPU"\n line 1 "main"\n'
              '  0 +9us "train" step_num=1u\n  10us +9us "train" step_num=2u\n  20us +9us "train" step_num=3u\n',
              {"repair_step_num": 3, "repair_unsigned": 3}),
    "loops": ('plane 1 "/host:CPU"\n line 1 "main"\n  0 +9us "train" step_num=1 _r=1\n'
              '  1us +2us "ExecutorState::Process" id=7 iter_num=0\n  4us +2us "ExecutorState::Process" id=7 iter_num=1\n'
              '  10us +9us "train" step_num=2 _r=1\n  11us +2us "ExecutorState::Process" id=8 iter_num=0\n'
              '  14us +2us "ExecutorState::Process" id=8 iter_num=1\n  17us +1us "ExecutorState::Process" id=8 iter_num=2\n',
              {"repair_loops": 3}),
    "names": ('plane 1 "/device:GPU:0"\n line 7 "Stream #7"\n'
              '  0 +2us "k" correlation_id=1u "level 0"="a:B" kernel_details="regs:8 shm:16 grid:1,1,1 block:1,1,1"\n'
              '  5us +2us "k" correlation_id=2u kernel_details="regs:8 shm:16 grid:1,1,1 block:1,1,1"\n' + HOST,
              {"repair_level_0": 1, "repair_shm": 2, "repair_vendor": 1}),
    "epoch": ('plane 1 "/host:CPU"\n line 1 "main" at 1700000000000000000ns\n  0 +1us "a"\n  5us +1us "b"\n',
              {"repair_epoch": 2}),
    # 2^63 - 1 ns and 2^64 ps: far from the first line, and where picoseconds since the epoch run over
    "epoch-end": ('plane 1 "/host:CPU"\n line 1 "main" at 9223372036854776ns\n  0 +1us "a"\n'
                  ' line 2 "far" at 9223372036854775807ns\n  0 +1us "b"\n  2us +1us "c"\n'
                  ' line 3 "over" at 18446744073709551ns\n  0 +100ps "d"\n  600ps +1us "e"\n  2us +1us "f"\n',
                  {"repair_epoch": 6}),
    "order": ('plane 1 "/host:CPU"\n line 1 "main"\n  5us +1us "late"\n  1us +1us "early"\n', {"repair_order": 1}),
    "no-host-plane": ('plane 1 "/device:GPU:0"\n stat device_vendor="Nvidia"\n line 7 "Stream #7"\n'
                      '  0 +2us "k" correlation_id=1u kernel_details="regs:8 grid:1,1,1 block:1,1,1"\n', {}),
    # not rewritten, but found again
    "data-ids": ('plane 1 "/host:CPU"\n line 1 "main"\n  0 +1us "Iterator::Model" id=7u parent_id=1u\n',
                 {"repair_unsigned": 2}),
    "subprocess": (HOST + 'plane 50 "/host:CPU [100]"\n line 1 "loader"\n  0 +1us "decode"\n', {"repair_subprocess": 1}),
    "short": ('plane 1 "/device:GPU:0"\n stat device_vendor="Nvidia"\n line 7 "Stream #7"\n'
              '  0 +300ps "k" correlation_id=1u kernel_details="regs:8 grid:1,1,1 block:1,1,1"\n' + HOST,
              {"repair_sub_ns": 1}),
}


class Reconvert(Case):
    def from_text(self, text):
        with open(self.path("h.xpt"), "w") as f:
            f.write(text)
        subprocess.run([XPT, "to-pb", self.path("h.xpt"), self.path("h.xplane.pb")], check=True)
        return self.path("h.xplane.pb")

    def as_text(self, path):
        subprocess.run([XPT, "to-text", path, self.path("out.xpt")], check=True)
        with open(self.path("out.xpt")) as f:
            return f.read()

    def pages(self, folder):
        """Name -> bytes of all that lies in the run but the receipt, which names the input."""
        found = {}
        for path in glob.glob(os.path.join(folder, "*")):
            if not path.endswith(".tbprof.json"):
                with open(path, "rb") as f:
                    found[os.path.basename(path)] = f.read()
        return found

    def told(self, *args):
        """What a conversion, or `info`, counts."""
        hosts = json.loads(self.expect(0, *args, "--json").stdout)["runs"][0]["hosts"]
        return {k: c["count"] for k, c in hosts[0]["ledger"]["counters"].items()}

    def thrice(self, source, *options):
        """What three conversions tell: of the source, in place, of the written xplane into another folder. All three
        leave the same run."""
        first = self.path("log", "plugins", "profile", "r")
        told = [self.told("convert", source, "-o", self.path("log"), "--run", "r", *options)]
        pages = self.pages(first)
        told.append(self.told("convert", self.path("log"), *options))
        self.assertEqual(self.pages(first), pages)
        xplane, = glob.glob(os.path.join(first, "*.xplane.pb"))
        told.append(self.told("convert", xplane, "-o", self.path("other"), "--run", "r", *options))
        self.assertEqual(self.pages(self.path("other", "plugins", "profile", "r")), pages)
        return told

    def test_repairs_are_told_again(self):
        for name, (text, counts) in REPAIRED.items():
            with self.subTest(name=name):
                self.setUp()
                source = self.from_text(text)
                self.assertEqual(self.told("info", source), counts)
                self.assertEqual(self.thrice(source), [counts] * 3)
                self.assertEqual(self.told("info", self.path("log")), counts)

    def test_official_semantics_know_no_marks(self):
        for name, (text, _) in REPAIRED.items():
            with self.subTest(name=name):
                self.setUp()
                source = self.from_text(text)
                self.expect(0, "convert", source, "-o", self.path("log"), "--run", "r", "--semantics", "official")
                written = self.as_text(self.path("log", "plugins", "profile", "r", "h.xplane.pb"))
                self.assertNotIn("tbprof", written)
                self.assertEqual(self.told("convert", self.path("log"), "--semantics", "official"), {})

    def test_marks_of_a_rewritten_xplane(self):
        text, _ = REPAIRED["names"]
        self.expect(0, "convert", self.from_text(text), "-o", self.path("log"), "--run", "r")
        written = self.as_text(self.path("log", "plugins", "profile", "r", "h.xplane.pb"))
        marks = [line.strip() for line in written.splitlines() if line.strip().startswith("stat tbprof_")]
        self.assertEqual(marks, ["stat tbprof_repair_level_0=1", "stat tbprof_repair_shm=2", "stat tbprof_repair_vendor=1"])

    def test_ops_under_their_old_name_have_their_row_in_the_timeline(self):
        source = self.from_text(REPAIRED["names"][0])
        rows = {how: {e["args"]["name"] for e in json.loads(self.expect(0, "tool", "trace_viewer", source, "--semantics",
                                                                        how).stdout)["traceEvents"]
                      if e.get("name") == "thread_name"} for how in ("repair", "official")}
        self.assertEqual(rows, {"repair": {"Stream #7", "Framework Ops - from #7"}, "official": {"Stream #7"}})

    def test_types_of_ops_under_their_old_name(self):
        """The kernel of op a:B is a B, before it is rewritten as well as after; the one without an op is itself."""
        source = self.from_text(REPAIRED["names"][0])
        self.expect(0, "convert", source, "-o", self.path("log"), "--run", "r")
        for path in (source, self.path("log")):
            rows = json.loads(self.expect(0, "stats", path, "--group-by", "type", "--json").stdout)["rows"]
            self.assertEqual(sorted(r["name"] for r in rows), ["B", "k"], path)

    def test_notes_stay_wherever_they_are_told(self):
        note = "Steps were taken from step_num of events that are not marked as roots"
        counts = {"repair_step_num": 4, "repair_unsigned": 68}  # the latter of tf.data's ids
        self.assertEqual(self.thrice(SAMPLE), [counts] * 3)
        self.assertIn("repair_step_num 4: repair: steps taken from step_num without _r\n",
                      self.expect(0, "info", self.path("log")).stdout)
        for tool in ("overview_page", "input_pipeline_analyzer", "pod_viewer"):
            answers = {self.expect(0, "tool", tool, p).stdout for p in (SAMPLE, self.path("log"), self.path("other"))}
            self.assertEqual(len(answers), 1, tool)
            self.assertIn(note, answers.pop())
            self.assertNotIn(note, self.expect(0, "tool", tool, self.path("log"), "--semantics", "official").stdout)
        self.assertEqual(*[self.expect(0, "check", p, "--json").stdout for p in (SAMPLE, self.path("log"))])

    def test_run_with_repairs_in_its_xplane_is_not_told_to_lack_them(self):
        self.expect(0, "convert", SAMPLE, "-o", self.path("log"))
        r = self.expect(0, "convert", self.path("log"))
        self.assertIn("repair_step_num 4", r.stderr)
        self.assertNotIn("repairs are on the pages alone", r.stderr)

    def test_steps_that_are_given_are_not_those_repaired(self):
        self.expect(0, "convert", SAMPLE, "-o", self.path("log"))
        self.assertNotIn("repair_step_num", self.told("convert", self.path("log"), "--steps", "none"))

    def test_marks_that_make_no_sense(self):
        for value in ("-1", "0", "9223372036854775807", "18446744073709551615u", '"4"', "1.5"):
            with self.subTest(value=value):
                source = self.from_text(f'plane 1 "/host:CPU"\n stat tbprof_repair_step_num={value}\n')
                self.assertEqual(self.told("info", source), {})
        source = self.from_text('plane 1 "/host:CPU"\n stat tbprof_repair_step_num=2\n stat tbprof_repair_step_num=3\n'
                                'plane 2 "/host:CPU"\n stat tbprof_repair_step_num=5\n stat tbprof_repair_sub_ns=5\n')
        self.assertEqual(self.told("info", source), {"repair_step_num": 2, "duplicate_plane": 1})

    def test_clocks_of_moved_times(self):
        def clock(path):
            return json.loads(self.expect(0, "info", path, "--json").stdout)["runs"][0]["clocks"]
        os.mkdir(self.path("in"))
        for name in ("a", "b"):
            os.rename(self.from_text(REPAIRED["epoch"][0]), self.path("in", name + ".xplane.pb"))
        self.expect(0, "convert", self.path("in"), "-o", self.path("log"))
        self.assertEqual(clock(self.path("log")), clock(self.path("in")))

    @unittest.skipUnless(os.path.isdir(os.path.join(SHARED, "cases")), "cases beside the checkout")
    def test_cases_are_the_same_converted_again(self):
        for path in sorted(glob.glob(os.path.join(SHARED, "cases", "*", "*.xplane.pb"))):
            with self.subTest(path=path):
                self.setUp()
                first, *others = self.thrice(path)
                self.assertEqual(others, [first] * 2)


if __name__ == "__main__":
    unittest.main()
