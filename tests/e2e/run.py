#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens the Profile tab of a real TensorBoard in headless Chromium on what tbprof made, page by page.

  run.py --build FOLDER [--shared FOLDER] [--shots FOLDER] [--chromium PATH] [--only WORD] [-j N]

Three ways to the page, each with every run of RUNS below:
  newest   what `tbprof convert` writes, shown by xprof 2.24.2 alone
  legacy   what `tbprof convert --for legacy` writes, shown by tensorboard-plugin-profile 2.19.0 alone
  served   an untouched run folder, shown by xprof 2.24.2 with tbprof behind it

The page is judged by profile_tab_check.mjs of the shared tools: no error, and what the frontend shows is what the
server answered (that these answers are right is the business of tests/agreement and tests/board). Pages without
data of a run are left out: plugins offer them all the same, and their frontends fail on empty tables, also on the
official converter's (the pod viewer left the newest plugin). One line per page. Exit code 1 if a page is wrong, 77 with the reason if this cannot be tried here (no Chromium,
no package index, no shared tools).
"""
import argparse
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SAMPLES = ROOT / "samples"
SKIPPED = 77
NEWEST, LEGACY = "xprof==2.24.2", "tensorboard-plugin-profile==2.19.0"
# name of a page in xprof 2.24.2 and in plugin 2.19.0
PAGES = {"overview": ("overview_page", "overview_page"),
         "input": ("input_pipeline_analyzer", "input_pipeline_analyzer"),
         "ops": ("framework_op_stats", "framework_op_stats"),
         "kernels": ("kernel_stats", "kernel_stats"),
         "memory": ("memory_profile", "memory_profile#"),
         "pod": (None, "pod_viewer"),
         "trace": ("trace_viewer@", "trace_viewer#")}
TIMEOUT_S = 300


class Run:
    """name, files (host -> path), pages that the run has data for, how much of each file there is."""

    def __init__(self, name, files, pages, cut=1.0):
        self.name, self.files, self.pages, self.cut = name, files, pages.split(), cut


def the_runs(shared):
    keras = SAMPLES / "keras-inputbound/plugins/profile/2026_11_28_00_21_30"
    two = SAMPLES / "multiworker/plugins/profile/2026_11_28_00_22_17"
    gpu = shared / "corpus/tfrun-full/e4040-hd-06/train/plugins/profile/2023_11_07_18_41_27"
    jax = shared / "recordings/jax-0.10.2/jax-steps/plugins/profile/2026_11_28_00_24_50"
    return [
        Run("cpu", {"worker0": keras / "worker0.xplane.pb"}, "overview input ops trace"),
        Run("two-hosts", {h: two / f"{h}.xplane.pb" for h in ("worker0", "worker1")},
            "overview input ops pod trace"),
        Run("no-steps", {"worker0": ROOT / "tests/data/tf28-nosteps.xplane.pb"}, "overview ops trace"),
        Run("damaged", {"worker0": keras / "worker0.xplane.pb"}, "overview ops trace", cut=0.95),
        Run("gpu", {"instance-2": gpu / "instance-2.xplane.pb"}, "overview input ops kernels memory pod trace"),
        Run("jax", {"worker0": jax / "worker0.xplane.pb"}, "overview input trace"),
    ]


class Unavailable(Exception):
    pass


def call(*words, **options):
    result = subprocess.run([str(w) for w in words], stdin=subprocess.DEVNULL, capture_output=True, text=True, **options)
    if result.returncode:
        raise Unavailable(" ".join(str(w) for w in words[-3:]) + ": " + (result.stdout + result.stderr).strip()[-400:])


class Tools:
    def __init__(self, checker, python, modules, board):
        self.checker, self.python, self.modules, self.board = checker, python, modules, board


def prepare(args):
    """What is needed: the checker, Python with TensorBoard and the plugins (those of tests/board), playwright."""
    checker = args.shared / "tools/profile_tab_check.mjs"
    if not checker.exists():
        raise Unavailable(f"{checker} is not there")
    for program in (args.chromium, "node", "npm"):
        if not shutil.which(program):
            raise Unavailable(f"{program} is not installed")
    base, modules = args.build / "python-tests", args.build / "e2e"
    base.mkdir(parents=True, exist_ok=True)
    modules.mkdir(exist_ok=True)
    os.environ.update(TBPROF=str(args.build / "tbprof"), TBPROF_PLUGINS=str(base / "plugins"),
                      TBPROF_SHARED=str(args.shared))
    sys.path.insert(0, str(ROOT / "tests/board"))
    import board
    import run as environment
    try:
        python = environment.prepare(str(base))
    except environment.Unavailable as e:
        raise Unavailable(str(e)) from e
    if not (modules / "node_modules/playwright-core").is_dir():
        call("npm", "install", "--no-audit", "--no-fund", "--prefix", modules, "playwright-core")
    return Tools(adapted(checker, modules), python, modules, board)


def adapted(checker, folder):
    """A copy of the checker that knows that the viewer draws instants of a thread as slices without length."""
    text, slices = checker.read_text(), "if (e.ph === 'X') want.set("
    if text.count(slices) != 1:
        raise Unavailable(f"{checker} is another than this test knows")
    copy = folder / checker.name
    copy.write_text(text.replace(slices, "if (e.ph === 'X' || (e.ph === 'i' && e.s === 't')) want.set("))
    shutil.copy(checker.with_name("gviz_stub.js"), folder)
    return copy


def lay_out(run, logdir):
    """An untouched run folder of the run's files, cut where the run wants it."""
    folder = logdir / "plugins/profile" / run.name
    folder.mkdir(parents=True)
    for host, path in run.files.items():
        data = path.read_bytes()
        (folder / f"{host}.xplane.pb").write_bytes(data[:int(len(data) * run.cut)])
    return folder


def convert(args, run, logdir, *options):
    source = lay_out(run, logdir.with_name(logdir.name + "-source"))
    call(args.build / "tbprof", "convert", source, "-o", logdir, "--run", run.name, "--quiet", *options)


class Way:
    """How runs come into a log directory, and who shows them."""

    def __init__(self, plugin, make, backend):
        self.plugin, self.make, self.backend = plugin, make, backend

    def page_names(self, run):
        names = [PAGES[page][self.plugin == LEGACY] for page in run.pages]
        return [name for name in names if name]


WAYS = {
    "newest": Way(NEWEST, convert, "off"),
    "legacy": Way(LEGACY, lambda *a: convert(*a, "--for", "legacy"), "off"),
    "served": Way(NEWEST, lambda args, run, logdir: lay_out(run, logdir), "on"),
}


def check(args, tools, name, run, port):
    """Lines of the checker for one run, each (is it good, text)."""
    pages = WAYS[name].page_names(run)
    shots = args.shots / name / run.name
    shots.mkdir(parents=True, exist_ok=True)
    words = ["node", tools.checker, "--url", f"http://127.0.0.1:{port}", "--run", run.name, "--out", shots,
             "--tools", ",".join(pages), "--chromium", shutil.which(args.chromium)]
    result = subprocess.run([str(w) for w in words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                            timeout=TIMEOUT_S, cwd=tools.modules)
    lines = [line for line in result.stdout.splitlines() if line.startswith(("PASS", "FAIL"))]
    if len(lines) != len(pages) + 1: # and the tab itself
        lines.append(f"FAIL {len(lines)} pages of {len(pages) + 1} were checked: {result.stderr.strip()[-300:]}")
    return [(line.startswith("PASS"), f"{line[:4]} {name:7}{run.name:10}{line[5:]}") for line in lines]


def check_way(args, tools, name, runs):
    """All runs in one log directory, one TensorBoard, args.j browsers at a time."""
    way, logdir = WAYS[name], args.work / name
    for run in runs:
        way.make(args, run, logdir)
    with tools.board.Board(logdir, way.plugin, python=tools.python, TBPROF_BACKEND=way.backend) as server, \
            concurrent.futures.ThreadPoolExecutor(args.j) as pool:
        for lines in pool.map(lambda run: check(args, tools, name, run, server.port), runs):
            yield from lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    parser.add_argument("--shots", type=Path, help="screenshots (default: BUILD/e2e/shots)")
    parser.add_argument("--chromium", default="chromium")
    parser.add_argument("--only", default="", help="runs or ways with this word in their name")
    parser.add_argument("-j", type=int, default=2, help="browsers at a time")
    args = parser.parse_args()
    args.build, args.shared = args.build.resolve(), args.shared.resolve()
    args.shots = (args.shots or args.build / "e2e/shots").resolve()
    try:
        tools = prepare(args)
    except Unavailable as e:
        print(f"skipped: {e}")
        return SKIPPED
    args.work = args.build / "e2e/work"
    shutil.rmtree(args.work, ignore_errors=True)
    args.work.mkdir(parents=True)
    runs = the_runs(args.shared)
    for run in [run for run in runs if not all(path.exists() for path in run.files.values())]:
        print(f"SKIP {run.name}: {next(iter(run.files.values()))} is not there")
        runs.remove(run)
    n = bad = 0
    for name in WAYS:
        chosen = [run for run in runs if args.only in name or args.only in run.name]
        for good, text in check_way(args, tools, name, chosen):
            n, bad = n + 1, bad + (not good)
            print(text, flush=True)
    print(f"{n - bad} of {n} pages are right; screenshots in {args.shots}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
