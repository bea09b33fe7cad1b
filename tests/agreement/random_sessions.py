#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the table pages against the executable rules on random sessions.

  random_sessions.py --tbprof PROGRAM [--shared FOLDER] [--kinds a,b,…] [--count N] [--seed S] [--keep FOLDER]
                     [--official PYTHON]

N sessions of each kind, made by the generators that come with the rules: host and device ops, kernels, memory, XLA
programs, TPUs, several hosts, steps, serving. Every table page is asked of every session. With --official the answers
are held against the official package in that Python instead; then the rules only tell whose side they take. Prints
the unequal cells; exit code 0 if there are none, 77 without the rules. FOLDER gets the sessions of unequal cells.
"""
import argparse
import collections
import contextlib
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
WORKER = os.path.join(HERE, "random_worker.py")
KINDS = ("host", "kern", "mem", "membig", "memgroup", "xla", "tpu", "multi", "steps", "hosts", "serving", "tpu-steps")
OPS_BY_TABLES = ("xla", "multi", "tpu")
SEVERAL_HOSTS = ("multi", "hosts")
TOOLS = ("framework_op_stats", "kernel_stats", "memory_profile", "overview_page", "input_pipeline_analyzer", "pod_viewer")


def module(*path):
    spec = importlib.util.spec_from_file_location(path[-1][:-len(".py")], os.path.join(*path))
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


class Comparator:
    """tools/compare.py without a process for each comparison."""

    def __init__(self, shared):
        self.module = module(shared, "tools", "compare.py")
        self.ops = module(shared, "spec", "tables", "overview_check.py")

    def differences(self, tool, want, have, *options):
        """Nothing if they are equal, else what is not."""
        out, arguments = io.StringIO(), sys.argv
        sys.argv = ["compare.py", tool, want, have, "--nan-ok", "--max", "6", *options]
        try:
            with contextlib.redirect_stdout(out):
                status = self.module.main()
        finally:
            sys.argv = arguments
        return (out.getvalue().strip() or "status %d" % status) if status else ""

    def rules_differences(self, job, tool):
        """The same against the rules. Those of the pages know little of programs and TPUs' ops: the first table of
        such an overview is held against those of the op tables."""
        path = os.path.join(job["folder"], tool)
        if tool != "overview_page" or job["kind"] not in OPS_BY_TABLES:
            return self.differences(tool, path + ".rules", path + ".ours")
        with open(path + ".ours") as ours, open(os.path.join(job["folder"], "overview_ops.rules")) as ops:
            equal, why = self.ops.compare(ours.read(), ops.read())
        return self.differences(tool, path + ".rules", path + ".ours", "--ignore-table", "0",
                                "--ignore-prop", "is_training") or ("" if equal else why)


def sessions(base, kinds, seeds):
    jobs = []
    for kind in kinds:
        for seed in seeds:
            folder = os.path.join(base, "%s-%d" % (kind, seed))
            os.makedirs(os.path.join(folder, "run"))
            jobs.append({"kind": kind, "seed": "%s/%d" % (kind, seed), "folder": folder})
    return jobs


def work(python, what, folder, base, jobs):
    path = os.path.join(base, "jobs.json")
    with open(path, "w") as f:
        json.dump(jobs, f)
    return subprocess.run([python, WORKER, what, folder, path], stderr=subprocess.PIPE, check=what != "official")


def ask_official(python, base, jobs):
    """The package may die of a session: what it died of counts as refused, and it goes on with the next."""
    wanted = [os.path.join(j["folder"], t + ".official") for j in jobs for t in TOOLS]
    while True:
        r = work(python, "official", "-", base, jobs)
        if not r.returncode:
            return
        died = next(path for path in wanted if not os.path.exists(path))
        if died == wanted[0]:
            sys.exit("the official package does not answer: " + r.stderr.decode(errors="replace")[-300:])
        print("the official package died of", died, flush=True)
        open(died, "w").close()


def ask_ours(tbprof, job, tool):
    with open(os.path.join(job["folder"], tool + ".ours"), "wb") as out:
        return subprocess.run([tbprof, "tool", tool, os.path.join(job["folder"], "run"), "--semantics", "official"],
                              stdout=out, stderr=subprocess.PIPE)


def hold(tbprof, comparator, job, who):
    """Yields (tool, why not) for each cell of a session; nothing is wrong with those without a reason."""
    for tool in TOOLS:
        if tool == "memory_profile" and job["kind"] in SEVERAL_HOSTS:  # a page of one host
            continue
        path = os.path.join(job["folder"], tool)
        r = ask_ours(tbprof, job, tool)
        is_refused = os.path.getsize(path + "." + who) == 0
        if r.returncode < 0 or r.returncode and not is_refused:
            yield tool, "exit status %d: %s" % (r.returncode, r.stderr.decode(errors="replace")[-200:])
        elif not is_refused:
            why = comparator.rules_differences(job, tool)
            if who == "official":
                whose = "" if why else "(as the rules say) "
                why = comparator.differences(tool, path + ".official", path + ".ours")
                why = whose + why if why else ""
            yield tool, why


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--tbprof", required=True)
    ap.add_argument("--shared", default=os.path.join(os.path.dirname(ROOT), "shared"))
    ap.add_argument("--kinds", default=",".join(KINDS))
    ap.add_argument("--count", type=int, default=10)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--keep")
    ap.add_argument("--official")
    a = ap.parse_args()
    spec = os.path.join(a.shared, "spec")
    if not os.path.exists(os.path.join(spec, "tables", "fuzz.py")):
        print("skipped: no rules in", a.shared)
        sys.exit(77)
    comparator = Comparator(a.shared)
    equal, total = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory(prefix="tbprof-random-") as base:
        jobs = sessions(base, a.kinds.split(","), range(a.seed, a.seed + a.count))
        for what in ("make", "rules"):
            for folder in ("tables", "pages"):
                work(sys.executable, what, os.path.join(spec, folder), base, jobs)
        if a.official:
            ask_official(a.official, base, jobs)
        for job in jobs:
            unequal = 0
            for tool, why in hold(a.tbprof, comparator, job, "official" if a.official else "rules"):
                equal[job["kind"]] += not why
                total[job["kind"]] += 1
                unequal += bool(why)
                if why:
                    print("DIFFERS %s %s: %s" % (job["seed"], tool, re.sub(r"[^ -~]+", " ", why)), flush=True)
            if unequal and a.keep:
                shutil.copytree(job["folder"], os.path.join(a.keep, os.path.basename(job["folder"])), dirs_exist_ok=True)
    for kind in total:
        print("%s: %d of %d equal" % (kind, equal[kind], total[kind]))
    print("%d of %d answers equal, %d sessions" % (sum(equal.values()), sum(total.values()), len(jobs)))
    sys.exit(1 if equal != total else 0)


if __name__ == "__main__":
    main()
