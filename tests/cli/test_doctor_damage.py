#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""doctor: files of a run that are there and not whole: packed xplanes, caches of the plugin, pages."""
import base64
import bz2
import gzip
import io
import lzma
import os
import shutil
import tarfile
import unittest
import zipfile

import sqlite_fixtures
from support import SAMPLE
import test_doctor
from test_doctor import RUN, SSTABLE_END


class Whole(test_doctor.DoctorCase):
    def test_what_is_something_else(self):
        xplane = self.copied()
        with open(SAMPLE, "rb") as f:
            whole = f.read()
        tar = io.BytesIO()
        with tarfile.open(fileobj=tar, mode="w") as t:
            t.add(SAMPLE, "worker0.xplane.pb")
        event = b"\x18" + b"\0" * 7 + b"\xa3\x7f\x4b\x22\x09\0\0\xc0\x6b\x3c\x4d\xda\x41\x1a\x0dbrain.Event:2"
        for bytes_, words in (
                (b"planes {\n  id: 1\n  name: \"/host:CPU\"\n}\n", "is text"), (base64.encodebytes(whole), "is text"),
                (b'{"traceEvents":[]}', "is JSON"), (b"<?xml version='1.0'?><Error/>", "is XML"),
                (lzma.compress(whole), "with xz"), (bz2.compress(whole), "with bzip2"),
                (b"\x28\xb5\x2f\xfd" + whole, "with zstd"), (tar.getvalue(), "tar archive"), (event, "event file"),
                (bytes(len(whole)), "begins with zeros"), (whole.replace(b"\n", b"\r\n"), "changed its line ends"),
                (whole.decode("utf-8", "replace").encode(), "was written as text")):
            with open(xplane, "wb") as f:
                f.write(bytes_)
            self.assertIn(words, self.finds("problem", "damaged")["what"])

    def test_zip_archives(self):
        """As written, with nothing in it, and a part of several."""
        xplane = self.copied()
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as z:
            z.write(SAMPLE, "worker0.xplane.pb")
        for bytes_ in (packed.getvalue(), b"PK\x05\x06" + bytes(18), b"PK\x07\x08" + packed.getvalue()):
            with open(xplane, "wb") as f:
                f.write(bytes_)
            f = self.finds("problem", "damaged")
            self.assertEqual((f["what"], f["to_do"]), ("is a zip archive", "unpack it"))

    def test_hidden_files_that_are_no_profile(self):
        """xprof 2.24.2 lists no page of a run with one, also after it is gone until its list is, and no host."""
        folder = os.path.dirname(self.copied())
        apple = b"\0\x05\x16\x07\0\x02\0\0Mac OS X        \0\x01\0\0\0\x02" + bytes(100)
        for name, bytes_, words in (("._worker0.xplane.pb", apple, "AppleDouble"), ("._a.xplane.pb", apple, "macOS"),
                                    (".b.xplane.pb", b"some notes", "is text"), (".c.xplane.pb", bytes(99), "zeros"),
                                    (".d.xplane.pb", b"\xff" * 9, "cannot be read: no plane")):
            hidden = os.path.join(folder, name)
            with open(hidden, "wb") as f:
                f.write(bytes_)
            f = self.finds("problem", "damaged")
            self.assertEqual(f["where"], hidden)
            self.assertIn(words, f["what"])
            self.assertTrue(f["to_do"].startswith("remove it, and .cached_tools.json beside it"), f)
            os.remove(hidden)

    def test_the_file_is_named_once(self):
        xplane = self.copied()
        with open(xplane, "wb") as f:
            f.write(b"\xff" * 100)
        f = self.finds("problem", "damaged")
        self.assertEqual(f["what"], "cannot be read: no plane could be read from this xplane file at byte 0")
        self.assertEqual(f["to_do"], "copy or record it again")

    def test_a_database_called_like_an_xplane(self):
        xplane = self.copied()
        os.remove(xplane)
        sqlite_fixtures.nsys(xplane)
        f = self.finds("problem", "damaged")
        self.assertIn("is an SQLite database", f["what"])
        self.assertIn("'tbprof convert' it", f["to_do"])

    def test_caches_that_are_not_whole(self):
        """As xprof 2.24.2 takes them: statistics of 0 bytes are an empty page, cut ones and cut tables an error, texts
        that are none an error of every page; suggestions of 0 bytes are none, and cut ones are made again."""
        folder, other = os.path.dirname(self.copied()), self.python("other", tensorboard="2.20.0", xprof="2.21.6")
        with open(os.path.join(folder, "cache_version.txt"), "w") as f:
            f.write("2.24.2")
        self.clean()
        for name, bytes_, words in (("ALL_HOSTS.op_stats_v2.pb", b"", "has 0 bytes"),
                                    ("ALL_HOSTS.op_stats_v2.pb", b"\x0a\x00\x0a\x03ab", "protobuf from byte 2 on"),
                                    ("worker0.SSTABLE", b"", "has 0 bytes"),
                                    ("worker0.trie.SSTABLE", SSTABLE_END[:-1], "cut short"),
                                    (".cached_tools.json", b"\xff", "no text"),
                                    ("ALL_HOSTS.smart_suggestion.pb", b"", None),
                                    ("ALL_HOSTS.smart_suggestion.pb", b"\x0a", None),
                                    (".cached_tools.json", b"{", None), ("cache_version.txt", b"3\xff", "no text")):
            cache = os.path.join(folder, name)
            with open(cache, "wb") as f:
                f.write(bytes_)
            if words:
                f = self.finds("problem", "damaged-beside")
                self.assertEqual(f["where"], cache)
                self.assertIn(words, f["what"])
                self.assertIn("remove it", f["to_do"])
            else:
                self.clean()
            os.remove(cache)
        open(os.path.join(folder, "ALL_HOSTS.op_stats_v2.pb"), "w").close()
        with open(os.path.join(folder, "cache_version.txt"), "w") as f:
            f.write("2.21.6")
        self.finds("note", "caches") # it is made again
        self.clean(python=other) # which does not read it

    def test_pages_that_are_not_whole(self):
        self.healthy("--for", "legacy")
        folder = os.path.join(self.log, RUN)
        os.remove(os.path.join(folder, "worker0.tbprof.json"))
        old = self.python("old", tensorboard="2.19.0", tensorboard_plugin_profile="2.19.0")
        self.clean(python=old)
        for name, change, words in (
                ("overview_page.json", lambda b: b[:-1], "is no whole JSON from byte"),
                ("overview_page.json", lambda b: b" ", "holds no JSON"),
                ("overview_page.json", gzip.compress, "is packed, which its name does not say"),
                ("trace.json.gz", lambda b: b[:len(b) // 2], "within gzip"),
                ("trace.json.gz", gzip.decompress, "is not packed with gzip"),
                ("trace.json.gz", lambda b: gzip.compress(b""), "holds no JSON"),
                ("trace.json.gz", lambda b: gzip.compress(b'[{"ph":"X"}'), None),
                ("memory_profile.json.gz", lambda b: gzip.compress(b'{"a":NaN}'), "is no whole JSON from byte 5 on"),
                ("memory_profile.json.gz", lambda b: gzip.compress(b'[{}'), "is no whole JSON"),
                ("tensorflow_stats.pb", lambda b: b[:-1], "is no whole message of protobuf")):
            page = os.path.join(folder, "worker0." + name)
            with open(page, "rb") as f:
                whole = f.read()
            with open(page, "wb") as f:
                f.write(change(whole))
            with self.subTest(name=name, words=words):
                if words:
                    f = self.finds("problem", "damaged-beside", python=old)
                    self.assertEqual(f["where"], page)
                    self.assertIn(words, f["what"])
                else:
                    self.clean(python=old)
                self.finds("problem", "pages-only") # the newest shows none of them
            with open(page, "wb") as f:
                f.write(whole)
        shutil.copy(SAMPLE, folder)
        with open(os.path.join(folder, "worker0.overview_page.json"), "w") as f:
            f.write("{")
        self.finds("note", "hidden-files", python=old) # by the xplane


if __name__ == "__main__":
    unittest.main()
