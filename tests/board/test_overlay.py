# SPDX-License-Identifier: Apache-2.0
"""The backend library in place of the official one, by the C interface alone: no Python of ours."""
import json
import os
import subprocess

import pytest

import board
from run import PLUGINS

OP_STATS = ("overview_page", "framework_op_stats", "kernel_stats", "pod_viewer")
C_INTERFACE = [p for p in PLUGINS if board.version_of(p) > (2, 22, 1)]
WITHOUT_SHIM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "without_shim")
LIBRARY = os.path.join(os.path.dirname(board.TBPROF), "libtbprof_backend.so")


@pytest.fixture(params=C_INTERFACE)
def overlay(request, tmp_path):
    """PYTHONPATH of an overlay over one release; the release itself stands behind it for its metadata."""
    plugin = os.path.join(board.PLUGINS, request.param)
    folder = str(tmp_path / "overlay")
    subprocess.run([board.TBPROF, "backend", "install", "--overlay", folder, "--xprof", plugin + "/xprof",
                    "--library", LIBRARY], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return os.pathsep.join((folder, plugin, WITHOUT_SHIM))


def test_the_c_interface_answers_forwards_and_refuses(overlay, two_hosts):
    folder = board.run_folder(two_hosts, "run")
    with board.Board(two_hosts, plugin=overlay) as b:
        tools = json.loads(b.route("run_tools", run="run").body)
        assert {"overview_page", "trace_viewer@", "op_profile", "hlo_stats"} <= set(tools)
        for tool in OP_STATS:
            answer = b.data("run", tool, board.ALL_HOSTS)
            assert answer.status == 200 and answer.body == board.tbprof_tool(folder, tool), tool
        window = dict(start_time_ms="1", end_time_ms="3", resolution="4040")
        answer = b.data("run", "trace_viewer@", "worker1", **window)
        assert answer.body == board.tbprof_tool(folder, "trace_viewer@", "worker1", full_dma="false", **window)
        forwarded = b.data("run", "op_profile", "worker0")
        assert forwarded.status == 200 and json.loads(forwarded.body)
        refused = b.data("run", "trace_viewer@", "worker1", start_time_ms="x")
        assert refused.status in (404, 500) and b.process.poll() is None


def test_without_the_official_library_its_pages_say_so(overlay, two_hosts):
    first = overlay.split(os.pathsep)[0]
    os.unlink(os.path.join(first, "xprof", "convert", "official-profiler_plugin_c_api.so"))
    with board.Board(two_hosts, plugin=overlay) as b:
        tools = json.loads(b.route("run_tools", run="run").body)
        assert "overview_page" in tools and "op_profile" not in tools
        assert b.data("run", "overview_page", board.ALL_HOSTS).status == 200
        assert b.data("run", "op_profile", "worker0").status == 404
        capture = b.route("capture_profile", service_addr="127.0.0.1:1", worker_list="", duration="1", num_retry="0",
                          is_tpu_name="false")
        assert capture.status == 500 and b"not available" in capture.body
        assert b.process.poll() is None


def test_off_leaves_everything_to_the_official_library(overlay, keras):
    plugin = overlay.split(os.pathsep)[1]
    asked = ("framework_op_stats", "kernel_stats", "overview_page")
    with board.Board(keras, plugin=os.path.basename(plugin), TBPROF_BACKEND="off") as b:
        official = [b.data("run", tool, "worker0").body for tool in asked]
    with board.Board(keras, plugin=overlay, TBPROF_BACKEND="off") as b:
        assert [b.data("run", tool, "worker0").body for tool in asked] == official
    with board.Board(keras, plugin=overlay) as b:
        assert [b.data("run", tool, "worker0").body for tool in asked] != official
