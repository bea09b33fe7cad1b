# SPDX-License-Identifier: Apache-2.0
"""Bad surroundings: full disk, unreadable files, foreign files in the way, inputs that are no profiles."""
import json
import os
import shutil
import subprocess
import sys
import time
import unittest

from support import SAMPLE, SAMPLE_RUN, SANITIZED, TBPROF, TWO_HOSTS, Case, sums

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
from wire import field  # noqa: E402 (after the path)

NOBODY = 65534


def can_mount():
    r = subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True)
    return r.returncode == 0


class Robust(Case):
    def check_failure(self, result, code, *words):
        self.assertEqual(result.returncode, code, result.stderr)
        for word in words:
            self.assertIn(word.lower(), result.stderr.lower())

    def test_full_disk(self):
        if not shutil.which("unshare") or not can_mount():
            self.skipTest("no right to mount a small tmpfs here")
        disk = self.path("disk")
        os.mkdir(disk)
        # a first conversion fits; a second one, of another run, does not: the first must stay as it is
        script = f"""
            mount -t tmpfs -o size=700k none '{disk}' || exit 99
            '{TBPROF}' convert -q -o '{disk}/log' '{SAMPLE}' || exit 98
            (cd '{disk}' && find . -type f | sort | xargs sha256sum) > '{self.path("before")}'
            '{TBPROF}' convert -q -o '{disk}/log' '{TWO_HOSTS}' --semantics official --for all; code=$?
            (cd '{disk}' && find . -type f | grep '{os.path.basename(SAMPLE_RUN)}\\|tfevents' | sort | xargs sha256sum) \\
                > '{self.path("after")}'
            find '{disk}' -name '*.tmp' > '{self.path("left")}'
            exit $code"""
        r = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True)
        self.check_failure(r, 2, "no space left on device")
        with open(self.path("before")) as a, open(self.path("after")) as b, open(self.path("left")) as c:
            self.assertEqual(a.read(), b.read())
            self.assertEqual(c.read(), "")

    def fill_disk(self, profile, reading, frees):
        """Converts, then again in another reading with some KiB free, which never are enough; then with all."""
        disk = self.path(f"disk{len(os.listdir(self.tmp))}")
        os.mkdir(disk)
        script = f"""
            mount -t tmpfs -o size=2m none '{disk}' || exit 99
            '{TBPROF}' convert -q -o '{disk}/log' '{profile}' || exit 98
            cd '{disk}'; find . -type f | sort | xargs sha256sum > '{self.path("before")}'
            head -c 4m /dev/zero > fill 2> /dev/null
            full=$(stat -c %s fill)
            for free in {" ".join(map(str, frees))}; do
                truncate -s $((full - free * 1024)) fill
                '{TBPROF}' convert -q -o log '{profile}' {reading}
                echo "code $? with $free"
                rm -f fill; find . -type f | sort | xargs sha256sum | cmp - '{self.path("before")}' || echo "other files"
                head -c $full /dev/zero > fill
            done
            rm fill; '{TBPROF}' convert -q -o log '{profile}' {reading}; echo "code $? at last" """
        r = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True)
        self.assertEqual(r.stdout.splitlines(), [f"code 2 with {k}" for k in frees] + ["code 0 at last"], r.stderr)
        return r.stderr

    def test_disk_that_becomes_full_at_any_place(self):
        if not shutil.which("unshare") or not can_mount():
            self.skipTest("no right to mount a small tmpfs here; the file size limit below stands for it")
        # the same run in another reading, with room for none, one or all but one of its files: all of the former stay
        told = self.fill_disk(SAMPLE, "--semantics official", (0, 4, 8, 16, 32, 64))
        errors = [line for line in told.splitlines() if "no space left" in line.lower()]
        self.assertEqual(len(errors), 6, told)
        # room for one host of two: the files of both stay
        told = self.fill_disk(TWO_HOSTS, "--steps none -j1", (0, 32, 64, 128, 160, 192))
        self.assertIn("nothing of the run was replaced: 'worker", told)

    def test_file_size_limit(self):
        self.expect(0, "convert", SAMPLE, "-o", self.path("o"))
        before = sums(self.path("o"))
        for folder, code in (("o", "official"), ("new", "repair")):
            script = f"ulimit -f 8; exec '{TBPROF}' convert '{SAMPLE}' -o '{self.path(folder)}' --semantics {code}"
            r = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
            self.check_failure(r, 2, "file too large", "0 files written", self.path(folder, "plugins", "profile"))
        self.assertEqual(sums(self.path("o")), before)
        self.assertFalse(os.path.exists(self.path("new")))

    def test_failure_tells_the_run_asked_for_and_no_files(self):
        script = f"ulimit -f 8; exec '{TBPROF}' convert --json --run other '{SAMPLE}' -o '{self.path('o')}'"
        r = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
        self.check_failure(r, 2, "run 'other' was not written", "run 'other' not written: 1 host, ")
        run, = json.loads(r.stdout)["runs"]
        self.assertFalse(os.path.exists(self.path("o")))
        self.assertIsNone(run["folder"])
        self.assertEqual((run["run"], run["hosts"][0]["files"], run["hosts"][0]["bytes"]), ("other", 0, 0))

    def test_json_of_runs_that_have_no_place(self):
        os.mkdir(self.path("o"))
        with open(self.path("o", "plugins"), "w") as f:
            f.write("in the way")
        files = [os.path.join(TWO_HOSTS, "plugins", "profile", "2026_11_28_00_22_17", f"worker{i}.xplane.pb") for i in (0, 1)]
        for i in (0, 1):
            shutil.copy(files[i], self.path(f"{i}.xplane.pb"))
        r = self.expect(2, "convert", "--json", "-o", self.path("o"), self.path("0.xplane.pb"), self.path("1.xplane.pb"))
        runs = json.loads(r.stdout)["runs"]
        self.assertEqual([(run["run"], run["folder"], run["hosts"]) for run in runs], [("0", None, []), ("1", None, [])])
        for run in runs:
            self.assertIn(self.path("o", "plugins"), run["error"])

    def test_options_that_cannot_be_meant(self):
        for args in (("--host", " "), ("--host", "a\nb"), ("--run", "  "), ("--tools", ""), ("--config", "/dev/zero")):
            r = self.expect(2, "convert", *args, "-o", self.path("o"), SAMPLE)
            self.assertIn("/dev/zero" if args[0] == "--config" else args[0][2:], r.stderr)
            self.assertFalse(os.path.exists(self.path("o")))
        with open(self.path("big.yaml"), "w") as f:
            f.write("#" * ((1 << 20) + 1))
        self.assertIn("more than 1 MiB", self.expect(2, "info", "--config", self.path("big.yaml"), SAMPLE).stderr)

    def test_names_of_planes_do_not_reach_the_terminal_raw(self):
        name = b"/host:\x1b]0;x\x07\x00\xc2\x9bCPU\xff\xc3\xa4"
        with open(self.path("h.xplane.pb"), "wb") as f:
            f.write(bytes([10, len(name) + 2, 18, len(name)]) + name)
        r = subprocess.run([TBPROF, "info", self.path("h.xplane.pb")], capture_output=True)
        self.assertIn(rb"/host:\x1b]0;x\x07\x00\xc2\x9bCPU\xff" + b"\xc3\xa4 ", r.stdout)

    def test_exhausted_memory_leaves_no_temporaries(self):
        for kib in range(14000, 60000, 3000):
            script = f"ulimit -v {kib}; exec '{TBPROF}' convert -j 8 '{SAMPLE}' -o '{self.path('o')}'"
            subprocess.run(["bash", "-c", script], capture_output=True)
            self.no_temporaries(self.path("o"))

    def test_names_from_files_stay_below_the_log_directory(self):
        for name, option in (("...xplane.pb", "--run"), (".xplane.pb", "--run"), (".h.xplane.pb", "--run")):
            shutil.copy(SAMPLE, self.path(name))
            r = self.expect(2, "convert", self.path(name), "-o", self.path("o"))
            self.assertIn(option, r.stderr)
            self.assertFalse(os.path.exists(self.path("o")))
            r = self.expect(2, "convert", self.path(name), "-o", self.path("o"), "--run", "r")
            self.assertIn("--host", r.stderr)
            self.expect(0, "convert", self.path(name), "-o", self.path("fine"), "--run", "r", "--host", "h")

    def test_two_files_for_one_host(self):
        for folder in "ab":
            os.mkdir(self.path(folder))
            shutil.copy(SAMPLE, self.path(folder, "h.xplane.pb"))
        r = self.expect(2, "convert", self.path("a", "h.xplane.pb"), self.path("b", "h.xplane.pb"), "-o", self.path("o"))
        self.assertIn("two files of host 'h'", r.stderr)
        self.assertFalse(os.path.exists(self.path("o")))

    def test_failure_takes_back_empty_folders(self):
        with open(self.path("bad.xplane.pb"), "w") as f:
            f.write("this is no profile\n" * 10)
        r = subprocess.run([TBPROF, "convert", self.path("bad.xplane.pb"), "-o", self.path("o", "p")], capture_output=True)
        self.assertNotEqual(r.returncode, 0)
        self.assertFalse(os.path.exists(self.path("o")))

    def test_damage_is_told(self):
        with open(SAMPLE, "rb") as f:
            half = f.read()[:20000]
        with open(self.path("h.xplane.pb"), "wb") as f:
            f.write(half)
        r = self.expect(0, "tool", "overview_page", self.path("h.xplane.pb"))
        self.assertEqual(r.stderr.count("input is damaged"), 1)
        self.assertRegex(r.stderr, f"'{self.path('h.xplane.pb')}': input is damaged: .*first at byte [0-9]+")
        self.assertIn("input is damaged", self.expect(0, "tool", "-q", "overview_page", self.path("h.xplane.pb")).stderr)
        self.expect(1, "tool", "--strict", "overview_page", self.path("h.xplane.pb"))
        r = self.expect(0, "convert", self.path("h.xplane.pb"), "-o", self.path("o"))
        self.assertIn("input is damaged", r.stderr)

    def test_cut_json_is_told(self):
        event = '{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1}'
        with open(self.path("t.json"), "w") as f:
            f.write('{"traceEvents":[' + event)
        for args in (["convert", self.path("t.json"), "-o", self.path("o")], ["stats", self.path("t.json")]):
            self.assertIn(f"'{self.path('t.json')}': input is damaged: JSON that ends before it is complete (1, "
                          f"first at byte {16 + len(event)})", self.expect(0, *args).stderr)

    def test_empty_file_is_refused(self):
        for name in ("h.xplane.pb", "t.pt.trace.json"):
            path = self.path(name)
            open(path, "w").close()
            for args in (["tool", "overview_page", path], ["convert", path, "-o", self.path("o")], ["stats", path],
                         ["steps", path], ["check", path], ["info", path]):
                stderr = self.expect(1, *args).stderr
                self.assertIn(f"{path}: has 0 bytes, nothing was saved: copy it again, or record again", stderr, args)
            self.assertFalse(os.path.exists(self.path("o")))
        with open(self.path("t.pt.trace.json")) as nothing:
            r = subprocess.run([TBPROF, "stats", "-"], stdin=nothing, capture_output=True, text=True)
            self.assertEqual((r.returncode, r.stdout), (1, ""))
        r = self.expect(1, "check", "--json", path)
        self.assertEqual(json.loads(r.stdout)["error"]["path"], path)

    def test_empty_file_beside_others_is_told(self):
        os.mkdir(self.path("run"))
        shutil.copy(SAMPLE, self.path("run", "a.xplane.pb"))
        open(self.path("run", "b.xplane.pb"), "w").close()
        files = [self.path("run", n) for n in ("a.xplane.pb", "b.xplane.pb")]
        for n, args in enumerate(([self.path("run")], ["--run", "both", *files])):
            r = self.expect(0, "convert", "-o", self.path(f"o{n}"), *args)
            self.assertIn(f"'{files[1]}': empty file: no events", r.stderr)
            self.assertIn(": 2 hosts, ", r.stderr)
            self.assertIn("(--strict)", self.expect(1, "convert", "--strict", "-o", self.path(f"o{n}"), *args).stderr)
        self.expect(0, "tool", "overview_page", self.path("run"))
        self.expect(1, "tool", "--strict", "overview_page", self.path("run"))
        self.expect(0, "tool", "--strict", "overview_page", self.path("run"), "--host", "a")
        r = self.expect(1, "convert", "-o", self.path("o2"), *files)  # two runs: the other one is there
        self.assertIn("1 of 2 runs failed", r.stderr)
        self.assertEqual(os.listdir(self.path("o2", "plugins", "profile")), ["a"])

    def test_tools_of_one_host_name_the_hosts(self):
        for tool in ("memory_profile", "trace_viewer"):
            r = self.expect(2, "tool", tool, TWO_HOSTS)
            self.assertIn("choose one with --host NAME; the run has ", r.stderr)

    def test_tools_without_a_page_warn(self):
        r = self.expect(0, "convert", SAMPLE, "-o", self.path("o"), "--tools", "trace_viewer@")
        self.assertIn("none of the pages asked for", r.stderr)
        r = self.expect(0, "convert", SAMPLE, "-o", self.path("o"), "--tools", "overview_page")
        self.assertNotIn("none of the pages", r.stderr)

    def test_unreadable_file_and_folder(self):
        if os.getuid() != 0:
            self.skipTest("needs root to become someone with fewer rights")
        os.chmod(self.tmp, 0o755)
        shutil.copy(SAMPLE, self.path("locked.xplane.pb"))
        os.chmod(self.path("locked.xplane.pb"), 0)
        os.mkdir(self.path("folder"), 0o700)
        program = shutil.copy(TBPROF, self.path("tbprof"))
        os.chmod(program, 0o755)
        os.mkdir(self.path("readable"), 0o755)
        shutil.copy(SAMPLE, self.path("readable", "h.xplane.pb"))
        for args in (["info", self.path("locked.xplane.pb")], ["info", self.path("folder")],
                     ["convert", self.path("locked.xplane.pb"), "-o", "/tmp/tbprof-nothing"],
                     ["convert", self.path("readable", "h.xplane.pb"), "-o", self.path("folder", "x")]):
            r = subprocess.run([program, *args], capture_output=True, text=True, user=NOBODY, group=NOBODY, cwd="/")
            self.check_failure(r, 2, "permission denied", self.tmp)
        os.mkdir(self.path("spools"), 0o755)
        os.mkdir(self.path("spools", "tbprof-locked"), 0o700)
        r = subprocess.run([program, "recover", self.path("spools")], capture_output=True, text=True, user=NOBODY,
                           group=NOBODY, cwd="/")
        self.check_failure(r, 2, "tbprof-locked' cannot be read: there may be spools in it",
                           "1 folder could not be looked through")
        os.mkdir(self.path("listed"), 0o744)
        open(self.path("listed", "worker_1.tbs"), "wb").close()
        r = subprocess.run([program, "recover", self.path("listed")], capture_output=True, text=True, user=NOBODY,
                           group=NOBODY, cwd="/")
        self.check_failure(r, 2, "permission denied", self.path("listed"))

    def test_inputs_that_are_no_profiles(self):
        for name, data, code in (("text.xplane.pb", b"Hello, this is a plain text.\n" * 9, 1),
                                 ("zeros.xplane.pb", bytes(5000), 1),
                                 ("page.xplane.pb", b"<html><body>404</body></html>", 1)):
            path = self.path(name)
            with open(path, "wb") as f:
                f.write(data)
            r = self.expect(code, "convert", "-o", self.path("log"), path)
            self.assertIn(path, r.stderr)
            self.assertEqual(self.expect(code, "tool", "overview_page", path).stdout, "")

    def test_empty_file_in_a_folder_is_an_empty_profile(self):
        os.mkdir(self.path("run"))
        open(self.path("run", "e.xplane.pb"), "w").close()
        self.expect(0, "convert", "-o", self.path("log"), self.path("run"))
        json.loads(self.expect(0, "tool", "overview_page", self.path("log")).stdout)

    def test_damaged_host_does_not_keep_the_others_back(self):
        folder = self.path("in", "plugins", "profile", "r")
        os.makedirs(folder)
        shutil.copy(SAMPLE, os.path.join(folder, "good.xplane.pb"))
        with open(os.path.join(folder, "bad.xplane.pb"), "wb") as f:
            f.write(b"no profile at all, but a sentence")
        r = self.expect(1, "convert", "-o", self.path("log"), self.path("in"))
        self.assertIn("bad.xplane.pb", r.stderr)
        names = os.listdir(self.path("log", "plugins", "profile", "r"))
        self.assertIn("good.overview_page.json", names)
        self.assertFalse([n for n in names if n.startswith("bad.")])

    def test_foreign_receipt_stops_the_conversion(self):
        folder = self.path("log", "plugins", "profile", os.path.basename(SAMPLE_RUN))
        os.makedirs(folder)
        with open(os.path.join(folder, "worker0.tbprof.json"), "w") as f:
            f.write("my own notes")
        before = sums(self.path("log"))
        r = self.expect(2, "convert", "-o", self.path("log"), SAMPLE)
        self.assertIn("worker0.tbprof.json", r.stderr)
        self.assertEqual(sums(self.path("log")), before)

    def test_output_folder_that_is_a_file(self):
        open(self.path("log"), "w").close()
        self.assertIn(self.path("log"), self.expect(2, "convert", "-o", self.path("log"), SAMPLE).stderr)

    def test_pipe_as_input(self):
        os.mkfifo(self.path("pipe"))
        feeder = subprocess.Popen(["sh", "-c", f"cat '{SAMPLE}' > '{self.path('pipe')}'"])
        r = self.expect(0, "info", "--json", self.path("pipe"))
        feeder.wait(timeout=240)
        self.assertEqual(json.loads(r.stdout)["runs"][0]["hosts"][0]["events"], 2621)

    def test_pipe_without_a_writer_is_told(self):
        os.mkfifo(self.path("pipe"))
        p = subprocess.Popen([TBPROF, "info", "--json", self.path("pipe")], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True)
        self.assertIn(f"waiting for data from '{self.path('pipe')}'", p.stderr.readline())
        with open(SAMPLE, "rb") as f, open(self.path("pipe"), "wb") as to:
            to.write(f.read())
        out, err = p.communicate(timeout=240)
        self.assertEqual((p.returncode, err), (0, ""))
        self.assertEqual(json.loads(out)["runs"][0]["hosts"][0]["events"], 2621)

    def test_pipes_in_folders_of_other_profilers_are_not_opened(self):
        for name in ("w.1.pt.trace.json", "timeline_display_0.json", "operator_memory.csv", "x_kernel_trace.csv", "a.tbs"):
            os.mkfifo(self.path(name))
        for command in ("info", "convert", "recover"):
            self.expect(0 if command == "recover" else 2, command, self.tmp, timeout=60)

    def test_devices_are_refused(self):
        for path in ("/dev/zero", "/dev/null"):
            r = self.expect(2, "info", path)
            self.assertIn(f"'{path}' is a device", r.stderr)
        for path in ("/dev/zero", "/dev/null"):
            with open(path) as device:
                self.assertIn("standard input is a device", self.expect(2, "info", "-", stdin=device).stderr)

    def run_of(self, *names):
        folder = self.path("log", "plugins", "profile", "r")
        os.makedirs(folder)
        for name in names:
            shutil.copy(SAMPLE, os.path.join(folder, name))
        return folder

    def test_pipes_and_dead_links_in_a_run_are_skipped(self):
        folder = self.run_of("h.xplane.pb", "h.xplane.pb.gz")
        os.mkfifo(os.path.join(folder, "pipe.xplane.pb"))
        os.symlink("/nowhere/x", os.path.join(folder, "link.xplane.pb"))
        r = self.expect(0, "info", self.path("log"), "--json")
        self.assertEqual([os.path.basename(s["path"]) for s in json.loads(r.stdout)["skipped"]],
                         ["h.xplane.pb.gz", "link.xplane.pb", "pipe.xplane.pb"])
        for words in ("pipe.xplane.pb': it is no regular file", "link.xplane.pb': it is a link to nothing"):
            self.assertIn(words, r.stderr)
        self.expect(1, "convert", "--strict", self.path("log"))

    def test_loose_files_beside_runs_are_told(self):
        self.run_of("h.xplane.pb")
        loose = [self.path("log", "a.xplane.pb"), self.path("log", "plugins", "profile", "b.xplane.pb"),
                 self.path("log", "deep", "c.xplane.pb")]
        os.mkdir(self.path("log", "deep"))
        for path in loose:
            shutil.copy(SAMPLE, path)
        for args in (["info"], ["convert", "-o", self.path("o")], ["tool", "overview_page"]):
            r = self.expect(0, *args, self.path("log"))
            for path in loose:
                self.assertIn(f"skipped '{path}': it lies in no run folder", r.stderr)
        self.assertEqual(os.listdir(self.path("o", "plugins", "profile")), ["r"])
        r = json.loads(self.expect(0, "convert", "--json", "-o", self.path("o"), self.path("log")).stdout)
        self.assertEqual(sorted(s["path"] for s in r["skipped"]), sorted(loose))
        self.expect(1, "convert", "--strict", "-o", self.path("o"), self.path("log"))
        self.expect(1, "tool", "--strict", "overview_page", self.path("log"))
        self.expect(0, "convert", "--strict", "-o", self.path("o"), "--run", "x", *loose)

    def test_loose_files_alone_are_a_run_where_they_lie_and_told_where_not(self):
        os.makedirs(self.path("flat", "sub"))
        shutil.copy(SAMPLE, self.path("flat", "sub", "a.xplane.pb"))
        r = self.expect(2, "info", self.path("flat"))
        self.assertIn("a.xplane.pb", r.stderr)
        self.expect(0, "info", self.path("flat", "sub"))

    def test_tables_and_caches_beside_xplanes_are_no_hosts(self):
        """What a shell makes of RUN/*.pb."""
        folder = self.run_of("h.xplane.pb")
        self.expect(0, "convert", self.path("log"))
        for name in ("h.op_stats_v2.pb", "ALL_HOSTS.op_stats_v2.pb", "h.hlo_proto.pb"):
            shutil.copy(SAMPLE, os.path.join(folder, name))
        found = sorted(os.path.join(folder, n) for n in os.listdir(folder) if n.endswith(".pb"))
        self.assertGreater(len(found), 5)
        r = json.loads(self.expect(0, "info", "--json", *found).stdout)
        self.assertEqual([h["host"] for run in r["runs"] for h in run["hosts"]], ["h"])
        self.assertEqual(len(r["skipped"]), len(found) - 1)
        self.assertIn("no profile", self.expect(2, "info", os.path.join(folder, "h.op_stats_v2.pb")).stderr)

    def test_all_hosts_is_no_host(self):
        for args in ([SAMPLE, "--host", "ALL_HOSTS"], [shutil.copy(SAMPLE, self.path("ALL_HOSTS.xplane.pb"))]):
            r = self.expect(2, "convert", "-o", self.path("o"), "--run", "r", *args)
            self.assertIn("stands for all hosts together", r.stderr)
        self.assertFalse(os.path.exists(self.path("o")))
        r = self.expect(2, "tool", "overview_page", TWO_HOSTS, "--host", "ALL_HOSTS")
        self.assertIn("without --host", r.stderr)

    def test_long_names(self):
        for n, code in ((232, 0), (233, 2), (300, 2)):
            r = self.expect(code, "convert", SAMPLE, "--run", "r", "--host", "h" * n, "-o", self.path("o"))
            if code:
                self.assertIn("--host NAME", r.stderr)
                self.assertIn(f"has {n} bytes, and file systems leave it 232", r.stderr)
        for n, whom, code in ((255, "newest", 0), (256, "newest", 2), (249, "all", 0), (250, "all", 2), (250, "legacy", 2)):
            r = self.expect(code, "convert", SAMPLE, "--run", "r" * n, "--for", whom, "-o", self.path("o"))
            if code:
                self.assertIn("--run NAME", r.stderr)
        name = "ä" * 121 + ".xplane.pb"  # 252 bytes, as a file's name can be
        shutil.copy(SAMPLE, self.path(name))
        r = self.expect(2, "convert", self.path(name), "-o", self.path("o"))
        self.assertIn("ä…' for 'host' has 242 bytes", r.stderr)
        self.expect(0, "convert", self.path(name), "-o", self.path("o"), "--run", "fine", "--host", "h")

    def cut_meanwhile(self, name, big, *options):
        """Cut down at some moment of a conversion: either it was early enough, or nothing of the run changes."""
        source = self.path(name)
        args = ["convert", "-q", "-o", self.path("o"), "--run", "r", *options]
        self.expect(0, *args, "--host", "h", SAMPLE)
        before = sums(self.path("o"))
        for k in range(10):
            with open(source, "wb") as f:
                f.write(big)
            p = subprocess.Popen([TBPROF, *args, source], stderr=subprocess.PIPE, text=True)
            time.sleep(0.008 * k)
            os.truncate(source, len(big) // 3)
            errors = p.communicate(timeout=240)[1]
            self.assertIn(p.returncode, (0, 1), errors)
            if p.returncode == 0:
                self.expect(0, *args, "--host", "h", SAMPLE)
                continue
            self.assertRegex(errors, f"{name}' (became shorter|was written to) while it was read")
            self.assertEqual(sums(self.path("o")), before)
        self.no_temporaries(self.path("o"))

    def test_input_that_is_cut_or_written_to_meanwhile(self):
        with open(SAMPLE, "rb") as f:
            self.cut_meanwhile("h.xplane.pb", f.read() * 120, "--semantics", "official")

    def test_trace_that_is_cut_while_threads_read_ahead(self):
        event = b'{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":%d,"ts":%d,"dur":1,"args":{"External id":%d}}'
        events = b",\n".join(event % (i % 4, i, i) for i in range(200000))
        self.cut_meanwhile("h.pt.trace.json", b'{"schemaVersion":1,"traceEvents":[' + events + b"]}", "--jobs", "3")

    def test_errors_name_the_input_as_it_was_given(self):
        for args, kw in ((["-"], {"input": "no profile " * 20}), ([self.path("pipe")], {})):
            if "pipe" in args[0]:
                os.mkfifo(self.path("pipe"))
                feeder = subprocess.Popen(["sh", "-c", f"echo no profile at all > '{self.path('pipe')}'"])
                self.addCleanup(feeder.wait)
            r = self.expect(1, "info", *args, **kw)
            self.assertIn(f"error: {args[0]}: not a profile", r.stderr)

    # ---- memory in proportion to the input; kibibytes of address space ----

    def within(self, kib, source, *commands):
        if SANITIZED:
            self.skipTest("a sanitizer needs terabytes of addresses")
        with open(self.path("h.xplane.pb"), "wb") as f:
            f.write(source)
        for c in commands:
            script = f"ulimit -v {kib}; exec '{TBPROF}' {c} -j 2 '{self.path('h.xplane.pb')}' > /dev/null"
            r = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=240)
            self.assertEqual(r.returncode, 0, f"{c}: {r.stderr}")

    def test_many_texts_lines_and_planes(self):
        host = field(1, field(2, b"/host:CPU"))
        self.within(400_000, host + field(2, b"e") * 50_000 + field(4, b"w") * 50_000, "info", "tool overview_page")
        self.within(400_000, field(1, field(2, b"/host:CPU") + field(3, b"") * 200_000), "info", "tool overview_page")
        self.within(400_000, host + field(1, b"") * 200_000, "info", "tool trace_viewer")
        line = field(3, field(4, field(1, 1) + field(3, 1000)))  # one event in each
        self.within(600_000, field(1, field(2, b"/host:CPU") + line * 200_000), "tool framework_op_stats")

    def test_names_of_a_megabyte(self):
        events = b"".join(field(4, field(1, 1) + field(2, 1000 * i) + field(3, 500)) for i in range(700))
        name = field(4, field(1, 1) + field(2, field(1, 1) + field(2, b"x" * 1_000_000)))
        self.within(400_000, field(1, field(2, b"/host:CPU") + field(3, events) + name), "tool trace_viewer",
                    "tool trace_viewer@")

    def test_closed_reader_ends_it_quietly(self):
        r = subprocess.run(f"'{TBPROF}' tool trace_viewer '{SAMPLE}' | head -c 10", shell=True, capture_output=True)
        self.assertEqual((r.returncode, r.stderr), (0, b""))


if __name__ == "__main__":
    unittest.main()
