#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Speed and memory of tbprof against its peers, measured here and now.

  run.py [--tbprof PROGRAM] [--peer PROGRAM] [--official PYTHON] [--shared FOLDER] [--work FOLDER] [-n 5]
         [--events N] [--linear] [--json PYTHON] [INPUT.xplane.pb ...]

Without INPUT two real GPU profiles are scaled to N events (default 1 million; tools beside the checkout). Each figure
is the median of n fresh processes: wall time and peak resident memory. Peers: peer_parse (libprotobuf parses the same
bytes into an arena and does nothing else; `cmake --build BUILD --target peer_parse`), and with --official a Python
that has xprof: the official converter, tool after tool in one process. --linear adds the table for 0.1, 1 and 10
million events. Traces of PyTorch's profiler, scaled likewise (scale_kineto.py), are converted whole, against Python's json.load
of the same file and orjson.loads of its bytes, in a PYTHON that has orjson (--json; only the call counts). PROGRAMs
default to build/release.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = ("overview_page", "input_pipeline_analyzer", "framework_op_stats", "kernel_stats", "memory_profile", "pod_viewer")
SOURCES = ("corpus/tfrun-full/e4040-hd-06/train/plugins/profile/2023_11_07_18_41_27/instance-2.xplane.pb",
           "corpus/xplane/tfprofiler-gpu-multiworker-w6003.xplane.pb")
TRACES = ("corpus/kineto/hta-ns_resolution_trace-rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
          "corpus/kineto/kineto-tbsample-resnet50-w0-span1.pt.trace.json.gz")
LOAD = """
import os, sys, time
def clocks(): return time.monotonic(), time.process_time()
if sys.argv[1] == "orjson.loads":
    import orjson
    with open(sys.argv[2], "rb") as f: data = f.read()
    start = clocks()
    held = orjson.loads(data)
else:
    import json
    start = clocks()
    with open(sys.argv[2], encoding="utf-8") as f: held = json.load(f)
print(*(b - a for a, b in zip(start, clocks())), flush=True)
os._exit(0)
"""


class Run:
    """One fresh process: wall and processor seconds, peak resident MB; peak anonymous MB if it is sampled, which takes
    a little of the processors."""

    def __init__(self, command, is_sampled=False):
        start = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.anonymous_mb = 0.0
        if is_sampled:
            threading.Thread(target=self.sample, args=(process.pid,)).start()
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        self.wall_s = time.monotonic() - start
        self.cpu_s = usage.ru_utime + usage.ru_stime
        self.peak_mb = usage.ru_maxrss / 1024
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"{' '.join(command)}\n{errors.decode(errors='replace')}")

    def sample(self, pid):
        try:
            while True:
                with open(f"/proc/{pid}/status") as f:
                    fields = dict(line.split(":", 1) for line in f)
                if "RssAnon" not in fields:
                    return
                self.anonymous_mb = max(self.anonymous_mb, int(fields["RssAnon"].split()[0]) / 1024)
                time.sleep(0.005)
        except (OSError, ValueError):
            return


FIGURES = ("wall_s", "cpu_s", "peak_mb", "anonymous_mb")


def middle(runs, figures):
    return argparse.Namespace(**{key: statistics.median(getattr(r, key) for r in runs) for key in figures})


def ratios(a, b, digits):
    return f"time {a.wall_s / b.wall_s:.{digits}f}, memory {a.peak_mb / b.peak_mb:.{digits}f}"


def processor():
    with open("/proc/cpuinfo") as f:
        names = [line.split(":", 1)[1].strip() for line in f if line.startswith("model name")]
    return f"{names[0] if names else 'unknown processor'}, {os.cpu_count()} processors"


class Bench:
    def __init__(self, args):
        self.a = args
        self.out = os.path.join(args.work, "out")
        self.made = {}  # trace -> events, since only whole copies are made

    def scaled(self, source, events):
        name = f"{os.path.basename(os.path.dirname(source))}-{os.path.basename(source)}"
        path = os.path.join(self.a.work, f"{events}-{name}")
        if not os.path.exists(path):
            tool = os.path.join(self.a.shared, "tools", "scale_xplane.py")
            subprocess.run([sys.executable, tool, os.path.join(self.a.shared, source), path + ".part",
                            "--events", str(events)], check=True, stdout=subprocess.DEVNULL)
            os.rename(path + ".part", path)
        return path

    def convert(self, path, *more, is_sampled=False):
        shutil.rmtree(self.out, ignore_errors=True)
        return Run([self.a.tbprof, "convert", "-q", "-o", self.out, path, *more], is_sampled)

    def tables(self, path, is_sampled=False):
        tools = ",".join((*PAGES, "tf_data_bottleneck_analysis"))
        return self.convert(path, "--for", "legacy", "--tools", tools, is_sampled=is_sampled)

    def sampled(self, what, path):
        return middle([what(path, is_sampled=True) for _ in range(self.a.n)], FIGURES)

    def official(self, path, *tool):
        """Tool -> its run in one process that makes one after another, or one alone; "total" of all. Times are those of
        the calls, without the start of Python and its packages."""
        out = subprocess.run([self.a.official, os.path.join(self.a.shared, "tools", "bench_official.py"), path, *tool],
                             capture_output=True, text=True, check=True, env=dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3"))
        rows = [line.split("\t") for line in out.stdout.strip().split("\n")]
        return {row[0]: argparse.Namespace(wall_s=float(row[1]), peak_mb=float(row[3]))
                for row in rows if len(row) == 4 and row[1] != "-"}

    def scaled_trace(self, source, events):
        path = os.path.join(self.a.work, f"{events}-{os.path.basename(source).removesuffix('.gz')}")
        if not os.path.exists(path):
            tool = os.path.join(os.path.dirname(os.path.abspath(__file__)), "scale_kineto.py")
            made = subprocess.run([sys.executable, tool, os.path.join(self.a.shared, source), path + ".part",
                                   "--events", str(events)], check=True, stdout=subprocess.PIPE, text=True)
            self.made[path] = int(made.stdout)
            os.rename(path + ".part", path)
        return path

    def load(self, path, function):
        """Median wall and processor seconds of a call in fresh processes of Python."""
        command = [self.a.json, "-c", LOAD, function, path]
        runs = [subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
                for _ in range(self.a.n)]
        wall_s, cpu_s = (statistics.median(float(r[i]) for r in runs) for i in (0, 1))
        return argparse.Namespace(wall_s=wall_s, cpu_s=cpu_s)

    def compare_trace(self, path):
        print(f"\n{os.path.basename(path)}, {os.path.getsize(path) / 1e6:.1f} MB")
        whole = self.sampled(self.convert, path)
        say("whole convert, traces and gzip", whole)
        print(f"  anonymous memory {whole.anonymous_mb:.1f} MB")
        for function in ("orjson.loads", "json.load"):
            try:
                peer = self.load(path, function)
            except subprocess.CalledProcessError:
                print(f"  {function}: {self.a.json} does not have it (--json PYTHON)")
                continue
            print(f"  {function + ' / whole convert':36} wall {peer.wall_s / whole.wall_s:.2f}, processor "
                  f"{peer.cpu_s / whole.cpu_s:.2f}  ({peer.wall_s:.3f} s)", flush=True)

    def linear_trace(self, source):
        print(f"\nlinear? {source}\n  {'events':>9} {'MB':>7} {'convert s':>9} {'ns/event':>9} {'processor ns/event':>18} "
              f"{'peak MB':>8} {'anonymous MB':>12}")
        for events in (100000, 1000000, 10000000):
            path = self.scaled_trace(source, events)
            events = self.made.get(path, events)
            whole = self.sampled(self.convert, path)
            print(f"  {events:9} {os.path.getsize(path) / 1e6:7.1f} {whole.wall_s:9.3f} {whole.wall_s / events * 1e9:9.0f} "
                  f"{whole.cpu_s / events * 1e9:18.0f} {whole.peak_mb:8.0f} {whole.anonymous_mb:12.1f}", flush=True)
            os.remove(path)

    def round(self, path):
        """Everything once, so that each round saw the same machine."""
        runs = {"tables": self.tables(path), "whole": self.convert(path)}
        if os.path.exists(self.a.peer):
            runs["peer"] = Run([self.a.peer, path])
        if self.a.official:
            runs["official"] = self.official(path)["total"]
        for tool in PAGES:
            runs[tool] = Run([self.a.tbprof, "tool", tool, path])
            if self.a.official:
                runs["official " + tool] = self.official(path, tool)[tool]
        return runs

    def compare(self, path):
        print(f"\n{os.path.basename(path)}, {os.path.getsize(path) / 1e6:.1f} MB")
        rounds = [self.round(path) for _ in range(self.a.n)]
        r = {key: middle([one[key] for one in rounds], ("wall_s", "peak_mb")) for key in rounds[0]}
        say("all table pages, one process", r["tables"])
        say("whole convert, traces and gzip", r["whole"])
        if "peer" in r:
            say("peer: libprotobuf parses only", r["peer"])
            print(f"  tables / peer: {ratios(r['tables'], r['peer'], 2)}")
        if self.a.official:
            say("peer: official converter, all tools", r["official"])
            print(f"  official / whole convert: {ratios(r['official'], r['whole'], 1)}")
        for tool in PAGES:
            say(f"tool {tool}", r[tool])
            if self.a.official:
                print(f"  official / {tool}: time {r['official ' + tool].wall_s / r[tool].wall_s:.1f}")

    def linear(self, source):
        print(f"\nlinear? {source}\n  {'events':>9} {'MB':>7} {'tables s':>9} {'ns/event':>9} {'convert s':>9} "
              f"{'ns/event':>9} {'peak MB':>8} {'anonymous bytes/event':>21}")
        for events in (100000, 1000000, 10000000):
            path = self.scaled(source, events)
            tables, whole = self.sampled(self.tables, path), self.sampled(self.convert, path)
            print(f"  {events:9} {os.path.getsize(path) / 1e6:7.1f} {tables.wall_s:9.3f} {tables.wall_s / events * 1e9:9.0f} "
                  f"{whole.wall_s:9.3f} {whole.wall_s / events * 1e9:9.0f} {whole.peak_mb:8.0f} "
                  f"{tables.anonymous_mb * 1048576 / events:21.1f}", flush=True)


def say(what, run):
    print(f"  {what:36} {run.wall_s:8.3f} s {run.peak_mb:8.1f} MB", flush=True)


def what_is_missing(a):
    """In words, or None."""
    if not os.access(a.tbprof, os.X_OK):
        return f"no program {a.tbprof}: build it (cmake --build build/release) or name one (--tbprof)"
    lost = [s for s in SOURCES + TRACES if not a.inputs and not os.path.exists(os.path.join(a.shared, s))]
    if lost:
        return f"without INPUT public profiles are scaled, and {os.path.join(a.shared, lost[0])} is not there: " \
               "name an INPUT.xplane.pb, or the folder that has it (--shared)"
    if a.json != sys.executable and subprocess.run([shutil.which(a.json) or "false", "-c", "import orjson"], capture_output=True).returncode:
        return f"{a.json} cannot import orjson, which traces are compared with: name a Python that can (--json)"
    return None


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    build = os.path.join(ROOT, "build", "release")
    ap.add_argument("--tbprof", default=os.path.join(build, "tbprof"))
    ap.add_argument("--peer", default=os.path.join(build, "tests", "peer_parse"))
    ap.add_argument("--official")
    ap.add_argument("--shared", default=os.path.join(os.path.dirname(ROOT), "shared"))
    ap.add_argument("--work", help="folder of the scaled inputs; kept if named")
    ap.add_argument("-n", type=int, default=5)
    ap.add_argument("--events", type=int, default=1000000)
    ap.add_argument("--linear", action="store_true")
    ap.add_argument("--json", default=sys.executable, metavar="PYTHON", help="a Python that has orjson (without INPUT only)")
    ap.add_argument("inputs", nargs="*", metavar="INPUT.xplane.pb")
    a = ap.parse_args()
    missing = what_is_missing(a)
    if missing:
        ap.error(missing)
    is_own = not a.work
    a.work = a.work or tempfile.mkdtemp(prefix="tbprof-bench-")
    os.makedirs(a.work, exist_ok=True)
    try:
        print(f"{processor()}; median of {a.n} fresh processes")
        bench = Bench(a)
        for path in a.inputs or [bench.scaled(s, a.events) for s in SOURCES]:
            bench.compare(path)
        for source in [] if a.inputs else TRACES:
            bench.compare_trace(bench.scaled_trace(source, a.events))
        if a.linear:
            bench.linear(SOURCES[1])
            bench.linear_trace(TRACES[0])
    finally:
        shutil.rmtree(bench.out, ignore_errors=True)
        if is_own:
            shutil.rmtree(a.work)


if __name__ == "__main__":
    main()
