#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tbprof capture and tbprof monitor against servers of every mood: several at a time, idle, in trouble, away, on
sockets of the file system. Environment: STAND_IN, TRAIN_SERVER, TBPROF."""
import glob
import json
import os
import re
import resource
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time
import unittest

from h2_peer import DATA, FOREVER_MS, HEADERS, PREFACE, SETTINGS, Peer, field, frame, literal
from test_server import STAND_IN, TBPROF, Server

TRAIN = os.environ.get("TRAIN_SERVER", os.path.join(os.path.dirname(STAND_IN), "train_server"))


DURATIONS_MS = (1000, 10000, 50000)  # the longer ones where a step takes long: 4 ms, if nobody else needs the processor


def take_request(connection):
    """Reads until the end of a stream's DATA."""
    got = connection.recv(65536)
    at = len(PREFACE)
    while True:
        while len(got) >= at + 9 + (size := int.from_bytes(got[at:at + 3], "big")) and len(got) > at:
            if got[at + 3] == DATA and got[at + 4] & 1:
                return
            at += 9 + size
        got += connection.recv(65536)


def answered(message=b"", status=0, extra=b""):
    """Frames: this message, or a status without one; `extra` trailers."""
    body = b"\0" + len(message).to_bytes(4, "big") + message
    head = b"\x88" + literal(b"content-type", b"application/grpc")
    end = literal(b"grpc-status", str(status).encode()) + extra
    return (frame(HEADERS, 5, 1, head + end) if status else
            frame(HEADERS, 4, 1, head) + frame(DATA, 0, 1, body) + frame(HEADERS, 5, 1, end))


class Case(unittest.TestCase):
    def setUp(self):
        self.tmp = tempfile.mkdtemp(prefix="tbprof-client-")
        self.addCleanup(shutil.rmtree, self.tmp, ignore_errors=True)
        self.logdir = os.path.join(self.tmp, "logs")

    def serve(self, *options):
        server = Server(*options)
        self.addCleanup(server.stop)
        return f"127.0.0.1:{server.port}"

    def by_hand(self, frames, before=lambda port: None):
        """The address of a server of a few lines: whatever it is asked, once, it sends these frames."""
        listener = socket.create_server(("127.0.0.1", 0))
        port = listener.getsockname()[1]

        def serve():
            with listener, listener.accept()[0] as c:
                c.sendall(frame(SETTINGS, 0, 0))
                take_request(c)
                before(port)
                c.sendall(frame(SETTINGS, 1, 0) + frames)
                while c.recv(65536):
                    pass

        thread = threading.Thread(target=serve)
        thread.start()
        self.addCleanup(thread.join)
        return f"127.0.0.1:{port}"

    def capture(self, addresses, *args, code=0, env=None, duration=100, **how):
        r = subprocess.run([TBPROF, "capture", "--service_addr", addresses, "--logdir", self.logdir, "--duration_ms",
                            str(duration), *args], capture_output=True, text=True, timeout=240,
                           env=dict(os.environ, **(env or {})), **how)
        if code is not None:
            self.assertEqual(r.returncode, code, r.stderr)
        return r

    def ask(self, addresses, *args, **kw):
        r = self.capture(addresses, "--json", *args, **kw)
        return json.loads(r.stdout)

    def files(self):
        return sorted(os.path.relpath(os.path.join(b, f), self.logdir) for b, _, fs in os.walk(self.logdir)
                      for f in fs)


class Moods(Case):
    def test_saves_a_run_with_its_marker(self):
        a, begin = self.serve(), time.monotonic()
        out = self.ask(a)
        took_ns = (time.monotonic() - begin) * 1e9
        self.assertEqual(out["saved"], 1)
        host = out["hosts"][0]
        self.assertEqual((host["result"], host["events"], host["steps"], host["attempts"]), ("saved", 1, 1, 1))
        self.assertLess(abs(host["clock_offset_ns"]), took_ns)  # one clock: known to the time on the way
        run = f"plugins/profile/{out['run']}/{a.replace(':', '_')}.xplane.pb"
        files = self.files()
        self.assertIn(run, files)
        self.assertRegex(" ".join(files), r"events\.out\.tfevents\.\d+\..*\.profile-empty")
        self.assertEqual(len(files), 2)

    def test_a_run_that_is_there_is_left_alone(self):
        a = self.serve()
        first = self.ask(a, "--session_id", "mine", duration=1)
        with open(first["hosts"][0]["file"], "wb") as f:
            f.write(b"kept")
        r = self.capture(a, "--session_id", "mine", "--json", duration=1)
        second = json.loads(r.stdout)
        self.assertEqual((first["run"], second["run"]), ("mine", "mine_1"))
        self.assertIn("run 'mine' was there already: this one is 'mine_1'", r.stderr)
        with open(first["hosts"][0]["file"], "rb") as f:
            self.assertEqual(f.read(), b"kept")

    def test_two_workers_land_in_one_run(self):
        a, b = self.serve(), self.serve()
        out = self.ask(f"{a},{b}", "--session_id", "both", "--delay_ms", "200")
        self.assertEqual((out["saved"], out["run"]), (2, "both"))
        self.assertEqual(len([f for f in self.files() if f.startswith("plugins/profile/both/")]), 2)

    def test_one_host_begins_when_it_can(self):
        """It rests between captures. Nobody asked for a time, so that no profile says that it began too late."""
        with open(os.path.join(self.tmp, "warnings"), "w+", encoding="utf-8") as warnings:
            server = Server(warnings=warnings)
            self.addCleanup(server.stop)
            for _ in range(2):
                self.assertEqual(self.ask(f"127.0.0.1:{server.port}", duration=1)["saved"], 1)
            warnings.seek(0)
            self.assertEqual(warnings.read(), "")

    def test_monitoring_as_json_and_refused(self):
        def monitor(*args):
            return subprocess.run([TBPROF, "monitor", "--duration_ms", "1", "--service_addr", *args],
                                  capture_output=True, text=True, timeout=240)
        a = self.serve()
        answer = json.loads(monitor(a, "--json").stdout)
        self.assertEqual(answer["address"], a)
        self.assertTrue(answer["text"])
        refused = monitor(self.serve("token=secret"))
        self.assertEqual((refused.returncode, refused.stdout), (1, ""))
        self.assertIn("UNAUTHENTICATED", refused.stderr)

    def test_monitoring_of_a_server_that_has_none(self):
        address = self.by_hand(answered(status=12))
        r = subprocess.run([TBPROF, "monitor", "--duration_ms", "1", "--service_addr", address], capture_output=True,
                           text=True, timeout=240)
        self.assertEqual((r.returncode, r.stdout), (1, ""))
        self.assertIn(f"{address}: UNIMPLEMENTED: this server tells no figures, as TensorFlow's", r.stderr)
        self.assertIn("'tbprof capture' takes a profile", r.stderr)

    def test_says_who_is_away_idle_or_in_trouble(self):
        nobody = socket.socket()  # has the port, and does not listen
        self.addCleanup(nobody.close)
        nobody.bind(("127.0.0.1", 0))
        away = f"127.0.0.1:{nobody.getsockname()[1]}"
        cases = {
            away: ("unreachable", "not reachable", "Connection refused"),
            self.serve("bytes=0"): ("idle", "reachable, but nothing happened", ""),
            self.serve("start=13"): ("refused", "INTERNAL", "as the test wants it"),
            self.serve("bytes=0", "error=CUPTI: error 35"): ("refused", "its profiler reports", "CUPTI: error 35"),
        }
        for address, (result, text, more) in cases.items():
            out = self.ask(address, code=2 if result == "unreachable" else 1)
            host = out["hosts"][0]
            self.assertEqual((host["result"], out["folder"]), (result, None))
            self.assertIn(text, host["text"])
            self.assertIn(more, host["text"])
        self.assertEqual(self.files(), [], "nothing is left of failures")

    def test_a_failed_save_leaves_nothing_and_says_why(self):
        self.logdir = os.path.join(self.tmp, "long" * 30, "logs")
        os.makedirs(os.path.dirname(self.logdir))
        server = self.serve(f"bytes={1 << 20}")
        r = self.capture(server, "--json", code=1,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16)))
        text = json.loads(r.stdout)["hosts"][0]["text"]
        self.assertRegex(text, "File too large .while writing '" + re.escape(self.logdir) + "/plugins/profile/[^']*'")
        self.assertFalse(os.path.exists(self.logdir))

    def test_one_of_several_is_enough(self):
        good, idle = self.serve(), self.serve("bytes=0")
        r = self.capture(f"{good},{idle}")
        self.assertIn(f"warning: {idle}: reachable, but nothing happened", r.stderr)
        self.assertEqual(r.stdout.strip(), os.path.join(self.logdir, "plugins", "profile",
                                                        os.path.basename(r.stdout.strip())))

    def test_an_error_inside_a_profile_is_told(self):
        out = self.ask(self.serve("error=no GPU"))
        self.assertEqual((out["hosts"][0]["result"], out["hosts"][0]["device_error"]), ("saved", "no GPU"))
        self.assertEqual(out["hosts"][0]["errors"], ["no GPU"])

    def test_a_warning_inside_a_profile_is_told(self):
        loss = "tbprof: 7 records were dropped because max_host_bytes was reached"
        server = self.serve(f"warning={loss}")
        r = self.capture(server, "--json")
        self.assertEqual(json.loads(r.stdout)["hosts"][0]["warnings"], [loss])
        self.assertIn(f"tbprof: warning: {server}: its profile says: {loss}\n", r.stderr)
        self.assertEqual(self.ask(self.serve())["hosts"][0]["warnings"], [])

    def test_a_warning_inside_a_profile_that_the_server_wrote(self):
        """As TensorFlow's does: the answer is empty, the file is there."""
        def write(port):
            folder = os.path.join(self.logdir, "plugins", "profile", "r")
            os.makedirs(folder)
            event = field(4, field(1, 1) + field(3, 1000))
            with open(os.path.join(folder, f"127.0.0.1_{port}.xplane.pb"), "wb") as f:
                f.write(field(1, field(2, b"/host:CPU") + field(3, event)) + field(3, b"lost"))

        host = self.ask(self.by_hand(answered(b""), write), "--session_id", "r")["hosts"][0]
        self.assertEqual((host["text"], host["events"], host["warnings"]), ("saved by the server", 1, ["lost"]))

    def test_times_of_a_server_that_are_none(self):
        good, far = str(10**18).encode(), str(2**63 - 1).encode()
        for received, sent in ((good, good), (far, b"-" + far), (b"x", good), (good, b"")):
            times = literal(b"tbprof-received-ns", received) + literal(b"tbprof-sent-ns", sent)
            host = self.ask(self.by_hand(answered(field(7, 1), extra=times)), "--num_tracing_attempts", "1",
                            code=1)["hosts"][0]
            self.assertEqual(host["clock_offset_ns"] is not None, (received, sent) == (good, good))

    def goes_away(self):
        """The address of a server that closes the connection at each of three calls."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def serve():
            for _ in range(3):
                with listener.accept()[0] as c:
                    c.sendall(frame(SETTINGS, 0, 0))
                    take_request(c)

        thread = threading.Thread(target=serve)
        thread.start()
        self.addCleanup(thread.join)
        return f"127.0.0.1:{listener.getsockname()[1]}"

    def test_a_server_that_goes_away_at_every_attempt(self):
        """It cannot be told from a program that ends and is started again."""
        r = self.capture(self.goes_away(), "--json", code=1)
        host = json.loads(r.stdout)["hosts"][0]
        self.assertEqual((host["result"], host["attempts"]), ("ended", 3))
        self.assertIn("closed its server", host["text"])
        self.assertIn("'tbprof recover --logdir", r.stderr)

    @unittest.skipIf(os.geteuid(), "only root can give files to others")
    def test_spools_of_other_users_are_not_named(self):
        folder = os.path.join(self.tmp, "tbprof-spools")
        os.mkdir(folder)
        for name, user in (("ours", 0), ("theirs", 65534)):
            path = os.path.join(folder, name + ".tbs")
            recording, started_ns = 1, 2**62  # schemas/spool_format.h
            with open(path, "wb") as f:
                f.write(struct.pack("<8s4I2I2qq", b"TBPSPOOL", 1, 8192, recording, 1, 0, 0, 0, started_ns, 0).ljust(8192, b"\0"))
            os.chown(path, user, user)
        r = self.capture(self.goes_away(), "--json", code=1, env={"TBPROF_SPOOL_DIR": self.tmp})
        self.assertIn(os.path.join(folder, "ours.tbs"), r.stderr)
        self.assertNotIn("theirs.tbs", r.stderr)

    def test_waits_for_one_that_is_busy(self):
        a = self.serve()
        first = Peer(int(a.rsplit(":", 1)[1])).hello()
        first.occupy()
        with subprocess.Popen([TBPROF, "capture", "--service_addr", a, "--logdir", self.logdir, "--duration_ms", "100",
                               "--json", "--num_tracing_attempts", "20"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as second:
            while (told := second.stderr.readline()) and "trying again" not in told:
                pass
            first.close()
            out, _ = second.communicate(timeout=240)
        self.assertIn("ALREADY_EXISTS", told)
        out = json.loads(out)
        self.assertGreater(out["hosts"][0]["attempts"], 1)
        self.assertEqual(out["saved"], 1)

    def test_a_server_that_is_none(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            s.listen()

            def hang_up():
                for _ in range(3):
                    s.accept()[0].close()

            thread = threading.Thread(target=hang_up)
            thread.start()
            out = self.ask(f"127.0.0.1:{s.getsockname()[1]}", code=2)
            thread.join()
        self.assertIn("no profiler server", out["hosts"][0]["text"])
        self.assertEqual(out["hosts"][0]["attempts"], 3)

    def test_localhost_is_tried_at_every_address(self):
        a = self.serve("bind=127.0.0.1")
        self.assertEqual(self.ask(a.replace("127.0.0.1", "localhost"))["saved"], 1)
        text = self.ask("localhost:1", code=2)["hosts"][0]["text"]
        self.assertIn("127.0.0.1: Connection refused", text)

    def test_one_server_by_several_names_is_asked_once(self):
        """It listens on both addresses of localhost, where there are two."""
        port = self.serve().rsplit(":", 1)[1]
        names = ["localhost", "127.0.0.1", "127.1"]
        out = self.ask(",".join(f"{name}:{port}" for name in names))
        hosts = {h["result"]: h for h in out["hosts"]}
        self.assertEqual(sorted(h["result"] for h in out["hosts"]), ["same", "same", "saved"])
        self.assertEqual({h["attempts"] for h in out["hosts"]}, {1})
        self.assertEqual(hosts["same"]["text"], f"not asked: it is the server of '{hosts['saved']['address']}'")
        self.assertEqual(len(glob.glob(os.path.join(out["folder"], "*.xplane.pb"))), 1)

    def test_two_servers_with_one_port_are_two(self):
        port = self.serve("bind=127.0.0.1").rsplit(":", 1)[1]
        self.addCleanup(Server("bind=127.0.0.2", port=port).stop)
        self.assertEqual(self.ask(f"127.0.0.1:{port},127.0.0.2:{port}")["saved"], 2)

    def test_proxies_are_not_used(self):
        env = {k: "http://127.0.0.1:1" for k in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY",
                                                 "grpc_proxy", "ALL_PROXY")}
        self.assertEqual(self.ask(self.serve(), env=env)["saved"], 1)

    def test_sockets_of_the_file_system(self):
        path = os.path.join(self.tmp, "s")
        self.serve(f"bind=unix:{path}")
        self.assertEqual(self.ask(f"unix:{path}")["saved"], 1)
        self.assertEqual(oct(os.stat(path).st_mode & 0o777), "0o600")

    def test_token(self):
        a = self.serve("token=secret")
        token = os.path.join(self.tmp, "token")
        with open(token, "w") as f:
            f.write("secret\n")
        self.assertIn("UNAUTHENTICATED", self.ask(a, code=1)["hosts"][0]["text"])
        self.assertEqual(self.ask(a, "--token-file", token)["saved"], 1)
        self.assertEqual(self.ask(a, env={"TBPROF_SERVER_TOKEN": "secret"})["saved"], 1)

    def test_addresses_that_are_none(self):
        for bad in ("::1:6009", "host-a", "host-a:0", "host-a:65536", "host-a:6009x", "host-a:6009,,host-b:1", "",
                    "https://host-a:6009"):
            r = self.capture(bad, code=2)
            self.assertIn("address", r.stderr)
        self.assertIn("write [::1]:6009", self.capture("::1:6009", code=2).stderr)

    def test_a_server_given_as_an_argument(self):
        for command in ("capture", "monitor"):
            for arguments in (["localhost:6009"], []):
                r = subprocess.run([TBPROF, command, *arguments], capture_output=True, text=True)
                self.assertEqual(r.returncode, 2)
                self.assertIn("--service_addr HOST:PORT", r.stderr)

    def test_runs_of_one_second_do_not_meet(self):
        a = self.serve()
        runs = {self.ask(a, duration=1)["run"] for _ in range(3)}
        self.assertEqual(len(runs), 3)

    def test_a_worker_list_is_for_the_first_server(self):
        a, b = self.serve("root=" + self.tmp), self.serve()
        out = self.ask(a, "--worker_list", f"{a},{b}", "--session_id", "all")
        self.assertEqual(out["saved"], 1)
        self.assertEqual(len([f for f in self.files() if f.startswith("plugins/profile/all/")]), 2)

    def test_an_answer_that_calls_files_by_bad_names(self):
        """Not through our server: the message by hand, from a server of a few lines."""
        answer = field(6, field(1, b"../../evil") + field(2, b"x")) + field(6, field(1, b"ok.json") + field(2, b"{}"))
        self.ask(self.by_hand(answered(answer)), "--session_id", "r")
        self.assertEqual([f for f in self.files() if "tfevents" not in f],
                         [f"plugins/profile/r/127.0.0.1_{s_port}.ok.json" for s_port in
                          [re.search(r"127.0.0.1_(\d+)", " ".join(self.files())).group(1)]])


class Trainer(Case):
    """Has a program that trains."""
    environment = {}

    def setUp(self):
        super().setUp()
        self.p = subprocess.Popen([TRAIN, "0", "4"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                  env=dict(os.environ, **self.environment))
        self.address = f"127.0.0.1:{int(self.p.stdout.readline())}"

    def tearDown(self):
        self.p.stdin.close()
        self.p.wait(120)
        self.p.stdout.close()


class Training(Trainer):
    def test_the_steps_of_a_program_that_trains(self):
        for duration in DURATIONS_MS:
            out = self.ask(self.address, duration=duration)
            if out["hosts"][0]["steps"] > 20:
                break
        self.assertEqual(out["hosts"][0]["result"], "saved")
        self.assertGreater(out["hosts"][0]["steps"], 20)
        r = subprocess.run([TBPROF, "info", out["folder"]], capture_output=True, text=True)
        self.assertRegex(r.stdout, r"\n    [1-9]\d* steps?")

    def test_monitor_tells_steps_per_second(self):
        for duration in DURATIONS_MS:
            r = subprocess.run([TBPROF, "monitor", "--service_addr", self.address, "--level", "2", "--duration_ms",
                                str(duration)], capture_output=True, text=True, timeout=240)
            self.assertEqual(r.returncode, 0, r.stderr)
            steps = re.search(r"steps: (\d+) in \d+\.\d s, ([\d.]+) per second", r.stdout)
            if steps and int(steps.group(1)) > 20:
                break
        self.assertTrue(steps, r.stdout)
        self.assertGreater(int(steps.group(1)), 20)
        self.assertRegex(r.stdout, r"host: [\d.]+ % of one processor")
        self.assertRegex(r.stdout, r"lost: 0")

    def test_captures_in_a_row(self):
        for _ in range(2):
            self.assertEqual(self.ask(self.address, duration=1000)["saved"], 1)
        self.p.stdin.close()
        self.assertEqual(self.p.wait(120), 0)
        steps = re.fullmatch(r"(\d+) steps, \d+ us\n", self.p.stdout.read())  # tests/e2e/capture.py holds the time
        self.assertGreater(int(steps.group(1)), 2)


class Ends(Trainer):
    def test_what_a_killed_program_had_recorded_is_named(self):
        env = dict(os.environ, TBPROF_SPOOL_DIR=self.spools)
        with subprocess.Popen([TBPROF, "capture", "--service_addr", self.address, "--logdir", self.logdir, "--json",
                               "--duration_ms", str(FOREVER_MS)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, env=env) as client:
            while not glob.glob(os.path.join(self.spools, "*", "*.tbs")):
                self.assertIsNone(client.poll())
                time.sleep(0.01)
            time.sleep(0.5)  # a few steps
            self.p.kill()
            self.p.wait()
            out, told = client.communicate(timeout=240)
        self.assertEqual(client.returncode, 1)
        host = json.loads(out)["hosts"][0]
        self.assertEqual(host["result"], "ended")
        self.assertIn("the program ended while it was captured", host["text"])
        spool = glob.glob(os.path.join(self.spools, "*", "*.tbs"))[0]
        command = re.search("'tbprof (recover .*)' makes a run of it", told).group(1).split()
        self.assertEqual(command, ["recover", spool, "--logdir", self.logdir])
        r = subprocess.run([TBPROF, *command], capture_output=True, text=True)
        self.assertRegex(r.stdout, r"plugins/profile/.*: [1-9]\d* events")

    def setUp(self):
        self.spools = tempfile.mkdtemp(prefix="tbprof-spools-")
        self.addCleanup(shutil.rmtree, self.spools, ignore_errors=True)
        self.environment = {"TBPROF_SPOOL_DIR": self.spools}
        super().setUp()


class Losses(Trainer):
    """Of a program that has no room to record into: nothing of what it does is in the profile, or not all."""
    environment = {"TBPROF_MAX_HOST_BYTES": "1", "TBPROF_RSS_PERIOD_MS": "0"}

    def test_what_was_lost_is_told_with_its_reason(self):
        r = self.capture(self.address, "--json", "--num_tracing_attempts", "1", code=None)
        lost = r"(\d+) records were dropped because max_host_bytes was reached"
        warnings = json.loads(r.stdout)["hosts"][0]["warnings"]
        self.assertRegex(" ".join(warnings), lost)
        self.assertRegex(r.stderr, "its profile says: .*" + lost)

    def test_monitor_tells_reasons(self):
        r = subprocess.run([TBPROF, "monitor", "--service_addr", self.address, "--level", "2"], capture_output=True,
                           text=True, timeout=240)
        self.assertRegex(r.stdout, r"lost: (\d+): max_host_bytes \1\n")


if __name__ == "__main__":
    unittest.main(verbosity=1)
