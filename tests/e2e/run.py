#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens the Profile tab of a real TensorBoard in headless Chromium on what tbprof made, page by page.

  run.py [--build FOLDER] [--setup DIR | --env DIR] [--shots DIR] [--only WORD]...

Five ways to the page:
  newest   what `tbprof convert` writes, shown by xprof 2.24.2 alone
  formats  one small file of each format of other tools, converted, all in one log directory, shown by xprof 2.24.2
  legacy   what `tbprof convert --for legacy` writes, shown by tensorboard-plugin-profile 2.19.0 alone
  served   an untouched run folder, shown by xprof 2.24.2 with tbprof behind it and its local charts
  served-2.19   the same with plugin 2.19.0
  old      as legacy, shown by plugin 2.8.0; only when asked for with --only old

All but formats with runs of a CPU, of two hosts, without steps, cut short, of a GPU, of JAX, of a database of Nsight
Systems (made a run by tbprof first), and one that tbprof records of a GPU (tests/fakes). The page must open without
an error and show the figures of `tbprof tool` (judge.py). Pages for which a run has no data are left out: plugins
offer them all the same, and their frontends fail on empty tables, also on the official converter's.

DIR holds venv/ (TensorBoard and tbprof's Python package), plugins/RELEASE/ and node_modules/playwright-core. --setup
makes there what is missing, from PyPI and npm; --env (or $TBPROF_E2E_ENV, or BUILD/python-tests) takes what is there.
One line per page. Exit code 1 if a page is wrong; 77, with the reason, if this cannot be tried here.
"""
import argparse
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SKIPPED = 77
TIMEOUT_S = 500
FORMATS_AT_ONCE = 7 # runs that one browser looks at
NEWEST, LEGACY, OLD = "xprof==2.24.2", "tensorboard-plugin-profile==2.19.0", "tensorboard-plugin-profile==2.8.0"
# names of a page; generations of the plugin differ in them, and in marks that they append
PAGES = {"overview": ("overview_page",), "input": ("input_pipeline_analyzer",),
         "ops": ("framework_op_stats", "tensorflow_stats"), "kernels": ("kernel_stats",),
         "memory": ("memory_profile",), "pod": ("pod_viewer",), "trace": ("trace_viewer",)}


def bare(tool):
    return tool.rstrip("@#^")


class Unavailable(Exception):
    pass


class Run:
    """name, files (host -> path), pages that the run has data for, pages of the official converter, how much of each
    file there is, or the file of another format that it is converted from; texts by page that must be shown."""

    def __init__(self, name, files, pages, forwarded="", cut=1.0, source=None, texts=None):
        self.name, self.files, self.cut, self.source = name, files, cut, source
        self.pages, self.forwarded, self.texts = pages.split(), forwarded.split(), texts or {}

    def texts_of(self, tool):
        return [text for page, texts in self.texts.items() if bare(tool) in PAGES[page] for text in texts]


def the_runs(shared):
    keras = ROOT / "samples/keras-inputbound/plugins/profile/2026_11_28_00_21_30"
    two = ROOT / "samples/multiworker/plugins/profile/2026_11_28_00_22_17"
    gpu = shared / "corpus/tfrun-full/e4040-hd-06/train/plugins/profile/2023_11_07_18_41_27"
    jax = shared / "recordings/jax-0.10.2/jax-steps/plugins/profile/2026_11_28_00_24_50"
    return [
        Run("cpu", {"worker0": keras / "worker0.xplane.pb"}, "overview input ops trace", "roofline_model"),
        Run("two-hosts", {h: two / f"{h}.xplane.pb" for h in ("worker0", "worker1")},
            "overview input ops pod trace"),
        Run("no-steps", {"worker0": ROOT / "tests/data/tf28-nosteps.xplane.pb"}, "overview ops trace"),
        Run("damaged", {"worker0": keras / "worker0.xplane.pb"}, "overview ops trace", cut=0.95),
        Run("gpu", {"instance-2": gpu / "instance-2.xplane.pb"}, "overview input ops kernels memory pod trace"),
        Run("nsys", {"node": shared / "corpus/nsys/pipit-cloverleaf.sqlite"}, "overview kernels trace"),
        Run("jax", {"worker0": jax / "worker0.xplane.pb"}, "overview input trace", "memory_viewer op_profile"),
    ]


def the_recorded(args):
    """What the recorder makes of two steps on a GPU, played by stand-ins of NVIDIA's libraries; the texts are worked
    out from their script by hand (tests/capture/test_gpu.py has the rest)."""
    made, fakes, cupti = args.work / "recorded", args.build / "tests/fakes", "13.4"
    program = args.build / "tests/gpu_program"
    if not program.exists():
        return []
    found = [*(fakes / cupti).glob("libcupti.so.*")]
    call(program, made, env={
        **os.environ, "FAKE_GPU_SCRIPT": str(ROOT / "tests/fakes/scripts/training.txt"), "FAKE_CUPTI": str(found[0]),
        "FAKE_CUDA": str(fakes / "libcuda.so.1"), "TBPROF_CUPTI_PATH": str(fakes / cupti),
        "TBPROF_SPOOL_DIR": str(args.work), "TBPROF_RSS_PERIOD_MS": "0"})
    (xplane,) = made.glob("plugins/profile/*/*.xplane.pb")
    return [Run("recorded", {"trainer": xplane}, "overview kernels memory trace", texts={
        "overview": ["Nvidia GPU (Hopper)"], "kernels": ["gemm", "relu", "forward", "backward"],
        "memory": ["80.00 GiB", "3.00 MiB", "backward"],
        "trace": ["/device:GPU:0", "Stream #7(Compute,MemcpyD2H,MemcpyH2D,Memset)"]})]


def the_formats(folder, recorded):
    """One small file of each format, written by hand: what must be read on the pages is worked out beside each of them
    (tests/metamorphic/inputs.py, tests/cli/import_fixtures.py, tests/cli/sqlite_fixtures.py)."""
    sys.path.insert(0, str(ROOT / "tests/metamorphic"))
    from inputs import made
    folder.mkdir(parents=True, exist_ok=True)
    paths = {Path(path).name: Path(path) for path in made(str(folder), recorded)}

    def run(name, file, pages, **texts):
        return Run(name, {}, pages, source=paths[file], texts=texts)
    left_behind = [run("spool", "left.tbs", "trace", trace=["/host:CPU"])] if "left.tbs" in paths else []
    return left_behind + [
        run("kineto", "kineto.pt.trace.json", "overview kernels trace", trace=["autograd", "Stream #7"],
            kernels=["gemm", "ncclDevKernel_AllReduce"]),
        run("chrome", "chrome.json", "trace", trace=["/device:GPU:0", "/host:CPU", "main", "Stream #8(Compute)"]),
        run("timeline", "timeline.json", "ops", ops=["layer0/MatMul", "layer2/Relu"]),
        run("mxnet", "mxnet.json", "ops memory", ops=["Convolution", "WaitForVar"], memory=["gpu/0", "3.00 MiB"]),
        run("mindspore", "mindspore", "input"),
        run("ascend", "host0_1_ascend_pt", "kernels memory", kernels=["add, fused", "hcom_allReduce_1"],
            memory=["NPU:2"]),
        run("rocprof", "rocprofv3", "kernels", kernels=["gemm", 'f<int, "x">(int)']),
        run("cntk", "2020-01-02_03-04-05_detail_3.csv", "input", input=["Average: 3.5 ms", "Range: 3.0 - 4.0 ms"]),
        run("perfetto", "x.pftrace", "kernels trace", kernels=["gemm"], trace=["main"]),
        run("nsight", "nsys.sqlite", "kernels", kernels=["void axpy<float>(float*)"]),
        run("nvprof", "nvprof.nvvp", "kernels", kernels=["axpy(float*, float*, int)"]),
        run("rpd", "rpd.rpd", "kernels", kernels=["attn"]),
        run("rocpd", "rocpd.db", "kernels", kernels=["void gemm<float>(float*)"])]


def call(*words, **options):
    words = [str(word) for word in words]
    result = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_S, **options)
    if result.returncode:
        raise Unavailable(" ".join(words[-3:]) + ": " + (result.stdout + result.stderr).strip()[-400:])
    return result.stdout


class Environment:
    """TensorBoard, the plugins and playwright; and the parts of tests/board that start and ask them."""

    def __init__(self, args, plugins):
        self.folder = (args.setup or args.env).resolve()
        os.environ.update(TBPROF=str(args.build / "tbprof"), TBPROF_PLUGINS=str(self.folder / "plugins"),
                          TBPROF_SHARED=str(args.shared), PYTHONDONTWRITEBYTECODE="1")
        sys.dont_write_bytecode = True # a file in the package would look like a change of it
        sys.path[:0] = [str(ROOT / "tests/board"), str(ROOT / "python_shim")]
        self.python = str(self.folder / "venv/bin/python")
        if args.setup:
            self.set_up(plugins)
        for path in (self.python, args.build / "tbprof", self.folder / "node_modules/playwright-core",
                     *(self.folder / "plugins" / plugin for plugin in plugins)):
            if not Path(path).exists():
                raise Unavailable(f"{path} is not there (--setup DIR makes an environment)")
        import board
        from tbprof.charts import bundle
        self.board = board
        self.charts = args.work / "charts.js"
        self.charts.write_bytes(bundle())

    def set_up(self, plugins):
        import run as environment # of tests/board
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            environment.prepare(str(self.folder), plugins)
        except environment.Unavailable as e:
            raise Unavailable(str(e)) from e
        if not (self.folder / "node_modules/playwright-core").is_dir():
            call("npm", "install", "--no-audit", "--no-fund", "--prefix", self.folder, "playwright-core")


def lay_out(args, run, logdir):
    """An untouched run folder of the run's files, cut where the run wants it."""
    folder = logdir / "plugins/profile" / run.name
    folder.mkdir(parents=True)
    for host, path in run.files.items():
        if not path.name.endswith(".xplane.pb"):
            imported = args.work / "imported" / run.name
            call(args.build / "tbprof", "convert", path, "-o", imported, "--run", "r", "--host", host, "--quiet")
            path = imported / "plugins/profile/r" / f"{host}.xplane.pb"
        data = path.read_bytes()
        (folder / f"{host}.xplane.pb").write_bytes(data[:int(len(data) * run.cut)])


def converted(*options):
    def make(args, run, logdir):
        call(args.build / "tbprof", "convert", args.work / "runs/plugins/profile" / run.name, "-o", logdir,
             "--run", run.name, "--quiet", *options)
    return make


def imported(args, run, logdir):
    call(args.build / "tbprof", "convert", run.source, "-o", logdir, "--run", run.name, "--quiet")


class Way:
    """How runs come into a log directory, who shows them, which runs it gets (None: all), whether each alone."""

    def __init__(self, plugin, make, runs=None, is_served=False, is_alone=False, is_of_formats=False):
        self.plugin, self.make, self.runs, self.is_served, self.is_alone = plugin, make, runs, is_served, is_alone
        self.is_of_formats = is_of_formats

    def pages(self, run):
        """Names that a page may have, and whether tbprof answers it."""
        ours = [page for page in run.pages if page != "pod" or self.plugin != NEWEST] # its frontend cannot open it
        forwarded = run.forwarded if self.is_served else []
        return [(PAGES[page], True) for page in ours] + [((name,), False) for name in forwarded]

    def gets(self, run):
        return self.is_of_formats == bool(run.source) and (self.runs is None or run.name in self.runs)

    def environment(self):
        if self.is_served:
            return {"TBPROF_BACKEND": "on", "TBPROF_CHARTS": "local"}
        return {"TBPROF_BACKEND": "off", "TBPROF_CHARTS": "remote"}


WAYS = {
    "newest": Way(NEWEST, converted()),
    "formats": Way(NEWEST, imported, is_of_formats=True),
    "legacy": Way(LEGACY, converted("--for", "legacy")),
    "served": Way(NEWEST, lay_out, is_served=True),
    "served-2.19": Way(LEGACY, lay_out, is_served=True),
    # its frontend takes no run from the address, and shows the first
    "old": Way(OLD, converted("--for", "legacy"), runs=("cpu", "two-hosts", "gpu"), is_alone=True),
}
ON_REQUEST = {"old"}


def answer_of(env, args, run, tool, host, is_legacy):
    """What tbprof says of the untouched run, or of the file that it comes from."""
    name = tool.rstrip("#^").replace("tensorflow_stats", "framework_op_stats")
    folder = args.work / "runs/plugins/profile" / run.name
    body = env.board.tbprof_tool(run.source or folder, name, None if run.source else host, legacy=is_legacy)
    return json.loads(body) if body else None


def listed_tools(server, run):
    """Pages that the plugin offers for the run; it looks for runs in the background at first."""
    for _ in range(240):
        server.route("runs") # as the page does first
        answer = server.route("run_tools", run=run.name)
        if answer.status == 404: # releases up to 2.13 tell those of all runs
            answer = server.route("tools")
        tools = json.loads(answer.body) if answer.status == 200 else []
        tools = tools.get(run.name, []) if isinstance(tools, dict) else tools
        if tools:
            return tools
        time.sleep(0.5)
    return []


def named(tools, names):
    """The plugin's own name of a page."""
    return next((tool for tool in tools if bare(tool) in names), names[0])


def browse(env, args, name, runs, server, pages):
    """What tab.mjs sees of the pages of each run, one after another."""
    plan = {"url": f"http://127.0.0.1:{server.port}", "modules": str(env.folder), "chromium": args.chromium,
            "shots": str(args.shots), "pages": [], "charts": None if WAYS[name].is_served else str(env.charts)}
    for run in runs:
        tools = listed_tools(server, run)
        for names, _ in pages[run]:
            tool = named(tools, names)
            answer = server.route("hosts", run=run.name, tag=tool)
            first = ((json.loads(answer.body) if answer.status == 200 else None) or [""])[0]
            plan["pages"].append({"run": run.name, "tool": tool, "listed": tools,
                                  "host": first["hostname"] if isinstance(first, dict) else first,
                                  "shot": f"{name}.{run.name}.{bare(tool)}.png"})
    try:
        result = subprocess.run(["node", HERE / "tab.mjs"], input=json.dumps(plan), capture_output=True, text=True,
                                timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired as e:
        return [json.loads(line) for line in (e.stdout or b"").decode().splitlines()], "too slow"
    return [json.loads(line) for line in result.stdout.splitlines()], result.stderr.strip()[-300:]


def check(env, args, name, runs, server):
    """Yields (is it good, text) for each page of these runs, in one browser."""
    from judge import judge
    way = WAYS[name]
    pages = {run: way.pages(run) for run in runs}
    wanted = [(run, is_ours) for run in runs for _, is_ours in pages[run]]
    views, stderr = browse(env, args, name, runs, server, pages)
    for view, (run, is_ours) in zip(views, wanted):
        tool = view["tool"]
        answer = answer_of(env, args, run, tool, view["host"], way.plugin != NEWEST) if is_ours else None
        complaints, facts = judge(view, answer, run.texts_of(tool))
        if way.is_served and any(a["is_ours"] != is_ours for a in view["answers"]):
            complaints.append("answered by " + ("the official converter" if is_ours else "tbprof"))
        yield not complaints, f"{name:11} {run.name:9} {tool}: {'; '.join(complaints[:4] or facts)} [{view['shot']}]"
    if len(views) != len(wanted):
        yield False, f"{name:11} {runs[0].name:9} {len(views)} of {len(wanted)} pages were opened: {stderr}"
    for run in runs:
        if way.is_served and "pod" in run.pages and way.plugin == NEWEST: # has no page there, but a body
            ours = env.board.tbprof_tool(args.work / "runs/plugins/profile" / run.name, "pod_viewer")
            theirs = server.data(run.name, "pod_viewer", "ALL_HOSTS" if len(run.files) > 1 else next(iter(run.files)))
            yield bool(ours) and ours == theirs.body, f"{name:11} {run.name:9} pod_viewer: body of {len(theirs.body)} bytes"


def check_way(env, args, name, runs):
    groups = [[run] for run in runs] if WAYS[name].is_alone else [runs]
    for group in filter(None, groups):
        yield from check_together(env, args, name, group)


def check_together(env, args, name, runs):
    """All runs in one log directory, one TensorBoard, args.j browsers at a time."""
    way, logdir = WAYS[name], args.work / f"{name}.{runs[0].name}"
    for run in runs:
        way.make(args, run, logdir)
    with env.board.Board(logdir, way.plugin, python=env.python, **way.environment()) as server, \
            concurrent.futures.ThreadPoolExecutor(args.j) as pool:
        n = FORMATS_AT_ONCE if way.is_of_formats else 1
        sessions = [runs[i:i + n] for i in range(0, len(runs), n)]
        for lines in pool.map(lambda some: list(check(env, args, name, some, server)), sessions):
            yield from lines


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/release", help="has the program (build/release)")
    parser.add_argument("--setup", type=Path, metavar="DIR", help="makes the environment where it is missing")
    parser.add_argument("--env", type=Path, metavar="DIR", help="the environment")
    parser.add_argument("--shots", type=Path, metavar="DIR", help="screenshots (BUILD/e2e/shots)")
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared", help="recordings beside the checkout")
    parser.add_argument("--chromium", default=os.environ.get("CHROMIUM", "chromium"))
    parser.add_argument("--only", action="append", default=[], metavar="WORD", help="ways and runs of that name")
    parser.add_argument("-j", type=int, default=3, help="browsers at a time (3)")
    args = parser.parse_args()
    args.build, args.shared = args.build.resolve(), args.shared.resolve()
    args.env = args.env or Path(os.environ.get("TBPROF_E2E_ENV", args.build / "python-tests"))
    args.shots = (args.shots or args.build / "e2e/shots").resolve()
    args.work = args.build / "e2e/work"
    shutil.rmtree(args.work, ignore_errors=True)
    for folder in (args.work, args.shots):
        folder.mkdir(parents=True, exist_ok=True)
    return args


def wanted(names, only):
    """Those of the names which --only names; without such, those that need no request."""
    return [n for n in names if n in only] or [n for n in names if n not in ON_REQUEST]


def main():
    args = arguments()
    ways = wanted(WAYS, args.only)
    try:
        for program in (args.chromium, "node", "npm"):
            if not shutil.which(program):
                raise Unavailable(f"{program} is not installed")
        args.chromium = shutil.which(args.chromium)
        env = Environment(args, sorted({WAYS[name].plugin for name in ways}))
    except (Unavailable, subprocess.TimeoutExpired) as e:
        print(f"skipped: {e}".replace("\n", " "))
        return SKIPPED
    runs, n, bad = [], 0, 0
    all_runs = the_runs(args.shared) + the_recorded(args) + the_formats(args.work / "formats", args.build / "tests/recorded")
    for run in all_runs:
        if run.name not in wanted([r.name for r in all_runs], args.only):
            continue
        if run.source:
            runs.append(run)
            continue
        lost = [path for path in run.files.values() if not path.exists()]
        if lost:
            print(f"SKIP {run.name}: {lost[0]} is not there")
            continue
        lay_out(args, run, args.work / "runs")
        runs.append(run)
    for name in ways:
        for good, text in check_way(env, args, name, [run for run in runs if WAYS[name].gets(run)]):
            n, bad = n + 1, bad + (not good)
            print(("PASS " if good else "FAIL ") + text, flush=True)
    if not n:
        print("skipped: no run is at hand")
        return SKIPPED
    print(f"{n - bad} of {n} pages are right; screenshots in {args.shots}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
