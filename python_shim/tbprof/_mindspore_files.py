# SPDX-License-Identifier: Apache-2.0
"""The files of MindSpore's profiler folder, as its CPU platform writes them: tables of operator types and operators,
their timeline, the times of each, and what was profiled when.

An operator is a scope whose name ends with its type and number, below the path of its module, such as
Default/network-WithLossCell/_backbone-Net/c-Conv2d/Conv2D-op34; other scopes are operators of their own name. Times in
tables are own times, without the scopes inside, so that they add up; the timeline shows whole spans.
"""
import csv
import json
import os

from tbprof import _tables

SUBGRAPHS = ("Default", "Gradients")
PS_PER_MS, PS_PER_US = 10**9, 10**6
STEPS_THREAD, SCOPES_THREAD = 100000, 100001
TYPE_COLUMNS = ("op_type", "type_occurrences", "execution_frequency(per-step)", "total_compute_time", "avg_time(ms)",
                "percent")
DETAIL_COLUMNS = ("op_side", "op_type", "op_name", "full_op_name", "op_occurrences", "op_total_time(ms)",
                  "op_avg_time(ms)", "total_proportion", "subgraph", "pid")
MERGED_COLUMNS = ("optype_name", "compute_time(ms, per-step)", "called_times(per-step)", "percent")


def op_name(full_name):
    return full_name.rsplit("/", 1)[-1]


def op_type(full_name):
    kind, separator, number = op_name(full_name).rpartition("-op")
    return kind if separator and number.isdigit() else op_name(full_name)


def subgraph(full_name):
    first = full_name.split("/", 1)[0]
    return first if first in SUBGRAPHS else SUBGRAPHS[0]


class Filter:
    """Which operators are in the tables: of a subgraph ("all": any), of types."""

    def __init__(self, of_subgraph="all", wanted="", unwanted=""):
        self._subgraph = of_subgraph
        self._wanted, self._unwanted = ({kind for kind in text.split(",") if kind} for text in (wanted, unwanted))

    def takes(self, full_name):
        kind = op_type(full_name)
        return (self._subgraph in ("all", subgraph(full_name)) and kind not in self._unwanted
                and (not self._wanted or kind in self._wanted))


class Report:
    """A run as MindSpore would tell it."""

    def __init__(self, run, chosen):
        events = _tables.nest(run.events)
        self.start_ns = run.start_ns
        self.steps = [event for event in events if "step_num" in event.arguments]
        self.ops = [event for event in events if "step_num" not in event.arguments and chosen.takes(event.name)
                    and not event.name.startswith(_tables.PYTHON)]
        self.by_name = _tables.rows(self.ops)
        self.by_type = _tables.rows(self.ops, lambda event: op_type(event.name))
        self.total_ps = sum(row.self_ps for row in self.by_name)

    def share(self, row):
        return row.self_ps / self.total_ps if self.total_ps else 0

    def per_step(self, value):
        return value / max(1, len(self.steps))

    def start_us(self, event):
        return (self.start_ns * 1000 + event.start_ps) / PS_PER_US


def _g(number):
    return f"{number:.6g}"


def _write_csv(path, columns, rows):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def _write_json(path, what):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(what, file)


def type_rows(report):
    for row in report.by_type:
        total_ms = row.self_ps / PS_PER_MS
        yield (row.name, row.count, _g(report.per_step(row.count)), _g(total_ms), _g(total_ms / row.count),
               _g(report.share(row)))


def detail_rows(report):
    for row in report.by_name:
        total_ms = row.self_ps / PS_PER_MS
        yield ("Host", op_type(row.name), op_name(row.name), row.name, row.count, _g(total_ms),
               _g(total_ms / row.count), _g(report.share(row)), subgraph(row.name), os.getpid())


def _write_times(path, report):
    """Per operator, its spans: start in nanoseconds since 1970, duration in milliseconds, 0."""
    spans = {}
    for event in report.ops:
        span = f"{report.start_ns + event.start_ps // 1000},{_g(event.duration_ps / PS_PER_MS)},0 "
        spans.setdefault(event.name, []).append(span)
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{name};HostCpuOps;{''.join(of_op)}\n" for name, of_op in spans.items())


def _write_framework(path, report):
    """Per call, its operator, a graph (there is none) and the shapes of its inputs."""
    with open(path, "w", encoding="utf-8") as file:
        for event in report.ops:
            shapes = f"input_1:{event.arguments['shapes']};" if event.arguments.get("shapes") else ""
            file.write(f"{op_type(event.name)};{op_name(event.name)};0;{shapes}\n")


def _write_merged(path, report, is_detail, is_show_op_path):
    """The table of MindSpore 1: types by time, and below them, on wish, operators, on wish with their paths."""
    by_time = sorted(report.by_type, key=lambda row: -row.self_ps)
    rank = {row.name: at for at, row in enumerate(by_time)}
    with open(path, "w", encoding="utf-8") as file:
        file.write("title:op compute time\n" + " ".join(MERGED_COLUMNS) + "\n")
        for row in by_time:
            file.write(f"{row.name} {_g(report.per_step(row.self_ps / PS_PER_MS))} {_g(report.per_step(row.count))} "
                       f"{report.share(row) * 100:.2f}\n")
        if not is_detail:
            return
        file.write("\nDetail:\nop_name op_type avg_execution_time subgraph" + " full_op_name" * is_show_op_path + "\n")
        for row in sorted(report.by_name, key=lambda row: (rank[op_type(row.name)], -row.self_ps)):
            cells = [op_name(row.name), op_type(row.name), _g(row.self_ps / PS_PER_MS / row.count), subgraph(row.name)]
            file.write(" ".join(cells + [row.name] * is_show_op_path) + "\n")


def _span(name, thread, start_us, duration_us, **more):
    return {"name": name, "ph": "X", "tid": thread, "ts": start_us, "dur": duration_us, "pid": 0, **more}


def _scopes(report):
    """The modules around operators: one span for each row of neighbours that share a path."""
    open_scopes = []  # [name, start, end] of each level
    for event in [*sorted(report.ops, key=lambda e: e.start_ps), None]:
        path = event.name.split("/")[:-1] if event else []
        same = 0
        while same < min(len(path), len(open_scopes)) and path[same] == open_scopes[same][0]:
            same += 1
        for level, (name, start_us, end_us) in enumerate(open_scopes[same:], same):
            yield _span(name, SCOPES_THREAD, start_us, end_us - start_us, scope_level=level)
        del open_scopes[same:]
        if event:
            begin_us = report.start_us(event)
            end_us = begin_us + event.duration_ps / PS_PER_US
            open_scopes += [[name, begin_us, end_us] for name in path[same:]]
            for scope in open_scopes:
                scope[2] = max(scope[2], end_us)


def _timeline(report, limit_bytes):
    """Events as Chrome's format has them; of operators, as many as fit."""
    threads = {thread: at for at, thread in enumerate(dict.fromkeys(event.thread for event in report.ops))}
    out = [{"name": "process_labels", "ph": "M", "pid": 0, "args": {"labels": "Host CPU OP"}},
           {"name": "process_sort_index", "ph": "M", "pid": 0, "args": {"sort_index": 0}},
           {"name": "thread_name", "ph": "M", "pid": 0, "tid": STEPS_THREAD, "args": {"name": "Steps"}},
           {"name": "thread_name", "ph": "M", "pid": 0, "tid": SCOPES_THREAD, "args": {"name": "Scope Name"}},
           {"name": "thread_sort_index", "ph": "M", "pid": 0, "tid": STEPS_THREAD, "args": {"sort_index": -4}},
           {"name": "thread_sort_index", "ph": "M", "pid": 0, "tid": SCOPES_THREAD, "args": {"sort_index": -3}}]
    out += [_span(str(step.arguments["step_num"]), STEPS_THREAD, report.start_us(step), step.duration_ps / PS_PER_US)
            for step in report.steps]
    out += _scopes(report)
    size = 0
    for event in report.ops:
        span = _span(op_name(event.name), f"HostCpuOps{threads[event.thread]}", report.start_us(event),
                     event.duration_ps / PS_PER_US)
        size += len(json.dumps(span)) + 2
        if size > limit_bytes:
            break
        out.append(span)
    return out


def write(folder, rank, report, *, is_detail, is_show_op_path, limit_bytes):
    """All of them, into a folder that is there; without operators no tables."""
    def path(name):
        return os.path.join(folder, name.format(rank))

    if report.ops:
        _write_csv(path("cpu_op_type_info_{}.csv"), TYPE_COLUMNS, type_rows(report))
        _write_merged(path("output_op_compute_time_detail_{}.txt"), report, is_detail, is_show_op_path)
        _write_times(path("cpu_op_execute_timestamp_{}.txt"), report)
        _write_framework(path("cpu_framework_{}.txt"), report)
    if report.ops and is_detail:
        _write_csv(path("cpu_op_detail_info_{}.csv"), DETAIL_COLUMNS, detail_rows(report))
    _write_json(path("cpu_timeline_display_{}.json"), _timeline(report, limit_bytes))
    _write_json(path("cpu_timeline_summary_{}.json"), {
        "total_time": report.total_ps / PS_PER_MS, "num_of_streams": len({event.thread for event in report.ops}),
        "num_of_ops": len(report.by_name), "op_exe_times": len(report.ops),
        "max_scope_name_num": max((row.name.count("/") for row in report.by_name), default=0)})
