#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles changed in ways that must not change what is told of them.

  run.py changed     every change of changes.py: all pages and `tbprof stats` are the same, byte for byte
  run.py round-trip  what `tbprof convert` writes, read again: the same pages and statistics as of the original

  [--tbprof FILE] [--public] [--limit BYTES] [--only WORD]...   --public: recordings of ../shared instead of our own files

Compared are all pages that convert writes, `tool` for those it does not write, stats, steps and stacks. Exempt is
HOST.tbprof.json (sizes and offsets of the input), and see changes.py.
"""
import argparse
import collections
import concurrent.futures
import decimal
import gzip
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

import changes
import inputs

SKIPPED = 77
HOST = "host"


def call(args, *words):
    return subprocess.run([args.tbprof, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=300)


def is_packed(data):
    return data[:2] == b"\x1f\x8b"


def pages_of(run):
    """What convert wrote, gzip undone: name without the host -> bytes."""
    found = {}
    for name in sorted(os.listdir(run)):
        with open(os.path.join(run, name), "rb") as f:
            data = f.read()
        found[name[len(HOST) + 1:]] = gzip.decompress(data) if is_packed(data) else data
    found.pop("tbprof.json")
    return found


def told(args, path, folder):
    """Everything that is told of a profile: name -> bytes. An input that is refused tells why. Where in the bytes a
    file is damaged is no matter of what is in it."""
    made = call(args, "convert", path, "-o", folder, "--run", "r", "--host", HOST, "--quiet")
    if made.returncode:
        return {"refused": made.stderr.replace(path.encode(), b"")}
    found = pages_of(os.path.join(folder, "plugins", "profile", "r"))
    for name, words in STATISTICS.items():
        said = call(args, *words, path)
        found[name] = said.stdout + re.sub(rb", first at byte [0-9]+", b"", said.stderr.replace(path.encode(), b""))
    for host in re.findall(rb'"hosts":\[("[^"]*")\]', found["stats"]):
        for name in STATISTICS:
            found[name] = found[name].replace(host, b'"host"')
    return found


STATISTICS = {"check": ("check", "--json"), "stats": ("stats", "--json"), "steps": ("steps", "--json"), "stacks": ("stacks", "--json"),
              "shapes": ("stats", "--json", "--group-by", "shape"), "types": ("stats", "--json", "--group-by", "type"),
              "threads": ("stats", "--json", "--group-by", "thread"),
              "tf_data": ("tool", "tf_data_bottleneck_analysis")}


def keep(args, name, answers):
    for file, data in answers.items():
        path = os.path.join(args.keep, name.replace("/", "_"), file)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data)


def differences(ours, theirs, exempt=()):
    names = sorted(set(ours) | set(theirs))
    return [name for name in names if name not in exempt and ours.get(name) != theirs.get(name)]


def kind_of(path, data):
    if path.endswith(".xplane.pb"):
        return "xplane"
    if data[:16] == b"SQLite format 3\0":
        return "sqlite"
    if path.endswith(".pftrace"):
        return "perfetto"
    return "json" if data[:64].lstrip(b"\xef\xbb\xbf \r\n\t")[:1] in (b"{", b"[") else "table"


def changed_files(path, data, folder):
    """(name of the change, path of the changed profile)"""
    kind, name = kind_of(path, data), os.path.basename(path).removesuffix(".gz")
    listed = {"json": changes.JSON, "xplane": changes.XPLANE, "table": changes.CSV, "perfetto": changes.PERFETTO}.get(kind, {})
    for n, (change, apply) in enumerate(listed.items()):
        new = apply(data, random.Random(n + 1))
        if new is not None and new != data:
            yield change, write(os.path.join(folder, f"c{n}"), name, new)
    if data[:2] != b"PK": # zipped; not both
        yield "gzip", write(os.path.join(folder, "gz"), name, gzip.compress(data))
    for n, (change, apply) in enumerate(changes.SQLITE.items() if kind == "sqlite" else ()):
        os.makedirs(os.path.join(folder, f"s{n}"))
        target = os.path.join(folder, f"s{n}", name)
        if apply(path, target, random.Random(7)):
            yield change, target


def changed_folders(path, folder):
    """Each change in all files that know it; a table of ROCm's in two files, as two processes leave them."""
    def copy(target, parts_of):
        for base, _, files in os.walk(path):
            to = os.path.join(target, os.path.relpath(base, path))
            os.makedirs(to)
            for file in files:
                data = inputs.bytes_of(os.path.join(base, file))
                for n, part in enumerate(parts_of(file, data)):
                    with open(os.path.join(to, str(n or "") + file), "wb") as f:
                        f.write(part)

    def halves(file, data):
        found = changes.table(data) if file.endswith("_trace.csv") else None
        mid = len(found[1]) // 2 if found else 0
        return [b"\n".join([found[0], *rows, b""]) for rows in (found[1][:mid], found[1][mid:])] if found else [data]

    def changed(change):
        def parts_of(file, data):
            new = changes.changed_in_folder(change, file, data, os.listdir(path), random.Random(1))
            made.append(new not in (None, data))
            return [data if new is None else new]
        made = []
        copy(os.path.join(folder, change, os.path.basename(path)), parts_of)
        return any(made)
    for change in changes.FOLDERS:
        if changed(change):
            yield change, os.path.join(folder, change, os.path.basename(path))
    if any(name.endswith("_trace.csv") for name in os.listdir(path)):
        copy(os.path.join(folder, "halves", os.path.basename(path)), halves)
        yield "two files", os.path.join(folder, "halves", os.path.basename(path))


def write(folder, name, data):
    os.makedirs(folder)
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data)
    return os.path.join(folder, name)


def in_any_order(answers):
    """The document of the trace viewer lists events line by line, as the file does, and numbers streams by that."""
    trace = json.loads(answers.get("trace.json.gz") or "{}").get("traceEvents", [])
    lines = {(e["pid"], e["tid"]): e["args"]["name"] for e in trace if e.get("name") == "thread_name"}
    trace = [dict(e, tid=lines.get((e.get("pid"), e.get("tid")))) for e in trace if e.get("name") != "thread_sort_index"]
    events = sorted(json.dumps(e, sort_keys=True) for e in trace)
    return dict(answers, **{"trace.json.gz": "\n".join(events)})


def shown_earlier(answers):
    """Times of an xplane are shown as they are, here on two pages."""
    def earlier(match):
        return match[1] + str(decimal.Decimal(match[2].decode()) - changes.XPLANE_SHIFT_US).encode()
    trace = re.sub(rb'("ts":)([0-9.]+)', earlier, answers.get("trace.json.gz", b""))
    return dict(answers, **{"trace.json.gz": trace, "tf_data": re.sub(rb"(Start Time: )(\d+)", earlier, answers["tf_data"])})


def without_numbers(answers):
    """A warning names the process whose events were left out."""
    return {name: re.sub(rb"of process [0-9]+", b"of process", answer) for name, answer in answers.items()}


# What is exempt in the changed profile: pages, or a view of the answers in which it is left out.
# Rows may be called after a process.
EXEMPT = {"other process numbers": ("xplane.pb", "trace.json.gz", "threads"), "keys in another order": ("xplane.pb",),
          "an hour later": ("xplane.pb",)}
VIEWS = {"other process numbers": (without_numbers, without_numbers),
         "planes in another order": (in_any_order, in_any_order), "lines in another order": (in_any_order, in_any_order),
         "two halves": (in_any_order, in_any_order), "lines seconds later": (lambda answers: answers, shown_earlier)}


# What each change is a case of, and why there is none for a format (known by the end of a name).
KINDS = {"order": ("events shuffled", "rows shuffled", "sequences interleaved"),
         "keys": ("keys in another order", "columns in another order", "metadata in another order"),
         "gzip": ("gzip",), "byte order mark": ("byte order mark",), "time": ("an hour later", "lines seconds later"),
         "processes": ("other process numbers",),
         "blanks": ("blanks added", "blanks left out"),
         "two files": ("two documents", "two tables", "two files", "two halves", "sequences apart")}
REASONS = {("_summary_3.txt", None): "one row per sum, without a time or a process; a report that people read",
           (".tbs", None): "of our own runtime alone, by place; what it holds is compared with the program's own record",
           ("detail_3.csv", "keys"): "columns are known by their place",
           ("detail_3.csv", "processes"): "no processes in it",
           ("kernel_trace.csv", "processes"): "no processes in it",
           (".xplane.pb", "byte order mark"): "no text", (".xplane.pb", "processes"): "no processes in it",
           (".pftrace", "byte order mark"): "no text", (".pftrace", "keys"): "fields of a packet: as protobuf has them",
           ("flows.pftrace", "order"): "one sequence, whose packets build on each other",
           ("flows.pftrace", "two files"): "one sequence, whose packets build on each other",
           ("mindspore", "processes"): "numbers of processes tell what a row is of",
           ("mindspore", "gzip"): "files of a folder are known by their names",
           ("ascend_pt", "gzip"): "files of a folder are known by their names",
           ("rocprofv3", "gzip"): "files of a folder are known by their names",
           (".sqlite", "byte order mark"): "no text", (".sqlite", "two files"): "a database is one file",
           (".nvvp", "byte order mark"): "no text", (".nvvp", "two files"): "a database is one file",
           (".rpd", "byte order mark"): "no text", (".rpd", "two files"): "a database is one file",
           (".db", "byte order mark"): "no text", (".db", "two files"): "a database is one file",
           ("", "blanks"): "not of JSON, in which they mean nothing"}


def cell(name, kind, done):
    """How a change of this kind went on a format: "same", "differs", why there is none, or None."""
    results = [is_same for change, is_same in done if change in KINDS[kind]]
    if results:
        return "same" if all(results) else "differs"
    return next((why for (end, of), why in REASONS.items() if name.endswith(end) and of in (None, kind)), None)


def print_table(of_format):
    """What was done with each of our own files; the number of cells that are empty without a reason."""
    n_empty = 0
    for name, done in sorted(of_format.items()):
        cells = {kind: cell(name, kind, done) for kind in KINDS}
        n_empty += list(cells.values()).count(None)
        print(f"{name}: " + "; ".join(f"{kind}: {what or 'EMPTY'}" for kind, what in cells.items()))
    return n_empty


NO_SQLITE = b"built without SQLite"


def prepared(path, folder):
    """(path, its changes), of a copy with the original's name, unpacked."""
    if os.path.isdir(path):
        return path, changed_folders(path, folder)
    data = inputs.bytes_of(path)
    document = changes.loads(data) if kind_of(path, data) == "json" else None
    if document is not None:
        data = changes.dumps(document) # escapes in lists among arguments are shown as they are written
    source = write(os.path.join(folder, "source"), os.path.basename(path).removesuffix(".gz"), data)
    return source, changed_files(source, data, folder)


def check_changed(args, path, folder):
    source, changed_ones = prepared(path, folder)
    base = told(args, source, os.path.join(folder, "base"))
    if NO_SQLITE in base.get("refused", b""):
        return
    yield f"{path}: as it is", [] if args.public else [name for name in base if name == "refused"]
    for n, (change, changed) in enumerate(changed_ones):
        as_is, as_changed = VIEWS.get(change, (lambda answers: answers,) * 2)
        exempt = EXEMPT.get(change, ()) + (("xplane.pb",) if path.endswith(".xplane.pb") else ())
        now = told(args, changed, os.path.join(folder, f"out{n}"))
        wrong = differences(base, now, exempt) and differences(as_is(base), as_changed(now), exempt)
        if wrong and args.keep:
            keep(args, f"{os.path.basename(path)}-{change}-a", base)
            keep(args, f"{os.path.basename(path)}-{change}-b", now)
        yield f"{path}: {change}", wrong


def without_file(answers):
    """An xplane that was written is whole; that the input is not, and that steps were repaired, is told of that. The
    findings stay."""
    damage = re.compile(rb"tbprof: warning: .*: input is damaged: .*\n")
    repair = re.compile(rb'(\{"c":\[\{"v":"INFO"\},\{"v":)?"[^"]*\(repair: [^"]*"(\}\]\})?')
    seen = {name: repair.sub(b"", page) if name.endswith(".json") else page for name, page in answers.items()}
    seen.update((name, damage.sub(b"", answers[name])) for name in STATISTICS)
    return seen


def check_round_trip(args, path, folder):
    base = told(args, path, os.path.join(folder, "base"))
    if "refused" in base:
        return
    written = os.path.join(folder, "base", "plugins", "profile", "r", HOST + ".xplane.pb")
    source = write(os.path.join(folder, "again"), os.path.basename(path).split(".")[0] + ".xplane.pb", open(written, "rb").read())
    now = told(args, source, os.path.join(folder, "out"))
    base, now = without_file(base), without_file(now)
    if differences(base, now) and args.keep:
        keep(args, f"{os.path.basename(path)}-round-a", base)
        keep(args, f"{os.path.basename(path)}-round-b", now)
    yield path, differences(base, now)


def check(job):
    args, path = job
    with tempfile.TemporaryDirectory(prefix="tbprof-meta-") as folder:
        return list({"changed": check_changed, "round-trip": check_round_trip}[args.what](args, path, folder))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("changed", "round-trip"))
    parser.add_argument("--tbprof", default=os.path.join(inputs.ROOT, "build", "release", "tbprof"))
    parser.add_argument("--recorded", metavar="FILE", help="the program that leaves a spool behind")
    parser.add_argument("--public", action="store_true")
    parser.add_argument("--limit", type=int, default=150_000, metavar="BYTES")
    parser.add_argument("--keep", metavar="DIR", help="answers that differ are written there")
    parser.add_argument("--only", action="append", default=[], metavar="WORD")
    return parser.parse_args()


def main():
    args = arguments()
    if args.public and not os.path.isdir(inputs.SHARED):
        print(f"skipped: no recordings at {inputs.SHARED}")
        return SKIPPED
    n = bad = 0
    of_format = collections.defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="tbprof-meta-") as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        paths = inputs.public(args.limit) if args.public else inputs.made(folder, args.recorded) + inputs.of_repository()
        paths = [p for p in paths if not args.only or any(word in p for word in args.only)]
        for results in pool.map(check, [(args, path) for path in paths]):
            for name, wrong in results:
                n, bad = n + 1, bad + bool(wrong)
                path, _, change = name.partition(": ")
                of_format[os.path.basename(path)].append((change, not wrong))
                if wrong:
                    print(f"FAIL {name}: differ in {', '.join(wrong)}", flush=True)
    n_empty = print_table(of_format) if args.what == "changed" and not args.public else 0
    print(f"{n - bad} of {n} are the same")
    return 1 if bad or n_empty or not n else 0


if __name__ == "__main__":
    sys.exit(main())
