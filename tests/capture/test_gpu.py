#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a GPU did, as it arrives in a profile: programs that use stand-ins of NVIDIA's libraries (tests/fakes), each
script with the record layouts of four generations of CUDA. Expected values are worked out from the scripts by hand."""
import glob
import json
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from support import TBPROF, Case  # noqa: E402

PROGRAM, CUDA, CUPTIS = os.environ["GPU_PROGRAM"], os.environ["FAKE_CUDA"], os.environ["FAKE_CUPTIS"].split(":")
XPT = os.environ["XPT"]
SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fakes", "scripts")
GENERATIONS = {os.path.basename(os.path.dirname(p)): p for p in CUPTIS}
VERSIONS = {"11.2": 15, "11.8": 18, "12.4": 22, "13.0": 130001, "13.4": 130401}  # what each calls itself


class Gpu(Case):
    base = ""

    def record(self, script, generation, runs=1, code=0, **env):
        """Run folders, oldest first, of the program under that script; self.log is what it and the fake said."""
        base = self.path(f"{script}-{generation}-{len(os.listdir(self.tmp))}")
        os.makedirs(base)
        cupti = GENERATIONS[generation]
        clean = {k: v for k, v in os.environ.items() if not k.startswith("TBPROF_")}
        r = subprocess.run([PROGRAM, os.path.join(base, "log")], capture_output=True, text=True, timeout=240, env={
            **clean, "FAKE_GPU_SCRIPT": os.path.join(SCRIPTS, script + ".txt"), "FAKE_CUDA": CUDA, "FAKE_CUPTI": cupti,
            "FAKE_GPU_LOG": os.path.join(base, "fake"), "TBPROF_CUPTI_PATH": os.path.dirname(cupti),
            "TBPROF_SPOOL_DIR": base, "TBPROF_RSS_PERIOD_MS": "0", "TBPROF_GPU_FLUSH_MS": "20", **env})
        self.said, self.base = r.stderr, base
        self.assertEqual(r.returncode, code, r.stdout + r.stderr)
        found = sorted(glob.glob(os.path.join(base, "log", "plugins", "profile", "*")), key=os.path.getmtime)
        self.assertEqual(len(found), runs, r.stderr)
        return found[0] if runs == 1 else found

    def fake(self, key):
        with open(os.path.join(self.base, "fake"), encoding="utf-8") as f:
            return int(dict(line.split() for line in f)[key])

    def page(self, tool, run):
        return json.loads(self.expect(0, "tool", tool, run).stdout)

    def text(self, run):
        (xplane,) = glob.glob(os.path.join(run, "*.xplane.pb"))
        out = os.path.join(self.base, "run.xpt")
        subprocess.run([XPT, "to-text", xplane, out], check=True)
        with open(out, encoding="utf-8") as f:
            return f.read()

    def warnings(self, run):
        return re.findall(r'^warning "(.*)"$', self.text(run), re.M)

    def kernels(self, run):
        """name, registers, shared bytes, block, grid, occupancy, op -> number and total, least, greatest us."""
        rows = [[c["v"] for c in row["c"]] for row in self.page("kernel_stats", run)["rows"]]
        self.assertEqual([r[0] for r in rows], list(range(1, len(rows) + 1)))
        return {(r[1], int(r[2]), int(r[3]), r[4], r[5], round(r[6], 4), r[9]): (int(r[10]), r[11], r[13], r[14])
                for r in rows}

    def simple(self, run):
        """Name and op -> number and total us, of kernels of one warp."""
        return {(k[0], k[6]): v[:2] for k, v in self.kernels(run).items()}

    def events(self, run, process):
        answer = self.page("trace_viewer", run)["traceEvents"]
        pids = {e["pid"] for e in answer if e.get("name") == "process_name" and e["args"]["name"] == process}
        return [e for e in answer if e.get("ph") == "X" and e["pid"] in pids]

    def each(self, script, **how):
        for generation in GENERATIONS:
            self.generation = generation
            yield self.record(script, generation, **how)

    def _formatMessage(self, msg, standardMsg):
        return super()._formatMessage(f"{msg or ''} [{self.base}]", standardMsg)


class Tables(Gpu):
    # 17,408 = 1024 + 16384 bytes; gemm: 65536 registers / 4 / (64 * 32) = 8 warps in each of 4 parts, 32 / 8 warps = 4
    # blocks of 256 of 2048 threads; relu: 2048 / 128 = 16 blocks fill all.
    GEMM, RELU = ("gemm", 64, 17408, "256,1,1", "16,2,1", 50.0), ("relu", 16, 0, "128,1,1", "64,1,1", 100.0)

    def test_kernels_of_two_steps(self):
        for run in self.each("training"):
            self.assertEqual(self.kernels(run), {
                (*self.GEMM, "forward"): (2, 21, 10, 11), (*self.GEMM, "backward"): (1, 12, 12, 12),
                (*self.RELU, "forward"): (2, 5, 2, 3)})
            self.assertEqual(self.warnings(run), [])
            self.assertEqual(self.fake("version"), VERSIONS[self.generation])

    def test_memory_of_two_steps(self):
        for run in self.each("training"):
            memory = self.page("memory_profile", run)
            self.assertEqual(memory["memoryIds"], ["GPU_0"])
            gpu = memory["memoryProfilePerAllocator"]["GPU_0"]
            points = [(s["activityMetadata"]["memoryActivity"], int(s["aggregationStats"]["heapAllocatedBytes"]))
                      for s in gpu["sampledTimelineSnapshots"]]
            self.assertEqual(points, [("ALLOCATION", 1 << 20), ("ALLOCATION", 3 << 20), ("DEALLOCATION", 1 << 20),
                                      ("DEALLOCATION", 0)])
            self.assertEqual(int(gpu["profileSummary"]["peakBytesUsageLifetime"]), 3 << 20)
            self.assertEqual(int(gpu["profileSummary"]["memoryCapacity"]), 80 << 30)
            (peak,) = gpu["memoryProfileSnapshots"]
            self.assertEqual(peak["activityMetadata"]["tfOpName"], "backward")

    def test_timeline_of_two_steps(self):
        for run in self.each("training"):
            device, host = self.events(run, "/device:GPU:0"), self.events(run, "/host:CPU")
            work = [(e["name"], e["dur"], e["args"]["tf_op"], e["args"]["group_id"]) for e in device
                    if "correlation_id" in e.get("args", {})]
            self.assertEqual(work, [
                ("MemcpyHtoD", 1.5, "train", "0"), ("gemm", 10, "forward", "0"), ("relu", 2, "forward", "0"),
                ("gemm", 12, "backward", "0"), ("gemm", 11, "forward", "1"), ("relu", 3, "forward", "1"),
                ("Memset", 0.4, "train", "1"), ("MemcpyDtoH", 0.9, "train", "1")])
            copies = [e["args"]["memcpy_details"] for e in device if "memcpy_details" in e.get("args", {})]
            self.assertEqual(copies, ["kind_src:pageable kind_dst:device size:4096 dest:0 async:1",
                                      "kind_src:device kind_dst:pageable size:8 dest:0 async:1"])
            calls = {e["args"]["correlation_id"]: e for e in host if "correlation_id" in e.get("args", {})}
            self.assertEqual(sorted({e["name"] for e in calls.values()}), [
                "cudaFree", "cudaLaunchKernel", "cudaMalloc", "cudaMemcpyAsync", "cudaMemsetAsync"])
            for e in device:
                if "correlation_id" in e.get("args", {}):
                    call = calls[e["args"]["correlation_id"]]
                    self.assertEqual(call["dur"], 0.6)
                    self.assertLessEqual(call["ts"], e["ts"])
                    self.assertEqual(call["args"]["group_id"], e["args"]["group_id"])
            self.assertEqual([e["dur"] for e in host if e["name"] == "stream synchronize"], [0.7])
            self.assertEqual([e["dur"] for e in host if e["name"] == "BUFFER_FLUSH"], [0.1])
            self.assertIn('line 7 "Stream #7(Compute,MemcpyD2H,MemcpyH2D,Memset)"', self.text(run))

    def test_steps_and_device_on_the_overview(self):
        for run in self.each("training"):
            overview = self.page("overview_page", run)
            steps = next(t for t in overview if t and t["cols"][0]["id"] == "stepnum")
            self.assertEqual([r["c"][0]["v"] for r in steps["rows"]], ["0", "1"])
            self.assertIn("Hopper", json.dumps(overview))

    def test_every_generation_gives_the_same_tables(self):
        for script in ("training", "graphs", "devices", "threads", "reverse"):
            tables = [self.kernels(run) for run in self.each(script)]
            self.assertEqual(len(tables), len(VERSIONS))
            for table in tables[1:]:
                self.assertEqual(table, tables[0])

    def test_graphs(self):
        for run in self.each("graphs"):
            self.assertEqual({(k[0], k[6]): v for k, v in self.kernels(run).items()}, {
                ("node_a", "replay"): (2, 2.5, 1, 1.5), ("node_b", "replay"): (2, 4.5, 2, 2.5)})
            nodes = re.findall(r'"(node_.)" correlation_id=(\d+)u .*cuda_graph_id=5u cuda_graph_node_id=(\d+)u',
                               self.text(run))
            self.assertEqual([(n, i) for n, _, i in nodes], [("node_a", "11"), ("node_b", "12")] * 2)
            self.assertEqual(len({c for _, c, _ in nodes}), 2)

    def test_a_graph_as_a_whole(self):
        for run in self.each("graphs", TBPROF_GPU_KINDS="api,kernel,graph"):
            whole = [e["dur"] for e in self.events(run, "/device:GPU:0") if e["name"] == "CudaGraphExec:5"]
            self.assertEqual(whole, [0.1, 0.1])

    def test_devices_streams_and_contexts(self):
        # a: 1024 threads, 32 warps; registers 16 warps in each part: 2 blocks of 1024 = 100 %. b: 2 warps of 8192
        # registers (255 * 32 rounded up): 2 in each of 4 parts = 8 warps, 4 blocks of 64 of 1024 threads. c: 20,224
        # bytes (rounded up to 256): 3 blocks in 65,536 of 96 threads. d: 16 blocks of compute capability 7.5.
        for run in self.each("devices"):
            table = {k[0]: k[5] for k in self.kernels(run)}
            self.assertEqual(table, {"a": 100.0, "b": 25.0, "c": 28.125, "d": 50.0})
            lines = re.findall(r'^plane (\d+) "/device:GPU|^  line (\d+) "(Stream.*)"$', self.text(run), re.M)
            self.assertEqual(lines, [("0", "", ""), ("", "7", "Stream #7(Compute)"), ("1", "", ""),
                                     ("", "7", "Stream #7(Compute)"), ("", "13", "Stream #13(Compute)"),
                                     ("", str((2 << 32) + 13), "Stream #13(Compute)")])
            self.assertIn('gpu_device_name="Fake T4"', self.text(run))

    def test_threads_and_names_of_work(self):
        for run in self.each("threads"):
            self.assertEqual(self.simple(run), {
                ("k", "main"): (1, 1), ("k", "model/layer1"): (1, 2), ("k", "other"): (1, 3), ("k", ""): (2, 9)})

    def test_memory_of_several_allocators(self):
        for run in self.each("memory"):
            found = {name: (int(a["profileSummary"]["peakBytesUsageLifetime"]),
                            [int(s["aggregationStats"]["heapAllocatedBytes"]) for s in a["sampledTimelineSnapshots"]])
                     for name, a in self.page("memory_profile", run)["memoryProfilePerAllocator"].items()}
            self.assertEqual(found, {"GPU_0": (4000, [0, 1000, 4000, 3000]), "GPU_0_managed": (70, [70]),
                                     "GPU_0_pool_0x5000": (500, [300, 500, 200])})
            self.assertEqual(self.warnings(run), ["tbprof: 17 GPU records were dropped by CUPTI: raise "
                                                  "max_device_bytes or shorten the recording"])


    def test_a_pool_that_grows(self):
        for run in self.each("pools"):
            pool = self.page("memory_profile", run)["memoryProfilePerAllocator"]["GPU_0_pool_0x5000"]
            stats = [s["aggregationStats"] for s in pool["sampledTimelineSnapshots"]]
            self.assertEqual([(int(s["heapAllocatedBytes"]), int(s["freeMemoryBytes"])) for s in stats],
                             [(1000, 3096), (4000, 4192), (3000, 5192)])
            self.assertEqual(int(pool["profileSummary"]["memoryCapacity"]), 8192)
            self.assertEqual(self.warnings(run), [])

    def test_a_driver_that_tells_little(self):
        """CUPTI's own record of the device gives the same facts."""
        facts = re.compile(r"(clock_rate|core_count|memory_bandwidth|memory_size|compute_cap_m....|gpu_device_name)=(\S+)")
        expected = self.record("training", "13.4")
        for run in self.each("facts"):
            self.assertEqual(self.kernels(run), self.kernels(expected))
            self.assertEqual(facts.findall(self.text(run)), facts.findall(self.text(expected)))
            self.assertIn("memory_bandwidth=3352320000000u", self.text(run))

    def test_names_that_the_program_gave(self):
        for run in self.each("names"):
            text = self.text(run)
            self.assertEqual(re.findall(r'^  line \d+ "(Stream.*)"$', text, re.M),
                             ["Stream #7(Compute) of trainer", "Stream #13(MemcpyH2D) copies of trainer"])
            self.assertIn('given_name="left"', text)
            self.assertRegex(text, r'line \d+ "loader(/\d+)?"')

    def test_names_given_through_nvtx(self):
        for runs in self.each("nvtx_names", runs=2):
            for run in runs:
                text = self.text(run)
                self.assertEqual(re.findall(r'^  line \d+ "(Stream.*)"$', text, re.M),
                                 ["Stream #7(Compute) of trainer", "Stream #13(MemcpyH2D) copies of trainer"])
                self.assertIn('given_name="left"', text)

    def test_what_is_recorded_on_request(self):
        for run in self.each("rare", TBPROF_GPU_KINDS="kernel,api,unified,jit"):
            moved = [(e["name"], e["dur"], e["args"].get("memcpy_details") or e["args"]["page_faults"])
                     for e in self.events(run, "/device:GPU:0") if e["name"] not in ("a", "0")]
            details = "kind_src:managed kind_dst:managed size:%d dest:0 async:1"
            self.assertEqual(moved, [("MemcpyHtoD", 3, details % 65536), ("MemcpyDtoH", 2, details % 4096),
                                     ("GPU page faults", 1, "3")])
            self.assertIn('line 4294967295 "Unified memory"', self.text(run))
            compiled = [e["dur"] for e in self.events(run, "/host:CPU") if e["name"] == "JIT_COMPILE"]
            self.assertEqual(compiled, [5] if VERSIONS[self.generation] >= 18 else [])  # 11.2 does not record it
            self.assertEqual(self.warnings(run), [])
        run = self.record("rare", "12.4")
        self.assertNotIn("Unified", self.text(run))
        self.assertNotIn("JIT", self.text(run))


class Odd(Gpu):
    def test_buffers_that_come_back_in_disorder(self):
        for run in self.each("reverse"):
            self.assertEqual(self.simple(run), {("a", "one"): (1, 1), ("a", "two"): (1, 3), ("b", "two"): (1, 2)})
            gpu = self.page("memory_profile", run)["memoryProfilePerAllocator"]["GPU_0"]
            self.assertEqual([int(s["aggregationStats"]["heapAllocatedBytes"])
                              for s in gpu["sampledTimelineSnapshots"]], [1000, 3000, 2000, 2500])
            self.assertEqual(self.warnings(run), [])

    def test_records_without_times(self):
        for run in self.each("zero"):
            self.assertEqual(self.simple(run), {("first", ""): (1, 1), ("third", ""): (1, 3)})
            self.assertEqual(self.warnings(run), [
                "tbprof: 3 GPU records without times are not shown",
                "tbprof: 1 GPU records are not shown because they end before they begin"])

    def test_a_clock_that_is_set(self):
        for run in self.each("jump"):
            self.assertEqual(self.simple(run), {("before", ""): (1, 1), ("between", ""): (1, 2), ("after", ""): (1, 3)})
            calls = [e for e in self.events(run, "/host:CPU") if e["name"] == "cudaLaunchKernel"]
            work = [e for e in self.events(run, "/device:GPU:0") if "correlation_id" in e.get("args", {})]
            self.assertEqual([e["name"] for e in work], ["before", "between", "after"])
            for call, kernel in zip(calls, work):
                self.assertLess(abs(kernel["ts"] - call["ts"]), 6e7)  # not the hour
            self.assertEqual(self.warnings(run), ["tbprof: 2 times the GPU's clock was set during the recording; its "
                                                  "times were put right"])

    def test_head_records_of_another_clock(self):
        for run in self.each("head"):
            self.assertEqual(self.simple(run), {("kept", ""): (1, 1)})
            self.assertEqual(self.warnings(run), ["tbprof: 3 GPU records are not shown because their times are of "
                                                  "another clock"])

    def test_many(self):
        run = self.record("many", "13.0", TBPROF_GPU_FLUSH_MS="50")
        self.assertEqual(self.simple(run), {("many", "first"): (50000, 500), ("many", "second"): (50000, 1000)})
        self.assertEqual(self.warnings(run), [])
        calls = [e for e in self.text(run).splitlines() if '"cudaLaunchKernel" correlation_id=' in e]
        self.assertEqual(len(calls), 100000)

    def test_a_thousand_buffers(self):
        for generation in GENERATIONS:
            with self.subTest(generation):
                run = self.record("burst", generation, TBPROF_MAX_DEVICE_BYTES="8MiB", TBPROF_GPU_FLUSH_MS="60000")
                ((n, _),) = self.simple(run).values()
                refuses = VERSIONS[generation] >= 27  # CUPTI takes a no for an answer
                self.assertEqual(n, 8)
                self.assertEqual(self.fake("most_lent"), 8 if refuses else 1000)
                (warning,) = self.warnings(run)
                size = {"11.2": 168, "11.8": 200, "12.4": 208}.get(generation, 0)
                self.assertEqual(int(warning.split()[1]), 992 if refuses else 992 * size)

    def expect_taken(self, run, holder):
        """The host alone, with the right advice; the other tool's CUPTI is left alone."""
        self.assertEqual(self.page("kernel_stats", run)["rows"], [])
        self.assertIn("forward", [e["name"] for e in self.events(run, "/host:CPU")])
        (warning,) = self.warnings(run)
        for part in ("CUPTI error 39 while subscribing", "Nsight Systems", "torch.profiler", "jax.profiler"):
            self.assertIn(part, warning)
        self.assertEqual(f", as 'CUPTI for {holder}' has done)" in warning, VERSIONS[self.generation] >= 130000)
        self.assertIn("CUPTI error 39", self.said)
        self.assertEqual(self.fake("strange"), 0)

    def test_a_subscriber_before_us(self):
        for run in self.each("conflict"):
            self.expect_taken(run, "Nsight_Systems")

    def test_a_subscriber_beside_us(self):
        for run in self.each("shared"):
            if VERSIONS[self.generation] < 130300:
                self.expect_taken(run, "Kineto")
                continue
            self.assertEqual(self.simple(run), {("gemm", "forward"): (1, 1)})
            self.assertEqual(self.warnings(run), [])
            self.assertEqual(self.fake("strange"), 0)

    def test_no_mixing_of_cuptis_interfaces(self):
        for script, n_kernels in (("training", 3), ("old_driver", 1)):  # which serves a single subscriber
            for run in self.each(script):
                self.assertEqual(len(self.simple(run)), n_kernels)
                self.assertEqual((self.fake("strange"), self.fake("system_thread")), (0, 1))

    def test_no_privileges(self):
        for run in self.each("privileges"):
            self.assertIn("forward", [e["name"] for e in self.events(run, "/host:CPU")])
            (warning,) = self.warnings(run)
            for part in ("CUPTI error 35", "NVreg_RestrictProfilingToAdminUsers=0", "SYS_ADMIN", "/etc/modprobe.d"):
                self.assertIn(part, warning)
            self.assertEqual(self.fake("subscribed"), 0, "others may use CUPTI now")

    def test_a_kind_that_cannot_be_recorded(self):
        for run in self.each("kind_refused"):
            self.assertEqual(self.simple(run), {("gemm", ""): (1, 1)})
            (warning,) = self.warnings(run)
            self.assertIn("switching on 'memory'", warning)

    def test_cuda_that_comes_late(self):
        for run in self.each("late"):
            self.assertEqual(self.simple(run), {("k", "after"): (1, 1)})
            self.assertEqual(self.warnings(run), [])

    def test_pause(self):
        for run in self.each("pause"):
            self.assertEqual(self.simple(run), {("k", ""): (2, 5)})

    def test_snapshots(self):
        for first, second in self.each("snapshot", runs=2):
            if os.path.basename(first) != "second":
                first, second = second, first
            self.assertEqual(self.simple(first), {("first", "whole"): (1, 1)})
            self.assertEqual(self.simple(second), {("second", "whole"): (1, 2)})
            self.assertIn('gpu_device_name="Fake H100"', self.text(second))
            gpu = self.page("memory_profile", second)["memoryProfilePerAllocator"]["GPU_0"]
            self.assertEqual(int(gpu["profileSummary"]["peakBytesUsageLifetime"]), 1500)

    def test_what_survives_the_process(self):
        for _ in self.each("kill", runs=0, code=-9):
            r = subprocess.run([TBPROF, "recover", self.base], capture_output=True, text=True, timeout=240)
            self.assertEqual(r.returncode, 0, r.stderr)
            (run,) = glob.glob(os.path.join(self.base, "log", "plugins", "profile", "*"))
            self.assertEqual(self.simple(run), {("k", "work"): (1, 1)})

    def test_off_and_required(self):
        run = self.record("training", "12.4", TBPROF_GPU="off")
        self.assertEqual(self.page("kernel_stats", run)["rows"], [])
        self.assertEqual(self.warnings(run), [])
        run = self.record("training", "12.4", TBPROF_DEVICE_TRACER_LEVEL="0")
        self.assertEqual(self.page("kernel_stats", run)["rows"], [])
        self.record("conflict", "12.4", runs=0, code=1, TBPROF_GPU="require")
        self.assertIn("another tool records the GPU", self.said)
        self.assertEqual(len(self.simple(self.record("training", "12.4", TBPROF_GPU="require"))), 3)
        self.record("training", "12.4", runs=1, TBPROF_GPU_KINDS="kernels")  # wrong words in the environment are told
        self.assertIn("'kernels' is none of kernel, memcpy", self.said)

    def test_kinds(self):
        run = self.record("training", "12.4", TBPROF_GPU_KINDS="kernel")
        self.assertEqual({k[6] for k in self.kernels(run)}, {""})
        self.assertEqual(self.page("memory_profile", run)["memoryIds"], [])


class Doctor(Gpu):
    """`tbprof doctor --gpu` over a made-up system below a folder."""
    ALL = {"gpu-driver", "gpu-cupti", "gpu-permission", "gpu-conflict"}

    def system(self, admin_only="0", rights="0000000000000000", container=None):
        for path, text in (("proc/driver/nvidia/params", f"Other: 7\nRmProfilingAdminOnly: {admin_only}\n"),
                           ("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  x\n"),
                           ("proc/self/status", f"Name:\tx\nCapEff:\t{rights}\n"), ("dev/nvidiactl", "")):
            full = self.path("system", path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as f:
                f.write(text)
        if container:
            with open(self.path("system", container), "w", encoding="utf-8"):
                pass

    def look(self, script="training", generation="12.4", **env):
        """Checks that found something -> their advice; the facts."""
        clean = {k: v for k, v in os.environ.items()
                 if not k.startswith("TBPROF_") and not k.endswith("_INJECTION64_PATH")}
        full = {**clean, "TBPROF_SYSTEM_ROOT": self.path("system"), "TBPROF_CUDA_PATH": CUDA,
                "TBPROF_CUPTI_PATH": os.path.dirname(GENERATIONS[generation]),
                "FAKE_GPU_SCRIPT": os.path.join(SCRIPTS, script + ".txt"), **env}
        r = subprocess.run([TBPROF, "doctor", "--gpu", "--json"], capture_output=True, text=True, timeout=240, env=full)
        answer = json.loads(r.stdout)
        self.assertEqual(r.returncode, 0 if answer["healthy"] else 1)
        self.assertTrue(self.ALL <= {c["name"] for c in answer["checks"]})
        return {f["check"]: f"{f['what']}; {f['to_do']}" for f in answer["findings"]}, answer["gpu"]

    def test_all_is_well(self):
        self.system()
        for generation, version in VERSIONS.items():
            found, facts = self.look(generation=generation)
            self.assertEqual(found, {})
            self.assertEqual(facts["cupti_version"], version)
            self.assertEqual(facts["cupti_release"], generation)
            self.assertEqual((facts["cuda_version"], facts["kernel_module"]), (13040, "580.65.06"))
            self.assertEqual(facts["shared"], version >= 130300)
            self.assertEqual((facts["subscribing"], facts["admin_only"], facts["container"]), (0, False, None))

    def test_rights(self):
        self.system(admin_only="1")
        found, facts = self.look()
        self.assertEqual(set(found), {"gpu-permission"})
        self.assertIn("NVreg_RestrictProfilingToAdminUsers=0", found["gpu-permission"])
        self.assertTrue(facts["admin_only"])
        self.system(admin_only="1", rights="0000000000200000")  # CAP_SYS_ADMIN: bit 21
        self.assertEqual(self.look()[0], {})
        self.system(admin_only="1", rights="0000004000000000")  # CAP_PERFMON: bit 38
        self.assertEqual(self.look()[0], {})

    def test_rights_that_only_recording_needs(self):
        """The driver takes a subscriber from everybody, and refuses when a kind is switched on."""
        self.system()
        for generation in GENERATIONS:
            found, facts = self.look("privileges", generation)
            self.assertEqual(set(found), {"gpu-permission"}, generation)
            self.assertIn("this user may not profile", found["gpu-permission"])
            self.assertIn("NVreg_RestrictProfilingToAdminUsers=0", found["gpu-permission"])
            self.assertEqual((facts["subscribing"], facts["enabling"]), (0, 35))

    def test_refusals_of_recording_that_are_no_rights(self):
        self.system()
        for code, words in ((39, "another tool records"), (43, "partitioned"), (77, "CUPTI error 77")):
            with open(self.path("refused.txt"), "w", encoding="utf-8") as f:
                f.write(f"! driver 13040\n! error ActivityEnable:10 {code}\n")
            found, facts = self.look(FAKE_GPU_SCRIPT=self.path("refused.txt"))
            self.assertEqual((set(found), facts["enabling"]), ({"gpu-conflict"}, code))
            self.assertIn(words, found["gpu-conflict"])
            self.assertIn("while switching on the recording of kernels", found["gpu-conflict"])

    def test_leaves_nothing_behind(self):
        self.system()
        for generation in GENERATIONS:
            self.look(generation=generation, FAKE_GPU_LOG=self.path(generation))
            with open(self.path(generation), encoding="utf-8") as f:
                told = dict(line.split() for line in f)
            self.assertEqual((told["enabled"], told["subscribed"], told["strange"]), ("0", "0", "0"))

    def test_other_tools(self):
        self.system()
        found, facts = self.look("conflict")
        self.assertEqual(set(found), {"gpu-conflict"})
        self.assertIn("Nsight", found["gpu-conflict"])
        self.assertEqual((facts["subscribing"], facts["enabling"]), (39, -1))
        found, _ = self.look("shared", "13.0")
        self.assertIn("as 'CUPTI for Kineto' has done", found["gpu-conflict"])
        self.assertEqual(self.look("shared", "13.4")[0], {})
        found, facts = self.look(CUDA_INJECTION64_PATH="/opt/nsys/libToolsInjection64.so")
        self.assertIn("libToolsInjection64.so", found["gpu-conflict"])
        self.assertEqual(facts["injected_by"], "CUDA_INJECTION64_PATH")
        self.assertEqual(self.look(CUDA_INJECTION64_PATH="/opt/libtbprof.so")[0], {})

    def test_what_is_missing(self):
        self.system(container=".dockerenv")
        found, facts = self.look(TBPROF_CUDA_PATH="/nowhere/libcuda.so.1")
        if not facts["driver"]:  # a machine with a driver has one in spite of us
            self.assertIn("--gpus all", found["gpu-driver"])
            self.assertEqual(facts["container"], "Docker")
        with open(self.path("old.txt"), "w", encoding="utf-8") as f:
            f.write("! driver 11080\n")
        found, _ = self.look(FAKE_GPU_SCRIPT=self.path("old.txt"))
        self.assertIn("is of CUDA 12.4, the driver of CUDA 11.8", found["gpu-cupti"])

    def test_usage(self):
        self.assertIn("doctor needs a PATH, or --gpu", self.expect(2, "doctor").stderr)
        self.assertIn("CUPTI", self.expect(0, "doctor", "--help").stdout)


if __name__ == "__main__":
    unittest.main()
