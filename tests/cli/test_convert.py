# SPDX-License-Identifier: Apache-2.0
"""convert: what it writes, that it repeats itself, that it leaves others' files alone."""
import gzip
import json
import os
import shutil
import signal
import subprocess
import time
import unittest

from support import LOOPS, SAMPLE, SAMPLE_RUN, TBPROF, TWO_HOSTS, Case, sums

RUN = "2026_11_28_00_21_30"
DIAGNOSTICS = 6  # of the overview's tables


def receipt(folder, host="worker0"):
    with open(os.path.join(folder, host + ".tbprof.json")) as f:
        return json.load(f)


class Convert(Case):
    def test_file_becomes_a_run_folder(self):
        r = self.expect(0, "convert", "-o", self.path("log"), SAMPLE)
        self.assertEqual(r.stdout, "")
        self.assertIn("events read 2621 = emitted 2621", r.stderr)
        folder = self.path("log", "plugins", "profile", RUN)
        self.assertGreater(os.path.getsize(os.path.join(folder, "worker0.xplane.pb")), os.path.getsize(SAMPLE) // 2)
        written = receipt(folder)
        self.assertTrue(written["complete"])
        names = {f["name"] for f in written["files"]}
        self.assertEqual(names, {n for n in os.listdir(folder) if n != "worker0.tbprof.json"})
        for name in names:
            opener = gzip.open if name.endswith(".gz") else open
            if ".json" in name:
                with opener(os.path.join(folder, name)) as f:
                    json.load(f)

    def test_marker_makes_tensorboard_see_the_run(self):
        self.expect(0, "convert", "-o", self.path("log"), SAMPLE)
        markers = [n for n in os.listdir(self.path("log")) if "tfevents" in n]
        self.assertEqual(len(markers), 1)
        self.assertEqual(os.path.getsize(self.path("log", markers[0])), 40)

    def test_twice_gives_the_same_bytes(self):
        self.expect(0, "convert", "-o", self.path("log"), TWO_HOSTS)
        first = sums(self.path("log"))
        times = {p: os.stat(self.path("log", p)).st_mtime_ns for p in first}
        self.expect(0, "convert", "-o", self.path("log"), TWO_HOSTS)
        self.assertEqual(sums(self.path("log")), first)
        self.assertEqual({p: os.stat(self.path("log", p)).st_mtime_ns for p in first}, times)

    def test_same_bytes_for_any_threads_locale_zone_and_folder(self):
        want = None
        os.makedirs(self.path("elsewhere"))
        for k, (jobs, env, cwd) in enumerate(((1, {}, None), (2, {"TZ": "Asia/Kathmandu"}, None), (7, {}, "/"),
                                              (0, {"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"},
                                               self.path("elsewhere")))):
            out = self.path(f"log{k}")
            self.expect(0, "convert", "-j", str(jobs), "-o", out, TWO_HOSTS, "--for", "all", env=env, cwd=cwd)
            got = sums(out)
            want = want or got
            self.assertEqual(got, want)
        self.assertTrue(want)

    def test_in_place_keeps_what_others_wrote(self):
        shutil.copytree(SAMPLE_RUN, self.path("log", "plugins", "profile", RUN))
        folder = self.path("log", "plugins", "profile", RUN)
        foreign = os.path.join(folder, "worker0.memory_profile.json.gz")
        with open(foreign, "wb") as f:
            f.write(b"someone else's")
        before = sums(self.path("log"))
        r = self.expect(0, "convert", self.path("log"))
        self.assertIn("kept", r.stderr)
        after = sums(self.path("log"))
        self.assertEqual({p: after[p] for p in before}, before)
        self.assertGreater(len(after), len(before))

    def test_changed_output_counts_as_someone_elses(self):
        self.expect(0, "convert", "-o", self.path("log"), SAMPLE)
        page = self.path("log", "plugins", "profile", RUN, "worker0.memory_profile.json.gz")
        with open(page, "ab") as f:
            f.write(b"edited")
        before = sums(self.path("log"))
        self.expect(0, "convert", "-o", self.path("log"), SAMPLE)
        self.assertEqual(sums(self.path("log"))[os.path.relpath(page, self.path("log"))],
                         before[os.path.relpath(page, self.path("log"))])

    def test_other_input_into_the_same_run_replaces_its_own(self):
        self.expect(0, "convert", "-o", self.path("log"), "--run", "r", "--host", "h", SAMPLE)
        other = os.path.join(TWO_HOSTS, "plugins", "profile", "2026_11_28_00_22_17", "worker1.xplane.pb")
        self.expect(0, "convert", "-o", self.path("log"), "--run", "r", "--host", "h", other)
        self.assertEqual(receipt(self.path("log", "plugins", "profile", "r"), "h")["ledger"]["events"]["read"], 2383)
        self.assertEqual(sums(os.path.dirname(SAMPLE)), sums(SAMPLE_RUN))

    def test_host_of_a_run_in_place_keeps_its_name(self):
        shutil.copytree(os.path.dirname(os.path.dirname(os.path.dirname(SAMPLE_RUN))), self.path("log"))
        run = self.path("log", "plugins", "profile", RUN)
        before = sums(self.path("log"))
        for given in (self.path("log"), run):
            for more in ([], ["--for", "all"]):
                r = self.expect(2, "convert", given, "--host", "x", *more)
                self.assertRegex(r.stderr, "'host' cannot be 'x' in place: '.*worker0.xplane.pb' stays the xplane of "
                                           "host 'worker0'; write elsewhere with -o DIR")
        self.assertEqual(sums(self.path("log")), before)
        self.expect(0, "convert", run, "--host", "x", "--for", "legacy")  # pages apart from the xplane
        self.assertIn("x.overview_page.json", os.listdir(run + "_pages"))
        self.expect(0, "convert", run, "--host", "x", "-o", self.path("other"))
        self.assertIn("x.xplane.pb", os.listdir(self.path("other", "plugins", "profile", RUN)))
        self.expect(0, "convert", run, "--host", "worker0")
        self.assertNotIn("x.overview_page.json", os.listdir(run))

    def test_inputs_are_never_modified(self):
        before = sums(os.path.dirname(SAMPLE))
        self.expect(0, "convert", "-o", self.path("log"), SAMPLE)
        self.expect(0, "convert", "-o", self.path("log"), SAMPLE, "--semantics", "official")
        self.assertEqual(sums(os.path.dirname(SAMPLE)), before)

    def test_several_hosts(self):
        self.expect(0, "convert", "-o", self.path("log"), TWO_HOSTS)
        names = os.listdir(self.path("log", "plugins", "profile", "2026_11_28_00_22_17"))
        for host in ("worker0", "worker1"):
            self.assertIn(host + ".xplane.pb", names)
            self.assertIn(host + ".tbprof.json", names)
        self.assertTrue(any(n.startswith("ALL_HOSTS.") for n in names), names)

    def test_for_legacy_and_all(self):
        self.expect(0, "convert", "-o", self.path("log"), "--for", "legacy", SAMPLE)
        names = os.listdir(self.path("log", "plugins", "profile", RUN))
        self.assertNotIn("worker0.xplane.pb", names)
        self.assertTrue(any(n.endswith(".json.gz") for n in names))
        r = self.expect(0, "convert", "-o", self.path("both"), "--for", "all", "--json", SAMPLE)
        profile = self.path("both", "plugins", "profile")
        run, = json.loads(r.stdout)["runs"]
        folders = [os.path.join(profile, RUN), os.path.join(profile, RUN + "_pages")]
        self.assertEqual([run["folder"], run["pages_folder"]], folders)
        self.assertTrue(r.stderr.startswith(" and ".join(folders) + ": 1 host"), r.stderr)
        self.assertEqual(sorted(os.listdir(profile)), [RUN, RUN + "_pages"])
        pages = set(os.listdir(os.path.join(profile, RUN + "_pages")))
        self.assertEqual(set(os.listdir(os.path.join(profile, RUN))) - pages, {"worker0.xplane.pb"})

    def test_input_forms(self):
        packed = self.path("w.xplane.pb.gz")
        with open(SAMPLE, "rb") as f, gzip.open(packed, "wb") as g:
            data = f.read()
            g.write(data)
        self.expect(0, "convert", "-o", self.path("log"), packed)
        self.assertTrue(os.path.exists(self.path("log", "plugins", "profile", "w", "w.xplane.pb")))
        r = subprocess.run([TBPROF, "info", "-", "--json"], input=data, capture_output=True)
        self.assertEqual(json.loads(r.stdout)["runs"][0]["hosts"][0]["events"], 2621)
        os.makedirs(self.path("deep", "train", "plugins", "profile"))
        shutil.copytree(SAMPLE_RUN, self.path("deep", "train", "plugins", "profile", "r1"))
        shutil.copytree(SAMPLE_RUN, self.path("deep", "train", "plugins", "profile", "r2"))
        os.symlink("..", self.path("deep", "train", "loop"))
        self.expect(0, "convert", "-o", self.path("out"), self.path("deep"))
        self.assertEqual(sorted(os.listdir(self.path("out", "train", "plugins", "profile"))), ["r1", "r2"])

    def steps_on_page(self, path, semantics):
        tables = json.loads(self.expect(0, "tool", "input_pipeline_analyzer", path, "--semantics", semantics).stdout)
        return next(t for t in tables if any(c["id"] == "stepnum" for c in t["cols"]))["rows"]

    def test_written_xplane_carries_the_repairs(self):
        """Its official reading is the repaired reading of the original: four steps instead of none."""
        for n, path in enumerate((SAMPLE, LOOPS)):
            self.expect(0, "convert", "-o", self.path(f"log{n}"), path)
            self.assertEqual(self.steps_on_page(path, "official"), [])
            steps = self.steps_on_page(path, "repair")
            self.assertEqual(len(steps), 4)
            self.assertEqual(self.steps_on_page(self.path(f"log{n}"), "official"), steps)

    def test_steps_with_loops_in_them(self):
        """As long as their marks in the file, in ms; and the page says why they are there."""
        tables = json.loads(self.expect(0, "tool", "overview_page", LOOPS).stdout)
        rows = next(t for t in tables if any(c["id"] == "stepnum" for c in t["cols"]))["rows"]
        steps = [(row["c"][0]["v"], row["c"][-1]["v"]) for row in rows]
        self.assertEqual(steps, [("train 100", 6.371003), ("train 101", 0.526364), ("train 102", 0.296412),
                                 ("train 103", 0.297964)])
        self.assertIn("Steps were taken from step_num although there are loops",
                      self.expect(0, "tool", "overview_page", LOOPS).stdout)
        self.assertIn("repair_loops 56:", self.expect(0, "info", LOOPS).stdout)

    def test_in_place_repairs_are_told_to_be_on_the_pages_alone(self):
        run_folder = self.path("logs", "plugins", "profile", "r")
        shutil.copytree(SAMPLE_RUN, run_folder)
        said = "repairs are on the pages alone"
        self.assertIn(said, self.expect(0, "convert", run_folder).stderr)
        self.assertNotIn(said, self.expect(0, "convert", run_folder, "--semantics", "official").stderr)
        self.assertNotIn(said, self.expect(0, "convert", run_folder, "-o", self.path("new")).stderr)

    def test_output_below_the_input_is_not_read_again(self):
        os.makedirs(self.path("in", "train", "plugins", "profile", "r"))
        shutil.copy(SAMPLE, self.path("in", "train", "plugins", "profile", "r"))
        def files():
            return sorted(os.path.join(base, f) for base, _, names in os.walk(self.path("in")) for f in names)
        self.expect(0, "convert", self.path("in"), "-o", self.path("in", "out"))
        first = files()
        for _ in range(2):
            self.assertIn("lies where this conversion writes",
                          self.expect(0, "convert", self.path("in"), "-o", self.path("in", "out")).stderr)
            self.assertEqual(files(), first)
        shutil.rmtree(self.path("in", "train"))
        self.assertIn("there are no profiles but those in",
                      self.expect(2, "convert", self.path("in"), "-o", self.path("in", "out")).stderr)
        before = files()
        self.expect(0, "convert", self.path("in"), "-o", self.path("in")) # in place, all that is there
        self.expect(0, "convert", self.path("in", "out"), "-o", self.path("in", "out"))
        self.assertEqual(files(), before)

    def test_xplane_without_repairs_is_the_input(self):
        self.expect(0, "convert", "-o", self.path("log"), SAMPLE, "--semantics", "official")
        with open(SAMPLE, "rb") as a, open(self.path("log", "plugins", "profile", RUN, "worker0.xplane.pb"), "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_written_xplane_of_a_cut_input_is_whole(self):
        with open(SAMPLE, "rb") as f, open(self.path("cut.xplane.pb"), "wb") as g:
            g.write(f.read()[:40000])
        self.expect(0, "convert", "-o", self.path("log"), self.path("cut.xplane.pb"))
        first = json.loads(self.expect(0, "info", "--json", self.path("cut.xplane.pb")).stdout)
        again = json.loads(self.expect(0, "info", "--json", self.path("log")).stdout)
        host, clean = first["runs"][0]["hosts"][0], again["runs"][0]["hosts"][0]
        self.assertGreater(host["events"], 0)
        self.assertEqual(clean["events"], host["events"])
        self.assertFalse({"bad_wire", "truncated", "event_dropped"} & set(clean["ledger"]["counters"]))

    def warnings(self, path, *options):
        """Of the overview, and the same of the input pipeline page in both dialects."""
        told = []
        for tool, table, dialect in (("overview_page", DIAGNOSTICS, "newest"), ("overview_page", DIAGNOSTICS, "legacy"),
                                     ("input_pipeline_analyzer", -1, "newest"), ("input_pipeline_analyzer", -1, "legacy")):
            tables = json.loads(self.expect(0, "tool", tool, path, "--dialect", dialect, *options).stdout)
            rows = [[cell["v"] for cell in row["c"]] for row in tables[table]["rows"]]
            told.append([text for severity, text in rows if severity == "WARNING" and "No step marker" not in text])
        self.assertEqual(told[1:], told[:1] * 3)
        return told[0]

    def test_pages_tell_that_a_file_is_cut_or_empty_also_after_converting(self):
        told = {"cut": "A file of this run is cut or damaged (values which run past the end of their message): "
                       "these pages lack what is missing.",
                "empty": "A file of this run is empty: was it still being written?"}
        with open(SAMPLE, "rb") as f:
            content = {"cut": f.read()[:40000], "empty": b""}
        for name, text in told.items():
            os.makedirs(self.path(name))
            with open(self.path(name, "h.xplane.pb"), "wb") as f:
                f.write(content[name])
            self.assertEqual(self.warnings(self.path(name)), [text])
            self.assertEqual(self.warnings(self.path(name), "--semantics", "official"), [])
            self.expect(0, "convert", "--run", name, "-o", self.path("log"), self.path(name))
            again = self.path("log", "plugins", "profile", name)
            self.assertEqual(self.warnings(again), [text])
            self.expect(0, "convert", "--run", name, "-o", self.path("log2"), os.path.join(again, "h.xplane.pb"))
            self.assertEqual(self.warnings(self.path("log2", "plugins", "profile", name)), [text])
        self.assertEqual(self.warnings(SAMPLE), [])

    def test_odd_host_and_run_names(self):
        name = "a.b,c d-ü"
        os.makedirs(self.path("in"))
        shutil.copy(SAMPLE, self.path("in", name + ".xplane.pb"))
        self.expect(0, "convert", "-o", self.path("log"), self.path("in", name + ".xplane.pb"))
        self.assertIn(name + ".xplane.pb", os.listdir(self.path("log", "plugins", "profile", name)))

    def test_two_files_of_one_host_are_refused(self):
        shutil.copy(SAMPLE, self.path("worker0.xplane.pb"))
        r = self.expect(2, "convert", "--run", "r", "-o", self.path("log"), SAMPLE, self.path("worker0.xplane.pb"))
        self.assertIn("two files of host 'worker0'", r.stderr)

    def test_quiet_says_nothing_of_a_clean_input(self):
        r = self.expect(0, "convert", "-q", "-o", self.path("log"), TWO_HOSTS)
        self.assertEqual((r.stdout, r.stderr), ("", ""))

    def test_info_counts_what_convert_counts(self):
        for path, unsigned in ((SAMPLE, 68), (LOOPS, 0), (TWO_HOSTS, None)):
            made = json.loads(self.expect(0, "convert", "-o", self.path("log"), "--json", path).stdout)["runs"][0]
            told = json.loads(self.expect(0, "info", "--json", path).stdout)["runs"][0]
            for done, host in zip(made["hosts"], told["hosts"]):  # ALL_HOSTS is behind them
                self.assertEqual(done["ledger"], host["ledger"])
                if unsigned is not None:  # ids of tf.data's events
                    self.assertEqual(host["ledger"]["counters"].get("repair_unsigned", {}).get("count", 0), unsigned)

    def test_strict_tells_a_loss_by_its_exit_code(self):
        cut = self.path("cut.xplane.pb")
        with open(SAMPLE, "rb") as f, open(cut, "wb") as g:
            g.write(f.read()[:40000])
        self.expect(0, "convert", "-o", self.path("log"), cut)
        r = self.expect(1, "convert", "--strict", "-o", self.path("log"), cut)
        self.assertIn("strict", r.stderr)
        self.expect(0, "convert", "--strict", "-o", self.path("log"), SAMPLE)

    def test_signals_leave_older_outputs_and_no_temporaries(self):
        self.expect(0, "convert", "-o", self.path("log"), TWO_HOSTS)
        before = sums(self.path("log"))
        for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            for k in range(6):
                p = subprocess.Popen([TBPROF, "convert", "-o", self.path("log"), TWO_HOSTS], stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL)
                time.sleep(0.003 * k)
                p.send_signal(sig)
                code = p.wait(timeout=240)
                self.assertIn(code, (0, -sig))
                now = sums(self.path("log"))
                self.assertEqual({p: now[p] for p in before}, before)
                if sig != signal.SIGKILL:
                    self.no_temporaries(self.path("log"))
        self.expect(0, "convert", "-o", self.path("log"), TWO_HOSTS)
        self.no_temporaries(self.path("log"))
        self.assertEqual(sums(self.path("log")), before)

    def test_a_signal_leaves_the_old_or_the_new_files_of_all_hosts(self):
        states = {}
        for reading in ("auto", "none"):
            self.expect(0, "convert", "-q", "-o", self.path("log"), "--steps", reading, TWO_HOSTS)
            states[reading] = sums(self.path("log"))
        self.assertNotEqual(*states.values())
        for k in range(24):
            reading, sig = ("auto", "none")[k % 2], (signal.SIGINT, signal.SIGTERM)[k // 2 % 2]
            p = subprocess.Popen([TBPROF, "convert", "-q", "-j1", "-o", self.path("log"), "--steps", reading, TWO_HOSTS],
                                 stderr=subprocess.DEVNULL)
            time.sleep(0.002 * k)
            p.send_signal(sig)
            p.wait(timeout=240)
            self.assertIn(sums(self.path("log")), list(states.values()))

    def test_signals_leave_no_empty_folders(self):
        for k, sig in enumerate((signal.SIGINT, signal.SIGTERM, signal.SIGHUP)):
            out = self.path(f"new{k}")
            p = subprocess.Popen([TBPROF, "convert", "-o", out, TWO_HOSTS], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while p.poll() is None and not os.path.exists(out):
                pass
            p.send_signal(sig)
            self.assertIn(p.wait(timeout=240), (0, -sig))
            empty = [base for base, folders, files in os.walk(out) if not folders and not files]
            self.assertEqual(empty, [])

    def test_killed_conversion_can_be_done_again(self):
        for k in range(6):
            out = self.path(f"log{k}")
            p = subprocess.Popen([TBPROF, "convert", "-o", out, TWO_HOSTS], stderr=subprocess.DEVNULL)
            time.sleep(0.003 * k)
            p.kill()
            p.wait()
            r = self.expect(0, "convert", "-o", out, TWO_HOSTS)
            self.assertNotIn("not written by tbprof", r.stderr)
        self.no_temporaries(out)


if __name__ == "__main__":
    unittest.main()
