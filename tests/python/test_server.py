#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Capture on demand from Python: a process that serves, asked from inside and outside, forks included."""
import os
import subprocess
import sys
import threading
import time
import unittest
import unittest.mock
import warnings

import recorded
import tbprof
from tbprof import errors


class Trainer(threading.Thread):
    """Steps of two milliseconds until told to stop."""

    def __init__(self):
        super().__init__(daemon=True)
        self.stopped = threading.Event()

    def run(self):
        step = 0
        while not self.stopped.is_set():
            with tbprof.StepTrace("train", step_num=step):
                time.sleep(0.002)
            step += 1


class Servers(recorded.Case):
    def setUp(self):
        super().setUp()
        self.trainer = Trainer()
        self.trainer.start()
        self.addCleanup(self.trainer.join)
        self.addCleanup(self.trainer.stopped.set)

    def serve(self, **options):
        port = self.port = tbprof.start_server(0, **options)
        self.addCleanup(self.stop)
        return f"127.0.0.1:{port}"

    @staticmethod
    def stop():
        try:
            tbprof.stop_server()
        except ValueError:
            pass

    def test_a_profile_of_a_running_process(self):
        folder = tbprof.client.trace(self.serve(), self.logdir, 1000)
        self.assertEqual(recorded.runs(self.logdir), [folder])
        self.assertGreater(len(recorded.steps(folder)), 2)

    def test_a_profile_into_the_log_directory_of_the_client(self):
        os.makedirs(self.logdir)
        address = self.serve(mode="auto", allow_root=[self.logdir])
        folder = tbprof.client.trace(address, self.logdir, 1000, options={"delay_ms": 50})
        self.assertEqual(recorded.runs(self.logdir), [folder])

    def test_one_server_at_a_time(self):
        address = self.serve()
        with self.assertRaisesRegex(ValueError, "Only one profiler server"):
            tbprof.start_server(0)
        self.assertIn("steps: ", tbprof.client.monitor(address, 200, 2))
        tbprof.stop_server()
        with self.assertRaisesRegex(ValueError, "No active profiler server"):
            tbprof.stop_server()
        with self.assertRaisesRegex(errors.UnavailableError, "not reachable"):
            tbprof.client.monitor(address, 200)

    def test_python_calls_of_all_threads_where_that_is_allowed(self):
        options = {"python_tracer_level": 1}
        refused = tbprof.client.trace(self.serve(), self.logdir, 1000, options=options)
        self.stop()
        self.assertFalse([e for e in recorded.events(refused) if e["name"].startswith("$")])
        folder = tbprof.client.trace(self.serve(allow_python_tracer=True), self.logdir, 1000, options=options)
        names = [e["name"] for e in recorded.events(folder)]
        self.assertGreater(len([n for n in names if n.startswith("$threading.py:") and n.endswith(" is_set")]), 2)
        self.assertGreater(len(recorded.steps(folder)), 2)
        later = tbprof.client.trace(f"127.0.0.1:{self.port}", self.logdir, 1000)
        self.assertFalse([e for e in recorded.events(later) if e["name"].startswith("$")])

    def test_several_servers_some_away(self):
        with self.assertWarnsRegex(RuntimeWarning, "127.0.0.1:1: not reachable"):
            folder = tbprof.client.trace(f"{self.serve()},127.0.0.1:1", self.logdir, 1000, num_tracing_attempts=1)
        self.assertEqual(recorded.runs(self.logdir), [folder])

    def test_what_a_profile_lacks_is_told(self):
        address = self.serve()
        with warnings.catch_warnings(record=True) as told, \
                unittest.mock.patch.dict(os.environ, TBPROF_MAX_HOST_BYTES="1"):
            warnings.simplefilter("always")
            try:
                tbprof.client.trace(address, self.logdir, 1000, num_tracing_attempts=1)
                text = str(told[0].message)
            except errors.UnavailableError as e:  # not one scope had room
                text = str(e)
        self.assertRegex(text, r"\d+ records were dropped because max_host_bytes was reached")

    def test_errors(self):
        with self.assertRaisesRegex(errors.UnavailableError, "not reachable"):
            tbprof.client.trace("127.0.0.1:1", self.logdir, 100)
        with self.assertRaisesRegex(errors.InvalidArgumentError, "write .::1.:6009"):
            tbprof.client.trace("::1:6009", self.logdir, 100)
        with self.assertRaises(errors.InvalidArgumentError):
            tbprof.start_server(0, bind="0.0.0.0")  # nobody said who may call
        with self.assertRaises(errors.UnavailableError):
            tbprof.start_server(0, bind="192.0.2.1", token="t")  # no address of this machine

    def test_values_that_make_no_sense(self):
        for options, words in (({"port": -1}, "port -1 is not within 0"), ({"port": 65536}, "port 65536 is not within"),
                               ({"port": 1 << 40}, "is not within 0"), ({"max_duration_ms": -1}, "within 1 to 86400000"),
                               ({"max_duration_ms": 86400001}, "within 1 to 86400000"),
                               ({"bind": "no host"}, "give localhost, an IP address"),
                               ({"bind": "127.0.0.1:6009"}, "give localhost, an IP address"),
                               ({"bind": "unix:"}, "paths of sockets have"), ({"mode": "both"}, "none of 'client'"),
                               ({"token": ""}, "a token has 1 to 200"), ({"token": "two words"}, "a token has 1 to 200"),
                               ({"token": "x" * 201}, "a token has 1 to 200"),
                               ({"allow_peers": "10.0.0.0/33"}, "number of bits")):
            with self.subTest(options), self.assertRaisesRegex(ValueError, words):
                tbprof.start_server(**{"port": 0, **options})
        with self.assertRaises(TypeError):
            tbprof.start_server(6009.5)
        for duration, options in ((-1, {}), (0, {}), (86400001, {}), (1, {"delay_ms": -1})):
            with self.assertRaisesRegex(errors.InvalidArgumentError, "must be"):
                tbprof.client.trace("127.0.0.1:1", self.logdir, duration, options=options)
        with self.assertRaisesRegex(errors.InvalidArgumentError, "must not be negative"):
            tbprof.client.trace("127.0.0.1:1", self.logdir, 1, options={"host_tracer_level": -1})
        with self.assertRaisesRegex(errors.InvalidArgumentError, "must be within"):
            tbprof.client.monitor("127.0.0.1:1", -1)

    def test_a_session_of_the_program_goes_first(self):
        address = self.serve()
        tbprof.start(self.logdir)
        with self.assertRaisesRegex(errors.UnavailableError, "another profiler session is running"):
            tbprof.client.trace(address, self.logdir, 100, num_tracing_attempts=1)
        tbprof.stop()

    def test_a_forked_child_has_no_server(self):
        address = self.serve()
        child = os.fork()
        if child == 0:
            tbprof.stop_server()  # the parent's goes on
            os._exit(0)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        tbprof.client.trace(address, self.logdir, 1000)
        self.assertEqual(len(recorded.runs(self.logdir)), 1)

    def test_a_program_that_ends_while_it_is_captured(self):
        program = ("import sys, tbprof, threading\n"
                   "from tbprof import _python_tracer\n"
                   "print(tbprof.start_server(0, allow_python_tracer=True), flush=True)\n"
                   "def work(): pass\n"
                   "ended = threading.Event()\n"
                   "threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()\n"
                   "is_told = False\n"
                   "while not ended.is_set():\n"
                   "    with tbprof.StepTrace('train', step_num=1): work()\n"
                   "    if not is_told and _python_tracer._state.is_on: is_told = print('recorded', flush=True) is None\n")
        with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as p:
            def end():
                p.stdout.readline()
                p.stdin.close()

            port = int(p.stdout.readline())
            ending = threading.Thread(target=end)
            ending.start()
            with self.assertWarnsRegex(RuntimeWarning, r"recording ended after \d+\.\d+ s instead of 500\.000 s"):
                folder = tbprof.client.trace(f"127.0.0.1:{port}", self.logdir, 500000,
                                             options={"python_tracer_level": 1})
            ending.join()
        self.assertEqual(p.returncode, 0)
        self.assertGreater(len(recorded.steps(folder)), 0)
        self.assertTrue(any(e["name"] == "$<string>:4 work" for e in recorded.events(folder)))

    def test_the_environment_starts_one_and_collect_profile_asks_it(self):
        program = ("import itertools, tbprof, time\n"
                   "from tbprof import _core\n"
                   "print('up', flush=True)\n"
                   "for i in itertools.count():\n"
                   "    with tbprof.StepTrace('train', step_num=i): time.sleep(.002)\n")
        port = tbprof.start_server(0)  # free in a moment
        tbprof.stop_server()
        p = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True,
                             env=dict(os.environ, TBPROF_SERVER=str(port)))
        self.assertEqual(p.stdout.readline(), "up\n")
        r = subprocess.run([sys.executable, "-m", "tbprof.collect_profile", str(port), "1000", "--log_dir", self.logdir],
                           capture_output=True, text=True, timeout=240)
        p.kill()
        p.wait()
        p.stdout.close()
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("Dumped profiling information in: " + self.logdir, r.stdout)
        self.assertGreater(len(recorded.steps(recorded.runs(self.logdir)[0])), 2)


if __name__ == "__main__":
    unittest.main()
