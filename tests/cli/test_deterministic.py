# SPDX-License-Identifier: Apache-2.0
"""The same bytes from any number of threads, locale, time zone and working folder: every page, every report and what
convert writes, for profiles of every format."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import import_fixtures
import sqlite_fixtures
from support import TWO_HOSTS, Case, run, sums

REPORTS = ("stats --json", "stats --csv", "steps --json", "stacks --json", "check --json", "check --advice --json",
           "info --json", "export --chrome", "export --csv", "export --cntk", "export --mxnet")
SETTINGS = ((2, {"TZ": "Asia/Kathmandu", "LC_ALL": "de_DE.UTF-8"}), (8, {"TZ": "America/St_Johns", "LC_ALL": "tr_TR.UTF-8"}))


def kineto(rank):
    """A step with an op, its launch and its kernel; the second rank is slower."""
    def x(name, category, tid, ts, dur, **args):
        return {"ph": "X", "name": name, "cat": category, "pid": tid < 7 and 100 or 0, "tid": tid, "ts": ts, "dur": dur,
                "args": args}
    events = [x("ProfilerStep#3", "user_annotation", 1, 10, 90 + rank), x("aten::mm", "cpu_op", 1, 20.5, 30.25),
              x("cudaLaunchKernel", "cuda_runtime", 1, 30, 2.125, correlation=5),
              x("gemm", "kernel", 7, 40, 12.75 + rank, correlation=5, device=0, stream=7, grid=[2, 1, 1], block=[32, 1, 1])]
    return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU", "computeMajor": 8, "computeMinor": 0}],
            "distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": events}


KERNELS = 20000


def long_stream():
    """One stream that is much longer than what a thread takes at once; every third kernel is the longer one."""
    trace = kineto(0)
    trace["traceEvents"] += [
        {"ph": "X", "name": "conv" if k % 3 == 2 else "relu", "cat": "kernel", "pid": 0, "tid": 7, "ts": 200 + 10 * k,
         "dur": 4 if k % 3 == 2 else 2, "args": {"device": 0, "stream": 7, "correlation": 100 + k, "grid": [1, 1, 1],
                                                 "block": [64, 1, 1]}} for k in range(KERNELS)]
    return trace


def chrome():
    return [{"ph": "B", "name": "i\u0131\u00e4", "pid": 1, "tid": 2, "ts": 1.5}, {"ph": "E", "pid": 1, "tid": 2, "ts": 4.125},
            {"ph": "C", "name": "c", "pid": 1, "ts": 2, "args": {"v": 0.5}}]


def write_all(folder):
    """Inputs of every format, one path each."""
    paths = [import_fixtures.write(folder, name) for name in [*import_fixtures.FILES, *import_fixtures.FOLDERS]]
    for name in ("nsys", "nvprof", "rpd", "rocpd"):
        paths.append(os.path.join(folder, name + ".db"))
        getattr(sqlite_fixtures, name)(paths[-1])
    os.makedirs(os.path.join(folder, "ranks"))
    made = {f"ranks/host_{k}.17800000000000000{k}.pt.trace.json": kineto(k) for k in (0, 1)}
    for name, trace in {**made, "long.pt.trace.json": long_stream(), "chrome.json": chrome()}.items():
        with open(os.path.join(folder, name), "w") as f:
            json.dump(trace, f)
    os.utime(os.path.join(folder, "chrome.json"), (1780000000, 1780000000))
    return paths + [os.path.join(folder, "ranks"), os.path.join(folder, "long.pt.trace.json"), os.path.join(folder, "chrome.json"), TWO_HOSTS]


def make_locales(folder):
    """Folder with those of SETTINGS, where the system has their sources; a system has few ready."""
    for _, env in SETTINGS:
        language = env["LC_ALL"].split(".")[0]
        if shutil.which("localedef"):
            subprocess.run(["localedef", "-i", language, "-f", "UTF-8", os.path.join(folder, env["LC_ALL"])],
                           capture_output=True)
    return folder


class Deterministic(Case):
    @classmethod
    def setUpClass(cls):
        cls.base = tempfile.mkdtemp(prefix="tbprof-test-")
        cls.addClassCleanup(shutil.rmtree, cls.base, ignore_errors=True)
        os.makedirs(os.path.join(cls.base, "in"))
        os.makedirs(os.path.join(cls.base, "locales"))
        cls.inputs = write_all(os.path.join(cls.base, "in"))
        make_locales(os.path.join(cls.base, "locales"))
        cls.tools = [t["name"] for t in json.loads(run("tools", "--json").stdout)["tools"]]

    def settings(self):
        yield 1, {"TZ": "UTC", "LC_ALL": "C"}, self.base
        for k, (jobs, env) in enumerate(SETTINGS):
            yield jobs, dict(env, LOCPATH=os.path.join(self.base, "locales")), ("/", os.path.join(self.base, "in"))[k]

    def same(self, *args, has_jobs=True):
        """Status and output under all settings; they must be one."""
        answers = []
        for jobs, env, cwd in self.settings():
            r = run(*args, *(("-j", str(jobs)) if has_jobs else ()), env=env, cwd=cwd)
            self.assertGreaterEqual(r.returncode, 0, f"{args}: {r.stderr}")
            answers.append((r.returncode, r.stdout))
        for other in answers[1:]:
            self.assertEqual(other, answers[0], args)
        return answers[0]

    def test_pages(self):
        for path in self.inputs:
            answered = [t for t in self.tools if self.same("tool", t, path)[0] == 0]
            self.assertIn("pod_viewer", answered, path)  # at least the pages of a session

    def test_a_long_stream_adds_up(self):
        path = os.path.join(self.base, "in", "long.pt.trace.json")
        table = json.loads(self.same("tool", "kernel_stats", path)[1])
        table = table[0] if isinstance(table, list) else table
        ids = [c["id"] for c in table["cols"]]
        rows = {}
        for row in table["rows"]:
            cells = dict(zip(ids, (c["v"] for c in row["c"])))
            rows[cells["kernel_name"]] = (cells["occurrences"], cells["total_duration_us"], cells["avg_duration_us"])
        self.assertEqual(rows, {"gemm": (1, 12.75, 12.75), "conv": (KERNELS // 3, KERNELS // 3 * 4, 4),
                                "relu": (KERNELS - KERNELS // 3, (KERNELS - KERNELS // 3) * 2, 2)})

    def test_reports(self):
        for path in self.inputs:
            answered = [r for r in REPORTS if self.same(*r.split(), path, has_jobs=r.startswith("info"))[0] == 0]
            self.assertGreaterEqual(len(answered), 8, f"{path}: only {answered}")

    def test_what_convert_writes(self):
        for path in self.inputs:
            written = []
            for k, (jobs, env, cwd) in enumerate(self.settings()):
                out = self.path(os.path.basename(path) + str(k))
                self.expect(0, "convert", "-q", "-j", str(jobs), "-o", out, path, env=env, cwd=cwd)
                written.append(sums(out))
            self.assertTrue(written[0])
            for other in written[1:]:
                self.assertEqual(other, written[0], path)


if __name__ == "__main__":
    unittest.main()
