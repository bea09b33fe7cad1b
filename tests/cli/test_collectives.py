#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tbprof collectives: waiting, transfer, late ranks and clocks, by hand and by the right values of ../shared/cases."""
import json
import os
import unittest

from support import SHARED, Case

CASES = os.path.join(SHARED, "cases")
REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"


def event(cat, name, ts, dur, pid=1, tid=1, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def kernel(name, ts, dur, correlation, **args):
    return event("kernel", name, ts, dur, 0, 7, device=0, stream=7, correlation=correlation, **args)


class Collectives(Case):
    def write(self, rank, events, base_ns=1780000000000000000, world=2):
        os.makedirs(self.path("run"), exist_ok=True)
        with open(self.path("run", f"w{rank}.pt.trace.json"), "w", encoding="utf-8") as f:
            json.dump({"schemaVersion": 1, "baseTimeNanoseconds": base_ns, "traceEvents": events,
                       "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": world}}, f)

    def answer(self, *args, command="collectives"):
        return json.loads(self.expect(0, command, self.path("run"), "--json", *args).stdout)

    def calls(self, *args):
        return {(c["collective"], c["rank"]): c for c in self.answer(*args)["collectives"]}

    def ranks(self, ahead=0, n=3):
        """n all-reduces of 10 us each 1000 us; rank 1 comes 40 us late to the first, rank 0 20 us to the second. An op
        begins both; the clock of rank 1 is `ahead` us ahead."""
        arrive = [(100, 140), (1120, 1100), (2100, 2100), (3100, 3100)][:n]
        for rank in (0, 1):
            events = [event("cpu_op", "aten::mm", ahead * rank, 5)]
            for k, both in enumerate(arrive):
                events.append(kernel(REDUCE, both[rank] + ahead * rank, max(both) + 10 - both[rank], k + 1))
            self.write(rank, events + [kernel("gemm", 3000 + ahead * rank, 50, 9)])

    def test_waiting_is_told_from_transfer(self):
        self.ranks()
        calls = self.calls()
        right = {(1, 0): (50, 40, 10, 40, ""), (1, 1): (10, 0, 10, 40, "late"),
                 (2, 1): (30, 20, 10, 20, ""), (2, 0): (10, 0, 10, 20, "late"),
                 (3, 0): (10, 0, 10, 0, ""), (3, 1): (10, 0, 10, 0, "")}
        self.assertEqual({k: tuple(c[key] for key in ("duration_us", "wait_us", "transfer_us", "skew_us", "late"))
                          for k, c in calls.items()}, right)
        self.assertEqual([calls[k]["start_us"] for k in ((1, 0), (1, 1), (2, 1))], [0, 40, 1000])
        hosts = self.answer()["hosts"]
        self.assertEqual([(h["communication_us"], h["waited_us"], h["transfer_us"], h["busy_us"], h["times_late"],
                           h["waited_for_us"]) for h in hosts], [(70, 40, 30, 120, 1, 20), (50, 20, 30, 100, 1, 40)])
        self.assertEqual([h["transfer_share"] for h in hosts], [30 / 80, 30 / 80])

    def test_the_longest_wait_is_first(self):
        self.ranks()
        lines = self.expect(0, "collectives", self.path("run"), "--csv", "--limit", "2").stdout.splitlines()
        columns = lines[0].split(",")
        self.assertEqual([line.split(",")[columns.index("wait_us")] for line in lines[1:]], ["40", "20"])
        text = self.expect(0, "collectives", self.path("run"), "--limit", "1").stdout
        self.assertIn("1 of 6 calls, the longest wait first", text)
        self.assertIn("clock of w1: agrees with w0, by 3 collectives", text)

    def clock(self, *args):
        return self.answer(*args)["clocks"][1]

    def test_clocks_are_aligned_where_collectives_agree(self):
        self.ranks(ahead=5000)
        self.assertEqual(self.clock(), {"host": "w1", "clock": "aligned", "clock_ahead_us": 5000, "compared_by": 3,
                                        "clock_spread_us": 0})
        calls = self.calls()
        self.assertEqual([calls[k]["start_us"] for k in ((1, 0), (1, 1), (2, 1))], [0, 40, 1000])
        text = "clock of w1: 5.000ms taken off, which brings it to w0, by 3 collectives that end together"
        for command in ("collectives", "info"):
            self.assertIn(text, self.expect(0, command, self.path("run")).stdout)
        info = json.loads(self.expect(0, "info", self.path("run"), "--json").stdout)
        self.assertEqual(info["runs"][0]["clocks"][1]["clock"], "aligned")
        # Both began at one time, on the clock that is shown; on those of the files, 5 ms apart.
        self.assertEqual(self.answer()["findings"], [])
        self.assertIn("start_skew", self.expect(1, "check", self.path("run")).stdout)

    def test_clocks_stay_without_evidence(self):
        self.ranks(ahead=5000, n=2)
        self.assertEqual((self.clock()["clock"], self.clock()["clock_ahead_us"]), ("as_told", 0))
        self.assertEqual(self.calls()[1, 1]["start_us"], 5040)

    def test_clocks_may_be_stated(self):
        self.ranks(ahead=5000, n=2)
        for who in ("w1", "1"):
            self.assertEqual(self.clock("--clock-offset", f"{who}=5ms")["clock"], "stated")
        self.assertEqual(self.calls("--clock-offset", "1=5ms")[1, 1]["start_us"], 40)
        for wrong in ("1", "1=", "1=5", "=5ms"):
            self.assertIn("'clock-offset' takes", self.expect(2, "collectives", self.path("run"), "--clock-offset",
                                                              wrong).stderr)
        self.assertIn("no host or rank '7'", self.expect(2, "collectives", self.path("run"), "--clock-offset",
                                                         "7=1ms").stderr)

    def test_start_skew_and_steps_are_on_the_common_clock(self):
        for rank in (0, 1):
            self.write(rank, [event("user_annotation", "ProfilerStep#1", 0, 1000), event("cpu_op", "a", 1, 5)],
                       1780000000000000000 + rank * 700000)
        check = self.answer(command="check")
        self.assertIn("start_skew", [f["key"] for f in check["findings"]])
        self.assertEqual([s["start_us"] for s in self.answer(command="steps")["steps"]], [0, 700])
        check = self.answer("--clock-offset", "1=700us", command="check")
        self.assertNotIn("start_skew", [f["key"] for f in check["findings"]])
        self.assertEqual([s["start_us"] for s in self.answer("--clock-offset", "1=700us", command="steps")["steps"]],
                         [0, 0])

    def test_unequal_numbers_of_calls_are_not_matched(self):
        self.ranks()
        self.write(1, [kernel(REDUCE, 100, 10, 1), kernel(REDUCE, 1100, 10, 2)])
        answer = self.answer()
        self.assertEqual((answer["matched"], answer["unmatched"]), (0, 5))
        self.assertTrue(all(c["wait_us"] is None for c in answer["collectives"]))
        self.assertIn("waiting of 5 calls: unknown, because", self.expect(0, "collectives", self.path("run")).stdout)

    def test_steps_say_which_calls_are_the_same(self):
        # rank 1 began to record at step 2: its first call is the second of rank 0
        def step(n, dur):
            return [event("user_annotation", f"ProfilerStep#{n}", n * 1000, 900),
                    event("cuda_runtime", "cudaLaunchKernel", n * 1000 + 10, 5, correlation=n),
                    kernel(REDUCE, n * 1000 + 100, dur, n)]
        self.write(0, step(1, 10) + step(2, 30))
        self.write(1, step(2, 10))
        answer = self.answer()
        self.assertEqual((answer["matched"], answer["unmatched"]), (2, 1))
        waits = {(c["step"], c["rank"]): c["wait_us"] for c in answer["collectives"]}
        self.assertEqual(waits, {(1, 0): None, (2, 0): 20, (2, 1): 0})

    def test_stragglers_are_named_with_the_waiting(self):
        self.ranks()
        advice = {a["key"]: a for a in self.answer("--advice", command="check")["advice"]}
        self.assertEqual(advice["straggler"]["share"], 40 / 120)
        self.assertIn("w1 came last in 1 of its 3 collectives, the others waited 40.000us", advice["straggler"]["text"])

    def test_collectives_of_hosts(self):
        """What the host exchanges itself lasts as long: rank 1 came 30 us late. Where it only hands over, nothing is
        known but the call."""
        for name, waits, communication in (("all-reduce.5", [30, 0], [40, 10]), ("gloo:all_reduce", [30, 0], [40, 10]),
                                           ("nccl:all_reduce", [None, None], [None, None])):
            for rank, dur in ((0, 40), (1, 10)):
                self.write(rank, [event("cpu_op", "all-reduce-promotion", 0, 5), event("cpu_op", name, 140 - dur, dur)])
            answer = self.answer()
            self.assertEqual([(c["kind"], c["wait_us"]) for c in sorted(answer["collectives"],
                                                                        key=lambda c: c["rank"])],
                             [("all-reduce", wait) for wait in waits], name)
            self.assertEqual([h["communication_us"] for h in answer["hosts"]], communication, name)

    def test_both_ends_of_an_asynchronous_one_make_nobody_wait(self):
        for rank, dur in ((0, 40), (1, 10)):
            self.write(rank, [kernel("all-reduce-start.1", 0, 2, 1), kernel("all-reduce-done.1", 100, dur, 2)])
        answer = self.answer()
        self.assertEqual([c["wait_us"] for c in answer["collectives"]], [None] * 4)
        self.assertEqual([h["communication_us"] for h in answer["hosts"]], [42, 12])

    def test_ranks_by_the_names_of_files(self):
        """The same source as `info`: a file that does not tell its rank has that of its name."""
        os.makedirs(self.path("run"))
        for rank, dur in ((0, 40), (3, 10)):
            with open(self.path("run", f"job_rank{rank}.pt.trace.json"), "w", encoding="utf-8") as f:
                json.dump({"schemaVersion": 1, "traceEvents": [kernel(REDUCE, 140 - dur, dur, 1)]}, f)
        answer = self.answer("--clock-offset", "3=1us")
        self.assertEqual([h["rank"] for h in answer["hosts"]], [0, 3])
        self.assertEqual([(c["rank"], c["wait_us"]) for c in answer["collectives"]], [(0, 30), (3, 0)])
        self.assertEqual(answer["clocks"][1]["clock"], "stated")

    def test_without_collectives(self):
        self.write(0, [event("cpu_op", "a", 0, 5)])
        self.assertIn("no collectives", self.expect(0, "collectives", self.path("run")).stdout)

    def test_csv_and_json_exclude_each_other(self):
        self.ranks()
        self.expect(2, "collectives", self.path("run"), "--csv", "--json")


@unittest.skipUnless(os.path.isdir(CASES), "the cases are not at hand")
class RightValues(Case):
    def answer(self, path):
        return json.loads(self.expect(0, "collectives", os.path.join(CASES, path), "--json").stdout)

    def test_a_late_rank(self):
        answer = self.answer("collective-wait-of-a-late-rank")
        with open(os.path.join(CASES, "collective-wait-of-a-late-rank", "expect.json"), encoding="utf-8") as f:
            right = json.load(f)["values"]
        calls = sorted(answer["collectives"], key=lambda c: (c["rank"], c["collective"]))
        self.assertEqual({c["collective"] for c in calls}, {1, 2, 3, right["collectives"]})
        self.assertEqual({c["transfer_us"] for c in calls}, {right["transfer_each"]})
        for rank in (0, 1):
            self.assertEqual([c["wait_us"] for c in calls if c["rank"] == rank], right["wait"][f"rank{rank}"])
            host = answer["hosts"][rank]
            self.assertEqual((host["busy_us"], host["communication_us"], host["compute_us"]),
                             tuple(right[f"rank{rank}"][k] for k in ("device_busy", "communication_raw", "compute")))
            self.assertAlmostEqual(100 * host["communication_share"],
                                   right[f"rank{rank}"]["communication_percent_raw"], 5)
        self.assertAlmostEqual(100 * answer["hosts"][0]["transfer_share"],
                               right["rank0"]["steady_state_communication_percent"], 5)
        self.assertEqual([c["rank"] for c in calls if c["late"]], [right["late_rank"]])
        self.assertEqual(calls[0]["skew_us"], right["arrival_skew_first"])
        self.assertEqual((calls[0]["duration_us"], calls[0]["median_us"]),
                         (right["outlier_vs_median"]["duration"], right["outlier_vs_median"]["median_of_others"]))

    def test_names_and_sizes(self):
        answer = self.answer("collective-kernel-names-and-missing-metadata/rank0.pt.trace.json")
        with open(os.path.join(CASES, "collective-kernel-names-and-missing-metadata", "expect.json"),
                  encoding="utf-8") as f:
            right = json.load(f)["values"]
        host, calls = answer["hosts"][0], answer["collectives"]
        self.assertEqual((host["collectives"], host["communication_us"], host["compute_us"], host["overlap_us"],
                          host["busy_us"]), (right["comm_kernels"], right["communication"], right["compute"],
                                             right["overlap"], right["device_busy"]))
        self.assertEqual((calls[0]["recognised_by"], calls[0]["size_bytes"], calls[0]["duration_us"]),
                         ("metadata", right["allreduce"]["bytes"], right["allreduce"]["duration"]))
        self.assertAlmostEqual(calls[0]["algorithm_gbps"], right["allreduce"]["algorithm_bandwidth_GBps"], 9)
        self.assertAlmostEqual(calls[0]["bus_gbps"], right["allreduce"]["bus_bandwidth_GBps"], 9)
        gather = next(c for c in calls if c["kind"] == "all-gather")
        self.assertEqual((gather["algorithm_gbps"], gather["recognised_by"]), (right["allgather_bandwidth"], "name"))
        self.assertTrue(all(c["wait_us"] is None for c in calls))


if __name__ == "__main__":
    unittest.main()
