# SPDX-License-Identifier: Apache-2.0
"""How figures of a profile are read from the command line: what the tables of the cases are made of. Times are
microseconds from the first event unless a name says ns or ps."""
import csv
import functools
import io
import json
import os
import sys
from decimal import Decimal

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cli"))
import facts  # noqa: E402
from support import run  # noqa: E402


def number(us):
    """Nanoseconds as microseconds: whole ones as int, so that 100.0 is 100."""
    return us // 1000 if us % 1000 == 0 else us / 1000


def union(spans):
    """Time that any of the spans covers."""
    total, end = 0, None
    for a, b in sorted(spans):
        if end is None or a > end:
            total, end = total + b - a, b
        elif b > end:
            total, end = total + b - end, b
    return total


class Profile:
    """One input; every question is asked once."""

    def __init__(self, path, *options):
        self.path, self.options = path, options

    def ask(self, command, *args, codes=(0,)):
        r = run(command, self.path, "--json", *args, *self.options)
        if r.returncode not in codes:
            raise AssertionError(f"tbprof {command} {self.path}: {r.returncode} {r.stderr}")
        return json.loads(r.stdout)

    @functools.cached_property
    def info(self):
        return self.ask("info")["runs"][0]["hosts"][0]

    @functools.cached_property
    def ledger(self):
        return self.info["ledger"]["events"]

    @functools.cached_property
    def counters(self):
        return {k: v["count"] for k, v in self.info["ledger"].get("counters", {}).items()}

    @functools.cached_property
    def stats(self):
        return self.ask("stats")["rows"]

    def row(self, name, on="host"):
        """The row of stats of this name, which must be the only one."""
        (found,) = [r for r in self.stats if r["name"] == name and r["on"] == on]
        return found

    @functools.cached_property
    def steps(self):
        return self.ask("steps")

    def per_step(self, key):
        return [s[key] for s in self.steps["steps"]]

    @functools.cached_property
    def check(self):
        return {f["key"]: f for f in self.ask("check", codes=(0, 1))["findings"]}

    @functools.cached_property
    def events(self):
        """What trace_viewer shows: (process, line, name, start ns, duration ns, arguments)."""
        return facts.events(self.path)

    @functools.cached_property
    def rows(self):
        """Every event of the file as `export --csv` lists it: also those of no length."""
        r = run("export", "--csv", self.path)
        return list(csv.DictReader(io.StringIO(r.stdout)))

    @functools.cached_property
    def device(self):
        return [e for e in self.events if e[0].startswith("/device:GPU:") and e[1].startswith("Stream #")]

    @property
    def kernels(self):
        return [e for e in self.device if "kernel_details" in e[5]]

    @property
    def copies(self):
        return [e for e in self.device if "memcpy_details" in e[5]]

    @functools.cached_property
    def kernel_table(self):
        """kernel_stats: name -> (count, total ns)."""
        found = {}
        for r in facts.rows(facts.answer("kernel_stats", self.path)):
            n, ns = found.get(r["kernel_name"], (0, 0))
            found[r["kernel_name"]] = (n + int(r["occurrences"]), ns + round(r["total_duration_us"] * 1000))
        return found

    @property
    def kernel_count(self):
        return sum(n for n, _ in self.kernel_table.values())

    @property
    def kernel_sum_ns(self):
        return sum(ns for _, ns in self.kernel_table.values())

    @property
    def kernel_sum(self):
        return number(self.kernel_sum_ns)

    def busy(self, events=None):
        return number(union((e[3], e[3] + e[4]) for e in (self.device if events is None else events)))

    def window_ns(self, zero_ns=0):
        return [min(e[3] for e in self.device) + zero_ns, max(e[3] + e[4] for e in self.device) + zero_ns]

    def window(self, zero_ns=0):
        return [number(t) for t in self.window_ns(zero_ns)]

    def idle(self):
        first, last = self.window()
        return last - first - self.busy()

    def device_time(self, *names):
        """Self device time of ops."""
        return {name: self.row(name)["self_device_us"] for name in names}

    def all(self, name):
        return [e for e in self.events if e[2] == name]

    def launched_by(self):
        """Name of the call -> works on a device that carry its correlation id; those without are 'unlinked'."""
        calls = {e[5]["correlation_id"]: e[2] for e in self.events if e[0] == "/host:CPU" and "correlation_id" in e[5]}
        found = {}
        for e in self.device:
            name = calls.get(e[5].get("correlation_id"), "unlinked")
            found[name] = found.get(name, 0) + 1
        return found


def kineto_zero_ns(path):
    """What tbprof's time 0 (the first event) is on the clock of the cases, whose 0 is ts 6912345678901."""
    with open(path, encoding="utf-8") as f:
        doc = json.load(f, parse_float=Decimal)
    first = min(Decimal(e["ts"]) for e in doc["traceEvents"] if e["ph"] in "XiC")
    return int((first - 6912345678901) * 1000)
