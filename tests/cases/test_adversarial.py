#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Thirty adversarial inputs for the converter, made here, with answers worked out by hand; LIST tells what each is.

Whatever stands in them: the command ends with 0, every page is UTF-8 JSON without NaN and Infinity, and each event is
accounted for. Exceptions are said where they are asserted. Where an input would be too large for a test of seconds, or
a test of its own knows it in more depth, that test is named in ALSO and must exist.
"""
import collections
import glob
import gzip
import json
import os
import shutil
import sys
import unittest

from values import Profile, facts, run
from support import ROOT, SANITIZED, TBPROF, Case

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
from wire import field, varint  # noqa: E402 (after the path)

LIST = {
    1: "a Kineto file cut inside of a text",
    2: "the last brackets are missing",
    3: "the four shapes of MXNet's dumps",
    4: "raw quotes, line feeds and tabs in names",
    5: "backslashes that begin no escape",
    6: "bytes that are no UTF-8, lone surrogates, control characters",
    7: "bare inf, nan, N/A, and nothing where a value belongs",
    8: "list as root, byte order mark, blanks, commas, NULs, a second document",
    9: "numbers as texts, texts as ids, ids as fractions, no process",
    10: "ids that differ above bit 32, negative ones, ones beyond 63 bits",
    11: "exponents, leading zeros, fractions without a digit, 400 digits, nine decimals",
    12: "arguments nested 100 000 deep, 64 MiB of text, a million keys, a name of 512 KiB",
    13: "gzip of two members, cut, with a wrong sum, under the wrong name; zstd; UTF-16; empty; a folder",
    14: "kernels at 0 among kernels of today",
    15: "negative durations, and a tail of zeros",
    16: "kernels that overlap on one stream",
    17: "children that end after their parent",
    18: "ties, and events in any order",
    19: "begins without ends, ends without begins, every phase, an unknown one",
    20: "correlation ids: early, shared, alone, -1, 0; launches of any name",
    21: "clocks of host and device 200 us apart, and drifting",
    22: "files that hold one kind of event, or none",
    23: "no marker, one, gaps, the same number again, crossing ranges, two threads",
    24: "memory: freed before it was taken, at one time, odd devices, 2^40 bytes",
    25: "xplane: damaged wire format",
    26: "xplane: dangling ids, twice the same, time 0, negative offsets, occurrences",
    27: "one event more than the picture shows",
    28: "names of hosts",
    29: "run folders: read-only, loops of links, full disks, older outputs",
    30: "CNTK's and MindSpore's tables",
}
ALSO = {  # number -> file, test in it
    12: [("tests/cli/test_hostile.py", "test_a_million_brackets"), ("tests/cli/test_robust.py", "test_names_of_a_megabyte")],
    25: [("tests/unit/test_read_xplane.c", "planes_behind_a_wrong_length_are_found"),
         ("tests/CMakeLists.txt", "damage_flips")],
    27: [("tests/golden/kernel_stats/million-and-one/expect.json", ""),
         ("tests/golden/trace_viewer/million-and-one/expect.json", "")],
    28: [("tests/cli/test_convert.py", "test_odd_host_and_run_names"), ("tests/cli/test_robust.py", "test_long_names"),
         ("tests/cli/test_robust.py", "test_all_hosts_is_no_host")],
    29: [("tests/cli/test_robust.py", "test_full_disk"), ("tests/cli/test_robust.py", "test_unreadable_file_and_folder"),
         ("tests/cli/test_doctor.py", "test_a_profile_folder_may_be_a_link_and_links_may_be_loops"),
         ("tests/cli/test_convert.py", "test_signals_leave_older_outputs_and_no_temporaries"),
         ("tests/cli/test_convert.py", "test_killed_conversion_can_be_done_again"),
         ("tests/cli/test_convert.py", "test_in_place_keeps_what_others_wrote")],
    30: [("tests/cli/test_import_text.py", "test_only_a_heading_and_backward_times")],
}
TOOLS = ["overview_page", "input_pipeline_analyzer", "framework_op_stats", "kernel_stats", "memory_profile", "pod_viewer",
         "trace_viewer", "trace_viewer@"]
TODAY_US = 1600000000000000
REPLACED = "\N{REPLACEMENT CHARACTER}"


def x(name, ts=0, dur=5, cat="cpu_op", tid=1, pid=1, more=""):
    """A whole event; numbers as they shall stand in the file."""
    return f'{{"ph":"X","cat":"{cat}","name":"{name}","pid":{pid},"tid":{tid},"ts":{ts},"dur":{dur}{more}}}'


def kernel(name, ts, dur, correlation, stream=7):
    return x(name, ts, dur, "kernel", stream, 0,
             f',"args":{{"device":0,"stream":{stream},"correlation":{correlation}}}')


def launch(ts, correlation, name="cudaLaunchKernel"):
    return x(name, ts, 5, "cuda_runtime", more=f',"args":{{"correlation":{correlation}}}')


def step(number, ts, dur=900, tid=1):
    return x(f"ProfilerStep#{number}", ts, dur, "user_annotation", tid)


def ph(letter, name, ts, tid=1, more=""):
    return f'{{"ph":"{letter}","name":"{name}","pid":1,"tid":{tid},"ts":{ts}{more}}}'


def kineto(*events, head='{"schemaVersion":1,"traceEvents":['):
    return (head + ",\n".join(events) + "]}").encode()


def chrome(*events):
    return kineto(*events, head='{"traceEvents":[')


ABC = [x("a", 0), x("b", 10), x("c", 20)]


# ---- xplane, byte by byte ----

def meta(i, name):
    return field(4, field(1, i) + field(2, field(1, i) + field(2, name)))


def event(m, offset_ps, dur_ps=5000):
    return field(4, field(1, m) + field(2, offset_ps) + field(3, dur_ps))


def line(i, name, ts_ns, *events):
    return field(3, field(1, i) + field(2, name) + field(3, ts_ns) + b"".join(events))


def plane(name, *parts):
    return field(1, field(2, name) + b"".join(parts))


HOST = plane(b"/host:CPU", line(1, b"main", 0, event(1, 1000)), meta(1, b"op1"))
DEVICE = plane(b"/device:GPU:0", line(1, b"Stream #1", 0, event(1, 2000)), meta(1, b"op2"))


class Base(Case):
    maxDiff = None

    def written(self, data, name="t.pt.trace.json"):
        with open(self.path(name), "wb") as f:
            f.write(data)
        return self.path(name)

    def well(self, path):
        """What holds for every input. The profile, for what holds for this one."""
        def no_constant(text):
            raise AssertionError(text)
        shutil.rmtree(self.path("pages"), ignore_errors=True)
        self.expect(0, "convert", "-q", "-o", self.path("pages"), "--run", "r", "--host", "h", path)
        pages = glob.glob(self.path("pages", "plugins", "profile", "r", "*.json*"))
        self.assertGreater(len(pages), 5)
        for page in pages:
            with (gzip.open if page.endswith(".gz") else open)(page, "rt", encoding="utf-8", newline="") as f:
                text = f.read()
            json.loads(text, parse_constant=no_constant)
            self.assertFalse([c for c in text if c < " " and c not in "\n"])
        p = Profile(path)
        found = p.ledger
        self.assertEqual(found["read"], found["emitted"] + found["merged"] + found["quarantined"] + found["dropped"])
        return p

    def reads(self, data, names=None, counters=None, name="t.pt.trace.json", **ledger):
        """The profile of these bytes: names of its events by begin, counters of the ledger, its sums."""
        p = self.well(self.written(data, name))
        if names is not None:
            self.assertEqual([r["name"] for r in sorted(p.rows, key=lambda r: float(r["start_us"]))], names)
        if counters is not None:
            self.assertEqual(p.counters, counters)
        for key, value in ledger.items():
            self.assertEqual(p.ledger[key], value, key)
        return p

    def refused(self, code, text, *args):
        r = self.expect(code, *args)
        self.assertIn(text, r.stderr)
        self.assertEqual(r.stdout, "")

    def at(self, p):
        """name -> (start, duration) in us, as texts with all digits."""
        return {r["name"]: (r["start_us"], r["duration_us"]) for r in p.rows}

    def spans(self, p):
        return [(float(r["start_us"]), float(r["duration_us"])) for r in p.rows]

    def findings(self, p):
        return {k: (f["count"], f["of"]) for k, f in p.check.items() if k != "steps_unknown"}


class Adversarial(Base):
    def test_01(self):
        data = kineto(x("a", 0), x("b", 10), x("x" * 300, 20))
        cut = len(data) * 73 // 100
        self.assertEqual(data[cut - 9:cut + 9], b"x" * 18)
        p = self.reads(data[:cut], ["a", "b"], {"event_dropped": 1, "json_cut": 1}, read=3, dropped=1)
        begins = data.index(b'{"ph"', data.index(b'"b"'))
        self.assertEqual(p.info["ledger"]["counters"]["event_dropped"]["first_offset"], begins)
        self.assertEqual(self.findings(p), {"records_dropped": (1, 3), "file_damaged": (1, None)})
        self.expect(1, "convert", "--strict", "-o", self.path("o"), p.path)

    def test_02(self):
        data = kineto(*ABC)
        self.assertEqual(data[-2:], b"]}")
        self.reads(data[:-2], ["a", "b", "c"], {"json_cut": 1}, emitted=3)
        self.reads(data[:-2] + b"}", ["a", "b", "c"], {"json_bracket": 1}, emitted=3)

    def test_03(self):
        us = 1780300000000000
        name = {"ph": "M", "args": {"name": "cpu/0"}, "pid": 0, "name": "process_name"}
        pair = [{"name": "Convolution", "cat": "operator", "ph": letter, "ts": us + at, "pid": 0, "tid": 9}
                for letter, at in (("B", 0), ("E", 30))]
        body = ",\n".join(json.dumps(e, indent=4) for e in [name, *pair])
        head, tail = '{\n    "traceEvents": [\n', '\n    ],\n    "displayTimeUnit": "ms"\n}\n'
        second = json.dumps(pair[0]) + ",\n" + json.dumps(pair[1])
        for data in (head + body + tail, head + body, ",\n" + body, head.rstrip() + ",\n" + body + tail):
            with self.subTest(begins=data[:30]):
                p = self.reads(data.encode(), name="profile.json")
                self.assertEqual([(r["name"], r["start_us"], r["duration_us"]) for r in p.rows], [("Convolution", "0", "30")])
                self.assertEqual(facts.ops(p.path), {"Convolution": (1, 30000)})
        self.assertNotIn("traceEvents", second)

    def test_04(self):
        name = 'torch/_dynamo: {"device": "cpu"}'
        self.reads(kineto(x(name, 0), x("next", 10)), [name, "next"], {"json_raw_quote": 4})
        p = self.reads(kineto(x("a\nb\tc", 0), x("next", 10)), ["a\nb\tc", "next"], {"json_control": 2})
        self.assertEqual(self.at(p)["next"], ("10", "5"))

    def test_05(self):
        # \n and \t are what they look like; \u12 is no escape, nor are \x and \q: they stay as they stand
        p = self.reads(kineto(x(r"C:\new\table\u12", 0), x(r"C:\x\q", 10)), ["C:\new\table\\u12", r"C:\x\q"],
                       {"json_backslash": 3})
        self.assertEqual([r["name"] for r in p.stats], sorted([r["name"] for r in p.stats]))

    def test_06(self):
        for raw, shown, counters in (
                (b"\xf0\x28\x8c\xbc", REPLACED + "(" + 2 * REPLACED, {"invalid_utf8": 3}),
                (b"\xed\xa0\x80", 3 * REPLACED, {"invalid_utf8": 3}),  # a surrogate
                (b"\xc0\x80", 2 * REPLACED, {"invalid_utf8": 2}),  # NUL in two bytes
                (b"\\ud800", REPLACED, {"invalid_utf8": 1}),
                (b"\\u0000", "\x00", {}), (b"\x01", "\x01", {"json_control": 1}), (b"\x7f", "\x7f", {}),
                ("\N{GRINNING FACE}\N{RIGHT-TO-LEFT MARK}".encode(), "\N{GRINNING FACE}\N{RIGHT-TO-LEFT MARK}", {})):
            with self.subTest(raw=raw):
                data = kineto(x("<@>", 0), x("n", 10)).replace(b"@", raw)
                p = Profile(self.written(data))
                self.assertEqual((p.counters, p.ledger["emitted"]), (counters, 2))
                self.assertIn("<" + shown + ">", {r["name"] for r in p.stats})
                for command in ("stats", "info", "steps", "check"):  # to a terminal and to scripts: nothing raw
                    for more in ([], ["--json"]):
                        text = run(command, p.path, *more).stdout
                        self.assertFalse([c for c in text if c < " " and c not in "\n"], (command, more))

    def test_07(self):
        key = "memory bandwidth (GB/s)"
        words = ["inf", "-inf", "nan", "NaN", "N/A", ""]
        events = [kernel(f"k{i}", 10 * i, 5, i + 1).replace('"device"', f'"{key}": {w}, "device"')
                  for i, w in enumerate(words)]
        self.reads(kineto(*events), [f"k{i}" for i in range(6)], {"json_bare_word": 6}, emitted=6)

    def test_08(self):
        data, names = kineto(*ABC), ["a", "b", "c"]
        listed = b"[" + ",\n".join(ABC).encode() + b"]"
        for odd in (listed, b"\xef\xbb\xbf" + data, b" " * 65536 + data, data[:-2] + b",]}", data[:-2] + b",{}]}",
                    data + b"\0" * 9):
            with self.subTest(begins=odd[:20], ends=odd[-6:]):
                self.reads(odd, names, {}, read=3, emitted=3)
        # A second document is part of the profile, and counted.
        self.reads(data + kineto(x("z", 100)), names + ["z"], {"json_second": 1})

    def test_09(self):
        texts = '{"ph":"X","cat":"cpu_op","name":"s","pid":"Spans","tid":"stream 7","ts":"1724.5","dur":"3"}'
        p = self.reads(kineto(texts, x("f", 2000, tid="7.0"), x("i", 2010, tid=7), x("n", 2020).replace('"pid":1,', "")),
                       ["s", "f", "i", "n"], {})
        self.assertEqual(self.at(p)["s"], ("0", "3"))
        self.assertEqual(self.at(p)["f"], ("275.5", "5"))  # 2000 - 1724.5
        self.assertEqual({r["name"]: r["line"] for r in p.rows},
                         {"s": "stream 7", "f": "thread 7", "i": "thread 7", "n": "thread 1"})

    def test_10(self):
        ids = ["140589156634432", "140588800255680", "4294967297", "8589934593", "-5", "18446744073709551557",
               "18446744073709551615", '"0xffffffffffffffff"']
        events = [x(f"t{i}", 10 * i, tid=t) for i, t in enumerate(ids)]
        events += [x("p", 100, pid="11400714819323198485"), x("q", 110, pid="11400714819323198486"), x("r", 120)]
        p = self.reads(kineto(*events), [f"t{i}" for i in range(8)] + ["p", "q", "r"], {})
        lines = [ln for pl in p.info["planes"] for ln in pl["lines"]]
        self.assertEqual([ln["events"] for ln in lines], [1] * 11)
        names = sorted(ln["name"] for ln in lines)
        # A number in quotes is one only in decimal: the last is a name. Of p, q and r the process differs.
        self.assertEqual(names, sorted(["thread " + i for i in ids[:-1]] + [ids[-1].strip('"')] + ["thread 1"] * 3))

    def test_11(self):
        texts = ["1e3", "1E+3", "0.0005", "-0", "00012", "1.", ".5"]
        p = self.reads(kineto(*[x(f"n{i}", t) for i, t in enumerate(texts)]), counters={})
        self.assertEqual([self.at(p)[f"n{i}"][0] for i in range(7)], ["1000", "1000", "0.0005", "0", "12", "1", "0.5"])
        # Nine decimals of a microsecond are picoseconds and more: .123456789 us is rounded to 457 ps behind 123456 ps.
        p = self.reads(kineto(x("a", "1724000000000000.123456789"), x("b", "1724000000000001.123999")), ["a", "b"], {})
        a, b = (float(self.at(p)[n][0]) for n in "ab")
        self.assertAlmostEqual(b - a, 1.000542, 6)
        p = self.reads(kineto(x("far", "1" * 400), x("near", 5), x("next", 6)), ["near", "next"], {"other_clock": 1},
                       quarantined=1)
        self.assertIn("'far' of process 1", p.info["warnings"][0])

    def test_12(self):
        # A child begins with the memory of this process: the large text is written in pieces, and first.
        head, tail = kineto(x("a", 0, more=',"args":{"q":"@"}'), x("b", 10)).split(b"@")
        with open(self.path("big.pt.trace.json"), "wb") as f:
            f.write(head)
            for _ in range(64):
                f.write(b"y" * (1 << 20))
            f.write(tail)
        child = os.posix_spawn(TBPROF, ["tbprof", "info", "--json", f.name], os.environ, file_actions=[
            (os.POSIX_SPAWN_OPEN, 1, self.path("out"), os.O_CREAT | os.O_WRONLY, 0o600)])
        _, status, used = os.wait4(child, 0)
        self.assertEqual(status, 0)
        self.assertLess(used.ru_maxrss, (512 if SANITIZED else 128) << 10)  # the file is mapped: 64 MiB
        with open(self.path("out"), encoding="utf-8") as f:
            self.assertEqual(json.load(f)["runs"][0]["hosts"][0]["events"], 2)
        deep = x("a", 0, more=',"args":{"q":' + "[" * 100000 + "]" * 100000 + "}")
        self.reads(kineto(deep, x("b", 10)), ["a", "b"], {"json_depth": 1})
        keys = x("a", 0, more=',"args":{' + ",".join(f'"k{i}":{i}' for i in range(1000000)) + "}")
        self.reads(kineto(keys, x("b", 10)), ["a", "b"], {})
        # Names are kept whole, each once; in tables for people they are cut.
        p = Profile(self.written(kineto(x("n" * (512 << 10), 0), x("n" * (512 << 10) + "m", 10))))
        self.assertEqual(sorted(len(r["name"]) for r in p.stats), [512 << 10, (512 << 10) + 1])
        self.assertLess(max(map(len, run("stats", p.path).stdout.splitlines())), 300)

    def test_13(self):
        data, names = kineto(*ABC), ["a", "b", "c"]
        self.reads(gzip.compress(data[:60]) + gzip.compress(data[60:]), names, {}, "t.json.gz")
        many = kineto(*[x(f"e{i}", 10 * i) for i in range(2000)])
        packed = gzip.compress(many)
        p = self.reads(packed[:len(packed) * 3 // 4], name="t.json.gz")
        n = p.ledger["emitted"]
        self.assertGreater(n, 1000)
        self.assertEqual([r["name"] for r in p.rows], [f"e{i}" for i in range(n)])
        self.assertEqual(p.counters["gzip_damaged"], 1)
        wrong = bytearray(gzip.compress(data))
        wrong[-8] ^= 1
        p = self.reads(bytes(wrong), names, {"gzip_damaged": 1}, "t.json.gz")
        self.expect(1, "convert", "--strict", "-o", self.path("o"), p.path)
        self.reads(gzip.compress(data), names, {}, "t.json")
        self.reads(data, names, {}, "t.json.gz")
        zstd = self.written(b"\x28\xb5\x2f\xfd\x20\x05\x29\x00\x00hello", "t.json.zst")
        self.refused(1, "compressed with zstd", "stats", zstd)
        for encoding in ("utf-16", "utf-16-le", "utf-16-be"):  # with a mark and without
            self.refused(1, "text in UTF-16", "stats", self.written(" [".encode(encoding) + data.decode().encode(encoding), "u.txt"))
        empty = self.written(b"", "empty.json")
        for args in (["stats"], ["check"], ["convert", "-o", self.path("o")]):
            self.refused(1, f"{empty}: has 0 bytes", *args, empty)
        os.mkdir(self.path("x.json"))
        self.refused(2, "no profile (*.xplane.pb, *.pt.trace.json) in folder", "convert", "-o", self.path("o"), self.path("x.json"))

    def test_14(self):
        events = [kernel("k", TODAY_US + 10 * i, 5, i + 1) if i % 100 else kernel("zero", 0, 0, i + 1) for i in range(10000)]
        p = self.reads(kineto(*events), counters={"other_clock": 100}, quarantined=100)
        self.assertEqual((p.kernel_count, p.kernel_sum), (9900, 49500))
        self.assertEqual((p.info["first_ps"], p.info["last_ps"]), (0, (99990 + 5 - 10) * 10**6))  # from 1 to 9999
        self.assertEqual(self.findings(p)["other_clock"], (100, 10000))
        self.assertIn("100 events of another session or clock left out: 'zero'", p.info["warnings"])
        far = '{"ph":"X","name":"far","pid":"Spans","tid":1,"ts":9e17,"dur":1}'  # a process without a number
        p = self.reads(kineto(x("a", 10, 3), far), counters={"other_clock": 1}, quarantined=1)
        self.assertEqual(p.info["warnings"], ["1 event of another session or clock left out: 'far'"])

    def test_15(self):
        # No length can be read out of these: the events stay where they begin, and are counted.
        data = kineto(x("a", 10, -3), x("b", 20), kernel("k", 30, -1, 1))
        p = self.reads(data, ["a", "b", "k"], {"negative_time": 2})
        self.assertEqual((self.at(p)["a"], self.at(p)["k"]), (("0", "0"), ("20", "0")))
        self.assertEqual(p.info["ledger"]["counters"]["negative_time"]["first_offset"], data.index(b'{"ph"'))
        mark = '{"ph":"i","name":"m","pid":1,"tid":1,"ts":5,"dur":-1,"s":"t"}'
        self.reads(kineto(mark, x("b", 20)), ["m", "b"], {})  # instants have none, whatever they say
        events = [kernel("k", TODAY_US + 10 * i, 5, i + 1) if i < 90 else kernel("lost", 0, 0, i + 1) for i in range(100)]
        p = self.reads(kineto(*events), ["k"] * 90, {"other_clock": 10}, quarantined=10)
        self.assertEqual(self.findings(p), {"other_clock": (10, 100)})

    def test_16(self):
        p = self.reads(kineto(kernel("A", 0, 10, 1), kernel("B", 8, 12, 2), kernel("C", 9, 0, 3)), ["A", "B", "C"], {})
        # The page leaves out what lasted no time, as the official one does; stats have it.
        self.assertEqual(p.kernel_table, {"A": (1, 10000), "B": (1, 12000)})
        self.assertEqual({r["name"]: (r["count"], r["device_us"]) for r in p.stats}, {"A": (1, 10), "B": (1, 12), "C": (1, 0)})
        self.assertEqual(self.at(p), {"A": ("0", "10"), "B": ("8", "12"), "C": ("9", "0")})
        self.assertEqual((p.busy(), self.findings(p)), (20, {}))
        self.assertEqual(self.rows_shown(p), {"A": "#7", "B": "#7 (2)"})
        self.assertEqual(self.rows_shown(Profile(glob.glob(self.path("pages", "plugins", "profile", "r", "*.xplane.pb"))[0])),
                         {"A": "#7", "B": "#7 (2)"})  # so the official page has them, too
        # One that nests stays with the one around it, also where two overlap there; others take the first row that is
        # free, and times in whole microseconds may overlap by one of them (E begins at 49, C ends at 50).
        p = self.reads(kineto(kernel("A", 0, 10, 1), kernel("B", 8, 30, 2), kernel("in B", 9, 12, 3), kernel("also", 20, 8, 4),
                              kernel("C", 30, 20, 5), kernel("D", 45, 15, 6), kernel("E", 49, 21, 7), kernel("F", 9, 9, 8, 8)))
        self.assertEqual(self.rows_shown(p), {"A": "#7", "B": "#7 (2)", "in B": "#7 (2)", "also": "#7 (2)", "C": "#7",
                                              "D": "#7 (2)", "E": "#7", "F": "#8"})
        p = self.reads(kineto(kernel("A", 0, 10, 1), kernel("B", 9.999, 5, 2), kernel("C", 14.997, 5, 3)))
        self.assertEqual(self.rows_shown(p), {"A": "#7", "B": "#7", "C": "#7 (2)"})  # nanoseconds: by one of these
        p = self.reads(kineto(*[kernel(f"k{i:02}", i, 100, i + 1) for i in range(40)]))
        self.assertEqual(collections.Counter(self.rows_shown(p).values())["#7 (32)"], 9)  # the last row takes the rest
        self.assertEqual(p.kernel_count, 40)

    def rows_shown(self, p):
        """name of what ran on a stream -> row of the picture that it is on."""
        return {e[2]: e[1].replace("Stream ", "").replace("(Compute)", "") for e in p.device}

    def nested(self, end, *more):
        """Parent 0-5000, child 4000-end with 10 inside: totals and self times of both."""
        p = self.reads(kineto(x("parent", 0, 5000), x("child", 4000, f"{end - 4000:.3f}"), x("inner", 4100, 10), *more))
        answer = p.ask("stats")
        rows = {r["name"]: (r["cpu_us"], r["self_cpu_us"]) for r in answer["rows"]}
        return rows["parent"], rows["child"], answer["clamped"], answer["crossing"]

    def test_17(self):
        inside = ((5000, 4000), (1000, 990))
        self.assertEqual(self.nested(5000), (*inside, 0, 0))
        self.assertEqual(self.nested(5001), (*inside, 1, 0))  # all times are whole microseconds: by one, then
        finer = x("other", 6000.001, 1)
        self.assertEqual(self.nested(5000.001, finer), (*inside, 1, 0))  # nanoseconds: by one of these
        self.assertEqual(self.nested(5001, finer), ((5000, 5000), (1001, 991), 0, 1))
        self.assertEqual(self.nested(6000), ((5000, 5000), (2000, 1990), 0, 1))
        self.assertIn("1 event begins inside another one of the thread and ends after it",
                      run("stats", self.path("t.pt.trace.json")).stdout)

    def test_18(self):
        events = [x("outer", 0, 100), x("alpha", 10, 20), x("beta", 10, 20), x("leaf", 10, 5), launch(12, 1),
                  kernel("k", 50, 20, 1), x("outer", 200, 100), x("leaf", 210, 5)]
        orders = [events, events[::-1], events[3:] + events[:3], events[1::2] + events[::2]]
        answers = {}
        for i, order in enumerate(orders):
            p = self.reads(kineto(*order), emitted=8)
            for tool in TOOLS:
                answers.setdefault(tool, set()).add(run("tool", tool, p.path).stdout)
            answers.setdefault("stats", set()).add(run("stats", "--json", p.path).stdout)
        self.assertEqual({k: len(v) for k, v in answers.items()}, dict.fromkeys(answers, 1))
        # Of equal spans the first by name is the parent: alpha 20 - 20, beta 20 - 5, leaf 5 - 0 and launch 5.
        rows = {r["name"]: (r["cpu_us"], r["self_cpu_us"]) for r in p.stats if r["on"] == "host"}
        self.assertEqual((rows["alpha"], rows["beta"], rows["outer"]), ((20, 0), (20, 10), (200, 175)))
        # Ops have numbers in the order in which they began: item has called _dense, whatever they are called. A Python
        # function is around the op that it calls, and the op around its launch.
        def op(name, ts, number):
            return x(name, ts, 5, more=f',"args":{{"External id":{number}}}')
        events = [op("_dense", 0, 8), op("item", 0, 7), op("zeros", 20, 9), launch(20, 1), kernel("k", 30, 4, 1),
                  x("torch.zeros", 20, 5, "python_function")]
        for order in (events, events[::-1]):
            p = self.reads(kineto(*order), emitted=6)
            rows = {r["name"]: (r["self_cpu_us"], r["self_device_us"], r["device_us"]) for r in p.stats if r["on"] == "host"}
            self.assertEqual(rows, {"item": (0, 0, 0), "_dense": (5, 0, 0), "torch.zeros": (0, 0, 4), "zeros": (0, 4, 4),
                                    "cudaLaunchKernel": (5, 0, 0)})
        # So have Python functions, which tell it ("Python id"): main calls loop, that calls add, an op is in the last.
        def function(name, number, parent):
            return x(name, 0, 5, "python_function", more=f',"args":{{"Python parent id":{parent},"Python id":{number}}}')
        events = [function("add", 12, 9), function("main", 8, "null"), x("aten::add", 0, 5), function("loop", 9, 8)]
        for order in (events, events[::-1], events[2:] + events[:2]):
            p = self.reads(kineto(*order), emitted=4)
            self.assertEqual(run("stacks", "--frames", "all", p.path).stdout, "main;loop;add;aten::add 5\n")
            rows = {r["name"]: r["self_cpu_us"] for r in p.stats}
            self.assertEqual(rows, {"main": 0, "loop": 0, "add": 0, "aten::add": 5})

    def test_19(self):
        p = self.reads(chrome(
            ph("B", "open", 0), x("last", 100, 50, "some"), ph("E", "never", 200, 2), ph("B", "one", 10, 3), ph("E", "other", 20, 3),
            ph("B", "in", 30, 3), ph("E", "in", 40, 3), ph("b", "as", 50, 4, ',"cat":"c","id":1'),
            ph("e", "as", 60, 5, ',"cat":"c","id":1'), ph("X", "nodur", 70, 6), ph("i", "inst", 71, 6, ',"s":"t"'),
            ph("C", "count", 72, 1, ',"args":{"v":3}'), ph("s", "f", 73, 1, ',"id":1'), ph("t", "f", 74, 1, ',"id":1'),
            ph("f", "f", 75, 1, ',"id":1'), '{"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"main"}}',
            ph("N", "o", 80), ph("D", "o", 81), ph("O", "o", 82), ph("Z", "z", 90)),
            # Ends of "in" and "as", three of the flow and the name are merged
            counters={"unfinished": 2, "unmatched_end": 2, "no_duration": 1, "not_shown": 4}, read=20, emitted=8,
            merged=6, dropped=6)
        self.assertEqual(self.at(p), {"open": ("0", "150"), "last": ("100", "50"), "one": ("10", "30"), "in": ("30", "10"),
                                      "as": ("50", "10"), "nodur": ("70", "0"), "inst": ("71", "0"), "count": ("72", "0")})
        # The ends; a kind that no page shows is no loss. "open" and "one" have none.
        self.assertEqual(self.findings(p), {"records_dropped": (2, 20), "events_without_end": (2, 8)})
        self.reads(kineto(x("a"), ph("Z", "z", 90), ph("O", "o", 91)), ["a"], {"not_shown": 2}, dropped=2)
        # Stacks sampled beside the events are no events, and not lost in silence.
        beside = b'],"samples":[{"cpu":0,"ts":1,"sf":5},{"cpu":0,"ts":2,"sf":5},7],"stackFrames":{"5":{"name":"f"}}}'
        self.reads(chrome(x("a", cat="some"))[:-2] + beside, ["a"], {"not_shown": 3}, read=1, emitted=1)
        self.reads(chrome(x("a", cat="some"))[:-2] + b'],"samples":{"a":[1]}}', ["a"], {}, read=1, emitted=1)

    def test_20(self):
        names = ["cuLaunchKernelEx", "hipExtModuleLaunchKernel", "somethingNew"]
        p = self.reads(kineto(
            kernel("early", 0, 5, 1), launch(10, 1), launch(20, 2, "cudaGraphLaunch"), kernel("g1", 30, 5, 2),
            kernel("g2", 36, 5, 2), launch(40, 3), *[kernel("m", 50 + i, 1, -1) for i in range(3)],
            *[launch(60 + 10 * i, -1) for i in range(3)], x("op0", 99, 40, more=',"args":{"External id":0}'),
            kernel("e0", 150, 5, 0), *[launch(100 + 10 * i, 10 + i, n) for i, n in enumerate(names)],
            *[kernel(f"u{i}", 160 + 10 * i, 5, 10 + i) for i in range(3)]), counters={}, emitted=20)
        self.assertEqual(p.launched_by(), {"cudaLaunchKernel": 1, "cudaGraphLaunch": 2, "unlinked": 4, **dict.fromkeys(names, 1)})
        self.assertEqual(p.row("op0")["device_us"], 15)  # the three of its launches, nothing of id 0 or -1
        many = kineto(*[kernel("m", 50 + i, 1, -1) for i in range(10000)], *[launch(60 + 10 * i, -1) for i in range(10000)])
        p = self.reads(many, counters={}, emitted=20000)
        self.assertEqual((p.launched_by(), p.row("m", "device")["count"]), ({"unlinked": 10000}, 10000))

    def test_21(self):
        p = self.reads(kineto(*[launch(1000 * i + 500, i + 1) for i in range(10)],
                              *[kernel("k", 1000 * i + 300, 50, i + 1) for i in range(10)]))
        self.assertEqual(self.findings(p), {"work_before_launch": (10, 10)})
        self.assertIn("10 of 10 device events begin before their launch, by up to 200.000us", p.check["work_before_launch"]["text"])
        # 1 ppm over 100 s: 5 us behind the launch at first, the kernel of the last is 99 - 5 us before it.
        p = self.reads(kineto(*[launch(1000000 * i + 500, i + 1) for i in range(100)],
                              *[kernel("k", 1000000 * i + 505 - i, 50, i + 1) for i in range(100)]))
        self.assertEqual(self.findings(p), {"work_before_launch": (94, 100)})
        self.assertIn("by up to 94.000us", p.check["work_before_launch"]["text"])
        # What is in the file is shown as it is there.
        self.assertEqual(min(r["start_us"] for r in p.rows), "0")

    def test_22(self):
        process = '{"ph":"M","name":"process_name","pid":1,"args":{"name":"python"}}'
        counter = '{"ph":"C","name":"c","pid":1,"tid":1,"ts":5,"args":{"v":3}}'
        nothing = {"nothing_recorded": (1, None)}
        for data, emitted, found in ((kineto(process), 0, nothing), (kineto(), 0, nothing),
                                     (kineto(kernel("k", 0, 5, 1)), 1, {}), (kineto(x("a")), 1, {}),
                                     (kineto(x("r", cat="user_annotation")), 1, {}), (kineto(counter), 1, {})):
            with self.subTest(data=data):
                p = self.reads(data, counters={}, emitted=emitted)
                self.assertEqual((self.findings(p), "steps_unknown" in p.check), (found, True))
                self.assertEqual((p.steps["known"], p.steps["steps"]), (False, []))
                self.assertIn("unknown, because", run("steps", p.path).stdout)
                self.assertIn("No step marker observed", run("tool", "overview_page", p.path).stdout)
        # Without the key it is no trace: told so, by file, instead of shown as an empty one. So is a list of tables.
        for data in (b'{"schemaVersion":1}', b'[{"cols":[],"rows":[],"p":{"ph":"X"}},{}]', b'[{"name":"a","ts":1}]', b"[1]"):
            self.refused(1, "no list 'traceEvents'", "convert", self.written(data), "-o", self.path("o"))
        self.reads(b"[]", [], {}, read=0)
        self.reads(b"[{},{}]", [], {}, read=0)
        self.reads(b'[null,{"cols":[]},' + x("a").encode() + b"]", ["a"], {"not_shown": 1}, read=2, dropped=1)

    def test_23(self):
        def steps(*events):
            p = self.reads(kineto(*events), counters={})
            found = self.findings(p)
            return [(s["step"], s["marker_us"], s["period_us"]) for s in p.steps["steps"]], found
        self.assertEqual(steps(x("a")), ([], {}))
        self.assertEqual(steps(step(7, 0)), ([(7, 900, None)], {}))
        self.assertEqual(steps(step(3, 0), step(5, 1000), step(9, 2000)),
                         ([(3, 900, 1000), (5, 900, 1000), (9, 900, None)], {}))
        self.assertEqual(steps(step(4, 0), step(4, 1000, 950), step(5, 2000)),
                         ([(4, 950, 1000), (5, 900, None)], {"steps_again": (1, 3)}))
        self.assertEqual(steps(step(1, 0), x("Optimizer.step#SGD.step", 800, 200, "user_annotation"), step(2, 1000)),
                         ([(1, 900, 1000), (2, 900, None)], {}))
        self.assertEqual(steps(step(1, 0), step(1, 10, 800, 2), step(2, 1000), step(2, 1010, 800, 2)),
                         ([(1, 900, 1000), (2, 900, None)], {}))

    def memory(self, *events, **counters):
        """Allocator -> bytes in use after each event."""
        p = self.reads(kineto(x("a", 0, 100), *events), counters=counters)
        page = facts.answer("memory_profile", p.path)["memoryProfilePerAllocator"]
        return {k: [int(s["aggregationStats"]["heapAllocatedBytes"]) for s in v["sampledTimelineSnapshots"]]
                for k, v in page.items()}

    def test_24(self):
        def mem(ts, size, kind=1, device=0, total=None):
            totals = "" if total is None else f',"Total Allocated":{total},"Total Reserved":0'
            return (f'{{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":1,"ts":{ts},"args":'
                    f'{{"Bytes":{size},"Device Type":{kind},"Device Id":{device},"Addr":64{totals}}}}}')
        self.assertEqual(self.memory(mem(0, -4096), mem(5, 100), unmatched_free=1), {"GPU_0": [0, 100]})
        self.assertEqual(self.memory(mem(5, 100), mem(5, 200)), {"GPU_0": [200, 300]})
        self.assertEqual(self.memory(mem(0, 10, 1, -1), mem(1, 20, 1, 99), mem(2, 30, 0, -1)),
                         {"GPU_-1": [10], "GPU_99": [20], "CPU": [30]})
        self.assertEqual(self.memory(mem(0, 2**40), mem(1, 2**40)), {"GPU_0": [2**40, 2**41]})
        self.assertEqual(self.memory(mem(0, 100, total=2**40), mem(1, -50, total=2**40 - 50)), {"GPU_0": [2**40, 2**40 - 50]})

    def test_25(self):
        def read(data, names, **counters):
            p = self.reads(data, names, name="h.xplane.pb")
            self.assertEqual({k: n for k, n in p.counters.items() if not k.startswith("repair_")}, counters)
        self.refused(1, "has 0 bytes", "stats", self.written(b"", "h.xplane.pb"))
        self.refused(1, "not a profile in a known format", "stats", self.written(b"\x0a", "h.xplane.pb"))
        read(HOST + b"\x0a\xff\xff\x03abc", ["op1"], truncated=1)
        read(HOST + varint(9 << 3 | 3) + field(1, 5) + varint(9 << 3 | 4) + DEVICE, ["op1", "op2"], bad_wire=1)
        read(HOST + plane(b"/x", varint(1 << 3) + b"\xff" * 11) + DEVICE, ["op1", "op2"], bad_wire=1)
        read(HOST + b"\x00\x01" + DEVICE, ["op1", "op2"], bad_wire=1)
        read(HOST + field(99, b"xx") + field(98, 7) + DEVICE, ["op1", "op2"], unknown_field=2)
        read((HOST + DEVICE)[:-3], ["op1", ""], truncated=2, dangling_event_id=1)  # the name was what is cut

    def test_26(self):
        def read(data, **counters):
            p = self.reads(data, counters=counters, name="h.xplane.pb")
            return [(e[2], e[3], e[4]) for e in p.events]
        main = lambda *events: line(1, b"main", 0, *events)
        host = lambda *parts: plane(b"/host:CPU", *parts)
        self.assertEqual(read(host(main(event(7, 0), event(1, 6000)), meta(1, b"op")), dangling_event_id=1),
                         [("", 0, 5), ("op", 6, 5)])
        absent = field(4, field(1, 1) + field(2, 0) + field(3, 5000) + field(4, field(1, 3) + field(7, 99)))
        known = field(5, field(1, 3) + field(2, field(1, 3) + field(2, b"k")))
        self.assertEqual(read(host(main(absent), meta(1, b"op"), known), dangling_ref=1), [("op", 0, 5)])
        two_clocks = host(line(1, b"a", 0, event(1, 0)), line(2, b"b", 1700000000000000000, event(1, 7000)), meta(1, b"op"))
        self.assertEqual(read(two_clocks, repair_epoch=1), [("op", 0, 5), ("op", 7, 5)])
        self.assertEqual(read(HOST + HOST.replace(b"op1", b"op2"), duplicate_plane=1), [("op1", 1, 5), ("op2", 1, 5)])
        early = host(line(1, b"a", 1000, event(1, -500000)), meta(1, b"op"))
        self.assertEqual(read(early, negative_time=1), [("op", 500, 5)])
        # Ten occurrences without a time are a sum: in tables, not in the picture.
        self.reads(host(main(field(4, field(1, 1) + field(3, 5000) + field(5, 10))), meta(1, b"op")), counters={},
                   name="h.xplane.pb", emitted=1)
        self.assertEqual(read(host(main(event(1, 0)), meta(1, b"first"), meta(1, b"second")), duplicate_id=1),
                         [("second", 0, 5)])

    def test_27(self):
        pass  # a million events: ALSO names the goldens

    def test_28(self):
        def convert(file):
            self.written(HOST, file)
            r = run("convert", "-q", "-o", self.path("o"), "--run", "r", "./" + file, cwd=self.tmp)
            found = glob.glob(glob.escape(self.path("o", "plugins", "profile", "r")) + "/*.xplane.pb")
            shutil.rmtree(self.path("o"), ignore_errors=True)
            return r.returncode, [os.path.basename(f)[:-len(".xplane.pb")] for f in found]
        for host in ("a.b.c", "a,b", "\u30db\u30b9\u30c8", "con", "-x", "--help", "h" * 200):
            with self.subTest(host=host):
                self.assertEqual(convert(host + ".xplane.pb"), (0, [host]))
        self.assertEqual(convert("xplane.pb"), (0, ["xplane"]))  # no name: that of the file
        self.assertEqual(convert("ALL_HOSTS.xplane.pb"), (2, []))  # stands for all of them
        for name in ("H.xplane.pb", "h.xplane.pb"):
            self.written(HOST, name)
        self.written(gzip.compress(b'{"traceEvents":[]}'), "h.trace.json.gz")
        self.expect(0, "convert", "-o", self.path("o"), "--run", "r", self.path("H.xplane.pb"), self.path("h.xplane.pb"))
        made = os.listdir(self.path("o", "plugins", "profile", "r"))
        self.assertTrue({"H.xplane.pb", "h.xplane.pb"} <= set(made))
        self.refused(2, "two files of host 'h'", "convert", "-o", self.path("p"), "--run", "r", self.path("h.xplane.pb"),
                     self.path("h.trace.json.gz"))

    def test_29(self):
        self.written(HOST, "h.xplane.pb")
        args = ["convert", "-q", "-o", self.path("o"), "--run", "r", self.path("h.xplane.pb")]
        self.expect(0, *args)
        folder = self.path("o", "plugins", "profile", "r")
        marker = glob.glob(self.path("o", "events.out.tfevents.*"))
        os.remove(marker[0])
        os.symlink("..", os.path.join(folder, "loop"))
        self.expect(0, *args)
        self.assertEqual(len(glob.glob(self.path("o", "events.out.tfevents.*"))), 1)
        self.no_temporaries(self.path("o"))
        self.expect(0, "info", self.path("o"))

    def cntk(self, *rows, end="\n", last=True, **counters):
        """(name, line, start, duration) in ms of a detail log."""
        text = end.join(["EventDescription,ThreadId,BeginTimeStamp(ms),EndTimeStamp(ms)", *rows]) + (end if last else "")
        p = self.reads(text.encode(), counters=counters, name="2020-01-02_03-04-05_detail_0.csv")
        return [(r["name"], r["line"], float(r["start_us"]) / 1000, float(r["duration_us"]) / 1000) for r in p.rows]

    def test_30(self):
        # CNTK puts names into quotes as they are
        self.assertEqual(self.cntk('"say "a, b"",1,1.0,2.0', '"plain",1,3.0,4.0'),
                         [('say "a, b"', "thread 1", 0, 1), ("plain", "thread 1", 2, 1)])
        one = [("a", "thread 1", 0, 1)]
        self.assertEqual(self.cntk('"a",1,1.0,2.0', end="\r\n"), one)
        self.assertEqual(self.cntk(), [])
        self.assertEqual(self.cntk('"a",1,5.0,4.0', '"b",1,6.0,7.0', negative_time=1),
                         [("a", "thread 1", 0, 0), ("b", "thread 1", 1, 1)])
        self.assertEqual(self.cntk('"a",1,1.5e1,2.5E+1'), [("a", "thread 1", 0, 10)])
        self.assertEqual(self.cntk('"a",0x7f01,1.0,2.0'), [("a", f"thread {0x7f01}", 0, 1)])
        self.assertEqual(self.cntk('"a",1,1.0,2.0', last=False), one)
        self.assertEqual(self.cntk('"comma",1,1,5,2,5', '"a",1,1.0,2.0', short_row=1), one)
        os.mkdir(self.path("profiler"))
        rows = [{"name": "A-op1", "ph": "X", "pid": 0, "ts": 1, "dur": 5, "args": {}},
                {"name": "B-op2", "ph": "X", "pid": 0, "tid": "2", "ts": 7, "dur": 3, "args": {}}]
        big = [{"name": f"C-op{i}", "ph": "X", "pid": 0, "tid": "2", "ts": 20 + 2 * i, "dur": 1, "args": {"x": "y" * 100000}}
               for i in range(210)]
        for events in (rows, rows + big):  # the second has more than 20 MB, which MindInsight does not show
            self.written(json.dumps(events).encode(), os.path.join("profiler", "gpu_timeline_display_0.json"))
            p = Profile(self.path("profiler"))
            self.assertEqual((p.ledger["emitted"], p.ledger["read"]), (len(events), len(events)))
        self.assertGreater(os.path.getsize(self.path("profiler", "gpu_timeline_display_0.json")), 20 << 20)

    def test_the_list_is_whole(self):
        self.assertEqual(list(LIST), list(range(1, 31)))
        for i in LIST:
            self.assertTrue(hasattr(self, f"test_{i:02}"), LIST[i])
        for tests in ALSO.values():
            for path, text in tests:
                with open(os.path.join(ROOT, path), encoding="utf-8") as f:
                    self.assertIn(text, f.read(), path)


for _i, _what in LIST.items():
    getattr(Adversarial, f"test_{_i:02}").__doc__ = _what


if __name__ == "__main__":
    unittest.main()
