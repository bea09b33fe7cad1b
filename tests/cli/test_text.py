# SPDX-License-Identifier: Apache-2.0
"""Text and archives that are no profile are refused with a word on what they were taken for, however they begin: some
bytes of text are keys of protobuf fields, too (a newline that of a plane, a quote that of a host's name)."""
import bz2
import gzip
import io
import lzma
import tarfile
import unittest
import zipfile

from support import SAMPLE, Case, run

TEXT = "not a profile in a known format: it looks like text\n"
JSON = "read as JSON without trace events (no list 'traceEvents', no list of events)\n"

KINDS = {
    "semicolons.csv": 'Name;Start;Duration\nmatmul;12;30\n' * 20,
    "semicolons-quoted.csv": '"Name";"Start (ns)";"Duration (ns)"\n"matmul";"12";"30"\n' * 20,
    "commas.csv": "name,start,dur\nmatmul,12,30\n" * 20,
    "quoted.csv": '"Name","Start","Dur"\n"matmul","12","30"\n' * 20,
    "quoted-crlf.csv": '"Name","Start","Dur"\r\n"matmul","12","30"\r\n' * 20,
    "empty-first-line.csv": '\n"Name";"Start"\n"matmul";"12"\n' * 20,
    "cell-of-two-lines.csv": '"\nName";2;3\n"\nagain";4;5\n' * 20,
    "tabs.tsv": "name\tstart\tdur\nmatmul\t12\t30\n" * 20,
    "prose.txt": "This is a letter about nothing in particular. It goes on and on.\n" * 20,
    "prose-after-a-newline.txt": "\nAn empty line stands first here, then some prose follows it for long.\n" * 20,
    "prose-after-two.txt": "\n\nTwo empty lines stand first.\n" * 20,
    "speech.txt": '"To be or not to be", said he, "that is the question", and went on.\n' * 20,
    "one-host-name.txt": '"!A quote of thirty-three letters.\n',  # whole, as protobuf sees it
    "a-packet.txt": "\n @A" + 'P"' + "(a(b(c(d(e(f(g(h(i(j(k(l(m(n",  # a timestamp, as Perfetto sees it
    "word.txt": "hello\n",
    "newline.txt": "\n",
    "newlines.txt": "\n" * 50,
    "blanks.txt": " " * 50,
    "crlf.txt": "\r\nline one\r\nline two\r\n" * 20,
    "latin-1.txt": "\nGr\u00fc\u00dfe aus M\u00fcnchen, sch\u00f6ne Stra\u00dfe.\n".encode("latin-1") * 20,
    "utf-8.txt": "\n\u041f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440, \u044d\u0442\u043e \u0442\u0435\u043a\u0441\u0442\n" * 20,
    "manual.txt": "\nN\bNA\bAM\bME\bE\n       a page as man writes it\n" * 20,
    "colours.txt": "\n\x1b[31mred\x1b[0m text, and more of this\n" * 20,
    "pages.txt": "\n\fChapter one\nText\n" * 20,
    "log.txt": "2026-01-01 12:00:00 INFO step 1 loss 2.3\n" * 20,
    "page.xml": '\n<?xml version="1.0"?>\n<profile><event name="x" start="1"/></profile>\n' * 5,
    "page.html": "<!DOCTYPE html>\n<html><body>No</body></html>\n",
    "list.yaml": "---\nname: x\nsteps: [1, 2]\n",
    "code.py": '"""Doc string."""\nimport os\n\n\ndef f():\n    return 1\n' * 10,
    "code.sh": "#!/bin/sh\necho hi\n",
    "space.pbtxt": 'planes {\n  id: 1\n  name: "/host:CPU"\n}\n',
    "notes.md": "# Title\n\nText\n\n* a\n* b\n",
    "change.diff": "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n",
    "string.json": '"just a string that is rather long, longer than seventy bytes of text for sure it is"\n',
    "object.json": '{"a": 1, "b": [1, 2]}\n',
    "lines.jsonl": '{"loss": 1.5}\n{"loss": 1.4}\n',
    "sections.ini": "[profile]\nname=x\nsteps=4\n",
}
READ_AS_JSON = ("object.json", "lines.jsonl", "sections.ini")


class Text(Case):
    def test_it_is_refused_as_what_it_looks_like(self):
        for name, text in KINDS.items():
            with self.subTest(name=name):
                with open(self.path(name), "wb") as f:
                    f.write(text if isinstance(text, bytes) else text.encode())
                for words in (("info",), ("convert", "-o", self.path("log"))):
                    r = run(*words, self.path(name))
                    self.assertEqual(r.returncode, 1, r.stdout)
                    self.assertIn(f"{name}: " + (JSON if name in READ_AS_JSON else TEXT), r.stderr)

    def test_wide_text_is_refused_with_its_encoding(self):
        for encoding in ("UTF-16", "UTF-32"):
            for form in (encoding, encoding + "LE"):  # with and without a mark
                with open(self.path("wide.csv"), "wb") as f:
                    f.write("name,start\n".encode(form))
                r = run("info", self.path("wide.csv"))
                self.assertEqual(r.returncode, 1, form)
                self.assertIn(f"text in {encoding}, which is not read: make UTF-8 of it with 'iconv -f {encoding} ", r.stderr)

    def test_archives_are_refused_as_what_they_are(self):
        def zipped(*files):
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w") as z:
                for name, data in files:
                    z.writestr(name, data)
            return packed.getvalue()
        trace = b'{"traceEvents":[{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":1}]}'
        tar, inner, often = io.BytesIO(), zipped(("t.json", trace)), trace
        with tarfile.open(fileobj=tar, mode="w") as t:
            t.add(SAMPLE, "worker0.xplane.pb")
        for _ in range(5):
            often = gzip.compress(often)
        event = b"\x18" + b"\0" * 7 + b"\xa3\x7f\x4b\x22\x09\0\0\xc0\x6b\x3c\x4d\xda\x41\x1a\x0dbrain.Event:2"
        for name, data, what in (
                ("in.zip", zipped(("a.zip", inner)), "a zip in another archive"), ("z.gz", gzip.compress(inner), "a zip in another"),
                ("often.json.gz", often, "packed more often than is undone"), ("empty.zip", zipped(), "a zip without files"),
                ("t.tar", tar.getvalue(), "a tar archive"), ("t.xz", lzma.compress(trace), "compressed with xz"),
                ("t.bz2", bz2.compress(trace), "compressed with bzip2"), ("events.out", event, "an event file of TensorBoard"),
                ("lfs.json", b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n", "a pointer of Git LFS")):
            with self.subTest(name=name):
                with open(self.path(name), "wb") as f:
                    f.write(data)
                self.assertIn(f"{name}: {what}", self.expect(1, "info", self.path(name)).stderr)

    def test_xplanes_are_read_that_hold_text_or_are_damaged(self):
        with open(SAMPLE, "rb") as f:
            whole = f.read()
        # A host's name alone holds no blank; what is behind the first byte of a cut file is no text.
        for name, data in (("name", b'"!a-host-of-exactly-thirty-3-letters'[:35]), ("cut", whole[:40]),
                           ("damaged", whole[:200] + b" " * 400)):
            with open(self.path(f"{name}.xplane.pb"), "wb") as f:
                f.write(data)
            self.expect(0, "info", self.path(f"{name}.xplane.pb"))


if __name__ == "__main__":
    unittest.main()
