#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""view: what a made-up TensorBoard is given to serve, what is printed, and that nothing stays behind."""
import http.client
import json
import os
import signal
import subprocess
import time
import unittest
import urllib.request

import fake_python
from support import SAMPLE, TBPROF, TWO_HOSTS, Case

SHIPPED = {"tensorboard": "2.20.0", "xprof": "2.24.2"}
RUN = "2026_11_28_00_21_30"
TIMEOUT_S = 240


class ViewCase(Case):
    def setUp(self):
        super().setUp()
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored where the tests themselves run under nohup
        self.temporary = self.path("tmp")
        os.mkdir(self.temporary)
        self.python = fake_python.make(self.path("py"), **SHIPPED)

    def environment(self, python=None, **more):
        """With the made-up installation first on PATH, where view looks for TensorBoard."""
        path = os.path.dirname(python or self.python) + os.pathsep + os.environ["PATH"]
        return {**os.environ, "TMPDIR": self.temporary, "PATH": path, **more}

    def start(self, *args, **environment):
        """The running view and the address that it printed."""
        process = subprocess.Popen([TBPROF, "view", *args], env=self.environment(**environment), text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process, process.stdout.readline().strip()

    def end(self, process, sig=signal.SIGINT):
        process.send_signal(sig)
        out, err = process.communicate(timeout=TIMEOUT_S)
        return process.returncode, out, err

    def ask(self, address, path):
        with urllib.request.urlopen(address.split("#")[0].rstrip("/") + path, timeout=TIMEOUT_S) as answer:
            return json.load(answer)

    def fails(self, *args, python=None, **environment):
        result = subprocess.run([TBPROF, "view", *args], env=self.environment(python, **environment), text=True,
                                stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S)
        self.assertEqual(os.listdir(self.temporary), [], "left behind")
        self.assertEqual(result.stdout, "")
        return result.returncode, result.stderr


class Shows(ViewCase):
    def test_the_converted_run_until_it_is_stopped(self):
        process, address = self.start(SAMPLE)
        self.assertRegex(address, r"^http://127\.0\.0\.1:\d+/#profile$")
        runs = self.ask(address, "/runs")
        self.assertEqual(list(runs), [RUN])
        for name in ("worker0.xplane.pb", "worker0.overview_page.json", "worker0.trace.json.gz"):
            self.assertIn(name, runs[RUN])
        code, out, err = self.end(process)
        self.assertEqual((code, out), (0, ""), err)
        self.assertIn("Ctrl-C ends TensorBoard and removes the converted files", err)
        self.assertEqual(os.listdir(self.temporary), [])

    def test_several_files_as_hosts_of_one_run(self):
        folder = os.path.join(TWO_HOSTS, "plugins", "profile", "2026_11_28_00_22_17")
        files = [os.path.join(folder, f"worker{i}.xplane.pb") for i in (0, 1)]
        process, address = self.start("--run", "both", *files)
        runs = self.ask(address, "/runs")
        self.assertEqual(list(runs), ["both"])
        self.assertTrue({"worker0.xplane.pb", "worker1.xplane.pb", "ALL_HOSTS.overview_page.json"} <= set(runs["both"]))
        self.assertEqual(self.end(process, signal.SIGTERM)[0], 0)
        self.assertEqual(os.listdir(self.temporary), [])

    def test_json_and_keep(self):
        process, line = self.start("--json", "--keep", SAMPLE)
        address = json.loads(line)["address"]
        self.assertEqual(list(self.ask(address, "/runs")), [RUN])
        code, _, err = self.end(process)
        self.assertEqual(code, 0, err)
        (folder,) = os.listdir(self.temporary)
        kept = os.path.join(self.temporary, folder, "logdir")
        self.assertIn(f"kept: {kept}", err)
        self.assertIn("worker0.xplane.pb", os.listdir(os.path.join(kept, "plugins", "profile", RUN)))

    def await_end(self, address, *, stays=False):
        """Until TensorBoard does not answer any more and its folder is gone (or stays)."""
        end = time.monotonic() + TIMEOUT_S
        while time.monotonic() < end:
            try:
                self.ask(address, "/runs")
            except (OSError, http.client.HTTPException):  # also in the middle of an answer
                if stays or not os.listdir(self.temporary):
                    return
            time.sleep(0.05)
        self.fail(f"still there: {address}, {os.listdir(self.temporary)}")

    def test_every_signal_that_stops(self):
        for sig in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1):
            process, address = self.start(SAMPLE)
            self.assertEqual(self.end(process, sig)[0], 0)
            self.await_end(address)

    def test_the_end_of_its_parent(self):
        for prefix, ends in (("", True), ("nohup", False)):
            shell = subprocess.Popen(["sh", "-c", f'{prefix} "$0" view "$1" & echo $!; wait', TBPROF, SAMPLE], text=True,
                                     env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL)
            with shell.stdout:
                view, address = int(shell.stdout.readline()), shell.stdout.readline().strip()
                shell.kill()
                shell.wait()
                if not ends:
                    self.assertEqual(list(self.ask(address, "/runs")), [RUN])
                    os.kill(view, signal.SIGTERM)
                self.await_end(address)

    def test_killed_it_takes_tensorboard_along(self):
        process, address = self.start(SAMPLE)
        process.kill()
        self.await_end(address, stays=True)

    def test_a_closed_standard_output(self):
        reader, writer = os.pipe()
        os.close(reader)
        process = subprocess.Popen([TBPROF, "view", SAMPLE], env=self.environment(), stdin=subprocess.DEVNULL,
                                   stdout=writer, stderr=subprocess.DEVNULL)
        os.close(writer)
        process.wait(TIMEOUT_S)
        self.assertEqual(os.listdir(self.temporary), [])

    def test_a_tensorboard_without_the_tab_is_told(self):
        process, address = self.start(SAMPLE, FAKE_TENSORBOARD="no tab")
        self.assertRegex(address, r"#profile$")
        self.assertIn("without the Profile tab", self.end(process)[2])


class Refuses(ViewCase):
    def test_a_tensorboard_that_dies_and_tells_its_last_words(self):
        code, err = self.fails(SAMPLE, FAKE_TENSORBOARD="dies")
        self.assertEqual(code, 2)
        self.assertIn("the fake TensorBoard refuses to start", err)
        self.assertIn("TensorBoard ended with exit code 1", err)

    def test_an_installation_without_the_plugin(self):
        code, err = self.fails(SAMPLE, python=fake_python.make(self.path("bare"), tensorboard="2.20.0"))
        self.assertNotEqual(code, 0)
        self.assertIn("pip install", err)

    def test_an_input_that_is_not_there(self):
        code, err = self.fails(self.path("nothing"))
        self.assertEqual(code, 2)
        self.assertIn("nothing", err)

    def test_a_port_that_is_none(self):
        code, err = self.fails("--port", "65536", SAMPLE)
        self.assertEqual(code, 2)
        self.assertIn("'port' takes a whole number from 0 to 65535, not '65536'", err)


if __name__ == "__main__":
    unittest.main()
