#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
r"""First and second answers of TensorBoard with tbprof and with the official converter alone, over HTTP.

  bench_board.py FILE.xplane.pb...      in the environment of tests/board/run.py:
  B=BUILD/python-tests TBPROF_PLUGINS=$B/plugins TBPROF=BUILD/tbprof TBPROF_SHARED=../shared \
      $B/venv/bin/python tests/bench/bench_board.py FILE...

Every page is the first request of a server of its own, on a run folder without caches. Prints per page the
seconds of the first and second answer of both, the processor time of the first (which does not depend on what
else the machine does, but hides what both cores do at once), their ratios, and by how much the server's memory had grown at
its peak. Then windows of the trace, warm: the median and the worst of each.
"""
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
SERVERS = 3


def timed(b, tool, query):
    start = time.monotonic()
    answer = b.data("run", tool, "host", **query)
    assert answer.status == 200, (tool, answer.status, answer.body[:200])
    return time.monotonic() - start, answer


def measure(path, tool, query, backend, after=None):
    base = tempfile.mkdtemp(prefix="tbprof-bench-", dir=os.path.dirname(os.path.abspath(path)))
    try:
        logdir = os.path.join(base, "logdir")
        board.make_run(logdir, "run", [("host", os.path.abspath(path))], link=True)
        with board.Board(logdir, TBPROF_BACKEND=backend) as b:
            b.route("runs")
            before, cpu = b.resident_bytes(), b.cpu_s()
            first, answer = timed(b, tool, query)
            cpu = b.cpu_s() - cpu
            peak = b.resident_bytes(peak=True)
            second, _ = timed(b, tool, query)
            assert answer.is_ours == (backend != "off")
            extra = after(b, answer) if after else None
            return first, second, peak - before, cpu, extra
    finally:
        shutil.rmtree(base)


def best(*arguments):
    """The quickest of some servers: others' work on the machine only ever adds."""
    runs = [measure(*arguments) for _ in range(SERVERS)]
    return tuple(min(r[i] for r in runs) for i in range(4)) + (min(runs, key=lambda r: sum(r[4] or [0]))[4],)


def windows(b, answer):
    """Seconds of random windows within the whole, from a third of it down to a hundred-thousandth."""
    low, high = json.loads(answer.body)["fullTimespan"]
    r, seconds = random.Random(7), []
    for _ in range(WINDOWS):
        span = (high - low) * 10 ** r.uniform(-5, -0.5)
        start = r.uniform(low, high - span)
        query = {"resolution": "4040", "start_time_ms": repr(start), "end_time_ms": repr(start + span)}
        seconds.append(timed(b, "trace_viewer@", query)[0])
    return seconds


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for path in sys.argv[1:]:
        print(f"{os.path.basename(path)} ({os.path.getsize(path) / 1e6:.0f} MB)")
        for tool, query in PAGES:
            after = windows if tool == "trace_viewer@" else None
            ours, theirs = (best(path, tool, query, backend, after) for backend in ("on", "off"))
            print(f"  {tool:15} first {ours[0]:7.3f} s, official {theirs[0]:7.3f} s ({theirs[0] / ours[0]:5.1f} x), "
                  f"processor {ours[3]:.2f} s, official {theirs[3]:.2f} s ({theirs[3] / max(ours[3], 0.01):5.1f} x); "
                  f"second {ours[1]:6.3f} s, official {theirs[1]:6.3f} s ({theirs[1] / ours[1]:4.1f} x); "
                  f"memory +{ours[2] >> 20} MiB, official +{theirs[2] >> 20} MiB ({ours[2] / theirs[2]:.2f})", flush=True)
            if after:
                for who, seconds in (("tbprof", ours[4]), ("official", theirs[4])):
                    print(f"  windows, {who:8} median {statistics.median(seconds) * 1e3:6.1f} ms, "
                          f"worst {max(seconds) * 1e3:6.1f} ms")


if __name__ == "__main__":
    main()
