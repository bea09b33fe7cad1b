#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sampling server from outside: recorded clients, peers that are slow, rude or many, large answers, and tricks
with names. Environment: STAND_IN (server over a made-up session), TBPROF, LARGE (bytes of the large answer)."""
import glob
import os
import queue
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from h2_peer import (CALM, DATA, EXISTS, FOREVER_MS, HEADERS, PING, PREFACE, PRIORITY, RST, SETTINGS, WINDOW, Peer, field,
                     frame, literal, profile_request)

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
STAND_IN = os.environ.get("STAND_IN", os.path.join(ROOT, "build", "release", "tests", "stand_in_server"))
TBPROF = os.environ.get("TBPROF", os.path.join(ROOT, "build", "release", "tbprof"))
REPLAY = os.path.join(os.path.dirname(ROOT), "shared", "tools", "h2_replay")
LARGE = int(os.environ.get("LARGE", 96 << 20))
OK, CANCELLED, INVALID, NOT_FOUND, DENIED, PRECONDITION, UNIMPLEMENTED = 0, 1, 3, 5, 7, 9, 12
UNAVAILABLE, UNAUTHENTICATED = 14, 16
PATIENCE_S = 120


class Server:
    def __init__(self, *options, port=0, warnings=None):
        self.p = subprocess.Popen([STAND_IN, str(port), *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=warnings)
        line = self.p.stdout.readline()
        if not line:
            raise RuntimeError("the server did not start")
        self.port = int(line)

    def memory(self, key="VmRSS"):
        with open(f"/proc/{self.p.pid}/status") as f:
            return next(int(line.split()[1]) * 1024 for line in f if line.startswith(key + ":"))

    def is_sanitized(self):
        """Sanitizers reserve terabytes, and keep what was freed."""
        return self.memory("VmSize") > 1 << 40

    def work(self):
        """Of the thread that serves: how often it went to sleep, and CPU seconds."""
        for task in glob.glob(f"/proc/{self.p.pid}/task/*"):
            with open(task + "/status") as f:
                status = dict(line.split() for line in f if len(line.split()) == 2)
            with open(task + "/stat") as f:
                parts = f.read().rsplit(")", 1)[1].split()
            if status["Name:"] == "tbprof-server":
                ticks = int(parts[11]) + int(parts[12])
                return int(status["voluntary_ctxt_switches:"]), ticks / os.sysconf("SC_CLK_TCK")
        raise RuntimeError("no thread serves")

    def wait_for_recording(self):
        line = self.p.stdout.readline()
        if line != b"recording\n":
            raise RuntimeError(f"the server said {line}")

    def stop(self):
        self.p.stdin.close()
        code = self.p.wait(PATIENCE_S)
        self.p.stdout.close()
        return code


class Case(unittest.TestCase):
    def setUp(self):
        self.tmp = tempfile.mkdtemp(prefix="tbprof-server-")
        self.addCleanup(shutil.rmtree, self.tmp, ignore_errors=True)

    def serve(self, *options):
        server = Server(*options)
        self.addCleanup(lambda: self.assertEqual(server.stop(), 0, "the server ends in peace"))
        return server

    def peer(self, server, **kw):
        p = Peer(server.port)
        self.addCleanup(p.close)
        return p.hello(**kw)

    def status(self, server, method, message=b"", **kw):
        p = self.peer(server)
        return p.wait(p.call(method, message, **kw))

    def until_ok(self, *args, **kw):
        """A call that is refused until the server has noticed something."""
        end = time.monotonic() + PATIENCE_S
        while (status := self.status(*args, **kw)) == EXISTS and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual(status, OK)

    def files(self):
        return sorted(os.path.relpath(os.path.join(b, f), self.tmp) for b, _, fs in os.walk(self.tmp) for f in fs)


class Protocol(Case):
    def test_methods_and_old_spellings(self):
        s = self.serve()
        self.assertEqual(self.status(s, b"Profile", profile_request()), OK)
        self.assertEqual(self.status(s, b"GetSnapshot"), NOT_FOUND)
        self.assertEqual(self.status(s, b"ContinuousProfiling", profile_request()), OK)
        self.assertEqual(self.status(s, b"StartContinuousProfiling", profile_request()), EXISTS)
        self.assertEqual(self.status(s, b"Profile", profile_request()), EXISTS)
        self.assertEqual(self.status(s, b"GetSnapShot"), OK)
        self.assertEqual(self.status(s, b"GetSnapshot"), OK)
        self.assertEqual(self.status(s, b"Monitor", field(1, 50) + field(2, 2)), OK)
        self.assertEqual(self.status(s, b"StopContinuousProfiling"), OK)
        self.assertEqual(self.status(s, b"StopContinuousProfiling"), NOT_FOUND)
        self.assertEqual(self.status(s, b"Nothing"), UNIMPLEMENTED)
        self.assertEqual(self.status(s, b"NewSession", service=b"tensorflow.ProfileAnalysis"), INVALID)

    def test_bad_requests(self):
        s = self.serve()
        self.assertEqual(self.status(s, b"Profile", b"\x0a\xff\xff\xff\xff"), INVALID)
        self.assertEqual(self.status(s, b"Profile", profile_request(duration_ms=0)), INVALID)
        self.assertEqual(self.status(s, b"Profile", profile_request(duration_ms=600001)), INVALID)
        for unnamed in (dict(run=b""), dict(host=b"")):  # in every mode, as official clients send both always
            self.assertEqual(self.status(s, b"Profile", profile_request(**unnamed)), INVALID)
            self.assertEqual(self.status(s, b"StartContinuousProfiling", profile_request(**unnamed)), INVALID)
        far = (int(time.time()) + 100000) * 10**9
        self.assertEqual(self.status(s, b"Profile", profile_request(start_ns=far)), INVALID)

    def test_recorded_clients(self):
        if not os.path.isdir(REPLAY):
            self.skipTest("no recorded streams beside the checkout")
        s = self.serve()
        order = ["startcontinuous", "getsnapshot", "monitor"]
        for name in order:
            path = glob.glob(os.path.join(REPLAY, f"replay_{name}*.bin"))[0]
            r = subprocess.run([sys.executable, os.path.join(REPLAY, "replay.py"), str(s.port), path],
                               capture_output=True, text=True, timeout=PATIENCE_S)
            self.assertEqual(r.returncode, 0, name + r.stdout)
        self.assertEqual(self.status(s, b"StopContinuousProfiling"), OK)
        for path in glob.glob(os.path.join(REPLAY, "replay_profile*.bin")):
            r = subprocess.run([sys.executable, os.path.join(REPLAY, "replay.py"), str(s.port), path],
                               capture_output=True, text=True, timeout=PATIENCE_S)
            self.assertEqual(r.returncode, 0, path + r.stdout)

    def test_recorded_bytes_at_any_pace(self):
        """The whole recording, its acknowledgements included, in one piece and byte by byte."""
        if not os.path.isdir(REPLAY):
            self.skipTest("no recorded streams beside the checkout")
        s = self.serve()
        for path in glob.glob(os.path.join(REPLAY, "replay_monitor*.bin")):
            with open(path, "rb") as f:
                data = f.read()
            for size in (len(data), 1):
                p = Peer(s.port)
                p.data[1] = 0
                for i in range(0, len(data), size):
                    p.s.sendall(data[i:i + size])
                self.assertEqual(p.wait(1), OK)
                p.close()

    def test_http1_gets_a_line_of_text(self):
        s = self.serve()
        for request in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"POST /x HTTP/1.1\r\n\r\n"):
            p = Peer(s.port)
            p.s.sendall(request)
            answer = b""
            while chunk := p.s.recv(4096):
                answer += chunk
            self.assertTrue(answer.startswith(b"HTTP/1.1 200 OK"), answer)
            self.assertTrue(answer.endswith(b"\r\n\r\ntbprof profiler server: use a gRPC client\n"))
            p.close()

    def test_noise_is_hung_up_on(self):
        s = self.serve()
        for noise in (b"\x16\x03\x01\x02\x00\x01\x00", b"\0" * 100, PREFACE + b"\xff" * 100,
                      PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, 4, 1, b"\xff" * 64),
                      PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, 0, 1, b"\x82") + frame(0, 0, 1, b"")):
            p = Peer(s.port)
            p.s.sendall(noise)
            while p.step():
                pass
            p.close()
        self.assertEqual(self.status(s, b"Monitor", field(1, 10)), OK)

    def test_token(self):
        s = self.serve("token=secret")
        self.assertEqual(self.status(s, b"Monitor", field(1, 10)), UNAUTHENTICATED)
        right = literal(b"authorization", b"Bearer secret")
        self.assertEqual(self.status(s, b"Monitor", field(1, 10), extra=right), OK)


class Load(Case):
    def test_sixteen_clients_at_once(self):
        s = self.serve()
        got = queue.Queue()

        def ask():
            p = Peer(s.port).hello()
            got.put(p.wait(p.call(b"Profile", profile_request(duration_ms=FOREVER_MS, run=b"one"))))
            p.close()

        threads = [threading.Thread(target=ask, daemon=True) for _ in range(16)]
        for t in threads:
            t.start()
        self.assertEqual([got.get(timeout=PATIENCE_S) for _ in range(15)], [EXISTS] * 15)
        self.assertEqual(self.status(s, b"Terminate", field(1, b"one")), OK)
        self.assertEqual(got.get(timeout=PATIENCE_S), OK)

    def test_more_connections_than_places(self):
        s = self.serve()
        idle = [self.peer(s) for _ in range(40)]
        self.assertEqual(self.status(s, b"Monitor", field(1, 10)), OK)
        closed = 0
        for p in idle:
            p.s.settimeout(0.05)
            try:
                while p.step():
                    pass
            except TimeoutError:
                pass
            closed += p.closed
        self.assertGreaterEqual(closed, 25, "the oldest silent ones make room")

    def test_large_answer_under_a_small_window(self):
        s = self.serve(f"bytes={LARGE}")
        p = self.peer(s)  # windows of 64 KiB, as HTTP/2 begins with
        stream = p.call(b"Profile", profile_request())
        while p.data[stream] == 0 and p.step(give=1):
            pass
        before, most = s.memory(), 0
        other = self.peer(s)
        while stream not in p.ended and p.step(give=1):
            if p.data[stream] >= LARGE // 2 and not other.status:  # others are served meanwhile
                self.assertEqual(other.wait(other.call(b"Monitor", field(1, 1))), OK)
            most = max(most, s.memory()) if p.data[stream] % 64 == 0 else most
        self.assertEqual(p.status[stream], OK)
        self.assertGreater(p.data[stream], LARGE)
        if s.is_sanitized():
            return
        self.assertLess(most - before, 8 << 20, "nothing is copied")
        self.assertLess(s.memory(), 64 << 20, "the profile is gone when it is sent")

    def test_a_client_that_does_not_read_holds_up_nobody(self):
        s = self.serve(f"bytes={16 << 20}")
        lazy = self.peer(s)
        stream = lazy.call(b"Profile", profile_request())
        while lazy.data[stream] == 0 and lazy.step():
            pass  # the answer is under way
        for _ in range(5):
            self.assertEqual(self.status(s, b"Monitor", field(1, 10)), OK)
        self.assertNotIn(stream, lazy.ended)
        self.assertEqual(lazy.wait(stream), OK)

    def test_a_cancelled_call_makes_room(self):
        s = self.serve()
        p = self.peer(s)
        p.s.sendall(frame(RST, 0, p.occupy(), b"\0\0\0\x08"))
        self.until_ok(s, b"Profile", profile_request(duration_ms=50))

    def test_a_lost_connection_makes_room(self):
        s = self.serve()
        p = Peer(s.port).hello()
        p.occupy()
        p.close()
        self.until_ok(s, b"Profile", profile_request(duration_ms=50))

    def test_terminate_ends_a_capture_early_even_in_advance(self):
        s = self.serve()
        p = self.peer(s)
        stream = p.occupy(run=b"long")
        self.assertEqual(self.status(s, b"Terminate", field(1, b"long")), OK)
        self.assertEqual(p.wait(stream), OK)
        self.assertEqual(self.status(s, b"Terminate", field(1, b"next")), OK)
        self.assertEqual(self.status(s, b"Profile", profile_request(duration_ms=FOREVER_MS, run=b"next")), OK)

    def test_a_server_that_stops_delivers_what_it_has(self):
        """Four windows full."""
        s = Server(f"bytes={256 << 10}", warnings=subprocess.PIPE)
        p = self.peer(s)
        stream = p.occupy()
        s.wait_for_recording()
        s.p.stdin.close()
        self.assertEqual(p.wait(stream), OK)
        self.assertEqual(p.data[stream] // 1024, 256)
        while p.step():
            pass
        self.assertEqual(s.stop(), 0)
        with s.p.stderr:
            self.assertRegex(s.p.stderr.read().decode(), r"recording ended after \d+\.\d+ s instead of 500\.000 s")

    def test_a_capture_that_has_not_begun_when_the_server_stops(self):
        s = Server()
        p = self.peer(s)
        begin = p.call(b"Profile", profile_request(start_ns=(int(time.time()) + 1000) * 10**9))
        self.assertEqual(p.wait(p.call(b"Profile", profile_request())), EXISTS)
        s.p.stdin.close()
        self.assertEqual(p.wait(begin), UNAVAILABLE)
        self.assertEqual(s.stop(), 0)

    def test_one_who_does_not_read_holds_up_the_end_for_seconds_only(self):
        s = Server(f"bytes={16 << 20}")
        lazy = self.peer(s)
        stream = lazy.call(b"Profile", profile_request())
        while lazy.data[stream] == 0 and lazy.step():
            pass  # the answer is under way
        self.assertEqual(s.stop(), 0)

    def test_monitoring_gives_way_to_captures(self):
        s = self.serve()
        p = self.peer(s)
        watch = p.call(b"Monitor", field(1, FOREVER_MS))
        time.sleep(0.2)  # mostly it has begun by then; it need not have
        self.assertEqual(self.status(s, b"Profile", profile_request(duration_ms=50)), OK)
        self.assertEqual(p.wait(watch), OK)

    def test_streams_reset_at_once_end_the_connection(self):
        s = self.serve()
        p = self.peer(s)
        try:
            calls = [p.request(b"Monitor", field(1, FOREVER_MS)) for _ in range(400)]
            p.s.sendall(b"".join(data + frame(RST, 0, stream, b"\0\0\0\x08") for stream, data in calls))
        except ConnectionError:
            pass
        while p.step():
            pass
        self.assertTrue(p.closed)
        self.assertEqual(self.status(s, b"Profile", profile_request()), OK)

    def test_floods_of_frames_end_the_connection(self):
        """Frames that cost their sender nothing, sent as fast as they are taken by one who reads all answers."""
        s = self.serve()
        window = struct.pack(">I", 1)
        kinds = {"PING": frame(PING, 0, 0, bytes(8)), "acknowledgements": frame(PING, 1, 0, bytes(8)),
                 "SETTINGS": frame(SETTINGS, 0, 0), "their acknowledgements": frame(SETTINGS, 1, 0),
                 "WINDOW_UPDATE": frame(WINDOW, 0, 0, window), "of a stream": frame(WINDOW, 0, 1, window),
                 "PRIORITY": frame(PRIORITY, 0, 1, bytes(5)), "RST_STREAM": frame(RST, 0, 1, bytes(4)),
                 "empty DATA": frame(DATA, 0, 1), "an unknown kind": frame(0xbe, 0, 0)}
        for name, flood in kinds.items():
            with self.subTest(name):
                p = self.peer(s)
                while not p.greeted:
                    p.step()
                p.s.sendall(p.request(b"Monitor")[1][:-9 - 5])  # without its body
                sent = self.flood(p, flood * 100)
                self.assertEqual(p.goaway, CALM)
                self.assertLess(sent, 100_000)
        self.assertEqual(self.status(s, b"Monitor", field(1, 1)), OK)

    @staticmethod
    def flood(peer, bytes_):
        """Sends them until the peer hangs up; returns how many times."""
        n = [0]

        def send():
            try:
                while not peer.closed:
                    peer.s.sendall(bytes_)
                    n[0] += 1
            except OSError:
                pass

        sender = threading.Thread(target=send)
        sender.start()
        while peer.step():
            pass
        sender.join()
        return n[0]

    def test_a_flood_of_one_who_does_not_read(self):
        s = self.serve()
        p = self.peer(s)
        p.s.settimeout(PATIENCE_S)
        with self.assertRaises(ConnectionError):
            while True:
                p.s.sendall(frame(PING, 0, 0, bytes(8)) * 1000)

    def test_connections_in_quick_succession_wait(self):
        """All are served, but not more than so many in a second."""
        s = self.serve()
        begin, n = time.monotonic(), 250
        for _ in range(n):
            p = Peer(s.port).hello()
            while p.step() and not p.greeted:
                pass
            p.close()
        self.assertGreater(time.monotonic() - begin, n / 100 - 1)

    def test_the_deadline_of_the_client(self):
        s = self.serve()
        p = self.peer(s)
        stream = p.call(b"Profile", profile_request(duration_ms=FOREVER_MS), extra=literal(b"grpc-timeout", b"300m"))
        self.assertEqual(p.wait(stream), 4)

    def test_an_idle_server_sleeps(self):
        """It neither spins, which would earn it as much CPU time as this process takes, nor wakes all the time."""
        s = self.serve()
        p = self.peer(s)
        self.assertEqual(p.wait(p.call(b"Monitor", field(1, 10))), OK)
        (sleeps, cpu), begin, own = s.work(), time.monotonic(), time.process_time()
        while time.process_time() - own < 1 or time.monotonic() - begin < 1.5:
            pass
        sleeps, cpu, wall = s.work()[0] - sleeps, s.work()[1] - cpu, time.monotonic() - begin
        self.assertLess(cpu, 0.2)
        self.assertLess(sleeps, 20 * wall)

    @unittest.skipUnless(os.environ.get("SLOW"), "seconds: SLOW=1")
    def test_slow_peers_are_left(self):
        s = self.serve()
        silent, headers = Peer(s.port), self.peer(s)
        headers.s.sendall(frame(HEADERS, 0, 1, b"\x83\x86"))  # CONTINUATION never comes
        for p in (silent, headers):  # which wait for less than an idle connection may last
            while p.step():
                pass


class Places(Case):
    def save(self, server, **kw):
        return self.status(server, b"Profile", profile_request(**kw))

    def test_writes_where_it_may_and_nowhere_else(self):
        logs = os.path.join(self.tmp, "logs")
        os.mkdir(logs)
        os.symlink(self.tmp, os.path.join(logs, "link"))
        s = self.serve("mode=server", f"root={logs}")
        root = os.path.join(logs, "plugins", "profile").encode()
        self.assertEqual(self.save(s, root=root, run=b"r1", host=b"10.0.0.1:6009"), OK)
        self.assertEqual(self.files(), ["logs/plugins/profile/r1/10.0.0.1_6009.xplane.pb"])
        self.assertEqual(self.save(s, root=root, run=b"r1", host=b"10.0.0.1:6009"), PRECONDITION)
        kept = self.files()
        for bad in (dict(run=b"../r"), dict(run=b".r"), dict(run=b"a/b"), dict(run=b"a\\b"), dict(run=b"a\0b"),
                    dict(run=b"a\nb"), dict(run=b"x" * 129), dict(run=b"-rf"), dict(run=b" "),
                    dict(run=b"a "), dict(run=b"$(a)"), dict(run=b"<b>"), dict(run="a\u202eb".encode()), dict(host=b"../../h:1"), dict(host=b".."),
                    dict(host=b"h/../../x:1")):
            self.assertEqual(self.save(s, root=root, **bad), INVALID, bad)
        for bad in (b"/etc", self.tmp.encode(), logs.encode() + b"/../x", logs.encode() + b"x", b"logs", b"",
                    logs.encode() + b"/a/" * 3000):
            self.assertEqual(self.save(s, root=bad), DENIED, bad[:80])
        self.assertEqual(self.save(s, root=root, run=b""), INVALID)
        self.assertEqual(self.save(s, root=root, host=b""), INVALID)
        self.assertEqual(self.save(s, root=logs.encode() + b"/link/plugins/profile"), DENIED)
        self.assertEqual(self.save(s, root=logs.encode(), run=b"link"), DENIED)
        self.assertEqual(self.files(), kept)

    def test_auto_writes_only_if_the_logdir_is_here(self):
        logs = os.path.join(self.tmp, "logs")
        os.mkdir(logs)
        s = self.serve("mode=auto", f"root={self.tmp}")
        p = self.peer(s)
        stream = p.call(b"Profile", profile_request(root=logs.encode() + b"/plugins/profile"))
        self.assertEqual((p.wait(stream), p.data[stream]), (OK, 5))
        self.assertEqual(self.files(), ["logs/plugins/profile/run/host_1.xplane.pb"])
        stream = p.call(b"Profile", profile_request(root=self.tmp.encode() + b"/away/plugins/profile"))
        self.assertEqual(p.wait(stream), OK)
        self.assertGreater(p.data[stream], 900)
        stream = p.call(b"Profile", profile_request(root=logs.encode() + b"/plugins/profile", run=b"two", emit=True))
        self.assertEqual(p.wait(stream), OK)
        self.assertGreater(p.data[stream], 900)
        self.assertEqual(len(self.files()), 1)

    def test_workers_are_asked_by_one_of_them(self):
        s = self.serve("mode=client", f"root={self.tmp}")
        other = self.serve()

        def ask(hosts, root=self.tmp.encode()):
            request = field(1, profile_request()) + field(2, root) + field(4, b"all")
            message = request + b"".join(field(3, h) for h in hosts)
            return self.status(s, b"NewSession", message, service=b"tensorflow.ProfileAnalysis")

        here = [f"127.0.0.1:{x.port}".encode() for x in (s, other)]
        self.assertEqual(ask(here), OK)
        self.assertEqual(self.files(), sorted(f"all/127.0.0.1_{x.port}.xplane.pb" for x in (s, other)))
        self.assertEqual(ask(here + here[:1]), INVALID)
        self.assertEqual(ask([b"10.1.2.3:1"]), DENIED)
        self.assertEqual(ask([b"example.org:1"]), DENIED)
        self.assertEqual(ask([b"unix:/tmp/x"]), DENIED)
        self.assertEqual(ask(here, b"/etc"), DENIED)


if __name__ == "__main__":
    unittest.main(verbosity=1)
