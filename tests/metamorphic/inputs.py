# SPDX-License-Identifier: Apache-2.0
"""Profiles to change: made here with many events at the same moment, those of the other tests, and, where they are at
hand, recordings (../shared). Everything is found again by its name alone: a host is called after its file."""
import glob
import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHARED = os.path.join(os.path.dirname(ROOT), "shared")
sys.path.insert(0, os.path.join(ROOT, "tests", "cli"))

import import_fixtures  # noqa: E402
import sqlite_fixtures  # noqa: E402

US = 1700000000000000


def names(pid, tid, *given):
    """Metadata that names one process and thread several times: (name, when or None)."""
    of = {"ph": "M", "pid": pid, "tid": tid}
    return [dict(of, name=kind, args={"name": name}, **({} if ts is None else {"ts": ts}))
            for kind in ("thread_name", "process_name") for name, ts in given]


def kineto(seed=1, begin=US):
    """Three steps on two threads of one process and one of another, ops nested by time, launches, kernels, copies,
    memory. Times are multiples of 5 us and lengths few, so that a lot happens at the same moment; equal events differ
    in one argument, or not at all."""
    r = random.Random(seed)
    events, correlation = [], 0

    def add(name, cat, ts, dur, pid, tid, **args):
        events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": begin + ts, "dur": dur,
                       "args": args})

    def device(kind, name, ts, dur, **args):
        nonlocal correlation
        correlation += 1
        stream = r.choice((7, 20))
        add("cudaLaunchKernel", "cuda_runtime", ts, r.choice((0, 5)), 100, 1, correlation=correlation)
        add(name, kind, ts + 5, dur, 0, stream, device=0, stream=stream, correlation=correlation, **args)

    for step in range(3):
        at = step * 200
        add(f"ProfilerStep#{step + 4}", "user_annotation", at, 200, 100, 1)
        for k in range(12):
            ts = at + 5 * r.randrange(36)
            pid, tid = r.choice(((100, 1), (100, 2), (200, 1)))
            add(r.choice(("aten::mm", "aten::add", "aten::copy_")), "cpu_op", ts, r.choice((5, 10, 10, 20)), pid, tid,
                **{"External id": 50 * step + k, "Input Dims": r.choice(([[2, 2]], [[4]], []))})
        for k in range(8):
            ts = at + 5 * r.randrange(36)
            device("kernel", r.choice(("gemm", "void add<float>(float*)", "ncclDevKernel_AllReduce")), ts, r.choice((5, 10)),
                   grid=r.choice(([1, 1, 1], [8, 1, 1])), block=[128, 1, 1], **{"registers per thread": r.choice((16, 32))})
        for ph, ts in (("s", at + 5 * r.randrange(36)), ("f", at + 5 * r.randrange(36))):
            events.append({"ph": ph, "cat": "fwdbwd", "name": "fwdbwd", "id": step + 1, "pid": 100, "tid": r.choice((1, 2)),
                           "ts": begin + ts})
        device("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", at + 40, 5, bytes=r.choice((64, 128)))
        for size in (512, 1024, -512):
            events.append({"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 100, "tid": 1,
                           "ts": begin + at + 5 * r.randrange(4),
                           "args": {"Bytes": size, "Device Type": 1, "Device Id": 0, "Addr": 64 * r.randrange(9)}})
    events += [{"ph": "M", "name": "thread_name", "pid": 100, "tid": 2, "ts": begin, "args": {"name": "autograd"}},
               {"ph": "M", "name": "process_name", "pid": 100, "ts": begin, "args": {"name": "python"}}]
    events += names(100, 1, ("thread 1 (python3)", begin), ("thread 1 (pt_main_thread)", begin), ("thread 1 (a)", begin + 1),
                    ("thread 1 (b)", begin + 1), ("thread 1 of them all", None))
    return json.dumps({"schemaVersion": 1, "deviceProperties": [
        {"id": 0, "name": "A100", "numSms": 108, "computeMajor": 8, "computeMinor": 0, "totalGlobalMem": 1 << 30}],
        "distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 4}, "traceEvents": events}).encode()


def chrome(seed=2):
    """Planes by process names as in TensorFlow's and JAX's traces, arguments of all kinds, pairs, async, counters."""
    r = random.Random(seed)
    events = [{"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}}
              for pid, name in ((1, "/device:GPU:0"), (2, "/host:CPU"), (3, "helper"), (4, "helper"))]
    events += [{"ph": "M", "pid": 1, "tid": 8, "name": "thread_name", "args": {"name": "Stream #8(Compute)"}}]
    events += names(3, 1, ("pool", None), ("helper", None), ("main", 5)) + names(4, 1, ("a", 5.5), ("c", 5.25), ("b", 5.5))
    events += names(4, "text", ("", 9)) + [{"ph": "X", "pid": 4, "tid": "text", "ts": 1, "dur": 1, "name": "x"}]
    for k in range(120):
        ts = 10 * r.randrange(40)
        pid = r.choice((1, 2, 2, 3, 4))
        events.append({"ph": "X", "pid": pid, "tid": 8 if pid == 1 else r.randrange(2), "ts": ts,
                       "dur": r.choice((0, 2.5, 10, 30)), "name": r.choice(("MatMul", "Relu", "a/b:Conv2D")),
                       "args": r.choice(({}, {"shape": "f32[2]", "n": 7}, {"n": 7, "x": 1.5, "shape": "f32[3]"},
                                         {"group_id": r.randrange(3), "correlation_id": k % 9}))})
    for k in range(6):
        events.append({"ph": "B", "pid": 3, "tid": 5, "ts": 40 * k, "name": "outer", "args": {"k": k}})
        events.append({"ph": "B", "pid": 3, "tid": 5, "ts": 40 * k + 5, "name": "inner"})
        events.append({"ph": "E", "pid": 3, "tid": 5, "ts": 40 * k + 20, "name": "inner"})
        events.append({"ph": "E", "pid": 3, "tid": 5, "ts": 40 * k + 30, "name": "outer"})
        events.append({"ph": "b", "cat": "io", "id": f"0x{k:x}", "pid": 3, "tid": 6, "ts": 50 * k, "name": "read"})
        events.append({"ph": "e", "cat": "io", "id": f"0x{k:x}", "pid": 3, "tid": 6, "ts": 50 * k + 70, "name": "read"})
        events.append({"ph": "C", "pid": 3, "ts": 30 * k, "name": "queue", "args": {"used": k, "free": 9 - k}})
        events.append({"ph": "i", "s": "t", "pid": 2, "tid": 0, "ts": 60 * k, "name": "mark"})
    return json.dumps({"displayTimeUnit": "ns", "traceEvents": events}).encode()


def grouped():
    """As JAX and TensorFlow write traces themselves: steps grouped already, all numbers as texts."""
    events = [{"ph": "M", "pid": 701, "name": "process_name", "args": {"name": "/host:CPU"}},
              {"ph": "M", "pid": 701, "tid": 9, "name": "thread_name", "args": {"name": "python3"}}]
    for group, (ts, dur) in enumerate(((100, 2000), (5000, 6000), (12000, 1500))):
        name, mark = f"train {group + 40}", {"group_id": str(group)}
        step = dict(mark, step_name=name, step_num=str(group + 40))
        events += [{"ph": "X", "pid": 701, "tid": 9, "ts": ts, "dur": dur, "name": name, "args": step},
                   {"ph": "X", "pid": 701, "tid": 9, "ts": ts + 10, "dur": dur / 2, "name": "load_batch", "args": mark},
                   {"ph": "X", "pid": 701, "tid": 9, "ts": ts + 1200, "dur": 250.125, "name": "dot.1", "args": mark}]
    return json.dumps({"displayTimeUnit": "ns", "traceEvents": events}).encode()


def timeline():
    """As TensorFlow 1 wrote them: a process per stream, one for all of them, ops named by their kind."""
    events = []
    for pid, name in ((0, "Allocations"), (1, "/job:x/device:CPU:0 Compute"), (5, "/gpu:0/stream:13 Compute"),
                      (7, "/gpu:0/stream:all Compute")):
        events.append({"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}})
    for k in range(10):
        op = ("MatMul", "Relu")[k % 2]
        for pid, dur in ((1, 10), (5, 20), (7, 20)):
            events.append({"cat": "Op", "dur": dur, "name": op, "ts": 1000 + 20 * (k // 2), "ph": "X", "pid": pid, "tid": 0,
                           "args": {"name": f"layer{k % 3}/{op}", "op": op, "input0": "x"}})
    return json.dumps({"traceEvents": events}).encode()


def ties(dialect, seed=3):
    """Begins and ends of which most share their moment with others: spans that follow each other or end together, of no
    length, of one name twice, an end without a begin, a begin without an end, ends without a name; and counters. For
    MXNet frames, tasks and sums of memory, too."""
    r = random.Random(seed)
    is_mxnet = dialect == "mxnet"
    events = [{"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}}
              for pid, name in ((0, "gpu/0"), (0, "cpu"), (1, "cpu/0"), (7, "operator")) if is_mxnet]

    def add(ph, name, ts, pid, **more):
        events.append(dict({"ph": ph, "cat": "operator", "name": name, "pid": pid, "tid": 5, "ts": US + ts}, **more))

    for k in range(40):
        ts, dur = 10 * r.randrange(8), 10 * r.randrange(3)
        pid, name = r.choice((0, 1)), r.choice(("mul", "add", "relu"))
        add("B", name, ts, pid, args={"k": r.randrange(3)})
        add("E", name if k % 5 else "", ts + dur, pid)
        add("b", name, ts, 7, id=k % 4)
        add("e", name, ts + dur, 7, id=k % 4)
        if is_mxnet and k % 4 == 0:
            add("(", "batch", 20 * k, 1, cat="Training,frame")
            add(")", "batch", 20 * k + 20 * (k % 3), 1, cat="Training,frame")
        add("C", r.choice(("Memory: gpu/0", "Memory: cpu/0")), 10 * r.randrange(5), 0,
            cat="Device Storage" if is_mxnet else "storage", args={"bytes": 1024 * r.randrange(9)})
        add("C", "queue", 10 * r.randrange(5), 0, cat=("user", "mine", "own")[k % 3], args={"used": r.randrange(9)})
    add("E", "mul", 0, 0)
    add("B", "mul", 90, 0)
    head = {"schemaVersion": 1} if dialect == "kineto" else {}
    return json.dumps(dict(head, traceEvents=events)).encode()


def spool(path, recorded):
    """What a program leaves behind that aborts while it is recorded (tests/capture/recorded.c), of two threads."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([recorded, os.path.join(folder, "log"), os.path.join(folder, "reference"), "2", "abort"],
                       env=dict(os.environ, TBPROF_SPOOL_DIR=folder), stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
        left = glob.glob(os.path.join(folder, "*", "*.tbs"))
        if len(left) == 1:
            shutil.move(left[0], path)


def made(folder, recorded=None):
    """Files of our own, by format; a spool only with the program that leaves it."""
    if recorded and os.path.exists(recorded):
        spool(os.path.join(folder, "left.tbs"), recorded)
    named = {"kineto.pt.trace.json": kineto(), "chrome.json": chrome(), "grouped.json": grouped(),
             "timeline.json": timeline(), "ties.json": ties("chrome"), "ties_mxnet.json": ties("mxnet"),
             "ties.pt.trace.json": ties("kineto")}
    for name, data in named.items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)
    for name in [*import_fixtures.FILES, *import_fixtures.FOLDERS]:
        import_fixtures.write(folder, name)
    for name, make in sqlite_fixtures.FILES.items():
        make(os.path.join(folder, name))
    return sorted(os.path.join(folder, name) for name in os.listdir(folder))


def of_repository():
    return sorted(glob.glob(os.path.join(ROOT, "tests/data/*.xplane.pb")) +
                  glob.glob(os.path.join(ROOT, "samples/*/plugins/profile/*/*.xplane.pb")))


PUBLIC = ("recordings/torch-2.13/*/*.json*", "recordings/torch-2.13/*/*.pt.trace.json*", "recordings/mxnet-1.9.1/*/profile.json",
          "recordings/tf-old/*/timeline.json", "recordings/jax-0.10.2/*/plugins/profile/*/perfetto_trace.json.gz",
          "recordings/*/*/plugins/profile/*/*.xplane.pb", "recordings/*/*/train/plugins/profile/*/*.xplane.pb",
          "recordings/*/*/plugins/profile/*/*.trace.json.gz", "recordings/*/*/train/plugins/profile/*/*.trace.json.gz",
          "corpus/kineto/*.json*", "corpus/kineto-dist/*/*", "corpus/chrome-generic/*", "corpus/mxnet/*.json",
          "corpus/tf-timeline/*.json", "corpus/tf-trace-json/*", "corpus/rocprof/*", "corpus/nsys/*.sqlite", "corpus/nvprof/*.nvvp",
          "corpus/xplane/*.xplane.pb", "corpus/tfrun-full/*/train/plugins/profile/*/*.xplane.pb",
          "corpus/tfrun-full/*/plugins/profile/*/*.xplane.pb", "cases/*/*.json", "cases/*/*.sqlite", "cases/*/*.rpd",
          "cases/*/*.csv", "cases/*/*.nvvp", "cases/*/*.xplane.pb")
FOLDERS = ("corpus/mindspore/profiler", "corpus/mindspore/run_2/normal_run/profiler",
           "recordings/mindspore-2.0.0/ms-graph/profiler", "cases/ascend-folder-not-yet-analysed/host1_67890_*")


def public(limit_bytes):
    """Recordings up to a size: more of them take longer than they tell."""
    found = {path for pattern in PUBLIC for path in glob.glob(os.path.join(SHARED, pattern))
             if os.path.isfile(path) and os.path.getsize(path) <= limit_bytes}
    names = ("FACTS.json", "expect.json")
    found = {p for p in found if os.path.basename(p) not in names and not os.path.basename(p).startswith(("official-", "oracle"))}
    return sorted(found | {path for pattern in FOLDERS for path in glob.glob(os.path.join(SHARED, pattern))})


def bytes_of(path):
    """Of a file, gzip undone."""
    with open(path, "rb") as f:
        data = f.read()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
