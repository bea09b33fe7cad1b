# SPDX-License-Identifier: Apache-2.0
"""Events, averages and tables of a run, with the attributes and the layout of torch's own (torch.autograd's EventList,
FunctionEvent, FunctionEventAvg). Times in microseconds since the session began. What only torch can know (devices,
memory and FLOPs of an operator) is 0.
"""
import collections
import enum
import gzip
import json
import os
import re

from tbprof import _tables

PS_PER_US = 10**6
STEP = "ProfilerStep#"
# Torch's utilities around labels, and what it leaves out of its own tables.
_UNSEEN = frozenset(("[memory]", "[OutOfMemory]", "profiler::_record_function_enter",
                     "profiler::_record_function_enter_new", "profiler::_record_function_exit", "aten::is_leaf",
                     "aten::output_nr", "aten::_version"))
_UNSEEN_DOMAIN = "dnnl::"  # primitives inside of operators, of which torch's profiler knows nothing
_PYTHON_NAME = re.compile(r"\$(.*):(\d+) (.*)", re.DOTALL)
_FRAME_BREAKERS = str.maketrans(" ;\t\n", "____")
_OTHER_DEVICES = ("cuda", "xpu", "privateuse1")


class DeviceType(enum.Enum):
    """Where something ran."""

    CPU = 0


class Interval:
    """From start to end."""

    __slots__ = ("start", "end")

    def __init__(self, start, end):
        self.start, self.end = start, end

    def elapsed_us(self):
        return self.end - self.start


class _Times:
    """What events and averages have in common."""

    device_type, use_device, device_index, node_id = DeviceType.CPU, None, 0, -1
    is_remote = is_legacy = False
    device_time_total = self_device_time_total = device_time = 0
    cpu_memory_usage = self_cpu_memory_usage = device_memory_usage = self_device_memory_usage = 0
    flops, scope, overload_name = 0, 0, ""

    @property
    def cpu_time(self):
        return self.cpu_time_total / self.count if self.count else 0.0

    cpu_time_str = property(lambda self: _time(self.cpu_time))
    cpu_time_total_str = property(lambda self: _time(self.cpu_time_total))
    self_cpu_time_total_str = property(lambda self: _time(self.self_cpu_time_total))


class FunctionEvent(_Times):
    """One call of an operator, a label or a Python function."""

    count = 1

    def __init__(self, number, event):
        python = _PYTHON_NAME.fullmatch(event.name)
        self.id, self.thread = number, event.thread
        self.is_async, self.is_python_function = event.is_async, python is not None
        self.trace_name = f"{python[1]}({python[2]}): {python[3]}" if python else event.name
        self.name = self.key = STEP[:-1] + "*" if event.name.startswith(STEP) else self.trace_name
        self.is_user_annotation = not python and "::" not in event.name
        self.time_range = Interval(event.start_ps / PS_PER_US, event.end_ps / PS_PER_US)
        self.cpu_time_total = event.duration_ps / PS_PER_US
        self.input_shapes = event.arguments.get("shapes", "")
        self.cpu_parent, self.cpu_children, self.kernels, self.stack = None, [], [], []

    @property
    def self_cpu_time_total(self):
        return 0 if self.is_async else self.cpu_time_total - sum(c.cpu_time_total for c in self.cpu_children)

    def __repr__(self):
        return (f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time_str} "
                f"start_us={self.time_range.start} end_us={self.time_range.end} thread={self.thread} "
                f"cpu_children={[child.id for child in self.cpu_children]}>")


class FunctionEventAvg(_Times):
    """All calls of one key."""

    def __init__(self):
        self.key, self.count, self.cpu_time_total, self.self_cpu_time_total = None, 0, 0, 0
        self.is_async = self.is_user_annotation = False
        self.input_shapes, self.stack, self.cpu_parent, self.cpu_children = "", [], None, []

    def add(self, other):
        if self.key is None:
            for name in ("key", "is_async", "is_user_annotation", "input_shapes", "stack", "cpu_parent",
                         "cpu_children"):
                setattr(self, name, getattr(other, name))
        if self.key != other.key:
            raise AssertionError(f"Expected keys to match, but got {other.key} vs {self.key}")
        self.count += other.count
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        return self

    __iadd__ = add

    def __repr__(self):
        return (f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
                f"cpu_time={self.cpu_time_str} count={self.count} input_shapes={self.input_shapes}>")


class EventList(list):
    """Events in order of time, or averages of them."""

    @classmethod
    def of_run(cls, folder):
        """The events of a run's folder, as torch would list them."""
        run = _tables.read(folder)
        events = _tables.nest([event for event in run.events
                               if event.name not in _UNSEEN and not event.name.startswith(_UNSEEN_DOMAIN)])
        made = {id(event): FunctionEvent(number, event) for number, event in enumerate(events)}
        for event in events:
            ours = made[id(event)]
            ours.cpu_parent = made[id(event.parent)] if event.parent else None
            ours.cpu_children = [made[id(child)] for child in event.children]
        listed = cls(_without_twins(made[id(event)] for event in events))
        for event in listed:
            event.stack = _stack(event)
        return listed

    @property
    def self_cpu_time_total(self):
        return sum(event.self_cpu_time_total for event in self)

    def key_averages(self, group_by_input_shapes=False, group_by_stack_n=0, group_by_overload_name=False):
        """One FunctionEventAvg for each name; also for each shapes, and for each of the innermost group_by_stack_n
        Python functions around."""
        del group_by_overload_name  # there are none
        averages = collections.defaultdict(FunctionEventAvg)
        for event in self:
            key = (event.key, event.input_shapes if group_by_input_shapes else "", *event.stack[:group_by_stack_n])
            averages[key].add(event)
        for average in averages.values():
            average.stack = average.stack[:group_by_stack_n]
            if not group_by_input_shapes:
                average.input_shapes = ""
        return EventList(averages.values())

    def total_average(self):
        """All events as one, of the name Total."""
        total = FunctionEventAvg()
        for event in self:
            total.key = event.key if total.count else None
            total.add(event)
        total.key = "Total"
        return total

    def table(self, sort_by=None, row_limit=100, max_src_column_width=75, max_name_column_width=55,
              max_shapes_column_width=80, header=None, top_level_events_only=False, time_unit=None):
        """As text. sort_by: an attribute, such as cpu_time_total, self_cpu_time_total, cpu_time or count, greatest
        first; time_unit: "s", "ms", "us" instead of what fits."""
        if not self:
            return ""
        events = self
        if sort_by is not None:
            events = sorted(self, key=lambda event: getattr(event, _of_any_device(sort_by)), reverse=True)
        widths = {"name": max_name_column_width, "source": max_src_column_width, "shapes": max_shapes_column_width}
        return _Table(events, widths, time_unit).text(row_limit, header, top_level_events_only)

    def export_chrome_trace(self, path):
        """The events in Chrome's format, as torch's profiler names their fields; .gz is packed."""
        threads = {event.thread: None for event in self}
        out = [{"name": "process_name", "ph": "M", "ts": 0, "pid": os.getpid(), "tid": 0, "args": {"name": "python"}}]
        out += [{"name": "thread_name", "ph": "M", "ts": 0, "pid": os.getpid(), "tid": thread,
                 "args": {"name": f"thread {thread}"}} for thread in threads]
        for event in self:
            kind = "user_annotation" if event.is_user_annotation else "cpu_op"
            kind = "python_function" if event.is_python_function else kind
            shapes = {"Input Dims": event.input_shapes} if event.input_shapes else {}
            out.append({"ph": "X", "cat": kind, "name": event.trace_name, "pid": os.getpid(), "tid": event.thread,
                        "ts": round(event.time_range.start, 3), "dur": round(event.cpu_time_total, 3), "args": shapes})
        with (gzip.open if os.fspath(path).endswith(".gz") else open)(path, "wt", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "deviceProperties": [], "displayTimeUnit": "ms", "traceEvents": out,
                       "traceName": os.fspath(path)}, file)

    @staticmethod
    def supported_export_stacks_metrics():
        return ["self_cpu_time_total", *(f"self_{device}_time_total" for device in _OTHER_DEVICES)]

    def export_stacks(self, path, metric):
        """One line for each event that has Python functions around it: these, outermost first, and its metric."""
        if metric not in self.supported_export_stacks_metrics():
            raise ValueError(f"metric should be one of: {self.supported_export_stacks_metrics()}")
        with open(path, "w", encoding="utf-8") as file:
            for event in self:
                value = int(getattr(event, _of_any_device(metric)))
                if event.stack and value > 0:
                    frames = ";".join(frame.translate(_FRAME_BREAKERS) for frame in reversed(event.stack))
                    file.write(f"{frames} {value}\n")


def _without_twins(events):
    """Leaves out an event that is all there is in one of the same name."""
    for event in events:
        parent = event.cpu_parent
        if parent is not None and parent.name == event.name and len(parent.cpu_children) == 1:
            parent.cpu_children = event.cpu_children
            for child in event.cpu_children:
                child.cpu_parent = parent
        else:
            yield event


def _stack(event):
    """The Python functions around it, innermost first."""
    parent = event.cpu_parent
    if parent is None:
        return []
    return [parent.trace_name, *parent.stack] if parent.is_python_function else parent.stack


def _of_any_device(name):
    for device in _OTHER_DEVICES:
        name = name.replace(device, "device")
    return name


def _time(time_us, unit=None):
    if unit == "s" or (unit not in ("ms", "us") and time_us >= 10**6):
        return f"{time_us / 10**6:.3f}s"
    if unit == "ms" or (unit != "us" and time_us >= 1000):
        return f"{time_us / 1000:.3f}ms"
    return f"{time_us:.3f}us"


def _share(time_us, whole_us):
    return f"{time_us * 100 / whole_us:.2f}%" if whole_us else "NaN"


def _cut(text, width):
    return text[:width - 3] + "..." if width is not None and len(text) >= width - 3 else text


def _cut_path(path, width):
    if len(path) <= width:
        return path
    path = path[len(path) - width:]
    return "..." + path[3:] if len(path) > 3 else path


class _Table:
    """Columns right-justified, two blanks behind each."""

    COLUMN = 12

    def __init__(self, events, widths, time_unit):
        self._events, self._unit, self._name_limit = events, time_unit, widths["name"]
        self._whole_us = sum(event.self_cpu_time_total for event in events)
        stacks = [frame for event in events for frame in event.stack]
        self._columns = [("Name", self._width((e.key for e in events), widths["name"]), ">")]
        self._columns += [(head, self.COLUMN, ">") for head in ("Self CPU %", "Self CPU", "CPU total %", "CPU total",
                                                                  "CPU time avg", "# of Calls")]
        self._shapes_width = self._source_width = None
        if any(event.input_shapes for event in events):
            self._shapes_width = self._width((str(e.input_shapes) for e in events), widths["shapes"])
            self._columns.append(("Input Shapes", self._shapes_width, ">"))
        if stacks:
            self._source_width = self._width(stacks, widths["source"])
            self._columns.append(("Source Location", self._source_width, "<"))

    @staticmethod
    def _width(texts, limit):
        width = max(map(len, texts)) + 4
        return width if limit is None else min(width, limit)

    def _line(self, cells):
        return "".join(f"{cell!s:{side}{width}}  " for cell, (_, width, side) in zip(cells, self._columns)) + "\n"

    def _cells(self, event):
        cells = [_cut(event.key, self._name_limit), _share(event.self_cpu_time_total, self._whole_us),
                 _time(event.self_cpu_time_total, self._unit),
                 0 if event.is_async else _share(event.cpu_time_total, self._whole_us),
                 _time(event.cpu_time_total, self._unit), _time(event.cpu_time, self._unit), event.count]
        if self._shapes_width is not None:
            cells.append(str(event.input_shapes)[:self._shapes_width])
        return cells

    def _rows(self, event):
        cells = self._cells(event)
        if self._source_width is None:
            return self._line(cells)
        frames = [_cut_path(frame, self._source_width) for frame in event.stack]
        blank = [""] * len(cells)
        lines = [self._line(cells + (frames[:1] or [""]))]
        lines += [self._line(blank + [frame]) for frame in frames[1:]]
        return "".join(lines) + self._line(blank + [""])

    def text(self, row_limit, header, top_level_events_only):
        double = "=" * (sum(width + 2 for _, width, _ in self._columns) - 2) + "\n"
        rule = "".join("-" * width + "  " for _, width, _ in self._columns) + "\n"
        out = [double, f"{header}\n"] if header is not None else []
        if top_level_events_only:
            out += [double, "This report only display top-level ops statistics\n"]
        out += [rule, self._line([head for head, _, _ in self._columns]), rule]
        shown = [event for event in self._events if not (top_level_events_only and event.cpu_parent is not None)]
        out += [self._rows(event) for event in (shown if row_limit < 0 else shown[:row_limit])]
        return "".join(out) + rule + f"Self CPU time total: {_time(self._whole_us, self._unit)}\n"
