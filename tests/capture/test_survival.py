#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What was recorded survives the process: SIGKILL at random moments, crashes, _exit, forks, full disks, folders that
cannot be written, two processes with one name. The profile that `tbprof recover` makes is held against the reference
log that the program kept in shared memory (recorded.c).

Environment: TBPROF, XPT, RECORDED (programs); KILLS (how often to kill, default 10)."""
import json
import os
import random
import re
import signal
import struct
import subprocess
import tempfile
import threading
import time
import unittest

TBPROF, XPT, RECORDED = os.environ["TBPROF"], os.environ["XPT"], os.environ["RECORDED"]
SANITIZED = os.environ.get("SANITIZED") == "1"
THREADS = 3
EVENT = re.compile(r'^ +\S+ \+\S+ "s(\d+)" i=(\d+)( open_at_end=1)?')


class Survival(unittest.TestCase):
    def setUp(self):
        self.holder = tempfile.TemporaryDirectory(prefix="tbprof-survival-")
        self.dir = self.holder.name
        self.spools, self.logdir = self.path("spools"), self.path("logdir")
        os.mkdir(self.spools)

    def tearDown(self):
        if os.path.ismount(self.path("small")):
            subprocess.run(["umount", "-l", self.path("small")], check=True)
        self.holder.cleanup()

    def path(self, *parts):
        return os.path.join(self.dir, *parts)

    def start(self, ending, reference="reference", logdir=None, **environment):
        env = dict(os.environ, TBPROF_SPOOL_DIR=self.spools, **environment)
        return subprocess.Popen([RECORDED, logdir or self.logdir, self.path(reference), str(THREADS), ending], env=env,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run_to_end(self, ending, **more):
        p = self.start(ending, **more)
        out, err = p.communicate(timeout=240)
        return p.returncode, out, err

    def reference(self, name="reference"):
        with open(self.path(name), "rb") as f:
            data = f.read().ljust(64 * THREADS, b"\0")  # empty when the program is about to size it
        return [struct.unpack_from("<3Q", data, 64 * i) for i in range(THREADS)]

    def recover(self, *more):
        r = subprocess.run([TBPROF, "recover", self.spools, "--json", *more], capture_output=True, text=True,
                           timeout=240)
        return r.returncode, json.loads(r.stdout)["spools"], r.stderr

    def spools_left(self):
        """Files in the spool folder; not drafts without a byte, of processes killed before their spool had a name."""
        return [f for folder, _, files in os.walk(self.spools) for f in files
                if not f.endswith(".tbs.new") or os.path.getsize(os.path.join(folder, f))]

    def profiles(self):
        return sorted(os.path.join(d, f) for d, _, files in os.walk(self.logdir) for f in files
                      if f.endswith(".xplane.pb"))

    def text(self, profile):
        to = self.path("profile.xpt")
        subprocess.run([XPT, "to-text", profile, to], check=True, timeout=240)
        with open(to) as f:
            return f.read()

    def check(self, text, reference):
        """Every thread's scopes are the first ones it began, and all of these."""
        found, still_open = [[] for _ in range(THREADS)], [0] * THREADS
        for line in text.split("\n"):
            m = EVENT.match(line)
            if m:
                found[int(m[1])].append(int(m[2]))
                still_open[int(m[1])] += m[3] is not None
        for i, (asked, begun, ended) in enumerate(reference):
            self.assertEqual(found[i], list(range(len(found[i]))), f"thread {i}")
            self.assertTrue(begun <= len(found[i]) <= asked, f"thread {i}: {len(found[i])} of {begun}, {asked} asked")
            closed = len(found[i]) - still_open[i]
            self.assertTrue(ended <= closed <= begun, f"thread {i}: {closed} ended, {ended} known")
        return sum(len(f) for f in found)

    def only_profile(self):
        self.assertEqual(len(self.profiles()), 1, self.profiles())
        return self.text(self.profiles()[0])

    def test_kill_at_random_moments(self):
        n_scopes = 0
        for turn in range(int(os.environ.get("KILLS", "10"))):
            with self.subTest(turn=turn):
                p = self.start("forever")
                time.sleep(random.uniform(0.005, 0.15))
                p.send_signal(signal.SIGKILL)
                p.communicate(timeout=240)
                code, spools, err = self.recover()
                self.assertEqual(code, 0, err)
                recovered = [s for s in spools if s["state"] == "recovered"]
                if os.path.exists(self.path("reference")) and any(a for a, _, _ in self.reference()):
                    self.assertEqual(len(recovered), 1, spools)
                    text = self.only_profile()
                    self.assertIn("recovered after abnormal termination", text)
                    n_scopes += self.check(text, self.reference())
                self.assertEqual(self.spools_left(), [])
            self.tearDown()
            self.setUp()
        print(f"{n_scopes} scopes recovered", end=" ", flush=True)

    def test_crashes(self):
        crash = [] if SANITIZED else [("segv", -signal.SIGSEGV)]  # which sanitizers turn into an exit
        for ending, code in (*crash, ("abort", -signal.SIGABRT), ("exit", 3)):
            with self.subTest(ending=ending):
                self.assertEqual(self.run_to_end(ending)[0], code)
                self.assertEqual(self.profiles(), [])
                self.assertEqual([s["state"] for s in self.recover()[1]], ["recovered"])
                self.check(self.only_profile(), self.reference())
            self.tearDown()
            self.setUp()

    @unittest.skipIf(SANITIZED, "sanitizers need all addresses there are")
    def test_memory_that_is_used_up(self):
        """A stop either saves or says how to; what dies of it is recovered."""
        code, _, err = self.run_to_end("memory")
        self.assertIn(code, (0, 4), err)
        if code == 4:
            self.assertIn("tbprof recover", err)
            self.assertEqual([s["state"] for s in self.recover()[1]], ["recovered"])
        self.check(self.only_profile(), self.reference())
        self.tearDown()
        self.setUp()
        self.assertEqual(self.run_to_end("memory_abort")[0], -signal.SIGABRT)
        self.assertEqual([s["state"] for s in self.recover()[1]], ["recovered"])
        self.check(self.only_profile(), self.reference())

    @unittest.skipIf(SANITIZED, "sanitizers need all addresses there are")
    def test_few_addresses(self):
        """The spool leaves most of them to the program."""
        for kib in (400000, 150000):
            with self.subTest(kib=kib):
                p = subprocess.run(["sh", "-c", f'ulimit -v {kib}; exec "$@"', "sh", RECORDED, self.logdir,
                                    self.path("reference"), str(THREADS), "stop"], capture_output=True, text=True,
                                   env=dict(os.environ, TBPROF_SPOOL_DIR=self.spools), timeout=240)
                self.assertEqual((p.returncode, p.stderr), (0, ""))
                self.check(self.only_profile(), self.reference())
            self.tearDown()
            self.setUp()

    def test_a_stop_leaves_a_run_and_no_spool(self):
        code, out, err = self.run_to_end("stop")
        self.assertEqual(code, 0, err)
        self.assertEqual(os.path.dirname(self.profiles()[0]), out.strip())
        text = self.only_profile()
        self.check(text, self.reference())
        self.assertNotIn("warning", text)
        self.assertEqual(self.spools_left(), [])

    def test_a_long_name_of_a_host_is_cut_in_names_of_files(self):
        name = "h" * 255
        code, _, err = self.run_to_end("stop", TBPROF_OVERRIDE_HOSTNAME=name)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual([os.path.basename(p) for p in self.profiles()], ["h" * 160 + ".xplane.pb"])
        self.assertIn(name, self.text(self.profiles()[0]))
        self.assertEqual(self.run_to_end("abort", TBPROF_OVERRIDE_HOSTNAME=name)[0], -signal.SIGABRT)
        self.assertEqual([s["state"] for s in self.recover()[1]], ["recovered"])

    def test_snapshots_hold_every_scope_once(self):
        for policy in ("stop", "ring"):  # the ring is large enough to forget nothing
            with self.subTest(policy=policy):
                code, _, err = self.run_to_end("snapshots", TBPROF_FULL_POLICY=policy)
                self.assertEqual((code, err), (0, ""))
                found, n_filled = [[] for _ in range(THREADS)], 0
                for profile in self.profiles():
                    n_before = len(found[0])
                    for line in self.text(profile).split("\n"):
                        m = EVENT.match(line)
                        if m and "continued=1" not in line:
                            found[int(m[1])].append(int(m[2]))
                    n_filled += len(found[0]) > n_before
                self.assertGreater(n_filled, 2)
                for i, numbers in enumerate(found):
                    self.assertEqual(sorted(numbers), list(range(self.reference()[i][2])), f"thread {i}")
            self.tearDown()
            self.setUp()

    def test_forks_do_no_harm(self):
        code, _, err = self.run_to_end("fork")
        self.assertEqual(code, 0, err)
        text = self.only_profile()
        self.check(text, self.reference())
        self.assertNotIn("in the child", text)

    def test_living_processes_are_left_alone(self):
        p = self.start("forever")
        while not (os.path.exists(self.path("reference")) and any(e for _, _, e in self.reference())):
            time.sleep(0.01)
        try:
            self.assertEqual([s["state"] for s in self.recover()[1]], ["alive"])
            self.assertEqual(len(self.spools_left()), 1)
        finally:
            p.kill()
            p.communicate()
        self.assertEqual([s["state"] for s in self.recover()[1]], ["recovered"])

    def limited(self, size):
        """A file system of that size, or a skip."""
        place = self.path("small")
        os.mkdir(place)
        r = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", place], capture_output=True)
        if r.returncode:
            self.skipTest("no right to mount")
        return place

    def test_a_full_disk_under_the_log_directory(self):
        place = self.limited("64k")
        code, _, err = self.run_to_end("stop", logdir=os.path.join(place, "logdir"))
        self.assertEqual(code, 4)
        self.assertIn("No space left on device", err)
        self.assertIn("tbprof recover", err)
        self.assertEqual(len(self.spools_left()), 1)
        left = [f for _, _, files in os.walk(place) for f in files]
        self.assertEqual([f for f in left if "xplane" in f], [])
        code, spools, err = self.recover("--logdir", self.logdir)
        self.assertEqual([s["state"] for s in spools], ["recovered"], err)
        self.check(self.only_profile(), self.reference())

    def test_a_full_disk_under_the_spool(self):
        place = self.limited("3m")
        env = {"TBPROF_SPOOL_DIR": place}
        p = subprocess.Popen([RECORDED, self.logdir, self.path("reference"), str(THREADS), "stop"],
                             env=dict(os.environ, **env), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        _, err = p.communicate(timeout=240)
        self.assertEqual(p.returncode, 0, err)
        text = self.only_profile()
        if "warning" not in text:  # it fitted
            self.check(text, self.reference())

    def test_files_of_limited_size(self):
        p = subprocess.Popen(["sh", "-c", f'ulimit -f 64; exec "$@"', "sh", RECORDED, self.logdir,
                              self.path("reference"), str(THREADS), "stop"],
                             env=dict(os.environ, TBPROF_SPOOL_DIR=self.spools), stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        _, err = p.communicate(timeout=240)
        self.assertEqual(p.returncode, 4, err)
        self.assertIn("File too large", err)

    def test_children_that_cannot_be_recorded_are_told(self):
        for limit, spools, why in ((64, self.spools, "File too large"), ("unlimited", "memory", "")):
            with self.subTest(spools=spools):
                p = subprocess.Popen(["sh", "-c", f'ulimit -f {limit}; exec "$@"', "sh", RECORDED, self.logdir,
                                      self.path("reference"), str(THREADS), "fork"],
                                     env=dict(os.environ, TBPROF_SPOOL_DIR=spools, TBPROF_FOLLOW_FORK="1"),
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                _, err = p.communicate(timeout=240)
                self.assertIn(why, err)
                self.assertIn("children are not recorded: the spool lies in memory", err)

    def test_a_log_directory_that_cannot_be_written(self):
        os.mkdir(self.logdir)
        with open(self.path("logdir", "plugins"), "w"):
            pass  # a file where a folder must be: holds for root, too
        code, _, err = self.run_to_end("stop")
        self.assertIn(code, (4, 5))
        self.assertIn("plugins", err)
        if code == 4:
            self.assertEqual(len(self.spools_left()), 1)
            self.assertEqual([s["state"] for s in self.recover()[1]], ["failed"])
            self.assertEqual(len(self.spools_left()), 1)
            os.remove(self.path("logdir", "plugins"))
            self.assertEqual([s["state"] for s in self.recover()[1]], ["recovered"])
            self.check(self.only_profile(), self.reference())

    def test_two_processes_with_one_host_and_run(self):
        both = [self.start("stop", reference=f"reference{i}", TBPROF_SESSION_ID="both",
                           TBPROF_OVERRIDE_HOSTNAME="host", WORLD_SIZE="2", MASTER_ADDR="here", MASTER_PORT="1")
                for i in range(4)]
        for p in both:
            _, err = p.communicate(timeout=240)
            self.assertEqual(p.returncode, 0, err)
        self.assertEqual(os.listdir(self.path("logdir", "plugins", "profile")), ["both"])
        self.assertEqual(len(self.profiles()), 4)
        for profile in self.profiles():
            self.check(self.text(profile), self.reference("reference0"))

    def test_runs_of_one_name_stay_apart(self):
        for _ in range(3):
            self.assertEqual(self.run_to_end("stop", TBPROF_SESSION_ID="name")[0], 0)
        self.assertEqual(sorted(os.listdir(self.path("logdir", "plugins", "profile"))), ["name", "name_1", "name_2"])

    def test_ranks_agree_on_a_run(self):
        ranks = [self.start("stop", reference=f"reference{i}", RANK=str(i), WORLD_SIZE="3", SLURM_JOB_ID="77")
                 for i in range(3)]
        for p in ranks:
            _, err = p.communicate(timeout=240)
            self.assertEqual(p.returncode, 0, err)
        runs = os.listdir(self.path("logdir", "plugins", "profile"))
        self.assertEqual(len(runs), 1)
        names = sorted(os.path.basename(p) for p in self.profiles())
        self.assertEqual([n.split(".xplane.pb")[0].rsplit("_", 1)[1] for n in names], ["0", "1", "2"])

    def test_two_recoveries_make_one_run(self):
        self.run_to_end("abort")
        results = []
        both = [threading.Thread(target=lambda: results.append(self.recover())) for _ in range(4)]
        for t in both:
            t.start()
        for t in both:
            t.join()
        self.assertEqual(len(self.profiles()), 1, results)
        self.assertEqual([code for code, _, _ in results], [0] * len(both), results)

    def search(self, *more):
        """`tbprof recover` without a place, which looks into /tmp, too: what it says of our folder."""
        r = subprocess.run([TBPROF, "recover", *more], capture_output=True, text=True, timeout=240,
                           env=dict(os.environ, TBPROF_SPOOL_DIR=self.spools))
        return [line for line in r.stdout.split("\n") if line.startswith(self.spools)], r

    def test_a_dry_run_lists_and_does_nothing(self):
        self.run_to_end("abort")
        (line,), _ = self.search("--dry-run")
        spool, who = re.match(r"(.*): of process \d+ \((.*)\), to " + re.escape(self.logdir) + "$", line).groups()
        self.assertEqual((os.path.basename(spool), who.split()[0]), (self.spools_left()[0], RECORDED))
        code, spools, _ = self.recover("--dry-run")
        self.assertEqual((code, [(s["state"], s["logdir"]) for s in spools]), (0, [("recoverable", self.logdir)]))
        self.assertEqual([s["logdir"] for s in self.recover("--dry-run", "--logdir", "x")[1]], ["x"])
        self.assertEqual((self.profiles(), len(self.spools_left())), ([], 1))
        r = subprocess.run([TBPROF, "recover", spool], capture_output=True, text=True, timeout=240)
        self.assertRegex(r.stdout, re.escape(self.logdir) + r"/plugins/profile/.*: \d+ events of \d+ records of process "
                         r"\d+ \(.*abort\)\n$")
        self.only_profile()

    def test_what_is_no_file_is_refused(self):
        """A named pipe, whose writer may never come."""
        pipe = os.path.join(self.spools, "pipe.tbs")
        os.mkfifo(pipe)
        for place in (pipe, "/dev/null"):
            r = subprocess.run([TBPROF, "recover", place], capture_output=True, text=True, timeout=60)
            self.assertEqual((r.returncode, r.stdout), (2, ""))
            self.assertIn(f"'{place}' is neither a file nor a folder", r.stderr)
        self.assertEqual(self.recover()[:2], (0, []))
        self.assertEqual(self.spools_left(), ["pipe.tbs"])

    @unittest.skipIf(os.geteuid(), "only root can give files to others")
    def test_spools_of_other_users_are_left_alone_unless_named(self):
        """What they say about where a run goes is not to be followed with somebody else's rights."""
        self.run_to_end("abort")
        for folder, _, files in os.walk(self.spools):
            for name in files:
                os.chown(os.path.join(folder, name), 65534, 65534)
        lines, r = self.search("--dry-run")
        self.assertEqual(lines, [])
        self.assertRegex(r.stderr, "of other users left alone")
        self.assertEqual([s["state"] for s in json.loads(self.search("--dry-run", "--json")[1].stdout)["spools"]
                          if s["spool"].startswith(self.spools)], ["another user's"])
        self.assertEqual([s["state"] for s in self.recover()[1]], ["recovered"])

    def run_command(self, *args, **more):
        return subprocess.run([TBPROF, "run", "-o", self.logdir, *args], capture_output=True, text=True, timeout=240,
                              env=dict(os.environ, TBPROF_SPOOL_DIR=self.spools), **more)

    @unittest.skipIf(SANITIZED, "the sanitizer must be the first library of a process, and run preloads ours")
    def test_run_hands_on_exit_codes_and_signals(self):
        self.assertEqual(self.run_command("--", "sh", "-c", "exit 7").returncode, 7)
        self.assertEqual(self.run_command("--", "sh", "-c", "kill -SEGV $$").returncode, -signal.SIGSEGV)
        self.assertEqual(self.run_command("--", "no-such-program").returncode, 2)
        self.assertEqual(self.profiles(), [])  # programs that record nothing make no runs
        p = subprocess.Popen([TBPROF, "run", "-o", self.logdir, "--", "sh", "-c",
                              'trap "exit 9" TERM; echo ready; while :; do sleep 0.01; done'],
                             env=dict(os.environ, TBPROF_SPOOL_DIR=self.spools), stdout=subprocess.PIPE, text=True)
        self.assertEqual(p.stdout.readline(), "ready\n")
        p.terminate()
        self.assertEqual(p.wait(timeout=240), 9)
        p.stdout.close()
        self.assertEqual(os.listdir(self.spools), [])


if __name__ == "__main__":
    unittest.main()
