#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Facts of public files, ../shared/corpus: what ../shared/reference/corpus.md says of each (its tables are read here),
the result of PyTorch's former TensorBoard plugin, and TraceLens's tables. Counts are exact, sums to the nanosecond.

Databases, MXNet's, MindSpore's and rocprof's files have theirs in tests/cli/test_import_{sqlite,text}.py; what the
plugin makes of TensorFlow's run folders is in the agreement test.
"""
import collections
import csv
import json
import os
import re
import sys
import unittest

from values import Profile, run, union
from support import SHARED, Case

CORPUS = os.path.join(SHARED, "corpus")
FACTS = os.path.join(SHARED, "reference", "corpus.md")
SKIPPED = 77
LENS = os.path.join(CORPUS, "kineto-oracle", "tracelens")


def table(heading):
    """Rows of the table below a heading: lists of cells."""
    with open(FACTS, encoding="utf-8") as f:
        text = f.read().split(heading, 1)[1]
    rows = re.search(r"(?:^\|.*\n)+", text, re.M).group(0).splitlines()[2:]
    return [[c.strip() for c in r.strip("|").split(" | ")] for r in rows]


def exact_ns(us):
    """Nanoseconds of a figure in microseconds with up to three digits behind the point."""
    return round(float(us) * 1000)


class Trace:
    """Events of a profile by category, from `export --chrome`; durations in nanoseconds."""

    def __init__(self, path):
        self.profile = Profile(path)
        self.of = collections.defaultdict(list)
        for line in run("export", "--chrome", path).stdout.splitlines():
            if line.startswith('{"ph":"X"'):
                e = json.loads(line.rstrip(","))
                e["ns"], e["at"] = exact_ns(e["dur"]), exact_ns(e["ts"])
                self.of[e["cat"].lower()].append(e)

    def sums(self, category):
        """(count, ns, names)."""
        found = self.of[category]
        return len(found), sum(e["ns"] for e in found), len({e["name"] for e in found})

    def ops(self):
        return self.of["cpu_op"] + self.of["operator"]

    def steps(self):
        return [(s["step"], exact_ns(s["marker_us"])) for s in self.profile.steps["steps"]]


@unittest.skipUnless(os.path.isdir(CORPUS), "the corpus is not at hand")
class Facts(Case):
    maxDiff = None

    def kineto(self, path, facts):
        """What the line of the table says: "104 ev; kernels 5 / 78588.479 us / 1 names; …"."""
        t = Trace(path)
        for fact in facts.split("; "):
            numbers = re.findall(r"[\d.]+", re.sub(r"\(#.*?\)", "", fact))
            kind = fact.split(" ")[0]
            if fact.endswith(" ev"):
                self.assertEqual(t.profile.ledger["read"], int(numbers[0]))
            elif kind == "kernels":
                self.assertEqual(t.sums("kernel"), (int(numbers[0]), exact_ns(numbers[1]), int(numbers[2])))
            elif kind == "memcpy":
                self.assertEqual(t.sums("gpu_memcpy")[:2], (int(numbers[0]), exact_ns(numbers[1])))
            elif kind == "memset":
                self.assertEqual(t.sums("gpu_memset")[0], int(numbers[0]))
            elif kind == "nccl/rccl":
                found = [e for e in t.of["kernel"] if re.search("[nr]ccl", e["name"])]
                self.assertEqual((len(found), sum(e["ns"] for e in found)), (int(numbers[0]), exact_ns(numbers[1])))
            elif kind == "cpu":
                self.assertEqual((len(t.ops()), len({e["name"] for e in t.ops()})), (int(numbers[0]), int(numbers[1])))
            elif kind == "steps":
                first = int(re.search(r"#(\d+)", fact)[1])
                self.assertEqual(t.steps(), [(first + i, exact_ns(us)) for i, us in enumerate(numbers[1:])])
            else:
                self.fail("nothing known of: " + fact)

    def test_kineto(self):
        rows = table("\n## 5 Kineto")
        self.assertEqual({r[0] for r in rows}, set(os.listdir(os.path.join(CORPUS, "kineto"))))
        for row in rows:
            with self.subTest(file=row[0]):
                self.kineto(os.path.join(CORPUS, "kineto", row[0]), row[2])

    def test_ranks(self):
        folder = os.path.join(CORPUS, "kineto-dist", "param-dlrm-8rank")
        rows = table("\n### 5.1 One distributed job")
        self.assertEqual({r[0] for r in rows}, set(os.listdir(folder)))
        for file, events, kernels, step, nccl in rows:
            n, us, names = kernels.split(" / ")
            m = re.fullmatch(r"ProfilerStep#(\d+) (\d+)", step)
            with self.subTest(file=file):
                self.kineto(os.path.join(folder, file), f"{events} ev; kernels {n} / {us} us / {names} names; "
                            f"steps 1 (#{m[1]}) {m[2]} us; nccl/rccl {nccl} us")
        means = {h: s["marker_us"] for s in Profile(folder).steps["steps"] for h in [s["host"]]}
        self.assertEqual((max(means, key=means.get), min(means, key=means.get)), ("worker1_step_12", "worker2_step_12"))

    def test_mtia(self):
        t = Trace(os.path.join(CORPUS, "kineto", "hta-mtia_inference_trace-mtia_inference_rank_0.json.gz"))
        self.assertEqual(len(t.of["mtia_ccp_events"]), 1313)
        calls = [r for r in t.profile.rows if r["plane"] == "/host:CPU" and r["category"] == ""]
        self.assertEqual(len(calls), 823)

    def test_chrome(self):
        rows = table("\n## 6 Chrome-format inputs")
        self.assertEqual({r[0] for r in rows}, set(os.listdir(os.path.join(CORPUS, "chrome-generic"))))
        self.chrome("chrome-generic", rows)

    def test_timelines(self):
        rows = [[os.path.basename(r[0]), *r[1:]] for r in table("\n## 7 TF timeline") if r[0].startswith("tf-timeline/")]
        self.assertEqual(len(rows), 2)
        self.chrome("tf-timeline", rows, again=("/stream:all Compute", "/memcpy Compute"))
        self.chrome("tf-trace-json", [["gb25-tiny.trace.json.gz", "", "181 ev (X: 140, M: 41)"]])  # and an empty object

    def chrome(self, folder, rows, again=()):
        """again: ends of the names of processes whose events others tell too; they count once."""
        for file, _, facts in rows:
            with self.subTest(file=file):
                p = Profile(os.path.join(CORPUS, folder, file))
                phases = {k: int(n) for k, n in re.findall(r"([A-Za-z]+): (\d+)", facts.split(")")[0])}
                self.assertEqual(p.ledger["read"], int(facts.split(" ")[0]))
                self.assertEqual(p.ledger["read"], p.ledger["emitted"] + p.ledger["merged"] + p.ledger["dropped"])
                us = re.search(r"sum X dur (\d+) us", facts)
                if us and not set(phases) - set("XMCiIPRsft"):  # whole events are all that last
                    found = sum(exact_ns(r["duration_us"]) for r in p.rows)
                    self.assertAlmostEqual(found / 1000, int(us[1]) - self.told_again(p.path, again), delta=0.5)

    def told_again(self, path, ends):
        if not ends:
            return 0
        with open(path, encoding="utf-8") as f:
            listed = json.load(f)["traceEvents"]
        processes = {e["pid"] for e in listed if e["ph"] == "M" and e["args"]["name"].endswith(ends)}
        return sum(e.get("dur", 0) for e in listed if e["pid"] in processes)

    def test_what_is_no_profile_is_refused(self):
        """Pages and tables of other tools, in all folders that have such."""
        found = []
        for folder in ("tf-siblings", "xprof-golden", "malformed", "tfevents"):
            for base, _, files in os.walk(os.path.join(CORPUS, folder)):
                found += [os.path.join(base, f) for f in files if f != "trace.json"]
        self.assertEqual(len(found), 17 + 22 + 1 + 1)
        self.assertEqual([f for f in found if run("info", f).returncode == 0], [])

    def test_xplanes(self):
        p = Profile(os.path.join(CORPUS, "xplane", "tfprofiler-gpu-multiworker-w6003.xplane.pb"))
        planes = p.info["planes"]
        self.assertEqual((len(planes), sum(len(x["lines"]) for x in planes), p.info["events"]), (9, 37, 23128))
        self.assertEqual(self.on(p, "/device:GPU:4"), (665, 14825385))
        self.assertEqual(self.on(p, "/device:GPU:6"), (665, 14865363))
        self.assertEqual([r["name"] for r in p.rows if r["plane"] == "/device:GPU:1"], ["MemcpyH2D"] * 19)
        p = Profile(os.path.join(CORPUS, "xplane", "tracelens-jax-rocm-conv-legacy.xplane.pb"))
        self.assertEqual((len(p.info["planes"]), p.info["events"]), (11, 6024))
        self.assertEqual(self.on(p, "/device:GPU:7"), (25, 3586493))
        p = Profile(os.path.join(CORPUS, "xplane", "tracelens-jax-rocm-gemm.xplane.pb"))
        self.assertEqual((len(p.info["planes"]), p.info["events"]), (11, 3782))

    def on(self, p, process):
        found = [e for e in p.kernels if e[0] == process]
        return len(found), sum(e[4] for e in found)

    def test_run_folders(self):
        """Kernels of TensorFlow's runs: sums of the files, by our kernel page."""
        for row in table("\n## 3 Run folders"):
            with self.subTest(run=row[0]):
                path = os.path.join(CORPUS, "tfrun-full", row[0], *(["train"] if row[0].startswith("e4040") else []))
                p = Profile(path)
                self.assertEqual(p.info["events"], int(row[2].split(" ")[0]))
                self.assertEqual(len(p.info["planes"]), int(row[2].split(" / ")[1]))
                if row[3] != "-":
                    n, us, names = row[3].split(", ")
                    table_ = p.kernel_table
                    self.assertEqual((p.kernel_count, p.kernel_sum_ns, len(table_)), (int(n), exact_ns(us), int(names)))


@unittest.skipUnless(os.path.isdir(CORPUS), "the corpus is not at hand")
class PluginOfPyTorch(Case):
    """kineto-oracle/tb_plugin_lines_1-5.txt: what the plugin showed of the ResNet-50 sample."""
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        with open(os.path.join(CORPUS, "kineto-oracle", "tb_plugin_lines_1-5.txt"), encoding="utf-8") as f:
            cls.overview, cls.pies, cls.operators, cls.kernels, cls.kernel_pie = map(json.loads, filter(str.strip, f))
        cls.profile = Profile(os.path.join(CORPUS, "kineto", "kineto-tbsample-resnet50-w0-span1.pt.trace.json.gz"))
        cls.rows = {(r["name"], r["on"]): r for r in cls.profile.stats}

    def test_kernels(self):
        self.assertEqual(len(self.kernels["data"]["rows"]), 67)
        for name, _, calls, total, mean, longest, shortest, *_ in self.kernels["data"]["rows"]:
            r = self.rows[name, "device"]
            self.assertEqual((r["count"], r["device_us"], r["max_us"], r["min_us"]), (calls, total, longest, shortest))
            self.assertAlmostEqual(r["avg_us"], mean, delta=0.5)
        ours = {n for n, on in self.rows if on == "device" and not n.startswith(("Mem",))}
        self.assertEqual(ours, {r[0] for r in self.kernels["data"]["rows"]})

    def test_steps(self):
        rows = self.overview["steps"]["rows"]
        self.assertEqual(sum(r[1] for r in rows), 591532)
        self.assertEqual([int(r[0]) for r in rows], [s["step"] for s in self.profile.steps["steps"]])

    def test_operators(self):
        unequal = []
        for o in self.operators["data"]:
            r = self.rows.get((o["name"], "host"))
            got = r and (r["count"], r["self_device_us"], r["device_us"], r["self_cpu_us"], r["cpu_us"])
            want = (o["calls"], o["device_self_duration"], o["device_total_duration"], o["host_self_duration"],
                    o["host_total_duration"])
            if got != want:
                unequal.append((o["name"], got, want))
        self.assertEqual(unequal, [])


@unittest.skipUnless(os.path.isdir(LENS), "TraceLens's tables are not at hand")
class TraceLens(Case):
    FILES = {"h100": "tl-h100-gaunernst_bert-small-uncased__1016001.json.gz",
             "mi300": "tl-mi300-gaunernst_bert-small-uncased__1016001.json.gz",
             "mi210": "tl-mi210-gpu_only_trace-gpu_only_trace.json.gz",
             "torch_compile_triton": "tl-torch_compile_triton-trace.json.gz"}

    def tables(self):
        for device, file in self.FILES.items():
            for base, _, names in os.walk(os.path.join(LENS, device)):
                if "kernel_summary.csv" in names:
                    with self.subTest(device=device):
                        yield Trace(os.path.join(CORPUS, "kineto", file)), base

    def csv(self, base, name):
        with open(os.path.join(base, name), encoding="utf-8") as f:
            return list(csv.DictReader(f))

    def test_kernels(self):
        for t, base in self.tables():
            theirs = collections.defaultdict(lambda: [0, 0])
            for r in self.csv(base, "kernel_summary.csv"):
                theirs[r["Kernel name"]][0] += int(r["Kernel duration (µs)_count"])
                theirs[r["Kernel name"]][1] += exact_ns(r["Kernel duration (µs)_sum"])
            ours = collections.defaultdict(lambda: [0, 0])
            for e in t.of["kernel"] + t.of["gpu_memcpy"] + t.of["gpu_memset"]:
                if e["name"] in theirs:
                    ours[e["name"]][0] += 1
                    ours[e["name"]][1] += e["ns"]
            self.assertEqual(ours, theirs)

    def test_time_of_the_device(self):
        for t, base in self.tables():
            theirs = {r["type"]: float(r["time ms"]) for r in self.csv(base, "gpu_timeline.csv")}
            span = lambda events: [(e["at"], e["at"] + e["ns"]) for e in events]
            work, copies = span(t.of["kernel"]), span(t.of["gpu_memcpy"] + t.of["gpu_memset"])
            whole = max(b for _, b in work + copies) - min(a for a, _ in work + copies)
            busy = union(work + copies)
            ours = {"computation_time": union(work), "busy_time": busy, "total_time": whole, "idle_time": whole - busy}
            for key, ns in ours.items():
                # theirs are floats of times since 1970, rounded to a quarter of a nanosecond each
                self.assertAlmostEqual(ns / 1e6, theirs[key], delta=max(1e-4 * theirs[key], 1e-5), msg=key)

    def test_ops(self):
        for t, base in self.tables():
            if not os.path.exists(os.path.join(base, "ops_summary.csv")):
                continue
            rows = {r["name"]: r for r in t.profile.stats if r["on"] == "host"}
            for r in self.csv(base, "ops_summary.csv"):
                ours = rows.get(r["name"], {"self_device_us": None})
                self.assertAlmostEqual(ours["self_device_us"], float(r["total_direct_kernel_time_sum"]), delta=0.02, msg=r["name"])


if __name__ == "__main__":
    if not os.path.isdir(CORPUS):
        print("skipped: ../shared/corpus, public files of other tools, is not at hand")
        sys.exit(SKIPPED)
    unittest.main()
