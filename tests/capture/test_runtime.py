#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The capture runtime from outside: programs of tests/capture/scenario.c, and what they leave behind."""
import glob
import json
import os
import re
import subprocess
import sys
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from support import Case, run  # noqa: E402

SCENARIO = os.environ["SCENARIO"]


class Runtime(Case):
    def scenario(self, name, code=0, logdir=None, **env):
        self.logdir = logdir or self.path("log")
        os.makedirs(self.path("spool"), exist_ok=True)
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("TBPROF_", "SLURM", "RANK", "OMPI", "PMI"))}
        full = {**clean, "TBPROF_SPOOL_DIR": self.path("spool"), **env}
        r = subprocess.run([SCENARIO, name, self.logdir], capture_output=True, text=True, env=full, timeout=240)
        self.assertEqual(r.returncode, code, r.stdout + r.stderr)
        self.err = r.stderr
        return r.stdout

    def statuses(self, out):
        return [(w, int(c)) for w, c in re.findall(r"^([^:\n]+): (\d+) ?", out, re.M)]

    def counts(self, out):
        line = re.search(r"^records .*$", out, re.M).group(0).split()
        return {line[i]: int(line[i + 1]) for i in range(0, len(line), 2)}

    def spools(self):
        return glob.glob(self.path("spool", "**", "*.tbs"), recursive=True)

    def runs(self):
        """Run name -> list of hosts, as `tbprof info` sees them."""
        r = run("info", "--json", self.logdir)
        self.assertEqual(r.returncode, 0, r.stderr)
        return {x["run"]: x["hosts"] for x in json.loads(r.stdout)["runs"]}

    def only_host(self):
        runs = self.runs()
        self.assertEqual(len(runs), 1, runs)
        (hosts,) = runs.values()
        self.assertEqual(len(hosts), 1, hosts)
        return hosts[0]

    def events(self, host):
        return sum(p["events"] for p in host["planes"])

    # ---- sessions ----

    def test_n_sessions_are_n_runs_in_the_order_of_time(self):
        out = self.scenario("many_sessions")
        self.assertIn("start again: 6 another profiler session is running: started by thread", out)
        self.assertIn("stop in the child: 14", out)
        self.assertIn("stop again: 14 no profiler session is running", out)
        runs = self.runs()
        # ../shared/cases/many-sessions-in-one-process: five runs hold what its script works (three, the one whose
        # second start is refused, the one that forks); the sixth is that of the session without work, valid and noted.
        self.assertEqual(len(runs), 6)
        events = [self.events(runs[name][0]) for name in sorted(runs)]
        self.assertEqual(events, [1, 1, 1, 0, 1, 2])
        self.assertEqual(sum(n > 0 for n in events), 5)
        notes = ["nothing was recorded in this session" in
                 run("tool", "overview_page", os.path.join(self.logdir, "plugins", "profile", name)).stdout
                 for name in sorted(runs)]
        self.assertEqual(notes, [n == 0 for n in events])
        self.assertEqual([len(h) for h in runs.values()], [1] * 6)
        self.assertEqual(self.spools(), [])
        for name in runs:
            self.expect(0, "tool", "overview_page", os.path.join(self.logdir, "plugins", "profile", name))

    def test_children_are_hosts_of_the_same_run(self):
        self.scenario("children")
        (hosts,) = self.runs().values()
        self.assertEqual(len(hosts), 3)
        self.assertEqual(sorted(self.events(h) for h in hosts), [1, 1, 1])
        self.assertEqual(self.spools(), [])

    def test_children_that_cannot_be_read_are_told_and_recovered(self):
        out = self.scenario("children_unread")
        self.assertEqual([c for _, c in self.statuses(out)], [0, 0])
        self.assertRegex(self.err, "what children recorded is not in the run: .* cannot be read: Too many open files; run "
                         "`tbprof recover ")
        (hosts,) = self.runs().values()
        self.assertEqual([self.events(h) for h in hosts], [1])
        self.expect(0, "recover", self.path("spool"))
        (hosts,) = self.runs().values()
        self.assertEqual([self.events(h) for h in hosts], [1, 1])
        self.assertEqual(self.spools(), [])

    def test_a_child_that_stops_leaves_the_spool_of_its_parent_alone(self):
        out = self.scenario("child_that_stops")
        self.assertEqual(self.statuses(out), [("start", 0), ("stop in the child", 0), ("stop", 0)])
        (hosts,) = self.runs().values()
        self.assertEqual([self.events(h) for h in hosts], [1, 1])  # each once, and not the parent's by the child, too
        self.assertEqual(self.spools(), [])

    def test_a_child_that_goes_on_replaces_what_its_parent_wrote_of_it(self):
        out = self.scenario("child_goes_on")
        self.assertEqual(sorted(self.statuses(out)), [("start", 0), ("stop", 0), ("stop in the child", 0)])
        (hosts,) = self.runs().values()
        self.assertEqual(sorted(self.events(h) for h in hosts), [1, 2])  # the parent's one, the child's two, once each
        self.assertEqual(self.spools(), [])

    def test_a_child_and_its_parent_that_stop_at_once_have_a_file_each(self):
        with ThreadPoolExecutor(3) as pool:  # several such programs that write to one log directory
            outputs = list(pool.map(self.scenario, ["stops_at_once"] * 3))
        self.assertEqual(outputs, ["good: 60\n"] * 3, self.err)
        hosts = [h for hosts in self.runs().values() for h in hosts]  # of one second: one run
        self.assertEqual([self.events(h) for h in hosts], [2000] * 360)
        self.assertEqual(self.spools(), [])

    def test_a_child_records_if_its_parent_does(self):
        out = self.scenario("forks_at_rest")
        self.assertEqual([c for _, c in self.statuses(out)], [0] * 5)
        (hosts,) = self.runs().values()
        # The parent's two marks; of its children only the second was forked while it recorded.
        self.assertEqual([self.events(h) for h in hosts], [2, 0, 1, 0])
        self.assertEqual(self.spools(), [])

    def test_of_a_session_that_nobody_wants_no_child_is_left(self):
        self.scenario("child_dropped")
        self.assertFalse(os.path.exists(os.path.join(self.logdir, "plugins")))
        self.assertEqual(self.spools(), [])

    def test_what_a_child_recorded_after_its_parents_session_is_recovered_once(self):
        self.scenario("child_killed_later")
        (hosts,) = self.runs().values()
        self.assertEqual(sorted(self.events(h) for h in hosts), [1, 1])
        self.assertEqual(len(self.spools()), 1)
        self.expect(0, "recover", self.path("spool"))
        (hosts,) = self.runs().values()
        self.assertEqual(sorted(self.events(h) for h in hosts), [1, 2])
        self.assertEqual(self.spools(), [])

    def test_duration_ends_and_saves(self):
        out = self.scenario("duration")
        self.assertEqual(self.statuses(out), [("start", 0), ("active", 0), ("stop", 0), ("stop again", 14)])
        self.assertEqual(self.events(self.only_host()), 1)

    def test_looks_for_libraries_without_the_loader(self):
        """A child forked while its parent is in dlopen may die in its own: glibc's cache is unmapped but not forgotten."""
        out = self.scenario("looks_for_cuda")
        self.assertEqual(self.statuses(out), [("start", 0), ("stop", 0), ("dlopens", 0)])

    def test_delay_records_later(self):
        out = self.scenario("delay")
        self.assertIn("active: 0", out)
        self.assertEqual(self.counts(out)["records"], 2)

    def test_pause_leaves_out_and_ends_stay(self):
        out = self.scenario("pause_and_resume")
        self.assertEqual(self.counts(out)["records"], 9)
        self.assertEqual(self.counts(out)["cut"], 0)
        self.assertEqual(self.events(self.only_host()), 3 + 3)  # the marks are seen, too

    def test_every_snapshot_is_a_run_and_nothing_is_twice(self):
        out = self.scenario("snapshots")
        self.assertIn("collected: 1", out)
        runs = self.runs()
        self.assertEqual(len(runs), 4)  # three snapshots and the rest; one went to memory
        names = [p["name"] for p in sorted((p for h in runs.values() for p in h[0]["planes"]), key=lambda p: p["name"])]
        self.assertEqual(names.count("/host:CPU"), 4)

    def test_switched_off_by_the_environment(self):
        out = self.scenario("one_session", TBPROF_DISABLE="1")
        self.assertIn("start: 9 profiling is switched off by $TBPROF_DISABLE", out)
        self.assertIn("stop: 14", out)
        self.assertIn("$TF_DISABLE_PROFILING", self.scenario("one_session", TF_DISABLE_PROFILING="1"))
        self.assertFalse(os.path.exists(self.logdir))

    def test_autostart_needs_no_code(self):
        for name in ("TBPROF_AUTOSTART", "MXNET_PROFILER_AUTOSTART"):
            log = self.path(name)
            self.scenario("plain", logdir=self.path("unused"), **{name: "1", "TBPROF_LOGDIR": log})
            self.logdir = log
            self.assertEqual(self.only_host()["steps"] + self.only_host()["incomplete_steps"], 6)

    def test_schedule_from_the_environment_makes_a_run_of_each_cycle(self):
        log = self.path("scheduled")
        self.scenario("plain", logdir=self.path("unused"), TBPROF_AUTOSTART="1", TBPROF_LOGDIR=log,
                      TBPROF_SCHEDULE="wait=1,active=2,repeat=2", TBPROF_RSS_PERIOD_MS="0")
        self.logdir = log
        steps = [h[0]["steps"] + h[0]["incomplete_steps"] for h in self.runs().values()]
        self.assertEqual(steps, [2, 2])
        self.scenario("plain", logdir=self.path("unused"), TBPROF_AUTOSTART="1", TBPROF_LOGDIR=self.path("l2"),
                      TBPROF_SCHEDULE="wait=1,actif=2")
        self.assertIn("$TBPROF_SCHEDULE: a schedule has no 'actif'; all is recorded", self.err)

    def test_options_from_environment_and_file(self):
        with open(self.path("c.yaml"), "w") as f:
            f.write("capture:\n  host_tracer_level: 0\n  session_id: from_file\nconvert:\n  jobs: 2\n")
        self.scenario("one_session", TBPROF_CONFIG=self.path("c.yaml"))
        self.assertEqual(list(self.runs()), ["from_file"])
        self.scenario("one_session", TBPROF_CONFIG=self.path("c.yaml"), TBPROF_SESSION_ID="from_environment",
                      logdir=self.path("log2"))
        self.assertEqual(list(self.runs()), ["from_environment"])
        self.scenario("one_session", TBPROF_DELAY_MS="soon", logdir=self.path("log3"))
        self.assertIn("$TBPROF_DELAY_MS: option 'delay_ms': 'soon' is no number", self.err)

    def test_wrong_options_say_what_is_wrong(self):
        out = self.scenario("wrong_options")
        for line in ("unknown: 3 unknown option 'max_host_byte'; did you mean 'max_host_bytes'?",
                     "no number: 3 option 'delay_ms': 'soon' is no number from 0",
                     "no word: 3 option 'full_policy': 'rings' is none of stop, ring, grow",
                     "max_host_bytes 67108864", "start: 3 option 'host_tracer_level': -1 is not from 0 to 255",
                     "start: 3 session_id '../out' is no name of a run: names have 1 to 255 bytes, not only blanks, "
                     "without '/', control characters and a leading '.'", "stop: 14 no profiler session",
                     "pause: 14", "snapshot: 14", "schedule: 3 a schedule needs active > 0"):
            self.assertIn(line, out)

    # ---- records ----

    def test_everything_arrives(self):
        out = self.scenario("everything")
        self.assertIn("level 3 is recorded: 0", out)
        c = self.counts(out)
        self.assertEqual({k: v for k, v in c.items() if k != "records"}, dict.fromkeys(list(c)[1:], 0))
        host = self.only_host()
        self.assertEqual(host["steps"] + host["incomplete_steps"], 4)
        text = run("tool", "trace_viewer", self.logdir).stdout
        for word in ("the main thread", "dynamic", "activity", "instant", "count", "loss", "number", "a text"):
            self.assertIn(word, text)

    def test_full_stop_keeps_what_is_older_and_counts(self):
        out = self.scenario("full_stop")
        c = self.counts(out)
        begun = int(re.search(r"begun (\d+)", out).group(1))
        self.assertEqual(begun + c["cap"], 100000)  # each dropped begin is one; no end was lost
        self.assertEqual(c["records"], 1 + 2 * begun)
        self.assertEqual(self.events(self.only_host()), 1 + begun)

    def test_full_ring_keeps_what_is_newer_and_counts(self):
        began = time.monotonic()
        out = self.scenario("full_ring")
        took = time.monotonic() - began
        c = self.counts(out)
        self.assertEqual(c["records"], 1 + 200000)
        self.assertGreater(c["ring"], 100000)
        self.assertEqual(c["cap"] + c["no_chunk"], 0)
        kept = (c["records"] - c["ring"]) / 2
        host = self.only_host()
        self.assertLess(abs(self.events(host) - kept), 3)
        # It says so, with the time that it kept: from the first event that is left to the end of the recording.
        said = re.search(r"the ring kept the last ([0-9.]+) s; (\d+) older records were forgotten",
                         run("tool", "overview_page", self.logdir).stdout)
        self.assertEqual(int(said[2]), c["ring"])
        (plane,) = (p for p in host["planes"] if p["events"])
        self.assertGreater(float(said[1]) + 0.001, (plane["last_ps"] - plane["first_ps"]) / 1e12)
        self.assertLess(float(said[1]), took)

    def test_full_grow_keeps_all(self):
        out = self.scenario("full_grow")
        self.assertEqual(self.counts(out)["records"], 1 + 200000)
        self.assertEqual(self.events(self.only_host()), 100001)

    def test_signal_handlers_record_or_are_counted(self):
        out = self.scenario("signals")
        scopes, signals = map(int, re.search(r"scopes (\d+) signals (\d+)", out).groups())
        c = self.counts(out)
        self.assertGreaterEqual(signals, 1000)
        self.assertEqual(c["records"], 2 * scopes + 2 * (signals - c["reentrant"]))

    def test_handlers_before_a_thread_is_known_are_counted(self):
        c = self.counts(self.scenario("registering"))
        self.assertEqual((c["records"], c["reentrant"]), (2, 3))

    def test_odd_uses_are_counted_and_survived(self):
        c = self.counts(self.scenario("odd_uses"))
        self.assertEqual(c["depth"], 70000 - 65535)
        self.assertEqual(c["names_cut"], 1)
        self.assertEqual(c["too_long"], 1)
        self.assertEqual(c["cut"], 2)

    def test_memory_serves_where_no_file_can_be(self):
        self.scenario("in_memory")
        self.assertEqual(self.events(self.only_host()), 1)
        self.scenario("one_session", logdir=self.path("log2"), TBPROF_SPOOL_DIR=self.path("absent"))
        self.assertIn("recorded in memory, which does not survive a crash", self.err)
        self.assertEqual(len(self.runs()), 1)

    # ---- the sample programs ----

    def test_sample_programs_show_their_steps(self):
        for program in filter(None, os.environ.get("PROGRAMS", "").split(":")):
            self.logdir = self.path(os.path.basename(program))
            env = dict(os.environ, TBPROF_SPOOL_DIR=self.tmp, TBPROF_RSS_PERIOD_MS="0")
            r = subprocess.run([program, self.logdir], capture_output=True, text=True, env=env, timeout=240)
            self.assertEqual((r.returncode, r.stderr), (0, ""))
            host, is_c = self.only_host(), program.endswith("_c")
            steps = 10 if is_c else 8  # the eighth ends by an exception
            self.assertEqual(host["steps"] + host["incomplete_steps"], steps)
            text = run("tool", "trace_viewer", self.logdir).stdout
            for word in ("layer_2", "units", "forward") + (("loss",) if is_c else ("helper", "dense", "beside the steps")):
                self.assertIn(word, text)
            page = run("tool", "overview_page", self.logdir)
            self.assertEqual(page.returncode, 0, page.stderr)
            waited = float(re.search(r"because (?:only )?([\d.]+)% of the total step time", page.stdout)[1])
            self.assertEqual(waited > 0, is_c, waited)  # the C program loads its input in each step

    # ---- what goes wrong ----

    def test_a_crash_leaves_the_spool(self):
        self.scenario("crash", code=-9)
        self.assertEqual(len(self.spools()), 1)
        self.assertFalse(os.path.exists(self.logdir))
        told = json.loads(run("info", "--json", self.spools()[0]).stdout)["runs"][0]["hosts"][0]
        self.assertEqual(told["format"], "spool")

    def test_a_log_directory_that_cannot_be(self):
        with open(self.path("file"), "w"):
            pass
        out = self.scenario("one_session", logdir=self.path("file", "log"))
        self.assertIn("start: 14 log directory", out)

    def test_a_log_directory_that_is_not_on_this_machine(self):
        here = os.getcwd()
        os.chdir(self.tmp)
        self.addCleanup(os.chdir, here)
        self.assertIn("start: 3 'gs://bucket/log' is not on this machine: write to a local folder, then copy",
                      self.scenario("one_session", logdir="gs://bucket/log"))
        self.scenario("plain", logdir=self.path("unused"), TBPROF_AUTOSTART="1", TBPROF_LOGDIR="s3://bucket/log")
        self.assertIn("no profile is recorded: 's3://bucket/log' is not on this machine", self.err)
        self.assertEqual(os.listdir(self.tmp), ["spool"])
        self.scenario("one_session", logdir="file://" + self.path("log"))
        self.logdir = self.path("log")
        self.only_host()

    def test_a_failed_save_keeps_the_spool_and_says_how_to_go_on(self):
        out = self.scenario("one_session", logdir="/proc/tbprof")
        if "start: 0" not in out:
            self.skipTest("/proc is not writable: told at the start")
        self.assertEqual(len(self.spools()), 1)
        self.assertIn(f"what was recorded is kept: run `tbprof recover {self.spools()[0]}`", out)


if __name__ == "__main__":
    unittest.main()
