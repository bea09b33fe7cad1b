# SPDX-License-Identifier: Apache-2.0
"""Changes of a profile that leave what it tells alone.

Each takes (bytes, random) of an unpacked input and returns other bytes. What is left in order, because order is what
the input tells by, and what else is exempt:

- Events of one line of an xplane with the same begin and length: which lies in which stands nowhere else.
- Tables and cells of CSV and SQLite: rows move, columns do not.
"""
import decimal
import json
import os
import re
import shutil
import sqlite3
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
from wire import varint  # noqa: E402 (after the path)

SHIFT_US = 3_600_000_123  # an hour and a bit
XPLANE_SHIFT_US = 8_000_123  # so little that times in microseconds have as many digits as before


class Number(str):
    """A number of a document that keeps its text: to json a string with a mark, which dumps() takes off again."""

    MARK = "\ue000number "

    def __new__(cls, text):
        made = str.__new__(cls, cls.MARK + text)
        made.text = text
        return made


def loads(data):
    """The document, closed if it was left open as Chrome's format allows, or None where only a tolerant reader can read
    it."""
    for rest in ("", "]", "]}"):
        try:
            return json.loads(data.decode("utf-8-sig") + rest, parse_float=Number)
        except (ValueError, UnicodeDecodeError, RecursionError):
            continue
    return None


def dumps(document, **how):
    return re.sub(rb'"\\ue000number ([^"]*)"', rb"\1", json.dumps(document, **how).encode())


def events_of(document):
    found = document.get("traceEvents") if isinstance(document, dict) else document
    usable = isinstance(found, list) and found and all(isinstance(e, dict) for e in found)
    return found if usable else None


def with_events(document, events):
    return dict(document, traceEvents=events) if isinstance(document, dict) else events


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
    if isinstance(ts, str) and not isinstance(ts, Number):
        return shown
    return Number(shown) if "." in shown else int(shown)


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
    def number(e):
        """As it is, or in quotes."""
        pid = e.get("pid")
        return int(pid) if isinstance(pid, int) or isinstance(pid, str) and pid.isdigit() else None
    devices = {number(e) for e in events if not is_host_process(e)}
    pids = sorted({number(e) for e in events} - devices - {None})
    new = dict(zip(pids, range(90000 + 7 * len(pids), 90000, -7)))
    for e in events:
        if number(e) in new:
            e["pid"] = type(e["pid"])(new[number(e)])
    return events


def bom(data, _):
    """In front of text."""
    return None if b"\0" in data else b"\xef\xbb\xbf" + data


def blanks_added(data, _):
    document = loads(data)
    return dumps(document, indent=2, separators=(" ,", " : ")) if document is not None else None


def blanks_left_out(data, _):
    document = loads(data)
    return dumps(document, separators=(",", ":")) if document is not None else None


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


def cells_of(row):
    return re.split(rb',(?=(?:[^"]*"[^"]*")*[^"]*$)', row)


def is_cntk(heading):
    """Whose columns are known by their place, the last three behind a text that may hold commas."""
    return heading.startswith(b"EventDescription")


# Columns of times, and how many of their units an hour is; of numbers of processes.
NS, US, TICKS, MS = (decimal.Decimal(SHIFT_US).scaleb(n) for n in (3, 0, 2, -3))
TIMES = {b"Start_Timestamp": NS, b"End_Timestamp": NS, b"BeginNs": NS, b"EndNs": NS, b"Start Time(us)": US,
         b"Timestamp(us)": US, b"Allocation Time(us)": US, b"Release Time(us)": US, b"start_point": TICKS,
         b"end_point": TICKS, b"fp_point": TICKS, b"bp_point": TICKS, b"run_start": US, b"run_end": US,
         b"start_time(ms)": MS}
PROCESSES = {b"Process_Id": decimal.Decimal(7000)}


def csv_added(data, added):
    """Numbers added to the cells of columns; a time of 0 is none, blanks and quotes around a number stay."""
    found = table(data)
    if not found or is_cntk(found[0]):
        return None
    heading = [name.strip(b'" ') for name in cells_of(found[0])]
    columns = {n: added[name] for n, name in enumerate(heading) if name in added}

    def later(row):
        cells = cells_of(row)
        for n, more in columns.items():
            number = re.fullmatch(rb'("?)([0-9.]+)(\s*"?)', cells[n]) if n < len(cells) else None
            if number and decimal.Decimal(number[2].decode()):
                cells[n] = number[1] + f"{decimal.Decimal(number[2].decode()) + more:f}".encode() + number[3]
        return b",".join(cells)
    return b"\n".join([found[0], *map(later, found[1]), b""]) if columns else None


def cntk_later(data):
    def later(row):
        try:
            text, *times = row.rsplit(b",", 2)
            return b",".join([text, *(f"{decimal.Decimal(t.decode()) + MS:f}".encode() for t in times)])
        except decimal.InvalidOperation:
            return row
    rows = data.replace(b"\r\n", b"\n").split(b"\n")
    return b"\n".join([rows[0], *map(later, rows[1:])])


def csv_later(data, _):
    return cntk_later(data) if is_cntk(data) else csv_added(data, TIMES)


def csv_pids(data, _):
    return csv_added(data, PROCESSES)


def csv_columns(data, r):
    """As many as all rows have, but for those that are cut. MindSpore's parallel streams have three columns each, which
    stand beside each other."""
    found = table(data)
    if not found or is_cntk(found[0]) or b",stream_" in found[0]:
        return None
    rows = [cells_of(row) for row in (found[0], *found[1])]
    order = list(range(min(len(cells) for cells in rows if 2 * len(cells) > len(rows[0]))))
    r.shuffle(order)
    moved_rows = [[cells[n] for n in order] + cells[len(order):] if len(cells) >= len(order) else cells for cells in rows]
    return b"\n".join([*map(b",".join, moved_rows), b""])


def two_tables(data, _):
    """One behind the other, each with its heading."""
    found = table(data)
    if not found or len(found[1]) < 2:
        return None
    mid = len(found[1]) // 2
    return b"\n".join([found[0], *found[1][:mid], found[0], *found[1][mid:], b""])


def sqlite_rows(path, target, r, moves_columns=False):
    """The same rows under other row numbers, or in columns in another order."""
    source = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
    source.text_factory = bytes
    out = sqlite3.connect(target)
    out.text_factory = bytes
    for name, sql in source.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql NOT NULL"):
        name, sql = name.decode(), sql.decode()
        if name.startswith("sqlite_"):
            continue
        columns = "*"
        if moves_columns:
            listed = [f'"{c[1].decode()}"' for c in source.execute(f'PRAGMA table_info("{name}")')]
            r.shuffle(listed)
            columns = ", ".join(listed)
            sql = f'CREATE TABLE "{name}" ({columns})'
        out.execute(sql)
        rows = source.execute(f'SELECT {columns} FROM "{name}"').fetchall()
        if not moves_columns:
            r.shuffle(rows)
        if rows:
            out.executemany(f'INSERT INTO "{name}" VALUES ({",".join("?" * len(rows[0]))})', rows)
    out.commit()
    out.close()
    source.close()
    return 1


def sqlite_added(path, target, added):
    """A copy in which numbers are added to columns: added(table, column) or None."""
    shutil.copy(path, target)
    db = sqlite3.connect(target)
    tables = [name for name, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT NULL")]
    least = 0 if "StringIds" in tables else 1  # a time of 0 is none, but for Nsight Systems
    n = 0
    for table_name in tables:
        for column in [c[1] for c in db.execute(f'PRAGMA table_info("{table_name}")')]:
            more = added(table_name, column)
            if more:
                n += db.execute(f'UPDATE "{table_name}" SET "{column}" = "{column}" + ? WHERE typeof("{column}") = \'integer\' '
                                f'AND "{column}" >= ?', (more, least)).rowcount
    db.commit()
    db.close()
    return n


def sqlite_later(path, target, _):
    return sqlite_added(path, target, lambda _, column: SHIFT_US * 1000 if column in ("start", "end", "timestamp") else None)


def sqlite_pids(path, target, _):
    """Nsight Systems' numbers of threads have that of the process in bits 24 to 47; nvprof's markers have it in front of
    that of their thread."""
    def added(table_name, column):
        if column in ("globalTid", "globalPid"):
            return 7 << 24
        is_process = column in ("processId", "pid") and (not table_name.startswith("rocpd_") or table_name == "rocpd_api" or
                                                         table_name.startswith("rocpd_info_process"))
        return 7 if is_process else None
    n = sqlite_added(path, target, added)
    db = sqlite3.connect(target)
    if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'CUPTI_ACTIVITY_KIND_MARKER'").fetchone():
        db.create_function("moved", 1, lambda b: struct.pack("<I", struct.unpack("<I", b[:4])[0] + 7) + b[4:])
        db.execute("UPDATE CUPTI_ACTIVITY_KIND_MARKER SET objectId = moved(objectId)")
    db.commit()
    db.close()
    return n


def sqlite_columns(path, target, r):
    return sqlite_rows(path, target, r, moves_columns=True)


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


PACKET_CLOCKS, PACKET_TIME, PACKET_SEQUENCE, PACKET_FLAGS, PACKET_CLOCK, PACKET_DEFAULTS, PACKET_TRACK = 6, 8, 10, 13, 58, 59, 60
FIRST_OWN_CLOCK = 64  # clocks from here on are those of one sequence


def one_of(found, number, otherwise=0):
    return next((v for n, _, v in found if n == number), otherwise)


def sequences_apart(data, _):
    """One behind the other, as two traces are one that stand in one file."""
    def sequence(packet):
        return one_of(fields(packet[2]), PACKET_SEQUENCE)
    return message(sorted(fields(data), key=sequence))


def packets_later(data, _):
    """By clocks of the machine; a sequence's own clock counts from one of these."""
    clocks, out = {}, []

    def clock_later(clock):
        found = fields(clock)
        return message([(n, k, v + SHIFT_US * 1000 if n == 2 and one_of(found, 1) < FIRST_OWN_CLOCK else v) for n, k, v in found])
    for number, kind, packet in fields(data):
        found = fields(inside(packet, [PACKET_CLOCKS, 1], clock_later))
        sequence = one_of(found, PACKET_SEQUENCE)
        before = 0 if one_of(found, PACKET_FLAGS) & 1 else clocks.get(sequence, 0)  # 1: it begins anew
        clocks[sequence] = one_of(fields(one_of(found, PACKET_DEFAULTS, b"")), PACKET_CLOCK, before)
        is_common = one_of(found, PACKET_CLOCK, clocks[sequence]) < FIRST_OWN_CLOCK
        out.append((number, kind, message([(n, k, v + SHIFT_US * 1000 if n == PACKET_TIME and is_common else v)
                                           for n, k, v in found])))
    return message(out)


def packet_pids(data, _):
    def renamed(process):
        return message([(n, k, v + 7000 if n == 1 else v) for n, k, v in fields(process)])
    for part in (3, 4):  # a process; a thread
        data = inside(data, [1, PACKET_TRACK, part], renamed)
    return data


JSON = {"events shuffled": on_events(shuffled), "keys in another order": key_order,
        "an hour later": on_events(json_later), "other process numbers": on_events(other_pids), "byte order mark": bom,
        "two documents": two_documents, "blanks added": blanks_added, "blanks left out": blanks_left_out}
XPLANE = {"planes in another order": mix_planes, "lines in another order": mix_lines,
          "metadata in another order": mix_metadata, "events shuffled": mix_events, "lines seconds later": lines_later,
          "two halves": planes_apart}
CSV = {"rows shuffled": csv_rows, "columns in another order": csv_columns, "an hour later": csv_later,
       "other process numbers": csv_pids, "byte order mark": bom, "two tables": two_tables}
PERFETTO = {"sequences interleaved": sequences_interleaved, "sequences apart": sequences_apart, "an hour later": packets_later,
            "other process numbers": packet_pids}
SQLITE = {"rows shuffled": sqlite_rows, "columns in another order": sqlite_columns, "an hour later": sqlite_later,
          "other process numbers": sqlite_pids}
# Of folders: that of tables, that of documents.
FOLDERS = {"rows shuffled": (csv_rows, None), "events shuffled": (None, JSON["events shuffled"]),
           "keys in another order": (csv_columns, key_order), "an hour later": (csv_later, JSON["an hour later"]),
           "other process numbers": (csv_pids, JSON["other process numbers"]), "byte order mark": (bom, bom),
           "two documents": (two_tables, two_documents), "blanks added": (None, blanks_added),
           "blanks left out": (None, blanks_left_out)}


def mindspore_later(name, data):
    """Ticks and microseconds of its tables; its timeline counts from the first op."""
    if name.endswith(".csv") or name.startswith("output_timeline_data"):
        return csv_later(data, None)
    moved_line = lambda m: m[1] + b" ".join(str(int(t) + SHIFT_US).encode() for t in m[2].split())
    return re.sub(rb"(?m)^(GetNext\S* )(\d+ \d+)", moved_line, data) if name.startswith("minddata_aicpu") else None


def changed_in_folder(change, name, data, names, r):
    """Other bytes of a file of a folder with these names, or None."""
    is_mindspore = re.search(r"_\d+(_detail_time)?\.(csv|json|txt)$", name)
    if is_mindspore and change == "an hour later":
        return mindspore_later(name, data) if any(n.startswith("aicpu_intermediate") for n in names) else None
    if is_mindspore and change == "other process numbers":
        return None  # they tell what a row is of
    of_table, of_document = FOLDERS[change]
    apply = of_table if name.endswith(".csv") else of_document if name.endswith(".json") else None
    return apply(data, r) if apply else None
