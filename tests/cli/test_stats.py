#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tbprof stats: averages worked out by hand, and the tables that PyTorch printed itself (../shared)."""
import csv
import glob
import io
import itertools
import json
import os
import unittest

from support import SAMPLE, SHARED, TWO_HOSTS, Case

TORCH = os.path.join(SHARED, "recordings", "torch-2.13")


def op(name, ts, dur, tid=1, cat="cpu_op", **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": args}


def memory(ts, size, device=0, tid=1):
    return {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": tid, "ts": ts,
            "args": {"Bytes": size, "Device Type": device, "Device Id": 0 if device else -1, "Addr": 64,
                     "Total Allocated": size, "Total Reserved": 0}}


def kernel(name, ts, dur, correlation, **args):
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": ts, "dur": dur,
            "args": {"device": 0, "stream": 7, "correlation": correlation, **args}}


# outer 0-100: inner 10-40 (launches k, 20 us), inner 50-60; twice 200-220 around itself 200-218 around leaf 205-210
EVENTS = [
    op("ProfilerStep#3", 0, 300, cat="user_annotation"),
    op("outer", 0, 100, **{"Input Dims": [[4, 4]]}),
    op("inner", 10, 30, **{"Input Dims": [[4, 4]]}),
    op("cudaLaunchKernel", 20, 5, cat="cuda_runtime", correlation=9),
    op("inner", 50, 10, **{"Input Dims": [[2]]}),
    op("twice", 200, 20),
    op("twice", 200, 18),
    op("leaf", 205, 5),
    kernel("k", 60, 20, 9),
    op("a range", 60, 240, tid=7, cat="gpu_user_annotation"),
    memory(15, 512), memory(55, -128), memory(56, 1000, device=1), memory(400, 64),
]


class Averages(Case):
    def profile(self, events=EVENTS, name="w.pt.trace.json"):
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"schemaVersion": 1, "deviceProperties": [], "traceEvents": events}, f)
        return path

    def stats(self, path, *args):
        return json.loads(self.expect(0, "stats", path, "--json", *args).stdout)

    def rows(self, path, *args):
        return {(r["name"], r["group"]): r for r in self.stats(path, *args)["rows"]}

    def test_nesting_of_any_depth(self):
        """5000 events each within the one before, 1 us later, and ended 1 us before it."""
        depth = 5000
        events = [op("ab"[i % 2], i, 2 * (depth - i)) for i in range(depth)]
        rows = self.rows(self.profile(events + [op("c", 2 * depth, 7)]))
        self.assertEqual({k[0]: (r["count"], r["self_cpu_us"]) for k, r in rows.items()},
                         {"a": (depth // 2, depth), "b": (depth // 2, depth), "c": (1, 7)})

    def test_records_of_exchanges_are_of_no_thread(self):
        """gloo:all_reduce goes on over 0-100, beside copy (10-30, with fill 12-20) on its thread, and crosses view 90-120."""
        answer = self.stats(self.profile([op("gloo:all_reduce", 0, 100, cat="user_annotation"), op("copy", 10, 20),
                                          op("fill", 12, 8), op("view", 90, 30), memory(15, 512)]))
        rows = {r["name"]: (r["cpu_us"], r["self_cpu_us"], r["self_cpu_bytes"]) for r in answer["rows"]}
        self.assertEqual(rows, {"gloo:all_reduce": (100, 0, 0), "copy": (20, 12, 0), "fill": (8, 8, 512), "view": (30, 30, 0)})
        self.assertEqual((answer["self_cpu_us"], answer["crossing"], answer["clamped"]), (50, 0, 0))
        for name, cat in (("gloo:all_reduce", "cpu_op"), ("c10d::allreduce_", "user_annotation")):  # no such records
            rows = self.rows(self.profile([op(name, 0, 100, cat=cat), op("copy", 10, 20)]))
            self.assertEqual(rows[name, ""]["self_cpu_us"], 80)

    def test_rows_by_stack(self):
        """f called once from main, once from g; add once from f called by main; frames innermost first."""
        main, below_g = "m.py(1): main;", "m.py(5): g;m.py(1): main;"
        python = [op("m.py(9): f", ts, dur, cat="python_function", **{"Call stack": stack})
                  for ts, dur, stack in ((0, 50, main), (60, 20, below_g))]
        path = self.profile([*python, op("add", 10, 30, **{"Call stack": "m.py(9): f;" + main})])
        found = {(n, g): (r["count"], r["self_cpu_us"]) for (n, g), r in self.rows(path, "--group-by", "stack").items()}
        self.assertEqual(found, {("m.py(9): f", main[:-1]): (1, 20), ("m.py(9): f", below_g[:-1]): (1, 20),
                                 ("add", "m.py(9): f;" + main[:-1]): (1, 30)})
        one = self.rows(path, "--group-by", "stack", "--stack-depth", "1")
        self.assertEqual({k: r["count"] for k, r in one.items()},
                         {("m.py(9): f", "m.py(1): main"): 1, ("m.py(9): f", "m.py(5): g"): 1, ("add", "m.py(9): f"): 1})

    def test_times_without_and_with_what_is_nested(self):
        rows = self.rows(self.profile())
        self.assertEqual((rows["outer", ""]["cpu_us"], rows["outer", ""]["self_cpu_us"]), (100, 60))
        inner = rows["inner", ""]
        self.assertEqual((inner["count"], inner["cpu_us"], inner["self_cpu_us"]), (2, 40, 35))
        self.assertEqual((inner["avg_us"], inner["min_us"], inner["max_us"], inner["stddev_us"]), (20, 10, 30, 10))
        self.assertEqual(rows["ProfilerStep*", ""]["self_cpu_us"], 300 - 100 - 20)

    def test_an_only_child_of_the_same_name_is_its_parent(self):
        twice = self.rows(self.profile())["twice", ""]
        self.assertEqual((twice["count"], twice["cpu_us"], twice["self_cpu_us"]), (1, 20, 15))

    def test_device_time_goes_to_the_op_around_the_launch(self):
        answer = self.stats(self.profile())
        rows = {r["name"]: r for r in answer["rows"]}
        self.assertEqual(answer["device_us"], 20)
        self.assertEqual((rows["inner"]["self_device_us"], rows["inner"]["device_us"]), (20, 20))
        self.assertEqual((rows["outer"]["self_device_us"], rows["outer"]["device_us"]), (0, 20))
        self.assertEqual(rows["cudaLaunchKernel"]["device_us"], 0)
        self.assertEqual((rows["k"]["on"], rows["k"]["device_us"], rows["k"]["cpu_us"]), ("device", 20, None))
        self.assertNotIn("a range", rows)

    def test_memory_of_no_op_is_a_row_after_any_number_of_rows(self):
        for n in (1, 2, 4, 8, 16, 32, 64, 128):
            ops = [op(f"op{k}", 10 * k, 5) for k in range(n)]
            row = self.rows(self.profile([*ops, memory(10 * n, 64)]))["[memory]", ""]
            self.assertEqual((row["count"], row["cpu_bytes"], row["min_us"]), (1, 64, 0))

    def test_memory_is_that_between_begin_and_end(self):
        rows = self.rows(self.profile())
        outer, inner = rows["outer", ""], rows["inner", ""]
        self.assertEqual((outer["cpu_bytes"], outer["self_cpu_bytes"]), (384, 0))
        self.assertEqual((inner["cpu_bytes"], inner["device_bytes"]), (384, 1000))
        free = rows["[memory]", ""]
        self.assertEqual((free["count"], free["cpu_bytes"], free["cpu_us"]), (1, 64, 0))

    def paired(self, events):
        """Durations by name, and how many begins and ends found none."""
        path = self.path("pairs.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump([dict({"ph": ph, "pid": 1, "tid": 1, "ts": ts}, **({"name": name} if name else {})) for ph, name, ts in events], f)
        host = json.loads(self.expect(0, "info", path, "--json").stdout)["runs"][0]["hosts"][0]
        lost = tuple(host["ledger"]["counters"].get(key, {"count": 0})["count"] for key in ("unfinished", "unmatched_end"))
        return {n: (r["min_us"], r["max_us"], r["count"]) for (n, _), r in self.rows(path).items()}, lost

    def test_begins_and_ends_of_one_moment_in_any_order(self):
        """Ends end what began earlier, those left over what begins then."""
        for events, rows, lost in (
                ("Bx10 Ex10 By20 Ey30", {"x": (0, 0, 1), "y": (10, 10, 1)}, (0, 0)),
                ("Bx0 Ex10 Bx10 Ex30", {"x": (10, 20, 2)}, (0, 0)),
                ("Bx0 Ex10 Bx10 Ex10", {"x": (0, 10, 2)}, (0, 0)),
                ("Bx0 By0 Ey10 Bz10 Ex30 Ez30", {"x": (30, 30, 1), "y": (10, 10, 1), "z": (20, 20, 1)}, (0, 0)),
                ("Ex10 By10 Ey20", {"y": (10, 10, 1)}, (0, 1)),
                ("Ex10 Ex10 Bx10 Ez20", {"x": (0, 0, 1)}, (0, 2)),
                ("Bx10 Bx10 Ex10 By20 Ey20", {"x": (10, 10, 1), "y": (0, 0, 1)}, (1, 0))): # in itself is once
            events = [(e[0], e[1], int(e[2:])) for e in events.split()]
            for order in itertools.islice(itertools.permutations(events), 0, None, 5 if len(events) < 5 else 89):
                self.assertEqual(self.paired(order), (rows, lost), order)

    def test_ends_without_a_name_end_what_began_last(self):
        """Of one moment after those with a name; of what began together, first the last by name."""
        for events, rows, lost in (
                ("Bx0 E10 By10 E10", {"x": (10, 10, 1), "y": (0, 0, 1)}, (0, 0)),
                ("Bx0 By10 E10 E20", {"x": (10, 10, 1), "y": (10, 10, 1)}, (0, 0)),
                ("Bx0 By5 E10 E20", {"x": (20, 20, 1), "y": (5, 5, 1)}, (0, 0)),
                ("Ba0 Bb0 E10 E30", {"a": (30, 30, 1), "b": (10, 10, 1)}, (0, 0)),
                ("Bx0 By10 Ex30 E30", {"x": (30, 30, 1), "y": (20, 20, 1)}, (0, 0)),
                ("Bx0 Ex10 E10 Ey10 By10", {"x": (10, 10, 1), "y": (0, 0, 1)}, (0, 1)),
                ("E10 By10 E10", {"y": (0, 0, 1)}, (0, 1)),
                ("Bx0 Ex10 Bx10 Ex30 By40 E50", {"x": (10, 20, 2), "y": (10, 10, 1)}, (0, 0))): # names are as without it
            events = [(e[0], e[1:].rstrip("0123456789"), int(e[1:].lstrip("xyab"))) for e in events.split()]
            for order in itertools.islice(itertools.permutations(events), 0, None, 5 if len(events) < 5 else 89):
                self.assertEqual(self.paired(order), (rows, lost), order)

    def thread_named(self, given, process=(), file="named.pt.trace.json"):
        """What the thread is called of which the file gives these names: (name, when or None)."""
        rows = [{"ph": "M", "name": kind, "pid": 1, "tid": 1, "args": {"name": name}, **({} if ts is None else {"ts": ts})}
                for kind, of in (("thread_name", given), ("process_name", process)) for name, ts in of]
        path = self.path(file)
        with open(path, "w", encoding="utf-8") as f:
            json.dump([*rows, op("mm", 0, 10, cat="cpu_op" if file.endswith(".pt.trace.json") else "any")], f)
        (_, group), = self.rows(path, "--group-by", "thread")
        return group

    def test_of_several_names_the_latest_counts_whatever_their_order(self):
        """Then the longest, then the first by bytes."""
        for given, wanted in (
                ([("b", 0.0), ("a", 7.5), ("longer", 0.0)], "a"),
                ([("a", 0.001), ("b", 0.002), ("c", 0)], "b"),
                ([("python3", 5), ("pt_autograd_0", 5)], "pt_autograd_0"),
                ([("b1", 5), ("b0", 5), ("b", 5)], "b0"),
                ([("told late", 5), ("told at no time", None), ("", 9)], "told late"),
                ([("one", None), ("two", None), ("", None)], "one")):
            for order in itertools.permutations(given):
                self.assertEqual(self.thread_named(order), wanted, order)
                self.assertEqual(self.thread_named(order, file="named.json"), wanted, order)

    def test_the_same_of_names_of_processes(self):
        """In Chrome's format they are in front of the number of a thread that has none."""
        for order in itertools.permutations([("b", 0), ("pool", 3), ("a", 3), ("", 9)]):
            self.assertEqual(self.thread_named((), order, "named.json"), "pool 1", order)

    def test_marks_of_the_profiler_are_no_rows(self):
        mark = {"ph": "i", "cat": "", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 500}
        span = op("PyTorch Profiler (0)", 0, 500, tid="PyTorch Profiler", cat="Trace")
        path = self.profile([op("aten::mm", 0, 10), mark, span, op("Buffer", 20, 5, cat="overhead")])
        self.assertEqual({n for n, _ in self.rows(path)}, {"aten::mm"})

    def test_groups(self):
        path = self.profile()
        shapes = {(n, g.replace(" ", "")): r for (n, g), r in self.rows(path, "--group-by", "shape").items()}
        self.assertEqual((shapes["inner", "[[4,4]]"]["cpu_us"], shapes["inner", "[[2]]"]["cpu_us"]), (30, 10))
        self.assertIn(("k", "/device:GPU:0"), self.rows(path, "--group-by", "device"))
        self.assertIn(("inner", "w"), self.rows(path, "--group-by", "host"))

    def test_blanks_in_a_shape_tell_nothing_apart(self):
        """But for those in a string, and one where a comma was lost."""
        event = '{"ph": "X", "cat": "cpu_op", "name": "mm", "pid": 1, "tid": 1, "ts": %d, "dur": 2, "args": {"Input Dims": %s}}'
        lists = ['[[2,3]]', '[[2, 3]]', '[\n  [\n    2,\n\t3\r\n  ]\n]', '[ [2 ,3 ] ]', '["a,  b\\"  ]" ,{"k" :[ ]}]', '[2  3]']
        path = self.path("blanks.pt.trace.json")
        with open(path, "w", encoding="utf-8") as f:
            f.write('{"schemaVersion": 1, "traceEvents": [%s]}' % ",".join(event % (10 * i, v) for i, v in enumerate(lists)))
        rows = {group: r["count"] for (_, group), r in self.rows(path, "--group-by", "shape").items()}
        self.assertEqual(rows, {"[[2, 3]]": 4, '["a,  b\\"  ]", {"k": []}]': 1, "[2 3]": 1})

    def test_one_row_per_type(self):
        path = self.profile([op("aten::mm", 0, 10), op("xla::mm", 20, 30), op("aten::add", 60, 1)])
        rows = {n: (r["count"], r["cpu_us"]) for (n, _), r in self.rows(path, "--group-by", "type").items()}
        self.assertEqual(rows, {"mm": (2, 40), "add": (1, 1)})

    def test_every_grouping_counts_the_same(self):
        """An only child of the same type is an event of its own; one of the same name is its parent over again."""
        nested = [op("aten::mm", 500, 10), op("xla::mm", 502, 5), op("xla::mm", 503, 3)]
        path = self.profile(EVENTS + nested)
        for key in ("name", "shape", "stack", "thread", "device", "module", "host", "type"):
            rows = self.stats(path, "--group-by", key)["rows"]
            # of EVENTS: step, outer, inner twice, launch, twice once, leaf, k, memory of nobody
            self.assertEqual(sum(r["count"] for r in rows), 9 + 2, key)
        mm = self.rows(path, "--group-by", "type")["mm", ""]
        self.assertEqual((mm["count"], mm["cpu_us"], mm["self_cpu_us"]), (2, 15, 10))

    def test_order_and_limit(self):
        path = self.profile()
        answer = self.stats(path, "--sort-by", "cpu", "--limit", "2")
        self.assertEqual([r["name"] for r in answer["rows"]], ["ProfilerStep*", "outer"])
        self.assertEqual((answer["rows_shown"], answer["rows_total"]), (2, 8))
        names = [r["name"] for r in self.stats(path, "--sort-by", "name")["rows"]]
        self.assertEqual(names, sorted(names))
        self.assertEqual(self.stats(path)["sort_by"], "self-device")

    def test_what_cannot_be_sorted_by_or_told_apart_is_said(self):
        """The host's ops alone: b takes longer than a."""
        path = self.profile([op("a", 0, 10), op("b", 20, 30)])
        for key, lacks in (("self-device", "device times"), ("device", "device times"), ("cpu-memory", "memory events"),
                           ("self-device-memory", "memory events of devices")):
            r = self.expect(0, "stats", path, "--json", "--sort-by", key, "--quiet")
            answer = json.loads(r.stdout)
            self.assertEqual((answer["sort_by"], [x["name"] for x in answer["rows"]]), ("self-cpu", ["b", "a"]))
            self.assertIn(f"the profile has no {lacks}: rows are in order of self-cpu", r.stderr)
        for key, lacks in (("shape", "input shapes"), ("stack", "stacks"), ("module", "modules")):
            self.assertIn(f"the profile has no {lacks} ", self.expect(0, "stats", path, "--group-by", key).stderr)
        both = self.expect(0, "stats", path, "--group-by", "shape", "--sort-by", "device").stderr
        self.assertEqual(both.count("the profile has no"), 2)
        for args in (("--sort-by", "device"), ("--sort-by", "cpu-memory"), ("--group-by", "shape"), ()):
            self.assertEqual(self.expect(0, "stats", self.profile(), *args).stderr, "")

    def test_overlap_is_no_nesting(self):
        path = self.profile([op("a", 0, 10), op("b", 5, 10)])
        rows = self.rows(path)
        self.assertEqual((rows["a", ""]["self_cpu_us"], rows["b", ""]["self_cpu_us"]), (10, 10))

    def test_order_of_events_does_not_matter(self):
        a = self.expect(0, "stats", self.profile(), "--json").stdout
        b = self.expect(0, "stats", self.profile(EVENTS[::-1]), "--json").stdout
        self.assertEqual(a, b)

    def test_text_and_csv(self):
        path = self.profile([op('na,"me"\x1b[2J', 0, 1.5)])
        text = self.expect(0, "stats", path).stdout
        self.assertNotIn("\x1b", text)
        self.assertIn("Self CPU time total: 1.500us", text)
        table = list(csv.DictReader(io.StringIO(self.expect(0, "stats", path, "--csv").stdout)))
        self.assertEqual((table[0]["name"], table[0]["cpu_us"], table[0]["cpu_bytes"]), ('na,"me"\x1b[2J', "1.5", ""))
        self.assertIn("exclude", self.expect(2, "stats", path, "--csv", "--json").stderr)
        self.assertIn("\x1b[1m", self.expect(0, "stats", path, "--color", "always").stdout)

    def test_deep_nesting_and_absurd_durations_end_well(self):
        deep = self.profile([op("f", i, 40000 - 2 * i) for i in range(20000)])
        self.assertEqual(self.stats(deep)["rows"][0]["name"], "f")
        huge = self.profile([op("f", 0, 9.2e12), op("f", 1, 9.2e12), op("f", 2, 9e12)])
        self.assertEqual(self.stats(huge)["rows_total"], 1)

    def test_xplanes_of_one_and_several_hosts(self):
        one = self.stats(SAMPLE)
        self.assertGreater(one["self_cpu_us"], 0)
        run = glob.glob(os.path.join(TWO_HOSTS, "plugins", "profile", "*"))[0]
        both = self.stats(run)
        parts = [self.stats(run, "--host", h) for h in both["hosts"]]
        self.assertEqual(len(parts), 2)
        self.assertAlmostEqual(both["self_cpu_us"], sum(p["self_cpu_us"] for p in parts), places=3)
        self.assertEqual(sum(r["count"] for r in both["rows"]), sum(r["count"] for p in parts for r in p["rows"]))

    def test_kineto_to_xplane_keeps_the_table(self):
        path = self.profile()
        self.expect(0, "convert", path, "-o", self.path("log"), "--quiet")
        plane = glob.glob(self.path("log", "plugins", "profile", "*", "*.xplane.pb"))[0]
        self.assertEqual(self.stats(plane)["rows"], self.stats(path)["rows"])


# What the JSON cannot tell: names that PyTorch's writer changed.
NOT_IN_FILE = {"torch-quote": 3}
RECORDED = [("torch-full", "worker0*.json", "oracle-key_averages-cycle0.json"),
            ("torch-plain", "plain.json", "oracle-key_averages.json"),
            ("torch-shapes", "shapes.json.gz", "oracle-key_averages.json"),
            ("torch-threads", "threads.json", "oracle-key_averages.json"),
            ("torch-quote", "quote.json", "oracle-key_averages.json"),
            ("torch-oom", "oom.json", "oracle-key_averages.json"),
            ("torch-ddp", "worker0*.json", "oracle-key_averages-rank0.json"),
            ("torch-ddp", "worker1*.json", "oracle-key_averages-rank1.json")]


@unittest.skipUnless(os.path.isdir(TORCH), "recordings are not at hand")
class RecordedTables(Case):
    def test_rows_of_key_averages(self):
        unequal = {}
        for folder, trace, oracle in RECORDED:
            path = glob.glob(os.path.join(TORCH, folder, trace))[0]
            ours = {}
            for r in json.loads(self.expect(0, "stats", path, "--json").stdout)["rows"]:
                ours.setdefault((r["name"], r["category"] == "user_annotation"), []).append(r)
            with open(os.path.join(TORCH, folder, oracle), encoding="utf-8") as f:
                theirs = json.load(f)["key_averages"]
            for k in theirs:
                rows = ours.get((k["key"], k["is_user_annotation"]), [])
                sums = [sum(r[c] or 0 for r in rows)
                        for c in ("count", "self_cpu_us", "cpu_us", "self_cpu_bytes", "cpu_bytes")]
                right = [k["count"], k["self_cpu_us"], k["total_cpu_us"], k["self_cpu_mem"], k["cpu_mem"]]
                if not rows or any(abs(a - b) > 0.0011 for a, b in zip(sums, right)):
                    unequal[folder] = unequal.get(folder, 0) + 1
        self.assertEqual(unequal, NOT_IN_FILE)

    def test_totals(self):
        for name, total in (("torch-full/worker0*.json", 6582.318), ("torch-plain/plain.json", 3214.597),
                            ("torch-shapes/shapes.json.gz", 16794.485)):
            path = glob.glob(os.path.join(TORCH, name))[0]
            self.assertAlmostEqual(json.loads(self.expect(0, "stats", path, "--json").stdout)["self_cpu_us"], total)
        for rank in (0, 1):
            with open(os.path.join(TORCH, "torch-ddp", f"oracle-key_averages-rank{rank}.json"), encoding="utf-8") as f:
                total = json.load(f)["self_cpu_time_total_us"]
            (path,) = glob.glob(os.path.join(TORCH, "torch-ddp", f"worker{rank}*.json"))
            self.assertAlmostEqual(json.loads(self.expect(0, "stats", path, "--json").stdout)["self_cpu_us"], total)

    def test_rows_by_shape(self):
        path = glob.glob(os.path.join(TORCH, "torch-full", "worker0*.json"))[0]
        rows = json.loads(self.expect(0, "stats", path, "--json", "--group-by", "shape").stdout)["rows"]
        found = {(r["name"], r["group"].replace(" ", "")): r for r in rows}
        add = found["aten::add", "[[16,8,16,16],[16,8,16,16],[]]"]
        self.assertEqual((add["count"], add["self_cpu_us"]), (4, 72.79))
        products = [found["aten::mm", s]["cpu_us"] for s in ("[[16,10],[10,8]]", "[[10,16],[16,8]]")]
        self.assertEqual(products, [11.427, 4.988])


    def test_rows_by_stack(self):
        """The others are those of backward ops, which PyTorch shows with the stack of the forward op (so does `stacks`),
        and those below frames of its own that it hides."""
        path = glob.glob(os.path.join(TORCH, "torch-full", "worker0*.json"))[0]
        ours, theirs = {}, {}
        for r in json.loads(self.expect(0, "stats", path, "--json", "--group-by", "stack").stdout)["rows"]:
            row = ours.setdefault((r["name"], r["group"]), [0, 0])
            row[0], row[1] = row[0] + r["count"], row[1] + r["self_cpu_us"]
        with open(os.path.join(TORCH, "torch-full", "oracle-key_averages-cycle0.json"), encoding="utf-8") as f:
            for r in json.load(f)["by_stack5"]:
                row = theirs.setdefault((r["key"], ";".join(r.get("stack", []))), [0, 0])
                row[0], row[1] = row[0] + r["count"], row[1] + r["self_cpu_us"]
        equal = [k for k, t in theirs.items() if k in ours and ours[k][0] == t[0] and abs(ours[k][1] - t[1]) < .0011]
        self.assertEqual((len(equal), len(theirs)), (408, 501))


MXNET = os.path.join(SHARED, "recordings", "mxnet-1.9.1")


@unittest.skipUnless(os.path.isdir(MXNET), "recordings are not at hand")
class RecordedDumps(Case):
    def test_rows_of_dumps(self):
        """All but rows of counters, which MXNet prints as if they were times."""
        for folder, right in (("mx-all", (48, 51)), ("mx-imperative", (7, 7))):
            path = os.path.join(MXNET, folder, "profile.json")
            rows = json.loads(self.expect(0, "stats", path, "--json").stdout)["rows"]
            ours = {(r["category"], r["name"]): r for r in rows}
            with open(os.path.join(MXNET, folder, "oracle-total.json"), encoding="utf-8") as f:
                theirs = json.load(f)["Time"]
            equal = total = 0
            for category, table in theirs.items():
                for name, t in table.items():
                    r = ours.get((category, name))
                    total += 1
                    if r and r["count"] == t["Count"]:
                        pairs = (("cpu_us", "Total"), ("min_us", "Min"), ("max_us", "Max"), ("avg_us", "Avg"))
                        equal += all(abs(r[a] / 1e3 - t[b]) <= max(6e-4 * t[b], 1e-6) for a, b in pairs)
            self.assertEqual((equal, total), right, folder)
            self.assertEqual({c for c, _ in ours} - set(theirs), set())


MINDSPORE = os.path.join(SHARED, "recordings", "mindspore-2.0.0", "ms-graph", "profiler")


@unittest.skipUnless(os.path.isdir(MINDSPORE), "recordings are not at hand")
class RecordedOpTables(Case):
    def compare(self, table, keys, time, occurrences, *args):
        rows = {r["name"]: r for r in json.loads(self.expect(0, "stats", MINDSPORE, "--json", *args).stdout)["rows"]}
        with open(os.path.join(MINDSPORE, table), encoding="utf-8") as f:
            theirs = list(csv.DictReader(f))
        for t in theirs:
            r = next(rows[t[k]] for k in keys if t[k] in rows)
            self.assertEqual(r["count"], int(t[occurrences]), t)
            self.assertAlmostEqual(r["cpu_us"] / 1e3, float(t[time]), delta=1e-4 * float(t[time]))
        return len(theirs)

    def test_types_of_ops(self):
        n = self.compare("cpu_op_type_info_0.csv", ["op_type"], "total_compute_time", "type_occurrences",
                         "--group-by", "type")
        self.assertEqual(n, 9)

    def test_ops(self):
        n = self.compare("cpu_op_detail_info_0.csv", ["op_name", "full_op_name"], "op_total_time(ms)", "op_occurrences")
        self.assertEqual(n, 13)


if __name__ == "__main__":
    unittest.main()
