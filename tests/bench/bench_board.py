#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
r"""First and second answers of TensorBoard with tbprof and with the official converter alone, over HTTP.

  bench_board.py FILE.xplane.pb...      in the environment of tests/board/run.py:
  B=BUILD/python-tests TBPROF_PLUGINS=$B/plugins TBPROF=BUILD/tbprof TBPROF_SHARED=../shared \
      $B/venv/bin/python tests/bench/bench_board.py FILE...

Every page is the first request of a server of its own, on a run folder without caches; tbprof and the official
converter in turn, so that each pair saw the same machine. Prints medians, and the medians of the pairs' ratios:

  first, second  seconds from the request to the last byte of the answer, which the client does not unpack
  processor      of the server during the first one, all threads: it hides what both cores do at once, but depends
                 less on what else the machine does
  memory         by how much the server's resident memory had grown at its peak during the first answer, from what it
                 was just before; TensorBoard, the plugin and both converters are loaded by then

The first line tells what TensorBoard and the plugin alone take for a request, which both pay: the first one of a
server, for a host that is not there. Last, windows of the trace, warm: the median and the worst of each.
"""
import argparse
import json
import os
import random
import shutil
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "board"))
import board  # noqa: E402 (after the path)

PAGES = [("overview_page", {}), ("kernel_stats", {}), ("trace_viewer@", {"resolution": "4040"})]
WINDOWS = 40
ROUNDS = 5


class Measured:
    """What a server of its own took for its first and second request."""

    def __init__(self, path, tool, query, backend, host="host", after=None):
        base = tempfile.mkdtemp(prefix="tbprof-bench-", dir=os.path.dirname(os.path.abspath(path)))
        try:
            logdir = os.path.join(base, "logdir")
            board.make_run(logdir, "run", [("host", os.path.abspath(path))], link=True)
            with board.Board(logdir, TBPROF_BACKEND=backend) as b:
                self.ask(b, tool, host, query)
                assert self.answer.is_ours == (backend == "on" and host == "host")
                self.windows_s = after(b, self.answer) if after else []
        finally:
            shutil.rmtree(base)

    def ask(self, b, tool, host, query):
        b.route("runs")
        b.forget_peak()
        before_bytes, before_cpu_s = b.resident_bytes(), b.cpu_s()
        self.first_s, self.answer = timed(b, tool, host, query)
        self.cpu_s = b.cpu_s() - before_cpu_s
        self.memory_bytes = b.resident_bytes(peak=True) - before_bytes
        self.second_s, _ = timed(b, tool, host, query)


def timed(b, tool, host, query):
    start = time.monotonic()
    answer = b.data("run", tool, host, **query)
    seconds = time.monotonic() - start
    assert answer.status == (200 if host == "host" else 404), (tool, answer.status, answer.body[:200])
    return seconds, answer


def windows(b, answer):
    """Seconds of random windows within the whole, from a third of it down to a hundred-thousandth."""
    low, high = json.loads(answer.body)["fullTimespan"]
    r, seconds = random.Random(7), []
    for _ in range(WINDOWS):
        span = (high - low) * 10 ** r.uniform(-5, -0.5)
        start = r.uniform(low, high - span)
        query = {"resolution": "4040", "start_time_ms": repr(start), "end_time_ms": repr(start + span)}
        seconds.append(timed(b, "trace_viewer@", "host", query)[0])
    return seconds


def median(measured, name):
    return statistics.median(getattr(m, name) for m in measured)


def tell(tool, pairs):
    """One line per quantity: ours, theirs, and how often ours goes into theirs."""
    ours, theirs = zip(*pairs)
    for name, unit, scale in (("first_s", "ms", 1e3), ("cpu_s", "ms", 1e3), ("second_s", "ms", 1e3),
                              ("memory_bytes", "MiB", 2 ** -20)):
        ratios = sorted(getattr(b, name) / max(getattr(a, name), 1e-9) for a, b in pairs)
        print(f"  {tool:15} {name.rpartition('_')[0]:7} {median(ours, name) * scale:9.1f} {unit:3} official "
              f"{median(theirs, name) * scale:9.1f} {unit:3} {statistics.median(ratios):6.1f} x "
              f"({ratios[0]:.1f} - {ratios[-1]:.1f})", flush=True)


def tell_windows(pairs):
    for who, measured in zip(("tbprof", "official"), zip(*pairs)):
        seconds = [s for m in measured for s in m.windows_s]
        print(f"  windows, {who:8} median {statistics.median(seconds) * 1e3:6.1f} ms, "
              f"worst {max(seconds) * 1e3:6.1f} ms", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="pairs of servers for each page")
    parser.add_argument("files", nargs="+", metavar="FILE.xplane.pb")
    args = parser.parse_args()
    for path in args.files:
        print(f"{os.path.basename(path)} ({os.path.getsize(path) / 1e6:.0f} MB)")
        alone = [Measured(path, "kernel_stats", {}, "on", host="nobody") for _ in range(args.rounds)]
        print(f"  TensorBoard and the plugin alone: first {median(alone, 'first_s') * 1e3:.1f} ms, "
              f"processor {median(alone, 'cpu_s') * 1e3:.1f} ms", flush=True)
        for tool, query in PAGES:
            after = windows if tool == "trace_viewer@" else None
            pairs = [[Measured(path, tool, query, backend, after=after) for backend in ("on", "off")]
                     for _ in range(args.rounds)]
            tell(tool, pairs)
            if after:
                tell_windows(pairs)


if __name__ == "__main__":
    main()
