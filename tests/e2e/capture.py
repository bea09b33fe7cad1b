#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Presses the real plugin's CAPTURE PROFILE in headless Chromium while two C programs train with our server in them,
and looks at the pages of the run that comes of it.

  capture.py --build FOLDER [--shared FOLDER] [--shots FOLDER] [--chromium PATH]

First one of them, whose pages are then held against what the server answers (profile_tab_check.mjs); then both by one
request, which must land in one run, of which the pod viewer shows both: in the answer of xprof 2.24.2 (whose own
frontend cannot open that page) and on the page of plugin 2.19.0. For how long
annotations made the programs wait is printed, not judged (bench_stall measures it). Exit code 1 if anything is
wrong, 77 with the reason if this cannot be tried here.
"""
import argparse
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGES = "overview_page,input_pipeline_analyzer,trace_viewer@"
DURATION_MS = 1000


ROOT = HERE.parent.parent
SKIPPED, NEWEST, LEGACY = 77, "xprof==2.24.2", "tensorboard-plugin-profile==2.19.0"
POD = "served-2.19" # run.py's way to look at the pod viewer


class Unavailable(Exception):
    pass


class Tools:
    def __init__(self, checker, python, modules, board):
        self.checker, self.python, self.modules, self.board = checker, python, modules, board


def prepare(args):
    """The checker, Python with TensorBoard and the plugin (of tests/board), Chromium's driver."""
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
        python = environment.prepare(str(base), [NEWEST, LEGACY])
    except environment.Unavailable as e:
        raise Unavailable(str(e)) from e
    if not (modules / "node_modules/playwright-core").is_dir():
        r = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefix", modules, "playwright-core"],
                           stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if r.returncode:
            raise Unavailable("npm install playwright-core: " + r.stderr.strip()[-300:])
    return Tools(checker, python, modules, board)


def look_at_pages():
    """run.py of this folder, whose name that of tests/board has."""
    spec = importlib.util.spec_from_file_location("look_at_pages", HERE / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Training:
    """A program that trains and serves."""

    def __init__(self, build, step_ms):
        self.process = subprocess.Popen([build / "tests/train_server", "0", str(step_ms)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def stop(self):
        self.process.stdin.close()
        self.process.wait(120)
        words = self.process.stdout.read().split()
        self.process.stdout.close()
        return int(words[0]), int(words[2])  # steps, longest wait of an annotation in us


def press(args, tools, url, addresses):
    shutil.copy(HERE / "press_capture.mjs", tools.modules)
    words = ["node", tools.modules / "press_capture.mjs", url, addresses, str(DURATION_MS), shutil.which(args.chromium),
             args.shots / "capture_dialog.png"]
    result = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=600, cwd=tools.modules)
    if result.returncode:
        return {"status": 0, "body": result.stderr[-500:], "shown": ""}
    return json.loads(result.stdout.splitlines()[-1])


def steps_of(args, folder):
    """Steps of each host, as tbprof counts them."""
    result = subprocess.run([args.build / "tbprof", "info", folder], capture_output=True, text=True)
    return [int(n) for n in re.findall(r"^    (\d+) steps?", result.stdout, re.M)]


def pages(args, tools, url, run_name):
    words = ["node", tools.checker, "--url", url, "--run", run_name, "--out", args.shots, "--tools", PAGES,
             "--chromium", shutil.which(args.chromium)]
    result = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=600, cwd=tools.modules)
    return [line for line in result.stdout.splitlines() if line.startswith(("PASS", "FAIL"))]


def capture(args, tools, url, workers):
    """Presses the button; the run of it, or None."""
    profiles = args.work / "plugins/profile"
    before = set(profiles.glob("*"))
    answer = press(args, tools, url, ",".join(f"localhost:{w.port}" for w in workers))
    new = sorted(set(profiles.glob("*")) - before)
    good = answer["status"] == 200 and "successfully" in answer["body"] and len(new) == 1
    return new[0] if good else None, f"{len(workers)} of 2 workers: the plugin answers {answer['body'].strip()}"


def judge_one(args, tools, url, worker):
    run, text = capture(args, tools, url, [worker])
    yield run is not None, text
    if run is None:
        return
    steps = steps_of(args, run)
    yield len(steps) == 1 and steps[0] > 2, f"steps in the profile: {steps}"
    lines = pages(args, tools, url, run.name)
    yield len(lines) == len(PAGES.split(",")) + 1, f"{len(lines)} answers of the checker"
    for line in lines:
        yield line.startswith("PASS"), line[5:]


def n_workers(pod):
    """Of each step; workers of one machine have one name."""
    steps = pod["podStatsSequence"]["podStatsMap"]
    return sorted({len(step["podStatsPerCore"]) for step in steps}), len(steps)


def pod_page(args, tools, run):
    """Yields (is it right, text) for the pod viewer of plugin 2.19.0 with tbprof behind it: its own converter takes a run
    of two hosts for an error."""
    e2e = look_at_pages()
    sys.path.insert(0, str(ROOT / "python_shim"))
    from tbprof.charts import bundle
    tools.folder, tools.charts = tools.modules, args.work.parent / "charts.js"
    tools.charts.write_bytes(bundle())
    files = {path.name.removesuffix(".xplane.pb"): path for path in run.glob("*.xplane.pb")}
    way = argparse.Namespace(**{**vars(args), "work": args.work.parent, "chromium": shutil.which(args.chromium)})
    with tools.board.Board(args.work, LEGACY, python=tools.python, **e2e.WAYS[POD].environment()) as board:
        yield from e2e.check(tools, way, POD, [e2e.Run(run.name, files, "pod")], board)


def judge_two(args, tools, board, workers):
    url = f"http://127.0.0.1:{board.port}"
    run, text = capture(args, tools, url, workers)
    yield run is not None, text
    if run is None:
        return
    files = sorted(f.name for f in run.iterdir() if f.name.endswith(".xplane.pb"))
    yield files == sorted(f"localhost_{w.port}.xplane.pb" for w in workers), "one run with " + " and ".join(files)
    steps = steps_of(args, run)
    yield len(steps) == 2 and min(steps) > 2, f"steps of the hosts: {steps}"
    ours = subprocess.run([args.build / "tbprof", "tool", "pod_viewer", run], capture_output=True, text=True)
    theirs = board.data(run.name, "pod_viewer", "ALL_HOSTS")
    for whose, body in (("tbprof's", ours.stdout), ("the newest plugin's", theirs.body)):
        workers_of_steps, n_steps = n_workers(json.loads(body)) if body else ([], 0)
        yield workers_of_steps == [2], f"{whose} pod viewer: {n_steps} steps, each of {workers_of_steps} workers"
    yield from pod_page(args, tools, run)


def judge(args, tools, board, workers):
    """Yields (is it right, text)."""
    url = f"http://127.0.0.1:{board.port}"
    yield from judge_one(args, tools, url, workers[0])
    yield from judge_two(args, tools, board, workers)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    parser.add_argument("--shots", type=Path, help="screenshots (default: BUILD/e2e/shots/capture)")
    parser.add_argument("--chromium", default="chromium")
    args = parser.parse_args()
    args.build, args.shared = args.build.resolve(), args.shared.resolve()
    args.shots = (args.shots or args.build / "e2e/shots/capture").resolve()
    try:
        tools = prepare(args)
    except Unavailable as e:
        print(f"skipped: {e}")
        return SKIPPED
    args.work = args.build / "e2e/captured/runs"
    shutil.rmtree(args.work.parent, ignore_errors=True)
    args.work.mkdir(parents=True)
    args.shots.mkdir(parents=True, exist_ok=True)
    workers = [Training(args.build, ms) for ms in (5, 8)]
    n = bad = 0
    try:
        with tools.board.Board(args.work, NEWEST, python=tools.python, TBPROF_BACKEND="off") as board:
            for good, text in judge(args, tools, board, workers):
                n, bad = n + 1, bad + (not good)
                print("PASS" if good else "FAIL", text, flush=True)
    finally:
        for steps, waited_us in [w.stop() for w in workers]:  # a figure of the disk and the load: not judged
            print(f"measured: {steps} steps; annotations waited for at most {waited_us} us")
    print(f"{n - bad} of {n} are right; screenshots in {args.shots}")
    return 1 if bad else 0


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    sys.exit(main())
