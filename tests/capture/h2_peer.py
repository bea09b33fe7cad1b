# SPDX-License-Identifier: Apache-2.0
"""A gRPC client of a few lines over a plain socket, which does as it is told: slow, rude or greedy. Headers are
literals without Huffman code, answers are looked at as bytes."""
import os
import socket
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
from wire import field  # noqa: E402 (after the path)

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST, SETTINGS, PING, GOAWAY, WINDOW, CONTINUATION = 0, 1, 2, 3, 4, 6, 7, 8, 9
CALM = 11  # error code of GOAWAY: ENHANCE_YOUR_CALM
EXISTS = 6  # of gRPC
FOREVER_MS = 500000  # for which no test waits


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(name, value):
    return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value


def profile_request(duration_ms=50, root=b"", run=b"run", host=b"host:1", emit=False, start_ns=0):
    opts = field(5, 1) + field(2, 2) + field(9, duration_ms) + (field(8, start_ns) if start_ns else b"")
    return (field(1, duration_ms) + field(4, opts) + field(5, root) + field(6, run) + field(7, host) +
            (field(9, 1) if emit else b""))


class Peer:
    def __init__(self, port, timeout=200):
        self.s = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.buf, self.next_stream = b"", 1
        self.data, self.status, self.ended, self.reset = {}, {}, set(), {}
        self.greeted = False
        self.goaway, self.closed = None, False  # the former: code of the error

    def close(self):
        self.s.close()

    def hello(self, window=None):
        settings = b"" if window is None else struct.pack(">HI", 4, window)
        self.s.sendall(PREFACE + frame(SETTINGS, 0, 0, settings))
        return self

    def request(self, method, message=b"", service=b"tensorflow.ProfilerService", extra=b""):
        """A call's stream and bytes, not sent yet."""
        stream, self.next_stream = self.next_stream, self.next_stream + 2
        block = (b"\x83\x86" + literal(b":path", b"/" + service + b"/" + method) + literal(b":authority", b"x:1") +
                 literal(b"content-type", b"application/grpc") + literal(b"te", b"trailers") + extra)
        body = b"\x00" + struct.pack(">I", len(message)) + message
        self.data[stream] = 0
        return stream, frame(HEADERS, 4, stream, block) + frame(DATA, 1, stream, body)

    def call(self, *args, **kw):
        stream, data = self.request(*args, **kw)
        self.s.sendall(data)
        return stream

    def occupy(self, **kw):
        """The stream of a capture that is under way and will not end by itself: the next one is refused."""
        stream = self.call(b"Profile", profile_request(duration_ms=FOREVER_MS, **kw))
        status = self.wait(self.call(b"Profile", profile_request()))
        assert status == EXISTS, status
        return stream

    def step(self, give=0):
        """Reads once; gives back `give` bytes of window for each byte that came. False: closed."""
        try:
            got = self.s.recv(1 << 16)
        except ConnectionError:
            got = b""
        if not got:
            self.closed = True
            return False
        self.buf += got
        while len(self.buf) >= 9:
            n = int.from_bytes(self.buf[:3], "big")
            if len(self.buf) < 9 + n:
                break
            kind, flags, stream = self.buf[3], self.buf[4], struct.unpack(">I", self.buf[5:9])[0]
            payload, self.buf = self.buf[9:9 + n], self.buf[9 + n:]
            try:
                self.on_frame(kind, flags, stream, payload, give)
            except ConnectionError:
                self.closed = True
                return False
        return True

    def on_frame(self, kind, flags, stream, payload, give):
        self.greeted = True
        if kind == SETTINGS and not flags & 1:
            self.s.sendall(frame(SETTINGS, 1, 0))
        elif kind == PING and not flags & 1:
            self.s.sendall(frame(PING, 1, 0, payload))
        elif kind == DATA:
            self.data[stream] += len(payload)
            if give and payload:
                more = struct.pack(">I", len(payload) * give)
                self.s.sendall(frame(WINDOW, 0, 0, more) + frame(WINDOW, 0, stream, more))
        elif kind == HEADERS:
            at = payload.find(b"grpc-status")
            if at >= 0:
                self.status[stream] = int(payload[at + 12:at + 12 + payload[at + 11]])
        elif kind == RST:
            self.reset[stream] = struct.unpack(">I", payload)[0]
            self.ended.add(stream)
        elif kind == GOAWAY:
            self.goaway = struct.unpack(">I", payload[4:8])[0]
        if kind in (DATA, HEADERS) and flags & 1:
            self.ended.add(stream)

    def wait(self, stream, give=1):
        while stream not in self.ended and self.step(give):
            pass
        return self.status.get(stream)
