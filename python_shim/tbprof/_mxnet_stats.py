# SPDX-License-Identifier: Apache-2.0
"""What MXNet's profiler makes of its events: the aggregate table, as text and as JSON, and profile.json.

Times are whole microseconds, as MXNet has them; shown are milliseconds and kilobytes of 1000 bytes that went through a
32-bit float. A counter's total is its last value and its average half the distance of its extremes. So it is there,
and so it is here: the tables can be held against each other.
"""
import hashlib
import json
import os
import struct

MEMORY = ("Device Storage", "Pool Memory")
SORT_KEYS = ("total", "avg", "min", "max", "count")
DURATION, COUNTER, OTHER = "duration", "counter", "other"


class Stat:
    """One name in one category."""

    def __init__(self):
        self.kind, self.count, self.total, self.min, self.max = OTHER, 0, 0, None, 0

    def add(self, kind, value):
        self.kind = kind
        if kind == OTHER:
            return
        self.count += 1
        self.total = value if kind == COUNTER else self.total + value
        self.max = max(self.max, value)
        self.min = value if self.min is None else min(self.min, value)

    @property
    def avg(self):
        return (self.max - self.min) // 2 if self.kind == COUNTER else self.total / self.count


def _thousandth(value):
    return struct.unpack("<f", struct.pack("<f", value / 1000))[0]


class Aggregate:
    """Categories of names of Stats."""

    def __init__(self):
        self._types = {}

    def add(self, category, name, kind, value=0):
        names = self._types.setdefault(category, {})
        names.setdefault(name, Stat()).add(kind, value)

    def clear(self):
        self._types.clear()

    def _sorted(self, sort_by, ascending):
        """(type, [(name, stat)]), by type; equal values by name, backwards in both directions."""
        for kind in sorted(self._types):
            stats = [(name, stat) for name, stat in self._types[kind].items() if stat.kind != OTHER]
            sign = -1 if ascending else 1
            stats.sort(key=lambda entry: (sign * getattr(entry[1], sort_by), entry[0].encode("utf-8", "replace")),
                       reverse=True)
            yield kind, stats

    def table(self, sort_by, ascending):
        lines = ["", "Profile Statistics:", "\tNote the difference in units for different entries."]
        for kind, stats in self._sorted(sort_by, ascending):
            columns = ["Use  (kB)"] if kind in MEMORY else ["Time (ms)"]
            heads = ([] if kind in MEMORY else columns) + [f"{which} {columns[0]}" for which in ("Min", "Max", "Avg")]
            lines += [kind, "=" * 17]
            lines.append(f"{'Name':<25}{'Total Count':>16}" + "".join(f" {head:>16}" for head in heads))
            lines.append(f"{'----':<25}{'-' * 11:>16}" + "".join(f" {'-' * len(head):>16}" for head in heads))
            for name, stat in stats:
                values = ([] if kind in MEMORY else [stat.total]) + [stat.min, stat.max, stat.avg]
                lines.append(f"{name:<25}{stat.count:>16}" + "".join(f" {_thousandth(v):>16.4f}" for v in values))
            lines.append("")
        return "\n".join(lines) + "\n"

    def json(self, sort_by, ascending):
        found = {"Time": {}, "Memory": {}, "Unit": {"Time": "ms", "Memory": "kB"}}
        for kind, stats in self._sorted(sort_by, ascending):
            in_memory = kind in MEMORY
            rows = found["Memory" if in_memory else "Time"][kind] = {}
            for name, stat in stats:
                row = rows[name] = {"Count": stat.count}
                if not in_memory:
                    row["Total"] = _short(stat.total)
                row.update(Min=_short(stat.min), Max=_short(stat.max), Avg=_short(stat.avg))
        return json.dumps(found, indent=4) + "\n"


def _short(value):
    """Four digits that count."""
    number = float(f"{_thousandth(value):.4g}")
    return int(number) if number == int(number) else number


def _process_of(category):
    return int.from_bytes(hashlib.blake2b(category.encode("utf-8", "replace"), digest_size=8).digest(), "big") >> 1


class TraceFile:
    """profile.json, written as it grows: complete only after finish(), readable before by whoever takes a trace
    without its end."""

    DEVICES = [f"cpu/{i}" for i in range(os.cpu_count() or 1)] + ["cpu pinned/", "cpu shared/"]

    def __init__(self, path):
        self._path, self._file, self._processes = path, None, set()

    def _open(self):
        if self._file is None:
            self._file = open(self._path, "w", encoding="utf-8")
            self._file.write('{\n"traceEvents": [\n')
            self._file.write(",\n".join(self._process(i, name) for i, name in enumerate(self.DEVICES)))
            self._processes.clear()
        return self._file

    @staticmethod
    def _process(number, name):
        return json.dumps({"ph": "M", "args": {"name": name}, "pid": number, "name": "process_name"})

    def add(self, events):
        """events: (category, name, phases, [times in µs], thread, more), phases a letter for each time."""
        file = self._open()
        for category, name, phases, times, thread, more in events:
            process = 0 if category == "operator" else _process_of(category)
            if process and process not in self._processes:
                self._processes.add(process)
                file.write(",\n" + self._process(process, category))
            for phase, time_us in zip(phases, times):
                event = {"name": name, "cat": category, "ph": phase, "ts": time_us, **more, "pid": process,
                         "tid": thread}
                file.write(",\n" + json.dumps(event))
        file.flush()

    def finish(self):
        self._open().write('\n],\n"displayTimeUnit": "ms"\n}\n')
        self._file.close()
        self._file = None
