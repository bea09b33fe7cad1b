# SPDX-License-Identifier: Apache-2.0
"""Inputs made to take all memory or time: each ends soon, small, with a word on why."""
import gzip
import hashlib
import json
import os
import shutil
import struct
import subprocess
import unittest
import zipfile
import zlib

from facts import events, ledger
from support import SAMPLE, SANITIZED, TBPROF, Case, run

MIB = 1 << 20
LIMIT_BYTES = (512 if SANITIZED else 256) * MIB  # freed memory stays in a sanitizer's quarantine
LIMIT_S = 60


class Hostile(Case):
    def ends(self, path, **environment):
        """(exit code, messages) of convert, which must stay below the limits."""
        with open(self.path("messages"), "w") as messages:
            child = subprocess.Popen([TBPROF, "convert", "-o", self.path("log"), path], stdout=subprocess.DEVNULL,
                                     stderr=messages, env=dict(os.environ, **environment))
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        self.assertLess(used.ru_maxrss * 1024, LIMIT_BYTES)
        self.assertLess(used.ru_utime + used.ru_stime, LIMIT_S)
        with open(self.path("messages"), errors="replace") as f:
            return child.returncode, f.read()

    def written(self, name, *parts):
        with open(self.path(name), "wb") as f:
            for part in parts:
                f.write(part)
        return self.path(name)

    def test_counters_beyond_all_numbers_leave_a_page_that_can_be_read(self):
        def sample(ts, args):
            return f'{{"ph":"C","name":"c","pid":1,"ts":{ts},"args":{args}}}'
        path = self.written("c.json", ("[" + ",".join([
            sample(1, '{"v":1.5}'), sample(2, '{"v":1e999}'), sample(3, '{"v":-1e999}'), sample(4, '{"v":"nan"}'),
            sample(5, '{"v":2.5,"w":1e999}')]) + "]").encode())
        self.expect(0, "convert", "-q", "-o", self.path("log"), path)

        def refuse(word):
            self.fail(f"'{word}' is no JSON")
        for page in ("trace_viewer", "trace_viewer@"):
            trace = json.loads(self.expect(0, "tool", page, path).stdout, parse_constant=refuse)
        samples = [e["entries"] for e in trace["traceEvents"] if e.get("ph") == "C"]
        self.assertEqual([entry[1:] for entry in samples[0]], [[1.5], [2.5, None]])

    def test_gzip_bomb_is_refused(self):
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        blanks = b" " * (16 * MIB)
        path = self.written("bomb.json.gz", *(packer.compress(blanks) for _ in range(64)), packer.flush())
        code, text = self.ends(path)
        self.assertNotEqual(code, 0)
        self.assertIn("packed more than 200 times", text)

    def info(self, code, path):
        return json.loads(self.expect(code, "info", "--json", path).stdout)["runs"][0]["hosts"][0]

    def test_gzip_members_and_what_follows_them(self):
        with open(SAMPLE, "rb") as f:
            plain = f.read()
        whole = self.info(0, SAMPLE)
        members = [gzip.compress(plain[at:at + 10000]) for at in range(0, len(plain), 10000)]
        self.assertGreater(len(members), 2)
        packed = b"".join(members)
        for tail in (b"", b"\0" * 700):  # tapes fill up with zeros
            host = self.info(0, self.written("w.xplane.pb.gz", packed, tail))
            self.assertEqual((host["events"], host["bytes"]), (whole["events"], len(plain)))
            self.assertEqual(host["ledger"], whole["ledger"])
        path = self.written("w.xplane.pb.gz", packed, b"\0\0some more")
        host = self.info(0, path)
        self.assertEqual(host["events"], whole["events"])
        told = host["ledger"]["counters"]["gzip_tail"]
        self.assertEqual((told["count"], told["first_offset"]), (11, len(packed)))
        r = self.expect(1, "convert", "--strict", path, "-o", self.path("o"))
        self.assertIn("bytes behind the end of compressed input (11, first at byte ", r.stderr)
        host = self.info(0, self.written("w.xplane.pb.gz", packed, packed[:7]))  # a member that is cut
        self.assertEqual(host["ledger"]["counters"]["gzip_damaged"]["first_offset"], len(packed) + 7)

    def test_gzip_cut_before_its_first_byte(self):
        packed = gzip.compress(b"\x0a\x02\x12\x00")
        for n in (2, 5, 9):
            path = self.written("h.xplane.pb.gz", packed[:n])
            r = self.expect(1, "info", path)
            self.assertIn(f"{path}: compressed input is cut or damaged before its first byte at byte {n}", r.stderr)

    @unittest.skipIf(SANITIZED, "a sanitizer needs addresses without end")
    def test_gzip_that_does_not_fit_the_memory(self):
        path = self.written("w.json.gz", gzip.compress(b"[" + b" " * (60 * MIB), 1))
        r = subprocess.run(["sh", "-c", 'ulimit -v 60000; exec "$0" info "$1"', TBPROF, path], capture_output=True, text=True)
        self.assertEqual(r.returncode, 1, r.stderr)
        self.assertRegex(r.stderr, r"no memory for the bytes of '.*w\.json\.gz' \(\d+ so far\)")

    def packed(self, name, size_bytes):
        """A trace of that size in gzip, which a plugin's or framework's own repetitions shrink to an 80th."""
        packer = zlib.compressobj(1, zlib.DEFLATED, 31)
        noise = [hashlib.sha256(bytes([i])).hexdigest() for i in range(100)]
        n, parts, size = 0, [packer.compress(b"[")], 1
        while size < size_bytes:
            text = "".join(f'{{"ph":"X","name":"op{i}","pid":1,"tid":1,"ts":{n + i},"dur":1,"args":{{"s":"{noise[i] * 150}"}}}},'
                           for i in range(100)).encode()
            n, size = n + 100, size + len(text)
            parts.append(packer.compress(text))
        return n, self.written(name, *parts, packer.compress(b"{}]"), packer.flush())

    def test_packed_bytes_are_held_on_disk(self):
        n, path = self.packed("big.json.gz", LIMIT_BYTES + 64 * MIB)
        os.mkdir(self.path("room"))
        code, text = self.ends(path, TMPDIR=self.path("room"))
        self.assertEqual(code, 0, text)
        self.assertIn(f"events read {n} = emitted {n}", text)
        self.assertEqual(os.listdir(self.path("room")), [])
        code, text = self.ends(path, TMPDIR=self.path("nowhere"))
        self.assertEqual(code, 2)
        self.assertIn(f"cannot hold the bytes of '{path}' in a file in '{self.path('nowhere')}'", text)
        self.assertIn("TMPDIR names another folder", text)

    def test_bytes_of_a_pipe_are_held_on_disk(self):
        n, path = self.packed("big.json.gz", LIMIT_BYTES + 64 * MIB)
        with open(path, "rb") as f:
            plain = zlib.decompressobj(31)
            child = subprocess.Popen([TBPROF, "info", "--json", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            while piece := f.read(1 << 16):
                child.stdin.write(plain.decompress(piece))
        child.stdin.close()
        answer = json.loads(child.stdout.read())
        child.stdout.close()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(child.returncode, 0)
        self.assertEqual(answer["runs"][0]["hosts"][0]["events"], n)
        self.assertLess(used.ru_maxrss * 1024, LIMIT_BYTES)

    def zipped(self, names):
        """A zip with a folder and, in each of these files, an event of the file's name."""
        with zipfile.ZipFile(self.path("t.zip"), "w", zipfile.ZIP_DEFLATED) as z:
            z.writestr("logs/", "")
            for name in names:
                z.writestr(name, json.dumps([{"ph": "X", "name": name, "pid": 1, "tid": 1, "ts": 1, "dur": 2}]))
        return self.path("t.zip")

    def test_zip_of_one_file_is_read(self):
        self.assertEqual([(e[2], e[4]) for e in events(self.zipped(["0.json"]))], [("0.json", 2000)])

    def test_a_file_of_a_zip_is_named(self):
        names = ["a.json", "logs/rank3.json"] + [f"more{i}.json" for i in range(12)]
        path = self.zipped(names)
        for name in names:
            self.assertEqual([e[2] for e in events(f"{path}:{name}")], [name])
        host, = json.loads(run("info", f"{path}:logs/rank3.json", "--json").stdout)["runs"][0]["hosts"]
        self.assertEqual((host["host"], host["rank"]), ("rank3", 3))
        code, text = self.ends(path)
        self.assertEqual(code, 2, text)
        self.assertIn("zip of 14 files: name one as", text)
        self.assertIn("'a.json', 'logs/rank3.json', 'more0.json'", text)
        self.assertIn("'more7.json' and 4 more", text)
        code, text = self.ends(f"{path}:nothing")
        self.assertEqual(code, 2, text)
        self.assertIn("no file 'nothing' in the zip; it holds 'a.json'", text)

    def test_the_path_of_a_file_comes_before_that_of_a_zip(self):
        path = self.zipped(["a.json"])
        shutil.copy(path, f"{path}:a.json")
        self.assertEqual([e[2] for e in events(f"{path}:a.json")], ["a.json"])
        with open(self.path("no.zip"), "w") as f:
            f.write("[]")
        self.assertIn("names a file in what is no zip", self.ends(self.path("no.zip:a"))[1])

    def test_a_zip_with_a_damaged_directory(self):
        with open(self.zipped(["a.json", "b.json"]), "rb") as f:
            whole = f.read()
        for at in range(len(whole) - 22, len(whole)):  # the record at the end, then each cut
            code, _ = self.ends(self.written("d.zip", whole[:at] + bytes([whole[at] ^ 0xff]) + whole[at + 1:]))
            self.assertIn(code, (0, 1, 2), at)
        for end in range(0, len(whole), 7):
            self.assertIn(self.ends(self.written("c.zip", whole[:end]))[0], (0, 1, 2), end)

    def trace(self, name):
        return json.dumps([{"ph": "X", "name": name, "pid": 1, "tid": 1, "ts": 1, "dur": 2}]).encode()

    def test_a_zip_of_stored_files_and_of_gzip(self):
        path = self.path("t.zip")
        with zipfile.ZipFile(path, "w") as z:  # as Python and build servers do unless asked to deflate
            z.writestr("plain.json", self.trace("plain"))
            z.writestr("stored.json.gz", gzip.compress(self.trace("stored")))
            z.writestr("deflated.json.gz", gzip.compress(self.trace("deflated")), zipfile.ZIP_DEFLATED)
        for name in ("plain.json", "stored.json.gz", "deflated.json.gz"):
            self.assertEqual([e[2] for e in events(f"{path}:{name}")], [name.split(".")[0]])
        twice = self.written("twice.json.gz", gzip.compress(gzip.compress(self.trace("twice"))))
        self.assertEqual([e[2] for e in events(twice)], ["twice"])
        with open(path, "rb") as f:
            whole = f.read()
        host = json.loads(run("info", self.written("cut.zip", whole[:80]), "--json").stdout)["runs"][0]["hosts"][0]
        self.assertIn("gzip_damaged", host["ledger"]["counters"])  # the first file ends with the archive

    def test_a_zip_of_zip64(self):
        path = self.path("t.zip")
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
            with z.open("a.json", "w", force_zip64=True) as f:
                f.write(self.trace("a"))
        self.assertEqual([e[2] for e in events(path)], ["a"])
        with open(path, "rb") as f:
            whole = f.read()
        entry, record = whole.index(b"PK\1\2"), whole.index(b"PK\5\6")
        packed, plain, offset = struct.unpack("<II", whole[entry + 20:entry + 28]) + (0,)
        name = whole[entry + 46:entry + 52]
        far = b"\xff" * 4
        extra = struct.pack("<HH", 0x5455, 1) + b"x" + struct.pack("<HHQQQ", 1, 24, plain, packed, offset)
        long_entry = (whole[entry:entry + 20] + far + far + whole[entry + 28:entry + 30] + struct.pack("<H", len(extra)) +
                      whole[entry + 32:entry + 42] + far + name + extra)
        record64 = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, len(long_entry), entry)
        locator = struct.pack("<4sIQI", b"PK\6\7", 0, entry + len(long_entry), 1)
        end = whole[record:record + 8] + b"\xff" * 12 + b"\0\0"
        far_zip = whole[:entry] + long_entry + record64 + locator + end
        path = self.written("far.zip", far_zip)
        self.assertEqual(zipfile.ZipFile(path).namelist(), ["a.json"])
        self.assertEqual([e[2] for e in events(f"{path}:a.json")], ["a"])
        for at in range(entry, len(far_zip)):  # wherever the numbers lead
            code, _ = self.ends(self.written("d.zip", far_zip[:at] + bytes([far_zip[at] ^ 0xff]) + far_zip[at + 1:]))
            self.assertIn(code, (0, 1, 2), at)

    def test_a_zip_that_cannot_be_read_says_why(self):
        path = self.path("t.zip")
        for method, words in ((zipfile.ZIP_BZIP2, "packed by method 12"), (zipfile.ZIP_LZMA, "packed by method 14")):
            with zipfile.ZipFile(path, "w", method) as z:
                z.writestr("a.json", self.trace("a"))
            code, text = self.ends(path)
            self.assertEqual(code, 2, text)
            self.assertIn(words, text)
        with open(self.zipped(["a.json"]), "rb") as f:
            whole = bytearray(f.read())
        whole[whole.index(b"PK\1\2", whole.index(b"PK\1\2") + 1) + 8] |= 1
        code, text = self.ends(self.written("e.zip", bytes(whole)))
        self.assertEqual(code, 2, text)
        self.assertIn("is encrypted", text)

    def test_gzip_bomb_in_gzip_is_refused(self):
        """Of spaces deflate makes a thousandth, of that once more a hundredth: bounds count from the file."""
        with gzip.open(self.path("inner.gz"), "wb") as f:
            for _ in range(256):
                f.write(b" " * MIB)
        with open(self.path("inner.gz"), "rb") as f:
            code, text = self.ends(self.written("w.json.gz", gzip.compress(f.read())))
        self.assertNotEqual(code, 0)
        self.assertIn("packed more than 200 times", text)

    def test_zip_bomb_is_refused(self):
        with zipfile.ZipFile(self.path("t.zip"), "w", zipfile.ZIP_DEFLATED) as z:
            with z.open("t.json", "w") as f:
                for _ in range(64):
                    f.write(b" " * (16 * MIB))
        code, text = self.ends(self.path("t.zip"))
        self.assertNotEqual(code, 0)
        self.assertIn("packed more than 200 times", text)

    def test_a_million_brackets(self):
        code, text = self.ends(self.written("a.json", b"[" * 1000000))
        self.assertNotEqual(code, 0)
        self.assertIn("JSON without trace events", text)
        code, text = self.ends(self.written("b.json", b'{"traceEvents":[{"ph":"X","args":' + b"[" * 1000000))
        self.assertIn("json_depth 1", text)

    def test_ten_million_digits(self):
        digits = b"1" * 10000000
        path = self.written("t.json", b'[{"ph":"X","name":"far","pid":1,"tid":1,"ts":', digits,
                            b',"dur":1},{"ph":"X","name":"near","pid":1,"tid":1,"ts":5,"dur":0.', digits, b"}]")
        code, text = self.ends(path)
        self.assertEqual(code, 0, text)
        self.assertIn("events read 2 = emitted 1", text)
        self.assertEqual([(e[2], e[4]) for e in events(path)], [("near", 111)])

    def test_threads_beyond_the_cap_are_counted(self):
        with open(self.path("t.json"), "w") as f:
            f.write("[" + ",\n".join(f'{{"ph":"X","name":"a","pid":1,"tid":{i},"ts":{i},"dur":1}}' for i in range(40000)) + "]")
        code, text = self.ends(self.path("t.json"))
        self.assertIn(f"track_cap {40000 - 32768}", text)
        self.assertEqual(ledger(self.path("t.json"))["ledger"]["events"]["emitted"], 32768)

    def test_a_stream_for_each_kernel(self):
        with open(self.path("t.json"), "w") as f:
            f.write('{"schemaVersion":1,"traceEvents":[' + ",\n".join(
                f'{{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":{i},"ts":{i},"dur":1}}' for i in range(33000)) + "]}")
        code, text = self.ends(self.path("t.json"))
        self.assertEqual(code, 0, text)
        self.assertIn(f"track_cap {33000 - 32768}", text)

    def test_rows_of_more_cells_than_any_table_has(self):
        def counters(path):
            found = ledger(path)["ledger"].get("counters", {})
            return {key: (c["count"], c["first_offset"]) for key, c in found.items()}
        columns = b"Kind,Agent_Id,Kernel_Name,Start_Timestamp,End_Timestamp"
        row, commas = b"KERNEL_DISPATCH,1,axpy,1000,1500", b"," * 20000000
        path = self.written("c_kernel_trace.csv", columns, b"\n", commas, b"\n", row, b"\n")
        code, text = self.ends(path)
        self.assertEqual(code, 0, text)
        found = ledger(path)["ledger"]
        self.assertEqual((found["events"]["read"], found["events"]["emitted"], found["events"]["dropped"]), (2, 1, 1))
        self.assertEqual(counters(path), {"short_row": (1, len(columns) + 1)})
        most = row + b"," * (4095 - row.count(b","))  # 4096 cells
        for n_more, lost in ((0, {}), (1, {"short_row": (1, len(columns) + 1)})):
            path = self.written("m_kernel_trace.csv", columns, b"\n", most, b"," * n_more, b"\n")
            self.assertEqual(counters(path), lost)
        path = self.written("h_kernel_trace.csv", columns, commas, b"\n", row, b"\n")
        self.ends(path)
        self.assertEqual(counters(path), {"no_table": (1, 0)})

    def test_planes_and_lines_beyond_the_cap_are_counted(self):
        def message(number, *parts):
            size, more = sum(map(len, parts)), b""
            while size > 127:
                more, size = more + bytes([size & 127 | 128]), size >> 7
            return b"".join((bytes([number << 3 | 2]), more, bytes([size]), *parts))
        event = message(4, b"\x08\x01\x10\x00\x18\x05")             # of an XLine: metadata 1, at 0 ps, of 5 ps
        metadata = message(4, b"\x08\x01", message(2, b"\x08\x01", message(2, b"e")))
        plane = message(1, message(2, b"p"), message(3, event), metadata)
        n_planes, n_lines = 5000000, 5000000
        code, text = self.ends(self.written("planes.xplane.pb", plane, message(1, message(2, b"q")) * n_planes, plane))
        self.assertIn(f"plane_cap {n_planes + 2 - 65536}", text)
        self.assertIn("events read 2 = emitted 1 + merged 0 + quarantined 0 + dropped 1", text)
        path = self.written("lines.xplane.pb", message(1, message(2, b"p"), message(3, event), metadata,
                                                       message(3, b"\x08\x07") * n_lines, message(3, event, event)))
        code, text = self.ends(path)
        self.assertIn(f"plane_cap {n_lines + 2 - 524288}", text)
        self.assertIn("events read 3 = emitted 1 + merged 0 + quarantined 0 + dropped 2", text)


if __name__ == "__main__":
    unittest.main()
