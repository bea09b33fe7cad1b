# SPDX-License-Identifier: Apache-2.0
"""What the tests of readers ask of a converted profile: its events, rows of pages, the ledger."""
import collections
import json

from support import run


def answer(tool, path, *more):
    r = run("tool", tool, path, *more)
    if r.returncode:
        raise AssertionError(f"tbprof tool {tool} {path}: {r.stderr}")
    return json.loads(r.stdout)


def events(path):
    """(process, line, name, start ns, duration ns, args) of everything that the trace viewer shows."""
    trace = answer("trace_viewer", path)["traceEvents"]
    process, line = {}, {}
    for e in trace:
        if e.get("name") == "process_name":
            process[e["pid"]] = e["args"]["name"]
        if e.get("name") == "thread_name":
            line[e["pid"], e["tid"]] = e["args"]["name"]
    return [(process[e["pid"]], line.get((e["pid"], e["tid"]), ""), e["name"], round(e["ts"] * 1000),
             round(e.get("dur", 0) * 1000), e.get("args", {})) for e in trace if e.get("ph") in ("X", "C")]


def rows(page, index=0):
    """Rows of a table as dicts."""
    table = page[index] if isinstance(page, list) else page
    ids = [c["id"] for c in table["cols"]]
    return [dict(zip(ids, (c["v"] for c in r["c"]))) for r in table["rows"]]


def ops(path, where="Host"):
    """name -> (occurrences, total ns) of the op table, IDLE aside."""
    found = {}
    for r in rows(answer("framework_op_stats", path)):
        if r["host_or_device"] == where and r["type"] != "IDLE":
            found[r["operation"]] = (int(r["occurrences"]), round(r["total_time"] * 1000))
    return found


def sums(listed):
    """name -> [count, total ns] of events."""
    found = collections.defaultdict(lambda: [0, 0])
    for e in listed:
        found[e[2]][0] += 1
        found[e[2]][1] += e[4]
    return dict(found)


def ledger(path):
    """Sums and counters of `tbprof info`."""
    host = json.loads(run("info", path, "--json").stdout)["runs"][0]["hosts"][0]
    return host


def lines(path):
    """name of each line -> its number of events; those of no length count."""
    return {line["name"]: line["events"] for plane in ledger(path)["planes"] for line in plane["lines"]}


def steps(path):
    """step -> ms of the input pipeline page."""
    for table in answer("input_pipeline_analyzer", path):
        if any(c["id"] == "stepnum" for c in table["cols"]):
            return rows(table)
    return []
