# SPDX-License-Identifier: Apache-2.0
"""What is in a run, for the styles that answer with tables: events, and per name count, total, least, most, own time.

Reads the run's *.xplane.pb here, in Python: nothing else has to be installed, and no time is rounded. It costs a
dozen seconds per million events; the program behind `tbprof` is for more than that. `tbprof stats --json` gives the rows
of names alone; these styles need the events as well: their arguments, what lies in what, order, counters, instants, sums
of squares, names under a filter of the caller's.
"""
import glob
import os
import struct

from tbprof import _xplane

EVENT_METADATA, STAT_METADATA, LINES = 4, 5, 3
LINE_ID, LINE_NAME, LINE_TIMESTAMP_NS, LINE_EVENTS = 1, 2, 3, 4
COUNTERS, STEP_BODY, PYTHON = "_counters_", "step body", "$"
MARKS = ("tbprof: paused", "tbprof: resumed", "tbprof: records dropped")


class Event:
    """A span of a thread. Times in picoseconds since the session began; parent and children as they lie in it."""

    __slots__ = ("name", "start_ps", "duration_ps", "thread", "arguments", "parent", "children")

    def __init__(self, name, start_ps, duration_ps, thread, arguments):
        self.name, self.start_ps, self.duration_ps = name, start_ps, duration_ps
        self.thread, self.arguments = thread, arguments
        self.parent, self.children = None, []

    @property
    def end_ps(self):
        return self.start_ps + self.duration_ps

    @property
    def self_ps(self):
        return self.duration_ps - sum(child.duration_ps for child in self.children)

    @property
    def is_async(self):
        """Work that may end on another thread."""
        return "_a" in self.arguments


class Run:
    """Everything of one run: spans, instants (what took no time) and counters (name, time_ps, value), each in order of time.
    start_ns: since 1970."""

    def __init__(self):
        self.start_ns, self.events, self.instants, self.counters, self.threads = 0, [], [], [], {}


def _names(entries):
    """{id: name} of the entries of a map of metadata."""
    names = {}
    for entry in entries:
        number, name = 0, b""
        for field, value, _ in _xplane.fields(entry):
            if field == 1:
                number = value
            elif field == 2:
                name = next((bytes(v) for f, v, _ in _xplane.fields(value) if f == 2), b"")
        names[number] = name.decode("utf-8", "replace")
    return names


def _signed(value):
    return value - 2**64 if value >= 2**63 else value


def _stat(data, names):
    """(name, value) of one XStat."""
    key, value = 0, None
    for field, raw, _ in _xplane.fields(data):
        if field == 1:
            key = raw
        elif field == 2:
            value = struct.unpack("<d", raw)[0]
        elif field == 4:
            value = _signed(raw)
        elif field == 5:
            value = bytes(raw).decode("utf-8", "replace")
        elif field == 7:
            value = names.get(raw, "")
        else:
            value = raw if isinstance(raw, int) else bytes(raw)
    return names.get(key, ""), value


def _event(data, names, stats, thread, base_ps):
    meta = offset_ps = duration_ps = 0
    arguments = {}
    for field, value, _ in _xplane.fields(data):
        if field == 1:
            meta = value
        elif field == 2:
            offset_ps = _signed(value)
        elif field == 3:
            duration_ps = _signed(value)
        elif field == 4:
            key, argument = _stat(value, stats)
            arguments[key] = argument
    return Event(names.get(meta, ""), base_ps + offset_ps, duration_ps, thread, arguments)


def _read_line(run, line, names, stats):
    thread, name, base_ps, events = 0, "", 0, []
    for field, value, _ in _xplane.fields(line):
        if field == LINE_ID:
            thread = value
        elif field == LINE_NAME:
            name = bytes(value).decode("utf-8", "replace")
        elif field == LINE_TIMESTAMP_NS:
            base_ps = _signed(value) * 1000
        elif field == LINE_EVENTS:
            events.append(value)
    run.threads[thread] = name
    for data in events:
        event = _event(data, names, stats, thread, base_ps)
        if name == COUNTERS:
            run.counters.append((event.name, event.start_ps, event.arguments.get("value", 0)))
        elif event.duration_ps:
            run.events.append(event)
        elif not event.name.startswith(MARKS):
            run.instants.append(event)


def _read_plane(run, plane):
    parts = {LINES: [], EVENT_METADATA: [], STAT_METADATA: []}
    for number, value, _ in _xplane.fields(plane):
        if number in parts:
            parts[number].append(value)
    names, stats = _names(parts[EVENT_METADATA]), _names(parts[STAT_METADATA])
    for line in parts[LINES]:
        _read_line(run, line, names, stats)


def read(folder):
    """A Run: the host planes of all files in a run's folder; empty for "" and where there is none."""
    run = Run()
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), "*.xplane.pb"))) if folder else ():
        with open(path, "rb") as file:
            space = file.read()
        run.start_ns = run.start_ns or _xplane.start_time_ns(space) or 0
        for number, plane, _ in _xplane.fields(space):
            if number == _xplane.PLANES and bytes(_xplane.name_of(plane)).startswith(_xplane.HOST):
                _read_plane(run, plane)
    run.events.sort(key=lambda e: (e.start_ps, -e.duration_ps))
    run.instants.sort(key=lambda e: e.start_ps)
    run.counters.sort(key=lambda c: c[1])
    return run


def nest(events):
    """Sets parent and children of events in order of time, thread by thread; leaves out the scope that a step of
    tbprof has inside. One that begins inside another and ends after it is no child of it. Returns what is left."""
    stacks, kept = {}, []
    for event in events:
        if event.is_async:
            kept.append(event)
            continue
        stack = stacks.setdefault(event.thread, [])
        while stack and (event.start_ps >= stack[-1].end_ps or event.end_ps > stack[-1].end_ps):
            stack.pop()
        parent = stack[-1] if stack else None
        if event.name == STEP_BODY and parent is not None and "step_num" in parent.arguments:
            continue
        if parent is not None:
            event.parent = parent
            parent.children.append(event)
        stack.append(event)
        kept.append(event)
    return kept


class Row:
    """All events of a name. Times in picoseconds; squares: of their durations, summed."""

    __slots__ = ("name", "count", "total_ps", "min_ps", "max_ps", "self_ps", "squares")

    def __init__(self, name):
        self.name = name
        self.count = self.total_ps = self.min_ps = self.max_ps = self.self_ps = self.squares = 0

    def add(self, duration_ps, self_ps=0):
        self.min_ps = min(self.min_ps, duration_ps) if self.count else duration_ps
        self.max_ps = max(self.max_ps, duration_ps)
        self.count += 1
        self.total_ps += duration_ps
        self.self_ps += self_ps
        self.squares += duration_ps * duration_ps

    @property
    def avg_ps(self):
        return self.total_ps / self.count if self.count else 0


def rows(events, key=lambda event: event.name):
    """One Row per name (or key) of nested events, in the order in which they appear first."""
    found = {}
    for event in events:
        name = key(event)
        row = found.get(name)
        if row is None:
            row = found[name] = Row(name)
        row.add(event.duration_ps, 0 if event.is_async else event.self_ps)
    return list(found.values())
