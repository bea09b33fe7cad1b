# SPDX-License-Identifier: Apache-2.0
"""TensorBoard itself, over HTTP: who answers, with which bytes, and what is refused."""
import glob
import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
import venv

import pytest

import board
import conftest
from run import PLUGINS

TOOLS = ("overview_page", "input_pipeline_analyzer", "pod_viewer", "framework_op_stats", "kernel_stats",
         "memory_profile", "trace_viewer", "trace_viewer@")
OP_STATS = ("overview_page", "framework_op_stats", "kernel_stats", "pod_viewer")
ONE_HOST_ONLY = ("memory_profile",)  # the plugin's own rule
DIAGNOSTICS = 6  # of the overview's tables
HAMMER_S = float(os.environ.get("TBPROF_HAMMER_S", "15"))


def marked(plugin, tool):
    """The tool as the release calls it."""
    return tool + "^" if board.version_of(plugin) <= (2, 19, 0) else tool


# ---- (a) who answers ----


def test_a_clean_environment_is_answered_by_tbprof(tmp_path, two_hosts):
    """pip install python_shim tensorboard xprof, and nothing else."""
    folder = tmp_path / "venv"
    venv.create(folder, with_pip=True)
    python = str(folder / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "-q", os.path.join(os.path.dirname(conftest.SAMPLES), "python_shim"),
                    "tensorboard", "xprof==2.24.2"], check=True, stdin=subprocess.DEVNULL, capture_output=True)
    with board.Board(two_hosts, plugin=None, python=python) as b:
        ours = b.data("run", "overview_page", board.ALL_HOSTS)
        assert ours.status == 200 and ours.is_ours
        assert b.text().count("[tbprof] tbprof 0.1.0 answers for xprof 2.24.2") == 1
    with board.Board(two_hosts, plugin=None, python=python, TBPROF_BACKEND="off") as b:
        off = b.data("run", "overview_page", board.ALL_HOSTS)
        assert off.status == 200 and not off.is_ours and "[tbprof]" not in b.text()
    subprocess.run([python, "-m", "pip", "uninstall", "-q", "-y", "tbprof"], check=True, stdin=subprocess.DEVNULL)
    with board.Board(two_hosts, plugin=None, python=python) as b:
        without = b.data("run", "overview_page", board.ALL_HOSTS)
        assert without.status == 200 and not without.is_ours
    assert without.body == off.body and without.headers.keys() == off.headers.keys()


def test_an_unknown_version_is_left_alone(tmp_path, two_hosts):
    plugin = tmp_path / "xprof==2.99.0"
    shutil.copytree(os.path.join(board.PLUGINS, board.NEWEST), plugin, symlinks=True)
    with open(plugin / "xprof" / "version.py", "w") as f:
        f.write('__version__ = "2.99.0"\n')
    with board.Board(two_hosts, plugin=str(plugin)) as b:
        answer = b.data("run", "overview_page", board.ALL_HOSTS)
        assert answer.status == 200 and not answer.is_ours
        assert b.text().count("[tbprof]") == 1 and "the official converter stays in charge" in b.text()


@pytest.mark.parametrize("plugin", PLUGINS)
def test_every_known_generation_serves_our_bytes(plugin, two_hosts):
    legacy = board.version_of(plugin) < (2, 19, 6)
    folder = board.run_folder(two_hosts, "run")
    with board.Board(two_hosts, plugin=plugin) as b:
        assert json.loads(b.route("runs").body) == ["run"]
        assert marked(plugin, "overview_page") in json.loads(b.route("run_tools", run="run").body)
        for tool in OP_STATS:
            answer = b.data("run", marked(plugin, tool), board.ALL_HOSTS)
            assert answer.status == 200 and answer.is_ours, (tool, answer.status, answer.body[:200])
            assert answer.body == board.tbprof_tool(folder, tool, legacy=legacy), tool
        answer = b.data("run", marked(plugin, "memory_profile"), "worker1")
        assert answer.body == board.tbprof_tool(folder, "memory_profile", "worker1", legacy=legacy)
        if plugin.endswith("==2.19.0"):
            answer = b.data("run", "tf_data_bottleneck_analysis^", board.ALL_HOSTS)
            assert answer.body == board.tbprof_tool(folder, "tf_data_bottleneck_analysis", legacy=True)
        forwarded = b.data("run", marked(plugin, "op_profile"), "worker0")
        assert forwarded.status == 200 and not forwarded.is_ours and forwarded.body
        for wrong in (b.route("run_tools", run="nothing"), b.route("run_tools", run=""), b.route("data", run="run", tag="")):
            assert wrong.status in (200, 400, 404) and b"Traceback" not in wrong.body, (wrong.status, wrong.body[:200])
        for route in ("run_tools", "hosts", "data"):  # there is no TensorBoard run of this name
            wrong = b.route(route, run="nothing/x", tag=marked(plugin, "overview_page"), host="worker0")
            assert wrong.status == 404 and b"nothing/x" in wrong.body, (route, wrong.status, wrong.body[:200])
        nameless = b.route("run_tools")
        assert nameless.status >= 400 and b"<html" not in nameless.body, (nameless.status, nameless.body[:200])


def without_privileges(tmp_path):
    """A Python for which the rights of files count, also if it is started by root."""
    if not shutil.which("setpriv"):
        pytest.skip("needs setpriv")
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec setpriv --inh-caps=-all --bounding-set=-all {sys.executable} "$@"\n')
    python.chmod(0o755)
    return str(python)


def test_a_folder_that_cannot_be_written_lists_its_pages(tmp_path):
    """Of a run with programs: the official converter wants to write these beside it, and lists nothing if it cannot."""
    found = glob.glob(os.path.join(board.SHARED, "recordings", "jax-0.10.2", "jax-steps", "plugins", "profile", "*",
                                   "*.xplane.pb"))
    if not found:
        pytest.skip("needs a recording of JAX beside the checkout")
    board.make_run(tmp_path / "logdir", "run", [("worker0", found[0])])
    folder = board.run_folder(tmp_path / "logdir", "run")
    python = without_privileges(tmp_path)
    os.chmod(folder, 0o555)
    try:
        with board.Board(tmp_path / "logdir", python=python) as b:
            tools = json.loads(b.route("run_tools", run="run").body)
    finally:
        os.chmod(folder, 0o755)
    assert "overview_page" in tools and "trace_viewer@" in tools and "graph_viewer" not in tools


def test_caches_of_an_older_plugin_are_removed_before_they_are_shown(two_hosts):
    """By the official converter, when it is asked; an answer of ours does not make them caches of this version."""
    folder = board.run_folder(two_hosts, "run")
    version, cache = os.path.join(folder, "cache_version.txt"), os.path.join(folder, "worker0.SSTABLE")
    for path, text in ((version, "2.20.1"), (cache, "")):
        with open(path, "w") as f:
            f.write(text)
    with board.Board(two_hosts) as b:
        assert b.data("run", "overview_page", board.ALL_HOSTS).is_ours
        with open(version) as f:
            assert f.read() == "2.20.1"
        assert os.path.exists(cache)
        answer = b.data("run", "op_profile", "worker0")
        assert answer.status == 200 and not answer.is_ours
        with open(version) as f:
            assert f.read() == "2.24.2"
        assert not os.path.exists(cache)


@pytest.mark.parametrize("plugin", [p for p in PLUGINS if board.version_of(p) >= (2, 21, 0)])
def test_a_version_of_caches_that_is_no_text_fails_no_page(plugin, two_hosts):
    version = os.path.join(board.run_folder(two_hosts, "run"), "cache_version.txt")
    with open(version, "wb") as f:
        f.write(b"2.\xff")
    with board.Board(two_hosts, plugin=plugin) as b:
        ours = b.data("run", "overview_page", "worker0")
        assert ours.status == 200 and ours.is_ours
        assert "cache_version.txt' is no text" in b.text()
        with open(version, "rb") as f:
            assert f.read() == b"2.\xff"
        assert b.data("run", "op_profile", "worker0").status == 200
        with open(version, "rb") as f:
            assert f.read().decode() == plugin.split("==")[1]


# ---- (b) the bytes of `tbprof tool` ----


def cases():
    path = os.path.join(board.SHARED, "oracle", "CASES.tsv")
    if not os.path.exists(path):
        return []
    with open(path) as f:
        rows = [line.rstrip("\n").split("\t") for line in f]
    return [(case, [(w.split("::", 1)[0], os.path.join(board.SHARED, w.split("::", 1)[1])) for w in words])
            for case, *words in rows]


@pytest.mark.skipif(not cases(), reason="the recordings do not lie beside the checkout")
def test_bodies_equal_tbprof_tool(tmp_path):
    logdir = tmp_path / "logdir"
    different, n = [], 0
    for case, files in cases():
        board.make_run(logdir, case, files, link=True)
    with board.Board(logdir) as b:
        for case, _ in cases():
            for tool in TOOLS:
                hosts = [h["hostname"] for h in json.loads(b.route("hosts", run=case, tag=tool).body)]
                for host in hosts:
                    answer = b.data(case, tool, host)
                    want = board.tbprof_tool(board.run_folder(logdir, case), tool, host)
                    n += 1
                    if not (answer.is_ours and answer.body == want if want is not None else answer.status >= 400):
                        different.append((case, tool, host, answer.status))
    print(f"{n - len(different)} of {n} bodies equal")
    assert not different and n > 200


def test_windows_searches_and_details(two_hosts):
    folder = board.run_folder(two_hosts, "run")
    queries = [{"resolution": "4040", "start_time_ms": "2.5", "end_time_ms": "7.25"}, {"resolution": "0"},
               {"search_prefix": "Ex", "resolution": "0"}, {"start_time_ms": "5e-324", "end_time_ms": "1e9"},
               {"start_time_ms": "-5", "end_time_ms": "-10"}]
    with board.Board(two_hosts) as b:
        for query in queries:
            answer = b.data("run", "trace_viewer@", "worker1", **query)
            assert answer.is_ours and answer.body == board.tbprof_tool(
                folder, "trace_viewer@", "worker1", full_dma="false", **{"resolution": "8000", **query}), query
        missing = b.data("run", "trace_viewer@", "worker1", event_name="nothing", start_time_ms="1", duration_ms="1",
                         unique_id="0")
        assert missing.status == 404 and b"not found" in missing.body


def test_tables_can_be_downloaded(two_hosts):
    with board.Board(two_hosts) as b:
        for tool in ("framework_op_stats", "kernel_stats"):
            answer = b.route("data_csv", run="run", tag=tool, host=board.ALL_HOSTS)
            assert answer.status == 200 and answer.headers["content-type"].startswith("text/csv")
            assert answer.body.startswith(b'"Rank"') or answer.body.startswith(b"Rank"), answer.body[:80]


# ---- (d) several hosts, no cache files ----


@pytest.mark.parametrize("plugin", ["xprof==2.22.3", "xprof==2.23.1", "xprof==2.24.2"])
def test_a_run_of_two_hosts_without_caches(plugin, two_hosts, capsys):
    report = []
    with board.Board(two_hosts, plugin=plugin) as b:
        ours = {t: b.data("run", t, board.ALL_HOSTS) for t in OP_STATS}
        wanted = ["ALL_HOSTS"]
        assert [h["hostname"] for h in json.loads(b.route("hosts", run="run", tag="overview_page").body)] == wanted
    folder = board.run_folder(two_hosts, "run")
    assert not [n for n in os.listdir(folder) if "op_stats" in n or "SSTABLE" in n]
    with board.Board(two_hosts, plugin=plugin, TBPROF_BACKEND="off") as b:
        official = {t: b.data("run", t, board.ALL_HOSTS) for t in OP_STATS}
    for tool in OP_STATS:
        o = official[tool]
        told = f"{len(o.body)} bytes" if o.status == 200 else o.body.decode("utf-8", "replace").strip()[:80]
        report.append(f"{plugin} {tool}: tbprof {ours[tool].status}, {len(ours[tool].body)} bytes; "
                      f"official alone {o.status}, {told}")
    with capsys.disabled():
        print("\n" + "\n".join(report))
    assert all(a.status == 200 and a.is_ours for a in ours.values())
    pod = json.loads(ours["pod_viewer"].body)
    assert len(pod["podStatsSequence"]["podStatsMap"][0]["podStatsPerCore"]) == 2


# ---- (h) hostile requests ----


def test_hostile_requests_are_refused_and_nothing_outside_is_read(two_hosts, tmp_path):
    outside = tmp_path / "outside"
    board.make_run(outside, "secret", [("h", os.path.join(conftest.KERAS, "worker0.xplane.pb"))])
    up = "../outside/secret"
    assert os.path.isdir(os.path.join(str(two_hosts), "../outside/plugins/profile/secret"))
    hostile = [dict(run=up), dict(run=str(outside) + "/secret"), dict(run="a/../" + up), dict(run="run\0"),
               dict(run="x" * 10240), dict(run="nothing"), dict(run=""), dict(host="../../../outside"),
               dict(host="worker0\0"), dict(host="h" * 10240), dict(host="nobody"), dict(tag="no_such_tool"),
               dict(tag="graph_viewer", host="worker0", module_name="../../../../outside/x", type="short_txt"),
               dict(tag="../overview_page"), dict(tag=""), dict(tag="t" * 10240), dict(hosts="worker0,../x"),
               dict(tag="trace_viewer@", start_time_ms="x", host="worker0"),
               dict(tag="trace_viewer@", resolution="1e", host="worker0"),
               dict(tag="trace_viewer@", event_name="e" * 10240, host="worker0"),
               dict(tag="trace_viewer@", search_prefix="a\0b", host="worker0")]
    odd = [dict(tag="trace_viewer@", start_time_ms="-1", end_time_ms="-9", host="worker0"),
           dict(tag="trace_viewer@", start_time_ms="1e308", end_time_ms="nan", host="worker0"),
           dict(tag="trace_viewer@", resolution="-7", host="worker0"), dict(no_such_option="1")]
    with board.Board(two_hosts) as b:
        for change in hostile:
            query = {"run": "run", "tag": "overview_page", "host": board.ALL_HOSTS, **change}
            for route in ("data", "hosts", "run_tools", "module_list"):
                if route != "data" and change.keys() - {"run"}:
                    continue
                answer = b.route(route, **query)
                empty = route != "data" and answer.status == 200 and answer.body in (b"[]", b"")
                assert answer.status >= 400 or empty, (route, change, answer.status, answer.body[:200])
                assert answer.status == 400 or not any("\0" in value for value in change.values()), change
                assert b"h.xplane" not in answer.body and b'"hostname": "h"' not in answer.body
        for change in odd:
            answer = b.route("data", **{"run": "run", "tag": "overview_page", "host": board.ALL_HOSTS, **change})
            assert answer.status < 600 and answer.body, change
        healthy = b.data("run", "overview_page", board.ALL_HOSTS)
        assert healthy.status == 200 and healthy.is_ours
    assert sorted(os.listdir(board.run_folder(outside, "secret"))) == ["h.xplane.pb"]


def test_a_damaged_or_empty_file_is_an_answer_and_not_a_crash(tmp_path):
    logdir = tmp_path / "logdir"
    board.make_run(logdir, "run", [("h", os.path.join(conftest.KERAS, "worker0.xplane.pb"))])
    path = os.path.join(board.run_folder(logdir, "run"), "h.xplane.pb")
    whole = open(path, "rb").read()
    with board.Board(logdir) as b:
        for content in (b"", b"\xff" * 1000, whole[:len(whole) // 2], b"<html>", whole):
            with open(path, "wb") as f:
                f.write(content)
            time.sleep(0.05)
            for tool in ("overview_page", "trace_viewer@", "kernel_stats"):
                answer = b.data("run", tool, "h")
                want = board.tbprof_tool(board.run_folder(logdir, "run"), tool, "h")
                assert answer.body == want if want is not None else answer.status >= 400, (len(content), tool)
        assert b.process.poll() is None


def test_files_that_are_no_profiles_do_not_take_the_other_hosts_with_them(two_hosts, tmp_path):
    folder = board.run_folder(two_hosts, "run")
    want = {(t, h): board.tbprof_tool(folder, t, h) for t, h in
            (("kernel_stats", board.ALL_HOSTS), ("overview_page", board.ALL_HOSTS), ("memory_profile", "worker1"))}
    bad = {name: os.path.join(folder, name + ".xplane.pb") for name in ("closed", "dir", "fifo", "gone", "loop", "page")}
    for path in (bad["closed"], bad["page"]):
        with open(path, "wb") as f:
            f.write(b"<!doctype html><title>404</title>")
    shutil.copy(os.path.join(folder, "worker0.xplane.pb"), bad["closed"])
    os.chmod(bad["closed"], 0)
    os.mkdir(bad["dir"])
    os.mkfifo(bad["fifo"])
    os.symlink("nowhere", bad["gone"])
    os.symlink("loop.xplane.pb", bad["loop"])
    with board.Board(two_hosts, python=without_privileges(tmp_path)) as b:
        assert {"overview_page", "trace_viewer@"} <= set(json.loads(b.route("run_tools", run="run").body))
        for (tool, host), body in want.items():
            answer = b.data("run", tool, host)
            assert answer.status == 200 and answer.is_ours, (tool, answer.body[:200])
            if tool != "overview_page":
                assert answer.body == body, tool
                continue
            ours, alone = json.loads(answer.body), json.loads(body)
            told = [[cell["v"] for cell in row["c"]] for row in ours[DIAGNOSTICS].pop("rows")]
            assert told == [["WARNING", "Files of this run that cannot be read as profiles are left out: closed.xplane.pb, "
                             "dir.xplane.pb, fifo.xplane.pb, gone.xplane.pb and 2 more."]]
            assert alone[DIAGNOSTICS].pop("rows") == [] and ours == alone
        for host in bad:
            answer = b.data("run", "overview_page", host)
            assert answer.status >= 400 and answer.body and b"<html" not in answer.body, host


@pytest.mark.parametrize("plugin", (board.NEWEST, "tensorboard-plugin-profile==2.19.0"))
@pytest.mark.parametrize("name, content", (("worker0.xplane.pb", b"<!doctype html>"),
                                           ("worker9.xplane.pb", gzip.compress(b"<html>")),
                                           ("worker9.xplane.pb", b"\x0a\xff\xff\x03\x12\x09/host:CPU")))
def test_the_tools_of_a_run_with_a_bad_file_are_those_that_are_answered(tmp_path, plugin, name, content):
    """Of a run with programs, which the official converter would write, if it did not fail at the file."""
    found = glob.glob(os.path.join(board.SHARED, "recordings", "jax-0.10.2", "jax-steps", "plugins", "profile", "*",
                                   "*.xplane.pb"))
    if not found:
        pytest.skip("needs a recording of JAX beside the checkout")
    board.make_run(tmp_path / "logdir", "run", [("worker1", found[0]), ("worker2", found[0])])
    with open(os.path.join(board.run_folder(tmp_path / "logdir", "run"), name), "wb") as f:
        f.write(content)
    with board.Board(tmp_path / "logdir", plugin=plugin) as b:
        tools = json.loads(b.route("run_tools", run="run").body)
        assert {marked(plugin, "overview_page"), marked(plugin, "trace_viewer@"), marked(plugin, "op_profile")} <= set(tools)
        for tool in tools:
            answer = b.data("run", tool, "worker1")
            assert answer.status == 200, (tool, answer.body[:200])


# ---- (f) many clients while files change ----


class Hammer:
    """Clients that ask at random; each body must be one that the run's states allow."""

    def __init__(self, b, logdir, states, expected):
        self.b, self.logdir, self.states, self.expected = b, logdir, states, expected
        self.end = time.monotonic() + HAMMER_S
        self.wrong, self.answers = [], 0
        self.lock = threading.Lock()

    def goes_on(self):
        """For some time, and on slow machines until there have been answers enough."""
        return not self.wrong and (time.monotonic() < self.end or self.answers <= 100)

    def client(self, seed):
        r = random.Random(seed)
        while self.goes_on():
            run, tool, query = r.randrange(len(self.states)), *r.choice(QUESTIONS)
            host = r.choice(("worker0", "worker1")) if tool in ("memory_profile", "trace_viewer@") else board.ALL_HOSTS
            try:
                answer = self.b.data(f"run{run}", tool, host, **query)
                key = (tool, host, tuple(sorted(query.items())))
                right = answer.status == 200 and answer.is_ours and answer.body in self.expected[key]
            except OSError as e:
                right, answer = False, e
            with self.lock:
                self.answers += 1
                if not right:
                    self.wrong.append((run, tool, host, query, getattr(answer, "status", answer),
                                       getattr(answer, "body", b"")[:200]))

    def replacer(self, seed):
        r = random.Random(seed)
        while self.goes_on():
            run, host = r.randrange(len(self.states)), r.choice(("worker0", "worker1"))
            path = os.path.join(board.run_folder(self.logdir, f"run{run}"), host + ".xplane.pb")
            with open(path + ".new", "wb") as f:
                f.write(r.choice(FILES))
            os.rename(path + ".new", path)
            time.sleep(0.05)


QUESTIONS = [(t, {}) for t in ("overview_page", "framework_op_stats", "kernel_stats", "pod_viewer",
                               "input_pipeline_analyzer", "memory_profile")] + [
    ("trace_viewer@", {"resolution": "8000"}), ("trace_viewer@", {"start_time_ms": "1", "end_time_ms": "9"}),
    ("trace_viewer@", {"start_time_ms": "3", "end_time_ms": "4", "resolution": "2000"}),
    ("trace_viewer@", {"search_prefix": "E", "resolution": "0"})]
FILES = [open(os.path.join(conftest.TWO_HOSTS, h + ".xplane.pb"), "rb").read() for h in ("worker0", "worker1")]


def possible_bodies(tmp_path):
    """Every body that a run of two hosts can have, each host's file being one of FILES."""
    expected = {}
    for i, first in enumerate(FILES):
        for k, second in enumerate(FILES):
            logdir = tmp_path / f"state{i}{k}"
            folder = board.run_folder(logdir, "run")
            os.makedirs(folder)
            for host, content in (("worker0", first), ("worker1", second)):
                with open(os.path.join(folder, host + ".xplane.pb"), "wb") as f:
                    f.write(content)
            for tool, query in QUESTIONS:
                one = tool in ("memory_profile", "trace_viewer@")
                for host in ("worker0", "worker1") if one else (board.ALL_HOSTS,):
                    options = {"resolution": "8000", "full_dma": "false", **query} if tool == "trace_viewer@" else {}
                    body = board.tbprof_tool(folder, tool, host, **options)
                    assert body is not None, (tool, host)
                    expected.setdefault((tool, host, tuple(sorted(query.items()))), set()).add(body)
    return expected


def test_32_clients_while_files_are_replaced(tmp_path):
    budget = 8 << 20
    logdir = tmp_path / "logdir"
    expected = possible_bodies(tmp_path)
    for run in range(10):
        board.make_run(logdir, f"run{run}", [(h, os.path.join(conftest.TWO_HOSTS, h + ".xplane.pb"))
                                             for h in ("worker0", "worker1")])
    with board.Board(logdir, TBPROF_CACHE_BYTES=str(budget)) as b:
        b.data("run0", "overview_page", board.ALL_HOSTS)
        before = b.resident_bytes()
        hammer = Hammer(b, logdir, range(10), expected)
        threads = [threading.Thread(target=hammer.client, args=(i,)) for i in range(32)]
        threads.append(threading.Thread(target=hammer.replacer, args=(99,)))
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        grown = b.resident_bytes(peak=True) - before
        print(f"{hammer.answers} answers, {grown >> 20} MiB more at the peak")
        assert not hammer.wrong, hammer.wrong[:3]
        assert hammer.answers > 100 and b.process.poll() is None
        assert grown < budget + (192 << 20)  # 32 threads of Python and their answers beside the budget


# ---- what is ours when the plugin's page asks for its charts ----


@pytest.mark.parametrize("plugin", ["xprof==2.24.2", "tensorboard-plugin-profile==2.19.0"])
def test_own_charts_come_with_the_page(plugin, two_hosts):
    pytest.importorskip("tbprof.charts")
    with board.Board(two_hosts, plugin=plugin, **{"TBPROF_CHARTS": "local"}) as b:
        page = b.get(board.BASE + "/index.html").body
        assert b"tbprof_charts.js" in page and b"charts/loader.js" not in page
        script = b.get(board.BASE + "/tbprof_charts.js")
        assert script.status == 200 and b"visualization" in script.body
        assert script.headers["content-type"].startswith("application/javascript")
    with board.Board(two_hosts, plugin=plugin) as b:
        assert b"charts/loader.js" in b.get(board.BASE + "/index.html").body


if __name__ == "__main__":
    sys.exit("run tests/board/run.py")
