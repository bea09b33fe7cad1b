# SPDX-License-Identifier: Apache-2.0
"""Changes of a profile that leave what it tells alone.

Each takes (bytes, random) of an unpacked input and returns other bytes. What is left in order, because order is what
the input tells by, and what else is exempt:

- Begins and ends (B and E, b and e, brackets of frames) of one moment stay in order: which encloses which, or what of
  a name ends, stands nowhere else. So do samples of counters of one moment: the last one holds.
- Events of one line of an xplane with the same begin and length: which lies in which stands nowhere else.
- Later names of one thread or process replace earlier ones: they stay in order.
- Tables and cells of CSV and SQLite: rows move, columns do not.
"""
import decimal
import json
import os
import re
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
from wire import varint  # noqa: E402 (after the path)

SHIFT_US = 3_600_000_123  # an hour and a bit
XPLANE_SHIFT_US = 8_000_123  # so little that times in microseconds have as many digits as before


class Number(float):
    """A number of a document that keeps its text."""

    def __new__(cls, text):
        made = float.__new__(cls, text)
        made.text = text
        return made

    def __repr__(self):
        return self.text


def loads(data):
    """The document, or None where only a tolerant reader can read it."""
    try:
        return json.loads(data.decode("utf-8-sig"), parse_float=Number)
    except (ValueError, UnicodeDecodeError, RecursionError):
        return None


def dumps(document):
    return json.dumps(document).encode()


def events_of(document):
    found = document.get("traceEvents") if isinstance(document, dict) else document
    usable = isinstance(found, list) and found and all(isinstance(e, dict) for e in found)
    return found if usable else None


def with_events(document, events):
    return dict(document, traceEvents=events) if isinstance(document, dict) else events


def is_ordered(event):
    return event.get("ph") in tuple("BEbenSFTp()C") or str(event.get("name", "")).startswith("[memory]")


def place(event):
    """Events of one place keep their order."""
    if event.get("ph") == "M":
        return "M", str(event.get("name")), str(event.get("pid")), str(event.get("tid"))
    return ("at", str(event.get("ts"))) if is_ordered(event) else None


def shuffled(items, r, place_of=lambda item: None):
    mixed = items[:]
    r.shuffle(mixed)
    queues = {}
    for item in items:
        if place_of(item) is not None:
            queues.setdefault(place_of(item), []).append(item)
    return [item if place_of(item) is None else queues[place_of(item)].pop(0) for item in mixed]


def on_events(change):
    def apply(data, r):
        document = loads(data)
        events = events_of(document) if document is not None else None
        return dumps(with_events(document, change(events, r))) if events else None
    return apply


def mixed_keys(members, r):
    return dict(shuffled(list(members.items()), r)) if isinstance(members, dict) else members


def key_order(data, r):
    """Of the document, of each event and of its arguments; values of arguments are shown as they are written."""
    document = loads(data)
    events = events_of(document) if document is not None else None
    if not events:
        return None
    mixed_events = [mixed_keys(dict(e, args=mixed_keys(e["args"], r)) if "args" in e else e, r) for e in events]
    return dumps(mixed_keys(with_events(document, mixed_events), r))


def moved(ts):
    if isinstance(ts, bool) or not isinstance(ts, (int, float, str)):
        return ts
    text = ts.text if isinstance(ts, Number) else str(ts)
    try:
        later = decimal.Decimal(text) + SHIFT_US
    except decimal.InvalidOperation:
        return ts
    shown = f"{later:f}"
    return shown if isinstance(ts, str) else int(shown) if "." not in shown else Number(shown)


def json_later(events, _):
    for e in events:
        e.update({"ts": moved(e["ts"])} if "ts" in e else {})
        args = e.get("args")
        for key in ("BeginNs", "EndNs"):
            if isinstance(args, dict) and key in args:
                args[key] = str(int(args[key]) + SHIFT_US * 1000)
    return events


def is_host_process(event):
    """Numbers of processes of Kineto's device rows are devices, of other rows with numbers processes."""
    args = event.get("args")
    has_device = isinstance(args, dict) and ("device" in args or "stream" in args)
    cat = str(event.get("cat", "")).lower()
    return not has_device and "kernel" not in cat and not cat.startswith(("gpu", "memcpy", "memset", "cuda_sync", "mtia"))


def other_pids(events, _):
    """Other numbers in another order; names and what is no number stay."""
    devices = {e.get("pid") for e in events if not is_host_process(e)}
    pids = sorted({e["pid"] for e in events if isinstance(e.get("pid"), int)} - {d for d in devices if isinstance(d, int)})
    new = dict(zip(pids, range(90000 + 7 * len(pids), 90000, -7)))
    for e in events:
        if isinstance(e.get("pid"), int) and e["pid"] in new:
            e["pid"] = new[e["pid"]]
    return events


def bom(data, _):
    return b"\xef\xbb\xbf" + data if data[:1] in b"[{" else None


def two_documents(data, r):
    """The events in two documents, one after the other, as two files read together are."""
    document = loads(data)
    events = events_of(document) if document is not None else None
    if not events or len(events) < 2:
        return None
    mid = len(events) // 2
    return dumps(with_events(document, events[:mid])) + b"\n" + dumps(with_events(document, events[mid:]))


# ---- tables ----

def table(data):
    """(heading, rows) of CSV with a comma in its heading and no cell broken over lines; else None."""
    lines = data.replace(b"\r\n", b"\n").rstrip(b"\n").split(b"\n")
    is_broken = any(line.count(b'"') % 2 for line in lines)
    return None if is_broken or data[:1] in b"{[" or b"," not in lines[0] or len(lines) < 2 else (lines[0], lines[1:])


def csv_rows(data, r):
    found = table(data)
    return b"\n".join([found[0], *shuffled(found[1], r), b""]) if found else None


def csv_later(data, _):
    """Of ROCm's tables, which tell nanoseconds; an end of 0 is none."""
    names = re.compile(rb'"?(Start_Timestamp|End_Timestamp|BeginNs|EndNs)"?$')
    found = table(data)
    columns = [n for n, name in enumerate(found[0].split(b",")) if names.match(name)] if found else []

    def later(row):
        cells = re.split(rb',(?=(?:[^"]*"[^"]*")*[^"]*$)', row)
        for n in columns:
            if n < len(cells) and cells[n].isdigit() and int(cells[n]):
                cells[n] = str(int(cells[n]) + SHIFT_US * 1000).encode()
        return b",".join(cells)
    return b"\n".join([found[0], *map(later, found[1]), b""]) if columns else None


def sqlite_rows(path, target, r):
    """The same rows under other row numbers."""
    source = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
    source.text_factory = bytes
    out = sqlite3.connect(target)
    out.text_factory = bytes
    for name, sql in source.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql NOT NULL"):
        name, sql = name.decode(), sql.decode()
        if name.startswith("sqlite_"):
            continue
        out.execute(sql)
        rows = source.execute(f'SELECT * FROM "{name}"').fetchall()
        r.shuffle(rows)
        if rows:
            out.executemany(f'INSERT INTO "{name}" VALUES ({",".join("?" * len(rows[0]))})', rows)
    out.commit()
    out.close()
    source.close()


# ---- protobuf ----

def fields(data):
    """(number, wire type, value) of a message: value is a number or bytes."""
    at, found = 0, []

    def varint():
        nonlocal at
        v = shift = 0
        while True:
            b = data[at]
            at += 1
            v |= (b & 127) << shift
            shift += 7
            if b < 128:
                return v
    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            v = varint()
        else:
            n = {1: 8, 5: 4}.get(kind) or varint()
            v = data[at:at + n]
            at += n
        found.append((key >> 3, kind, v))
    return found


def message(found):
    out = bytearray()
    for number, kind, v in found:
        out += varint(number << 3 | kind)
        out += varint(v) if kind == 0 else v if kind in (1, 5) else varint(len(v)) + v
    return bytes(out)


SPACE_PLANES, PLANE_LINES, PLANE_METAS, PLANE_STAT_METAS, PLANE_STATS, LINE_TIME, LINE_EVENTS = 1, 3, 4, 5, 6, 3, 4


def mixed(data, r, numbers):
    """Fields of these numbers in another order, all others where they are."""
    found = fields(data)
    chosen = [f for f in found if f[0] in numbers]
    r.shuffle(chosen)
    return message([chosen.pop() if f[0] in numbers else f for f in found])


def inside(data, path, change):
    """change(bytes) applied to every message at the path of field numbers."""
    if not path:
        return change(data)
    return message([(n, k, inside(v, path[1:], change) if n == path[0] and k == 2 else v) for n, k, v in fields(data)])


def names_of_planes(data):
    return [next((v for n, _, v in fields(plane) if n == 2), b"") for number, _, plane in fields(data) if number == SPACE_PLANES]


def mix_planes(data, r):
    names = names_of_planes(data)
    return mixed(data, r, {SPACE_PLANES}) if len(set(names)) == len(names) else None


def mix_lines(data, r):
    return inside(data, [SPACE_PLANES], lambda plane: mixed(plane, r, {PLANE_LINES}))


def mix_metadata(data, r):
    return inside(data, [SPACE_PLANES], lambda plane: mixed(plane, r, {PLANE_METAS, PLANE_STAT_METAS, PLANE_STATS}))


def extent(event):
    """Begin and length; of a sum over many events: all in one place."""
    found = fields(event)
    return "sum" if any(n == 5 for n, _, _ in found) else tuple(sum(v for n, _, v in found if n == k) for k in (2, 3))


def mix_events(data, r):
    def of_line(line):
        found = fields(line)
        events = shuffled([f for f in found if f[0] == LINE_EVENTS], r, lambda f: extent(f[2]))
        events.reverse()
        return message([events.pop() if f[0] == LINE_EVENTS else f for f in found])
    return inside(data, [SPACE_PLANES, PLANE_LINES], of_line)


def lines_later(data, _):
    def later(line):
        found = fields(line)
        at = sum(v for n, _, v in found if n == LINE_TIME)
        return message([f for f in found if f[0] != LINE_TIME] + [(LINE_TIME, 0, at + XPLANE_SHIFT_US * 1000)])
    return inside(data, [SPACE_PLANES, PLANE_LINES], later)


def planes_apart(data, r):
    """Two XSpaces one after the other are one: so protobuf says."""
    found = fields(data)
    r.shuffle(found)
    return message(found[::2]) + message(found[1::2]) if len(set(names_of_planes(data))) == len(names_of_planes(data)) else None


def sequences_interleaved(data, r):
    """Packets of one sequence of a Perfetto trace build on each other; those of several come as they come."""
    packets = fields(data)
    return message(shuffled(packets, r, lambda f: sum(v for n, kind, v in fields(f[2]) if (n, kind) == (10, 0))))


JSON = {"events shuffled": on_events(lambda events, r: shuffled(events, r, place)), "keys in another order": key_order,
        "an hour later": on_events(json_later), "other process numbers": on_events(other_pids), "byte order mark": bom,
        "two documents": two_documents}
XPLANE = {"planes in another order": mix_planes, "lines in another order": mix_lines,
          "metadata in another order": mix_metadata, "events shuffled": mix_events, "lines seconds later": lines_later,
          "two halves": planes_apart}
CSV = {"rows shuffled": csv_rows, "an hour later": csv_later}
PERFETTO = {"sequences interleaved": sequences_interleaved}
