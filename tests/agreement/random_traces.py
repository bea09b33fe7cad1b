#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds both trace viewers against the executable rules on random profiles.

  random_traces.py --tbprof PROGRAM [--shared FOLDER] [--count N] [--seed S] [--keep FOLDER]

Each profile mixes host threads with links, steps, counters and async events, GPU streams with kernels of XLA programs,
CUDA graphs and scopes, TPU cores and custom planes. Asked are the static document, the first view, a window, a search
and the details of an event. Prints the unequal ones; exit code 0 if there are none, 77 without the rules.
"""
import argparse
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
from wire import field as part, varint  # noqa: E402 (after the path)


# ---- a small writer of xplane files: stats are int, Unsigned, float, str, Reference or bytes
class Unsigned(int):
    pass


class Reference(str):
    pass


class Plane:
    def __init__(self, name, ident=0):
        self.stats, self.metas, self.lines, self.own = {}, {}, [], b""
        self.head = part(1, ident) + part(2, name)

    def stat_id(self, name):
        return self.stats.setdefault(name, len(self.stats) + 1)

    def stat(self, field, name, v):
        b = part(1, self.stat_id(name))
        if isinstance(v, float):
            b += varint(2 << 3 | 1) + struct.pack("<d", v)
        elif isinstance(v, Unsigned):
            b += part(3, v)
        elif isinstance(v, int):
            b += part(4, v)
        elif isinstance(v, Reference):
            b += part(7, self.stat_id(v))
        else:
            b += part(6, v) if isinstance(v, bytes) else part(5, v)
        return part(field, b)

    def meta(self, name, display="", **stats):
        key = (name, display, tuple(stats.items()))
        if key not in self.metas:
            ident = len(self.metas) + 1
            b = part(1, ident) + part(2, name) + (part(4, display) if display else b"")
            self.metas[key] = ident, b + b"".join(self.stat(5, k, v) for k, v in stats.items())
        return self.metas[key][0]

    def line(self, ident, name, events, start_ns=0, display=""):
        """events: (begin ps, duration ps, metadata id, stats)"""
        b = part(1, ident) + part(2, name) + part(3, start_ns) + (part(11, display) if display else b"")
        for begin, dur, meta, stats in events:
            e = part(1, meta) + part(2, begin) + part(3, dur)
            b += part(4, e + b"".join(self.stat(4, k, v) for k, v in stats.items()))
        self.lines.append(b)

    def bytes(self):
        b = self.head + b"".join(part(3, line) for line in self.lines) + self.own
        for ident, body in self.metas.values():
            b += part(4, part(1, ident) + part(2, body))
        for name, ident in self.stats.items():
            b += part(5, part(1, ident) + part(2, part(1, ident) + part(2, name)))
        return b


# ---- random content
NAMES = ["MatMul", "model/dense/MatMul:MatMul", "jit(f)/while/body/mul:", "Iterator::Map", "Iterator::A::B:X", "RunGraph",
         "ExecutorState::Process", "MemoryAllocation", "PrefetchConsume", "TraceContext", "FunctionRun", "x<y>&\"z\"\\",
         "\u00e4\u20ac\U0001f600", "EagerExecute", "a/b/c:Add", "cuLaunchKernel", "A name of more than thirty-two bytes, yes",
         "TfOpRun", "ThreadpoolListener::StartRegion", "ThreadpoolListener::StopRegion", "tab\tline\n"]
MODULES = ["jit_step", "jit_eval", ""]
PARTS = ["fusion.1", "loop_add_fusion", "dot.2", "while::body::fusion.3", "copy::dot.2", "call"]


def times(r, n, depth=3, span=2_000_000):
    """(begin, duration) in the order of a thread: begin, then longest first; nested, with ties."""
    out = []

    def fill(begin, end, level):
        t = begin
        for _ in range(r.randint(1, 5)):
            t += r.choice((0, 0, 1, 7, 1000, 50_000))
            dur = r.choice((0, 0, 1, 10, 999, 1000, 30_000, 400_000))
            if t > end or len(out) >= n:
                return
            dur = dur if r.random() < 0.1 else min(dur, end - t)
            out.append((t, dur))
            if level:
                fill(t, t + dur, level - 1)
            t += dur
    while len(out) < n:
        begin = r.randint(0, span)
        fill(begin, begin + r.choice((5_000, 700_000)), depth)
    return sorted(out, key=lambda x: (x[0], -x[1]))


def host_stats(r, grouped, is_alone):
    s = {}
    if r.random() < 0.4:
        s["correlation_id"] = r.choice((Unsigned, Unsigned, int))(r.randint(1, 30))
    if r.random() < 0.3:
        s["device_id"] = r.randint(0, 2)
    for kind, ident in (("_pt", "_p"), ("_ct", "_c")):
        if r.random() < 0.3:
            s[kind] = r.choice((0, 1, 2, 5, 9, 14, 15, 40))
            s[ident] = r.choice((int, Unsigned))(r.randint(1, 20))
    if s.get("_p") == s.get("_c") and "_p" in s:  # an event that hands over to itself is its own ancestor
        s["_c"] += 1
    if is_alone and r.random() < 0.1:  # roots that tie are taken in hash order upstream
        s["_r"] = r.choice((0, 1, 2))
    if r.random() < 0.1:
        s["step_num"] = r.randint(0, 5)
    if r.random() < 0.2:
        s["id"], s["iter_num"] = r.randint(1, 3), 0
    if r.random() < 0.1:
        s["_a"] = r.choice((1, 0, Unsigned(1)))
    if grouped and r.random() < 0.3:
        s["flow"] = Unsigned(r.randint(0, 3) | r.randint(1, 12) << 2 | r.choice((0, 1, 9, 14)) << 58)
    if grouped and r.random() < 0.5:
        s["group_id"] = r.choice((int, int, Unsigned))(r.randint(0, 4))
    if grouped and r.random() < 0.1:
        s["step_name"] = r.choice(("step 7", "", 3, Reference("ref step")))
    for name in ("bytes", "ratio (util %)", "big", "note", "blob", "flops", "hlo_text"):
        if r.random() < 0.12:
            s[name] = r.choice((r.randint(-5, 5), Unsigned(2 ** 63 + 5), 2 ** 60, 0.1, 1e300, float("inf"), float("nan"), 5e-324,
                                "text <&>", Reference("shared text"), b"\x01\x02", "more than sixteen bytes of text"))
    return s


def host_plane(r, name, grouped, taken):
    p = Plane(name)
    for k in range(r.randint(1, 4)):
        events = []
        spans = times(r, r.randint(0, 60))
        for begin, dur in spans:
            is_alone = spans.count((begin, dur)) == 1 and (begin, dur) not in taken
            taken.add((begin, dur))
            meta = r.choice(NAMES if is_alone else [n for n in NAMES if n != "TraceContext"])
            extra = {"source": "meta text"} if meta == "RunGraph" and r.random() < 0.2 else {}
            display = r.choice(("", "", "", "shown " + meta)) if meta in ("MatMul", "a/b/c:Add") else ""
            events.append((begin, dur, p.meta(meta, display, **extra), host_stats(r, grouped, is_alone)))
        p.line(r.choice((k + 10, -k - 1, 2 ** 32 + k)), "thread %d" % k, events, r.choice((0, 0, 3)))
    if r.random() < 0.3:
        samples = [(10_000 * k, 0, p.meta("counter %d" % (k % 2)), {"value": r.choice((k, 1.5, Unsigned(k)))}) for k in range(9)]
        p.line(77, "_counters_", samples)
    if grouped:
        p.stat_id("group_id")
    return p


def kernel_stats(r):
    s = {"correlation_id": Unsigned(r.randint(1, 30))}
    if r.random() < 0.9:
        s["kernel_details"] = r.choice(("regs:32 static_shared:0 grid:1,1,1", Reference("regs:1 block:1,1,1"), ""))
    if r.random() < 0.8:
        s["hlo_module"] = Reference(r.choice(MODULES))
        if r.random() < 0.9:
            s["program_id"] = r.choice((Unsigned, int))(r.randint(7, 8))
    if r.random() < 0.8:
        s["hlo_op"] = Reference(r.choice(PARTS))
    elif r.random() < 0.7:
        s["tf_op"] = r.choice(("a/b/c:Add", "jit(f)/while/body/mul:", "x", "Iterator::Z"))
    if r.random() < 0.4:
        s["scope_range_id"] = r.randint(1, 9)
    if r.random() < 0.3:
        s["cuda_graph_id"] = Unsigned(r.randint(0, 2))
    if r.random() < 0.1:
        s["cuda_graph_exec_id"] = Unsigned(1)
    return s


def gpu_plane(r, ordinal):
    p = Plane("/device:GPU:%d" % ordinal, r.choice((ordinal, ordinal, 600)))
    for k in range(r.randint(0, 4)):
        kernels = [(b, d, p.meta(r.choice(("kernel_a", "kernel_b", "fusion.1"))), kernel_stats(r))
                   for b, d in times(r, r.choice((0, 3, 40)), depth=0)]
        p.line(k + 20, r.choice(("Stream #%d(Compute)", "Stream #%d(MemcpyH2D)")) % k, kernels)
    return p


def tpu_plane(r, ordinal):
    p = Plane("/device:TPU:%d" % ordinal, ordinal)
    steps = [(b * 500_000, 400_000, p.meta(str(b)), {}) for b in range(4)]
    p.line(1, "Steps", steps)
    ops = []
    for b, d in times(r, 50, depth=1):
        stats = {"tf_op": r.choice(("a/b/c:Add", "jit(f)/mul:")), "source": r.choice(("f.py:1", "g.py:2"))}
        ops.append((b, d, p.meta("%op." + r.choice("123"), r.choice(("op.1", "op.2")), **stats), {}))
    p.line(2, "XLA Ops", ops)
    if r.random() < 0.5:
        p.line(3, "Async XLA Ops", [(b, d, p.meta("copy"), {"_a": 1}) for b, d in times(r, 5, depth=0)])
    return p


def metadata_plane(r):
    p = Plane("/host:metadata")
    for program in (7, 8):
        ops = b""
        for name in ("fusion.1", "loop_add_fusion", "dot.2", "fusion.3"):
            if r.random() < 0.8:
                facts = part(2, r.choice(("jit(f)/dot", "", "m/n/o"))) + part(1, r.choice(("", "dot", "Add")))
                facts += part(3, r.choice(("", "/x/y/model.py"))) + part(4, 12)
                ops += part(2, part(1, name) + part(2, "fusion") + part(7, facts) + part(35, 1))
        module = part(1, "jit_step") + part(3, part(1, "main") + ops + part(5, 1)) + part(5, program)
        ident = p.meta("jit_step(%d)" % program)
        body = part(1, program) + part(2, "jit_step(%d)" % program) + p.stat(5, "Hlo Proto", part(1, module))
        p.metas[("jit_step(%d)" % program, "", ())] = program, body
        assert ident
    return p


def scope_plane(r):
    p = Plane("/host:__ScopeRangeCallStack__")
    for child in range(1, 9):
        if r.random() < 0.6:
            p.own += part(6, part(1, child) + part(4, r.randint(child + 1, 10)))
    return p


def profile(r):
    grouped = r.random() < 0.3
    taken = set()
    planes = [host_plane(r, "/host:CPU", grouped, taken)]
    if r.random() < 0.2:
        planes.append(host_plane(r, "/host:CPU [100]", grouped, taken))
    kind = r.random()
    if kind < 0.6:
        planes += [gpu_plane(r, k) for k in range(r.randint(1, 3))]
        planes += [metadata_plane(r), scope_plane(r)]
    elif kind < 0.75:
        planes += [tpu_plane(r, k) for k in range(r.randint(1, 2))]
    if r.random() < 0.2:
        planes.append(host_plane(r, "/device:CUSTOM:x", grouped, taken))
    if grouped:
        for p in planes:
            p.stat_id("group_id")
    r.shuffle(planes)
    return b"".join(part(1, p.bytes()) for p in planes) + part(4, "hostname")


# ---- questions and answers

# The rules take tracks as sorted, as xprof 2.24.2 does, and answer at random where one is not; tbprof sorts them first,
# as newer converters do. So the rules are run with their merge replaced by a sort.
RULES = """
import sys
sys.path.insert(0, sys.argv[1])
import stream_view, trace
stream_view.heapq.merge = lambda *tracks, key: sorted((x for t in tracks for x in t), key=key)
sys.exit(trace.main(sys.argv[2:]))
"""


class Holder:
    def __init__(self, tbprof, shared):
        self.tbprof = tbprof
        self.rules = [sys.executable, "-c", RULES, os.path.join(shared, "spec", "trace")]
        self.compare = os.path.join(shared, "tools", "compare.py")

    def ask(self, command, out):
        with open(out, "wb") as f:
            return subprocess.run(command, stdout=f, stderr=subprocess.PIPE, timeout=600)

    def hold(self, folder, tool, query):
        options = [w for pair in query for w in ("-O", pair)]
        run = os.path.join(folder, "run")
        want, have = os.path.join(folder, "want.json"), os.path.join(folder, "have.json")
        rules = self.ask([*self.rules, tool, *options, run], want)
        ours = self.ask([self.tbprof, "tool", tool, run, "--semantics", "official", *options], have)
        if rules.returncode or ours.returncode:
            same = bool(rules.returncode) == bool(ours.returncode)
            return same, ours.stderr.decode(errors="replace")[-200:]
        c = subprocess.run([sys.executable, self.compare, tool, want, have, "--args", "--flows", "--max", "3"],
                           capture_output=True, text=True)
        if c.returncode or tool == "trace_viewer":
            return c.returncode == 0, c.stdout[:500]
        return self.serials(want) == self.serials(have), "serial numbers differ"

    @staticmethod
    def serials(path):
        with open(path) as f:
            events = json.load(f)["traceEvents"]
        return sorted(repr([x.get(k) for k in ("pid", "tid", "name", "ts", "dur", "z")] + [x.get("args", {}).get("uid")])
                      for x in events if x.get("ph") != "M")


def questions(r, folder):
    yield "trace_viewer", []
    yield "trace_viewer@", []
    begin = r.random() * 0.002
    yield "trace_viewer@", ["start_time_ms=%r" % begin, "end_time_ms=%r" % (begin + r.random() * 0.001)]
    yield "trace_viewer@", ["search_prefix=" + r.choice(("M", "Iter", "kernel", "jit", "x<", "step", "A name"))]
    yield "trace_viewer@", ["search_prefix=" + r.choice(("M", "f", "a")), "search_metadata=true"]
    with open(os.path.join(folder, "have.json")) as f:
        events = [x for x in json.load(f)["traceEvents"] if x.get("ph") == "X"]
    if events:
        x = r.choice(events)
        dur = 0 if x["dur"] < 2e-6 and r.random() < 0.5 else x["dur"] / 1000
        yield "trace_viewer@", ["event_name=" + x["name"], "start_time_ms=%r" % (x["ts"] / 1000), "duration_ms=%r" % dur,
                                "unique_id=%d" % x.get("z", 0)]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--tbprof", required=True)
    ap.add_argument("--shared", default=os.path.join(os.path.dirname(ROOT), "shared"))
    ap.add_argument("--count", type=int, default=30)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--keep")
    a = ap.parse_args()
    if not os.path.exists(os.path.join(a.shared, "spec", "trace", "trace.py")):
        print("skipped: no rules in", a.shared)
        sys.exit(77)
    holder, bad, total = Holder(a.tbprof, a.shared), 0, 0
    for k in range(a.seed, a.seed + a.count):
        r = random.Random(k)
        folder = tempfile.mkdtemp(prefix="tbprof-random-")
        os.makedirs(os.path.join(folder, "run"))
        with open(os.path.join(folder, "run", "h.xplane.pb"), "wb") as f:
            f.write(profile(r))
        for tool, query in questions(r, folder):
            equal, why = holder.hold(folder, tool, query)
            total += 1
            if not equal:
                bad += 1
                print("DIFFERS seed %d %s %s: %s" % (k, tool, "&".join(query), why), flush=True)
                if a.keep:
                    shutil.copytree(folder, os.path.join(a.keep, "seed%d" % k), dirs_exist_ok=True)
        shutil.rmtree(folder)
    print("%d of %d answers equal" % (total - bad, total))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
