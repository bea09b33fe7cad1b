#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an annotation costs in Python, beside the annotations of JAX, TensorFlow and PyTorch in the same run.

  PYTHONPATH=build/release/python bench_python.py [--count N] [--repeat N] [--passes N] [--json]

Nanoseconds of thread time for one scope, an empty loop taken off; `off` with nothing recording, `on` with a session of
that profiler. Each figure is the best of short rounds, and the rounds are spread over the whole run in several passes:
a machine that changes its speed for a second or two is then at its usual one in some round of every row, and of the
empty loop. Names are bound to variables, for all; two rows look ours up in the package each time (`tbprof.begin`).
Peers that are not installed are left out. The last table is the function tracer: a call with tracing over the same
call without, in a loop and with the loop taken off. Budgets (a quiet machine): begin/end 80 on, `with` 250 on, 150
off; traced 2.5 times untraced from Python 3.12 on, in a loop. `interpreter` is what the same call takes with callbacks that return at once:
what is between it and `traced` is ours.
"""
import argparse
import json
import os
import sys
import tempfile
import time
import warnings

warnings.simplefilter("ignore")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tbprof  # noqa: E402
from tbprof import _core  # noqa: E402
import tbprof.torch  # noqa: E402  (the style: imports no torch)

BUDGETS = {"begin/end": (None, 80), "with Trace": (150, 250), "with tbprof.Trace": (150, 250)}


def empty(count):
    for _ in range(count):
        pass


def begin_end(count, begin=_core.begin, end=_core.end):
    for _ in range(count):
        end(begin("scope"))


def with_trace(count, Trace=_core.Trace):
    for _ in range(count):
        with Trace("scope"):
            pass


def spelled_begin_end(count):
    for _ in range(count):
        tbprof.end(tbprof.begin("scope"))


def spelled_trace(count):
    for _ in range(count):
        with tbprof.Trace("scope"):
            pass


def with_arguments(count, Trace=_core.Trace):
    for _ in range(count):
        with Trace("scope", rows=3):
            pass


def reused(count, Trace=_core.Trace):
    scope = Trace("scope")
    for _ in range(count):
        with scope:
            pass


def record_function(count, record=tbprof.torch.record_function):
    for _ in range(count):
        with record("scope"):
            pass


@tbprof.annotate(name="scope")
def annotated():
    pass


def decorated(count):
    for _ in range(count):
        annotated()


def time_of(function, count, repeat):
    """Best of `repeat` rounds, in ns for one turn of the loop."""
    best = float("inf")
    for _ in range(repeat):
        start = time.thread_time_ns()
        function(count)
        best = min(best, time.thread_time_ns() - start)
    return best / count


class Peers:
    """Other profilers' annotations, where they are installed."""

    def __init__(self):
        self.rows = []
        for add in (self._jax, self._tensorflow, self._torch):
            try:
                add()
            except ImportError as e:
                print(f"left out: {e}", file=sys.stderr)

    def _add(self, name, kind, start, stop, share):
        def loop(count):
            for _ in range(count):
                with kind("scope"):
                    pass
        self.rows.append((name, loop, start, stop, share))

    def _jax(self):
        import jax
        options = jax.profiler.ProfileOptions()
        options.python_tracer_level = 0
        self._add("jax TraceAnnotation", jax.profiler.TraceAnnotation,
                  lambda d: jax.profiler.start_trace(d, profiler_options=options), jax.profiler.stop_trace, 10)

    def _tensorflow(self):
        import tensorflow as tf
        profiler = tf.profiler.experimental
        self._add("tensorflow Trace", profiler.Trace, profiler.start, lambda: profiler.stop(save=False), 10)

    def _torch(self):
        import torch
        running = []

        def start(_):
            running.append(torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]))
            running[-1].__enter__()
        self._add("torch record_function", torch.profiler.record_function, start,
                  lambda: running.pop().__exit__(None, None, None), 100)


def in_session(start, stop, measure):
    with tempfile.TemporaryDirectory() as folder:
        start(folder)
        try:
            return measure()
        finally:
            stop()


def best_of(passes, parts):
    """What each part's function gives, {row: (ns, ...)}, every figure the least of several passes over all parts; a
    figure that is None stays None."""
    taken = [{part: measure() for part, measure in parts.items()} for _ in range(passes)]
    return {part: {row: tuple(None if None in figures else min(figures)
                              for figures in zip(*(one[part][row] for one in taken))) for row in taken[0][part]}
            for part in parts}


def ours(count, repeat):
    rows = [("begin/end", begin_end), ("with Trace", with_trace), ("with Trace, one argument", with_arguments),
            ("with a Trace used again", reused), ("with record_function", record_function), ("@annotate", decorated),
            ("tbprof.begin/end", spelled_begin_end), ("with tbprof.Trace", spelled_trace)]
    off = {name: time_of(f, count, repeat) for name, f in rows}
    on = {}
    for name, function in rows:
        on[name] = in_session(lambda d: tbprof.start(d, full_policy="ring", max_host_bytes="64MiB", rss_period_ms=0),
                              lambda: tbprof.stop(save=False), lambda f=function: time_of(f, count, repeat))
    return {name: (off[name], on[name]) for name, _ in rows}


def theirs(rows, count, repeat):
    results = {}
    for name, loop, start, stop, share in rows:
        n = max(count // share, 1)
        off = time_of(loop, n, repeat)
        on = in_session(start, stop, lambda f=loop, c=n: time_of(f, c, repeat))
        results[name] = (off, on)
    return results


def leaf(x):
    return x


def work(x):
    total = 0
    for i in range(10):
        total += i * x
    return total


def calls(function):
    def loop(count):
        for _ in range(count):
            function(1)
    return loop


def with_idle_callbacks(measure):
    """What `measure` tells while the tracer's callbacks are called with the tracer off; None before 3.12."""
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is None:
        return None
    tool, events = monitoring.PROFILER_ID, monitoring.events
    monitoring.use_tool_id(tool, "bench")
    monitoring.register_callback(tool, events.PY_START, _core.native.on_start)
    monitoring.register_callback(tool, events.PY_RETURN, _core.native.on_return)
    monitoring.set_events(tool, events.PY_START | events.PY_RETURN)
    try:
        return measure()
    finally:
        monitoring.set_events(tool, 0)
        monitoring.free_tool_id(tool)


def tracer(count, repeat):
    """(untraced, with idle callbacks, traced) of a call that does nothing, and of one that does a little."""
    results = {}
    for name, function in (("empty call", leaf), ("call of ten turns", work)):
        bare = time_of(calls(function), count, repeat)
        idle = with_idle_callbacks(lambda f=function: time_of(calls(f), count, repeat))
        traced = in_session(
            lambda d: tbprof.start(d, python_tracer_level=1, full_policy="ring", max_host_bytes="64MiB",
                                   rss_period_ms=0),
            lambda: tbprof.stop(save=False), lambda f=function: time_of(calls(f), count, repeat))
        results[name] = (bare, idle, traced)
    return results


def plain_loops(count, repeat):
    """One read of the runtime's clock costs less than Python's call of the system's clock."""
    def reads(n, read=time.perf_counter_ns):
        for _ in range(n):
            read()
    return {"empty": (time_of(empty, count, repeat),), "perf_counter_ns": (time_of(reads, count, repeat),)}


def show(results):
    empty_ns = results["loops"]["empty"][0]
    print(f"Python {sys.version.split()[0]}; empty loop {empty_ns:.0f} ns, "
          f"perf_counter_ns {results['loops']['perf_counter_ns'][0] - empty_ns:.0f} ns")
    print(f"{'':28}{'off':>8}{'on':>8}   budget")
    for name, (off, on) in {**results["ours"], **results["theirs"]}.items():
        low, high = BUDGETS.get(name, (None, None))
        budget = " ".join(f"{word} {b}" for word, b in (("off", low), ("on", high)) if b)
        print(f"{name:28}{off - empty_ns:8.0f}{on - empty_ns:8.0f}   {budget}")
    fastest = min((on for _, on in results["theirs"].values()), default=None)
    if fastest:
        ratio = (results["ours"]["with Trace"][1] - empty_ns) / (fastest - empty_ns)
        print(f"with Trace / fastest of the others, on: {ratio:.2f}")
    print(f"{'loop included':28}{'bare':>8}{'interpreter':>13}{'traced':>8}{'ratio':>8}{'call alone':>12}")
    for name, (bare, idle, traced) in results["tracer"].items():
        print(f"{name:28}{bare:8.0f}{f'{idle:.0f}' if idle else '':>13}{traced:8.0f}{traced / bare:8.2f}"
              f"{(traced - empty_ns) / (bare - empty_ns):12.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--no-peers", action="store_true")
    args = parser.parse_args()
    peers = [] if args.no_peers else Peers().rows
    size = args.count, args.repeat
    parts = {"loops": lambda: plain_loops(*size), "ours": lambda: ours(*size), "tracer": lambda: tracer(*size),
             "theirs": lambda: theirs(peers, *size)}
    results = best_of(args.passes, parts)
    if args.json:
        print(json.dumps({"python": sys.version.split()[0], **results}, indent=1))
    else:
        show(results)


if __name__ == "__main__":
    main()
