#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small inputs after public reports, ../shared/cases: every value of every expect.json, from the command line.

CASES has one function per folder. It is given the folder and the values of its expect.json and returns what tbprof says
in the same shape. Each value must be answered and equal; what cannot be compared stands in ASIDE with the reason, and
what tbprof does not do yet in MISSING. A folder that the tables do not know fails the test. Cases that are no
files but programs to be recorded have tests of their own; ELSEWHERE names them, and they must exist.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

from values import Profile, facts, kineto_zero_ns, number, run
from support import ROOT, SHARED, Case

FOLDER = os.path.join(SHARED, "cases")
XPT = os.environ.get("XPT", os.path.join(ROOT, "build", "release", "tests", "xpt"))
SKIPPED = 77
CASES = {}

OTHERS = "figures of other tools, which are wrong"
ASIDE = {  # case -> part of the values -> why it is not compared
    "gpu-user-annotation-counted-as-work": {"wrong_answers_seen": OTHERS},
    "async-events-with-id2-local-and-global": {"wrong_answers_seen": OTHERS},
    "loader-time-outside-the-train-steps": {"wrong_answers_seen": OTHERS},
    "mxnet-operator-logged-twice": {"wrong_answers_seen": OTHERS},
    "a-cluster-of-events-in-the-far-future": {
        "raw_span_us": "the span that must not be shown: events of the other clock are left out"},
    "rocprof-json-fragment": {"results_full.json/from_rounded_us_would_be": OTHERS},
    "rocprof-csv-columns-by-name-short-rows-open-ranges": {
        "v3_old_kernel_trace.csv/unit": "a remark on the other figures, which are read in it"},
    "nvprof-without-the-optional-tables": {
        # S_ in _Z4axpyPfS_i stands for the type before it, float*, so there are two pointers: axpy(float*, float*, int),
        # as c++filt says, too. The test asks for that name and takes count and sum from here.
        "kernels/axpy(float*, int)/name": "not what the mangled name beside it says"},
}
for _case in ("events-shorter-than-a-nanosecond", "gaps-between-step-markers", "host-plane-of-a-subprocess",
              "program-without-hlo-text", "xplane-with-epoch-timestamps"):
    ASIDE.setdefault(_case, {})["official_2.24.2"] = "the recorded answers beside it are compared as a whole"
ASIDE["gaps-between-step-markers"]["step-num-unsigned.xplane.pb/official_2.24.2_names"] = \
    ASIDE["gaps-between-step-markers"]["official_2.24.2"]

MISSING = {}  # case -> part of the values -> what is missing

ELSEWHERE = {  # case -> file, text in it: the test that does what the case says
    "profile-batch-arguments": ("tests/python/test_keras.py", "class ProfileBatch"),
    "many-sessions-in-one-process": ("tests/capture/test_runtime.py", "test_n_sessions_are_n_runs_in_the_order_of_time"),
    "addresses-of-capture-targets": ("tests/unit/test_target_address.c", "ambiguous: write [::1]:6009"),
}


def case(name):
    def known(f):
        CASES[name] = f
        return f
    return known


# ---- Kineto ----

def kineto(folder, name="trace.pt.trace.json"):
    return Profile(os.path.join(folder, name))


@case("gpu-user-annotation-counted-as-work")
def _(folder, want, tmp):
    p = kineto(folder)
    return {"kernel_count": p.kernel_count, "kernel_sum": p.kernel_sum, "device_busy": p.busy(),
            "device_window": p.window(kineto_zero_ns(p.path)), "idle_in_window": p.idle(),
            "steps": p.per_step("step"), "step_count": len(p.steps["steps"]),
            "annotation_rows_on_gpu": len([r for r in p.rows if r["category"] == "gpu_user_annotation"]),
            "op_device_time": p.device_time("aten::mm", "aten::add")}


@case("collective-kernel-names-and-missing-metadata")
def _(folder, want, tmp):
    p = kineto(folder, "rank0.pt.trace.json")
    answer = p.ask("collectives")
    (host,) = answer["hosts"]
    (reduced,) = [c for c in answer["collectives"] if c["recognised_by"] == "metadata"]
    (gathered,) = [c for c in answer["collectives"] if c["kind"] == "all-gather"]
    return {"comm_kernels": host["collectives"], "compute_kernels": p.kernel_count - host["collectives"],
            "communication": host["communication_us"], "compute": host["compute_us"], "overlap": host["overlap_us"],
            "device_busy": host["busy_us"], "device_window": p.window(kineto_zero_ns(p.path)), "idle": p.idle(),
            "allreduce": {"bytes": reduced["size_bytes"], "duration": reduced["duration_us"],
                          "algorithm_bandwidth_GBps": reduced["algorithm_gbps"],
                          "bus_bandwidth_GBps": reduced["bus_gbps"]},
            "allgather_bandwidth": gathered["algorithm_gbps"]}


@case("host-triton-op-carries-stream-0")
def _(folder, want, tmp):
    p = kineto(folder)
    op = p.row("triton_poi_fused_add_0")
    inside = [e for e in p.events if e[0] == "/host:CPU" and e[2] == "triton_poi_fused_add_0"]
    (mark,) = [e for e in p.events if "step_num" in e[5] and e[0] == "/host:CPU"]
    return {"kernel_count": p.kernel_count, "kernel_sum": p.kernel_sum,
            "host_ops": {op["name"]: {"count": op["count"], "host_time": op["cpu_us"], "device_time": op["device_us"]}},
            "step": {"number": p.per_step("step")[0], "host_time": p.per_step("marker_us")[0],
                     "contains_host_op": all(mark[3] <= e[3] and e[3] + e[4] <= mark[3] + mark[4] and
                                             e[5]["group_id"] == mark[5]["group_id"] for e in inside) and len(inside) == 1},
            "gpu_streams": sorted({int(e[1].split("#")[1].split("(")[0]) for e in p.device})}


@case("gpu-work-in-2-of-8-steps-and-one-giant")
def _(folder, want, tmp):
    p = kineto(folder)
    giant, empty = p.check["impossible_durations"], p.check["steps_without_device_work"]
    said = giant["text"].split(": ")[1].split(" % of")[0]
    words = giant["text"].replace(",", "").split()
    us = [float(w[:-2]) for w in words if w.endswith("us")]
    share = 100 * (1 - us[0] / p.kernel_sum)  # the text has one decimal
    return {"step_count": len(p.steps["steps"]), "kernels_per_step": p.per_step("device_works"),
            "steps_without_gpu_events": empty["count"], "kernel_count": p.kernel_count, "raw_kernel_sum": p.kernel_sum,
            "suspicious_kernels": giant["count"], "kernel_sum_without_suspicious": us[0], "kernel_sum_with_clip": us[1],
            "suspicious_share_of_raw_percent": share if f"{share:.1f}" == said else float(said)}


@case("rocm-streams-share-hardware-queues")
def _(folder, want, tmp):
    old, new = kineto(folder, "old.pt.trace.json"), kineto(folder, "new.pt.trace.json")
    for p in (old, new):
        yield {"kernel_count": p.kernel_count, "kernel_sum": p.kernel_sum, "kernel_busy": p.busy(p.kernels),
               "device_busy_with_copies": p.busy(),
               "copies": {"count": len(p.copies), "bytes": sum(copied(e) for e in p.copies),
                          "time": number(sum(e[4] for e in p.copies))},
               "suspicious_kernels": p.check.get("impossible_durations", {"count": 0})["count"]}
    # The rows of the file, its queues: what overlaps on one of them is drawn on "Stream #0(...) (2)".
    queues = {name: {re.sub(r" \(2\)$", "", e[1]) for e in p.device} for name, p in (("old", old), ("new", new))}
    yield {"rows": {name: len(found) for name, found in queues.items()},
           "same_tables_for_both_files": old.stats == new.stats and old.kernel_table == new.kernel_table}


def copied(event):
    return int(event[5]["memcpy_details"].split("size:")[1].split()[0])


@case("counters-overhead-and-text-process-ids")
def _(folder, want, tmp):
    p = kineto(folder)
    series = {}
    for line in run("export", "--chrome", p.path).stdout.splitlines():
        e = json.loads(line.strip(",")) if line.startswith('{"ph":"C"') else None
        if e:
            series.setdefault(e["name"], []).append(next(iter(e["args"].values())))
    overhead = {e[2]: number(e[4]) for e in p.events if e[1] == "Profiler overhead"}
    return {"op_count": p.row("aten::mm")["count"], "kernel_count": p.kernel_count, "kernel_sum": p.kernel_sum,
            "device_window": p.window(kineto_zero_ns(p.path)),
            "counter_series": len(series), "counter_samples": sum(map(len, series.values())),
            "tensor_pipe_percent": series.get("sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_elapsed"),
            "overhead": overhead, "host_op_self_time": {"aten::mm": p.row("aten::mm")["self_cpu_us"]}}


@case("flow-ids-shared-by-two-categories")
def _(folder, want, tmp):
    p = kineto(folder)
    of = {e[2].split(": ")[-1]: e[5].get("forward_op") for e in p.events}
    return {"fwdbwd": {name: of[name] for name in want["fwdbwd"]},
            "op_device_time": p.device_time(*want["op_device_time"]),
            "flow_links": {"fwdbwd": sum(v is not None for v in of.values()),
                           "ac2g": sum(n for name, n in p.launched_by().items() if name != "unlinked")}}


@case("loader-time-outside-the-train-steps")
def _(folder, want, tmp):
    p = kineto(folder)
    outside = p.steps["outside"]
    (loader,) = [r for r in p.stats if "DataLoader" in r["name"]]
    period = p.per_step("marker_us")
    return {"steps": p.per_step("step"), "step_time": period, "input_time_per_step": p.per_step("input_us"),
            "input_percent_per_step": [100 * a / b for a, b in zip(p.per_step("input_us"), period)],
            "loader_outside_steps": outside["input_us"], "loader_total": loader["cpu_us"],
            "copies_outside_steps": {"count": outside["device_works"], "time": outside["device_work_us"]}}


@case("rank-in-the-file-name")
def _(folder, want, tmp):
    folder = os.path.join(folder, "run")
    hosts = {h["host"]: h for r in json.loads(run("info", "--json", folder).stdout)["runs"] for h in r["hosts"]}
    label = {"aa1f87508336_37_0": "aa1f87508336_37.1780300000000000001#0",  # a host's name holds no span
             "aa1f87508336_37_3": "aa1f87508336_37.1780300000000000001#3",
             "gpu-07.rack 2.example_4711": "gpu-07.rack 2.example_4711.1780300000000000009"}
    sums = {}
    for name in hosts:
        rows = json.loads(run("stats", "--json", "--host", name, folder).stdout)["rows"]
        sums[name] = sum(r["device_us"] for r in rows if r["on"] == "device")
    short = {"aa1f87508336_37_0": "…#0", "aa1f87508336_37_3": "…#3", "gpu-07.rack 2.example_4711": "gpu-07…"}
    # A further span of a worker would be the second: the one of the file is told by its run of two.
    shutil.copytree(folder, os.path.join(tmp, "run"))
    later = "gpu-07.rack 2.example_4711.%d.pt.trace.json.gz" % (want["span_of_third"] + 1)
    shutil.copy(os.path.join(folder, label["gpu-07.rack 2.example_4711"] + ".pt.trace.json.gz"),
                os.path.join(tmp, "run", later))
    spans = [r["run"] for r in json.loads(run("info", "--json", os.path.join(tmp, "run")).stdout)["runs"]]
    return {"files": len(os.listdir(folder)), "distinct_hosts": len(hosts),
            "rank": {label[n]: h["rank"] for n, h in hosts.items()},
            "kernel_sum": {short[n]: s for n, s in sums.items()},
            "worker_of_third": next(n for n in hosts if n.startswith("gpu")),
            "span_of_third": want["span_of_third"] if spans == ["run_span1", "run_span2"] else spans}


@case("unknown-runtime-api-names-and-no-cbid")
def _(folder, want, tmp):
    p = kineto(folder)
    return {"op_device_time": p.device_time(*want["op_device_time"]), "kernel_count": p.kernel_count,
            "unlinked_kernels": p.launched_by().get("unlinked", 0), "sync_rows": len(p.all("Event Host Sync")),
            "device_busy": p.busy()}


@case("collective-wait-of-a-late-rank")
def _(folder, want, tmp):
    for rank in (0, 1):
        shutil.copy(os.path.join(folder, f"rank{rank}.pt.trace.json"), tmp)
    both = Profile(tmp)
    answer = both.ask("collectives")
    calls = {rank: [c for c in answer["collectives"] if c["rank"] == rank] for rank in (0, 1)}
    (transfer,) = {c["transfer_us"] for c in answer["collectives"]}
    (late,) = {c["rank"] for c in answer["collectives"] if c["late"]}
    longest = max(answer["collectives"], key=lambda c: c["duration_us"])
    yield {"collectives": len({c["collective"] for c in answer["collectives"]}), "transfer_each": transfer,
           "wait": {f"rank{rank}": [c["wait_us"] for c in listed] for rank, listed in calls.items()},
           "late_rank": late, "arrival_skew_first": answer["collectives"][0]["skew_us"],
           "suspicious_durations": both.check.get("impossible_durations", {"count": 0})["count"],
           "outlier_vs_median": {"rank": longest["rank"], "duration": longest["duration_us"],
                                 "median_of_others": longest["median_us"]}}
    for host in answer["hosts"]:
        found = {"device_busy": host["busy_us"], "communication_raw": host["communication_us"],
                 "compute": host["compute_us"], "communication_percent_raw": 100 * host["communication_share"]}
        if host["rank"] == 0:
            found["kernel_count"] = kineto(folder, "rank0.pt.trace.json").kernel_count
            found["steady_state_communication_percent"] = 100 * host["transfer_share"]
        yield {f"rank{host['rank']}": found}


# ---- XPlane ----

def xplane(folder, name="host.xplane.pb"):
    return Profile(os.path.join(folder, name))


@case("gaps-between-step-markers")
def _(folder, want, tmp):
    p, unsigned = xplane(folder), xplane(folder, "step-num-unsigned.xplane.pb")
    median = p.steps["summary"]
    return {"marker_duration": median["marker_us"]["median"], "period_median": median["period_us"]["median"],
            "kernel_sum": p.kernel_sum,
            "step-num-unsigned.xplane.pb": {"expected_step_numbers": unsigned.per_step("step")}}


@case("program-without-hlo-text")
def _(folder, want, tmp):
    p = xplane(folder)
    return {"kernel_table": {k: {"count": n, "total": number(ns)} for k, (n, ns) in p.kernel_table.items()},
            "op_table_must_hold": sorted(facts.ops(p.path, "Device")), "device_busy": p.busy(),
            "device_window": p.window(-line_start_ns(p.path, tmp)), "idle": p.idle()}


def line_start_ns(path, tmp):
    """What all lines of the file count their events from, and so tbprof's time 0 of the case."""
    text = os.path.join(tmp, "profile.xpt")
    subprocess.run([XPT, "to-text", path, text], check=True)
    with open(text, encoding="utf-8") as f:
        (start,) = set(re.findall(r" at (\d+)ns", f.read()))
    return int(start)


@case("host-plane-of-a-subprocess")
def _(folder, want, tmp):
    p = xplane(folder)
    names = [pl["name"] for pl in p.info["planes"]]
    shown = sorted({e[0] for e in p.events})
    return {"host_planes": sum(n.startswith("/host:CPU") for n in names), "processes_in_trace": shown,
            "decode_jpeg": {"count": p.row("decode_jpeg")["count"], "total": p.row("decode_jpeg")["cpu_us"]},
            "MatMul": {"count": p.row("MatMul")["count"], "total": p.row("MatMul")["cpu_us"]},
            "steps": p.per_step("step")}


@case("events-shorter-than-a-nanosecond")
def _(folder, want, tmp):
    p = xplane(folder)
    found = {r["name"]: {"count": r["count"], "total_ps": round(r["device_us"] * 10**6)} for r in p.stats}
    return dict(found, sum_ps=sum(r["total_ps"] for r in found.values()))


@case("xplane-with-epoch-timestamps")
def _(folder, want, tmp):
    p = xplane(folder)
    made = os.path.join(tmp, "log")
    run("convert", p.path, "-o", made, "--run", "r", "--host", "h")
    written = Profile(os.path.join(made, "plugins", "profile", "r", "h.xplane.pb"))
    for q in (p, written):  # the file itself, and what convert writes for the official plugin
        yield {"kernel_sum": q.kernel_sum, "period_median": q.steps["summary"]["period_us"]["median"],
               "trace_events_shown": len(q.events), "first_event_relative": min(e[3] for e in q.events)}


# ---- databases ----

@case("nsys-suffixed-nvtx-table-and-substring-markers")
def _(folder, want, tmp):
    p = Profile(os.path.join(folder, "report.sqlite"))
    about = {k: v for pl in p.info["planes"] for k, v in pl["stats"].items()}
    return {"iterations": len(p.steps["steps"]), "iteration_host_time": p.per_step("marker_us"),
            "kernels_per_iteration": p.per_step("device_works"), "device_time_per_iteration": p.per_step("busy_us"),
            "nested_ranges": len([e for e in p.events if "/layer" in e[2] and e[0] == "/host:CPU"]),
            "nsight_version": about["nsight_version"], "export_schema": about["export_schema"]}


@case("nsys-start-end-ranges-and-no-markers")
def _(folder, want, tmp):
    p = Profile(os.path.join(folder, "startend.sqlite"))
    ranges = [e for e in p.events if e[1].startswith("NVTX ranges")]
    q = Profile(os.path.join(folder, "nomarkers.sqlite"))
    return {"startend.sqlite": {"ranges": len(ranges), "range_time": [number(e[4]) for e in ranges],
                                "kernels_by_launch_in_range": p.per_step("device_works"), "device_sum": p.kernel_sum},
            "nomarkers.sqlite": {"steps": q.per_step("step") or None, "kernel_count": q.kernel_count,
                                 "device_sum": q.kernel_sum,
                                 "must_not": "report iterations" if "steps_unknown" in q.check and not q.info["steps"]
                                             else "steps were made up"}}


@case("nvprof-without-the-optional-tables")
def _(folder, want, tmp):
    p = Profile(os.path.join(folder, "old.nvvp"))
    table = {k: {"count": n, "total_ns": ns} for k, (n, ns) in p.kernel_table.items()}
    (gemm,) = [k for k in table if "mlops::gemm<" in k]
    (thread,) = {e[1] for e in p.events if e[0] == "/host:CPU"}
    first = p.window_ns()[0]
    # Demangled again by an independent program, where there is one.
    mangled = want["mangled_names"]
    if shutil.which("c++filt"):
        plain = subprocess.run(["c++filt", *mangled], capture_output=True, text=True).stdout.splitlines()
        mangled = [m if n in table else f"{n} is not in {sorted(table)}" for m, n in zip(mangled, plain)]
    return {"kernel_count": p.kernel_count, "device_sum_ns": p.kernel_sum_ns,
            "kernels": {"axpy(float*, int)": table["axpy(float*, float*, int)"], "mlops::gemm…": table[gemm]},
            "device_window_ns": p.window_ns(-first), "thread": int(thread.split()[-1]), "mangled_names": mangled}


@case("rpd-with-an-empty-schema-and-graph-launches")
def _(folder, want, tmp):
    empty, p = Profile(os.path.join(folder, "empty.rpd")), Profile(os.path.join(folder, "graph.rpd"))
    said = " ".join(empty.info["warnings"])
    must_say = want["empty.rpd"]["must_say"]
    counts = [int(w) for w in said.replace(":", " ").replace(",", " ").split() if w.isdigit()]  # schema, ops, calls
    zero = 2000 - p.window_ns()[0]  # the first operation begins at 2000 ns of the case's clock
    spans = sum(e[4] for e in p.device)
    return {"empty.rpd": {"ops": counts[1], "apis": counts[2], "must_say": must_say if must_say in said else said},
            "graph.rpd": {"kernel_count": p.kernel_count, "kernel_sum_ns": p.kernel_sum_ns,
                          "copies": {"count": len(p.copies), "total_ns": sum(e[4] for e in p.copies)},
                          "by_name_ns": {k: ns for k, (_, ns) in p.kernel_table.items()},
                          "by_launch": p.launched_by(), "window_ns": p.window_ns(zero),
                          "busy_ns": p.busy() * 1000, "overlap_ns": spans - p.busy() * 1000}}


# ---- other files ----

@case("rocprof-csv-columns-by-name-short-rows-open-ranges")
def _(folder, want, tmp):
    axpy, gemm = want["names"]

    def table(name):
        p = Profile(os.path.join(folder, name))
        queue = {e[2]: int(e[1].split("#")[1].split("(")[0]) for e in p.device}
        return p, {k: ns for k, (_, ns) in p.kernel_table.items()}, queue
    old, times, queues = table("v3_old_kernel_trace.csv")
    _, new_times, new_queues = table("v3_new_kernel_trace.csv")
    v2, v2_times, _ = table("v2_results_0.csv")
    lost = v2.info["ledger"]["counters"]["short_row"]
    with open(v2.path, "rb") as f:
        line = f.read()[:lost["first_offset"]].count(b"\n") + 1
    marks = Profile(os.path.join(folder, "v3_marker_api_trace.csv"))
    at = {e[2].rsplit(" ", 1)[0]: e for e in marks.events}
    is_open = marks.counters == {"unfinished": 1}
    return {"v3_old_kernel_trace.csv": {"axpy": times[axpy], "gemm": times[gemm]},
            "v3_new_kernel_trace.csv": want["v3_new_kernel_trace.csv"] if (new_times, new_queues) == (times, queues)
            else new_times,
            "v2_results_0.csv": {"rows": v2.ledger["emitted"], "rejected": [{"line": line, "reason": "too short"}],
                                 "axpy": min(v2_times.values()), "gemm": max(v2_times.values())},
            "v3_marker_api_trace.csv": {"step 0": at["step 0"][4], "step 1": "open (no end)" if is_open else at["step 1"],
                                        "instant": sum(r["duration_us"] == "0" for r in marks.rows)},
            "queues": {"axpy": queues[axpy], "gemm": queues[gemm]}, "names": sorted(times, key=want["names"].index)}


@case("rocprof-json-fragment")
def _(folder, want, tmp):
    part, p = Profile(os.path.join(folder, "results.json")), Profile(os.path.join(folder, "results_full.json"))
    assert "no kernels recorded" in part.info["warnings"], part.info["warnings"]
    first, second = sorted(p.kernels, key=lambda e: e[3])
    zero = want["results_full.json"]["window_ns"][0] - p.window_ns()[0]
    return {"results.json": {"events": part.info["events"], "metadata": part.ledger["merged"]},
            "results_full.json": {"kernel_count": p.kernel_count, "kernel_sum_ns": p.kernel_sum_ns,
                                  "gap_ns": second[3] - first[3] - first[4], "window_ns": p.window_ns(zero)}}


@case("mxnet-operator-logged-twice")
def _(folder, want, tmp):
    p = Profile(os.path.join(folder, "profile.json"))
    # Of devices the stats have rows of the work itself; smallest and largest from there.
    rows = {r["name"]: r for r in p.stats if r["on"] == "device"}
    memory = facts.answer("memory_profile", p.path)["memoryProfilePerAllocator"]
    (device,) = [k for k in memory if k.startswith("gpu")]
    summary, shots = memory[device]["profileSummary"], memory[device]["sampledTimelineSnapshots"]
    last = max(shots, key=lambda s: int(s["timeOffsetPs"]))["aggregationStats"]
    table = {}
    for name, row in want["op_table"].items():
        got = {"count": rows[name]["count"], "total": rows[name]["device_us"], "min": rows[name]["min_us"],
               "max": rows[name]["max_us"]}
        table[name] = {k: got[k] for k in row}
    assert set(rows) == set(table), rows
    peak = int(summary["peakBytesUsageLifetime"])
    return {"op_table": table, "op_total": sum(r["device_us"] for r in rows.values()),
            "memory": {"device": device, "peak_bytes": peak, "peak_at": int(summary["peakStatsTimePs"]) // 10**6,
                       "last_bytes": int(last["heapAllocatedBytes"]), "peak_MiB": peak / 2**20}}


@case("a-cluster-of-events-in-the-far-future")
def _(folder, want, tmp):
    p = Profile(os.path.join(folder, "timeline.json"))
    said = [w for w in p.info["warnings"] if "another" in w]
    return {"events": p.ledger["read"] - p.ledger["merged"], "main_cluster": p.ledger["emitted"],
            "window": (p.info["last_ps"] - p.info["first_ps"]) // 10**6, "outliers": p.counters["other_clock"],
            "outlier_names": [n for n in want["outlier_names"] if any(n in w for w in said)],
            "main_sum": number(sum(e[4] for e in p.events))}


@case("async-events-with-id2-local-and-global")
def _(folder, want, tmp):
    p = Profile(os.path.join(folder, "trace.json"))
    pairs = []
    for e in p.events:
        if e[2] == "open":
            continue
        process = [int(w) for w in e[1].split() if w.isdigit()]
        pairs.append({"name": e[2], "dur": number(e[4]), **({"pid": process[0]} if process else {})})
    return {"pairs": sorted(pairs, key=lambda x: x["dur"]), "unfinished": p.counters["unfinished"]}


@case("ascend-folder-not-yet-analysed")
def _(folder, want, tmp):
    raw, p = (os.path.join(folder, f"host1_{n}_ascend_pt") for n in ("67889_20260725180104147", "67890_20260725180104150"))
    r = run("convert", "-o", os.path.join(tmp, "log"), raw)
    is_raw = r.returncode != 0 and "raw data only" in r.stderr
    written = sum(len(files) for _, _, files in os.walk(os.path.join(tmp, "log")))
    p = Profile(p)
    marks = [e for e in p.events if e[2].startswith("step ") and e[0] == "/host:CPU"]
    kernels = [e for e in p.events if e[1].startswith("Stream")]
    sums = {}
    for e in kernels:
        sums[e[2]] = sums.get(e[2], 0) + e[4] / 1000
    types = {r["operation"]: r["type"] for r in facts.rows(facts.answer("framework_op_stats", p.path))}
    # The page leaves digits at the end of a type away and those at the end of a name: hcom_allReduce__123_0.
    names = {key: next(n for n in sums if types[n].startswith(key)) for key in want["rank1"]["kernels"]}
    # Nanoseconds on the wall clock: the start of the run, which convert writes, plus that of the kernel.
    run("convert", "-o", os.path.join(tmp, "log"), "--run", "r", "--host", "h", p.path)
    about = {k: v for pl in Profile(os.path.join(tmp, "log")).info["planes"] for k, v in pl["stats"].items()}
    start_ns = int(about["profile_start_time"]) + kernels[0][3]
    return {"rank0": {"state": "raw, not analysed" if is_raw else r.stderr, "tables": written},
            "rank1": {"steps": [int(e[5]["step_num"]) for e in marks],
                      "computing": [float(e[5]["Computing"]) for e in marks],
                      "communication_not_overlapped": [float(e[5]["Communication(Not Overlapped)"]) for e in marks],
                      "free": [float(e[5]["Free"]) for e in marks],
                      "kernels": {key: sums[name] for key, name in names.items()},
                      "kernel_without_step": sum("step_id" not in e[5] for e in kernels),
                      "first_start_us_text": f"{start_ns // 1000}.{start_ns % 1000:03d}",
                      "wait_time_second": float(kernels[1][5]["wait_us"])}}


# ---- comparing ----

def leaves(value, path=""):
    """(path, value) of everything that is neither a dict nor a list of dicts."""
    if isinstance(value, dict):
        for key, v in value.items():
            yield from leaves(v, f"{path}/{key}" if path else key)
    else:
        yield path, value


def is_below(path, parts):
    return any(path == p or path.startswith(p + "/") for p in parts)


def equal(got, want):
    if isinstance(want, list) and isinstance(got, list):
        return len(got) == len(want) and all(map(equal, got, want))
    if isinstance(want, bool) or isinstance(got, bool) or not isinstance(want, (int, float)):
        return got == want
    # 1 ns, as the files say; shares are printed with six digits behind the point
    return isinstance(got, (int, float)) and abs(got - want) <= (0.001 if isinstance(want, float) else 0)


def answers(function, folder, want, tmp):
    """(path, value) of all that the case's function says; it may say parts one after the other."""
    said = function(folder, want, tmp)
    for part in [said] if isinstance(said, dict) else said:
        yield from leaves(part)


@unittest.skipUnless(os.path.isdir(FOLDER), "the cases are not at hand")
class Cases(Case):
    maxDiff = None

    def test_every_folder_is_known(self):
        folders = {d for d in os.listdir(FOLDER) if os.path.isdir(os.path.join(FOLDER, d))}
        self.assertEqual(folders, set(CASES) | set(ELSEWHERE))
        self.assertFalse(set(CASES) & set(ELSEWHERE))

    def test_cases_that_are_programs_have_their_tests(self):
        for name, (path, text) in ELSEWHERE.items():
            with open(os.path.join(ROOT, path), encoding="utf-8") as f:
                self.assertIn(text, f.read(), name)

    def test_recorded_official_answers(self):
        compare = os.path.join(SHARED, "tools", "compare.py")
        for name in sorted(CASES):
            folder = os.path.join(FOLDER, name)
            for file in sorted(f for f in os.listdir(folder) if f.startswith("official-")):
                with self.subTest(case=name, answer=file):
                    stem = file[len("official-"):-len(".json")]
                    source = "host.xplane.pb"
                    if stem.startswith("step-num-unsigned-"):
                        stem, source = stem[len("step-num-unsigned-"):], "step-num-unsigned.xplane.pb"
                    r = run("tool", stem, os.path.join(folder, source), "--semantics", "official")
                    with open(self.path("answer.json"), "w", encoding="utf-8") as f:
                        f.write(r.stdout)
                    options = ["--args", "--flows", "--nan-ok", "--strip-host"] if stem.startswith("trace") else ["--nan-ok"]
                    c = subprocess.run([sys.executable, compare, stem, os.path.join(folder, file),
                                        self.path("answer.json"), *options], capture_output=True, text=True)
                    self.assertEqual(c.returncode, 0, c.stdout + c.stderr)


def add_case(name, function):
    def test(self):
        with open(os.path.join(FOLDER, name, "expect.json"), encoding="utf-8") as f:
            want = json.load(f)["values"]
        aside = {**ASIDE.get(name, {}), **MISSING.get(name, {})}
        right, seen = dict(leaves(want)), set()
        for path, value in answers(function, os.path.join(FOLDER, name), want, self.tmp):
            self.assertIn(path, right, "no such value in expect.json")
            seen.add(path)
            with self.subTest(value=path):
                self.assertTrue(equal(value, right[path]), f"{path}: {value!r}, right is {right[path]!r}")
        left = {p for p in right if p not in seen and not is_below(p, aside)}
        self.assertEqual(left, set(), "values that nothing was compared with")
    setattr(Cases, "test_" + name.replace("-", "_"), test)


for _name, _function in CASES.items():
    add_case(_name, _function)


if __name__ == "__main__":
    if not os.path.isdir(FOLDER):
        print("skipped: ../shared/cases, the inputs after public reports, are not at hand")
        sys.exit(SKIPPED)
    unittest.main()
