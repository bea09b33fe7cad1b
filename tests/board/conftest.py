# SPDX-License-Identifier: Apache-2.0
import os

import pytest

import board

SAMPLES = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "samples")
TWO_HOSTS = os.path.join(SAMPLES, "multiworker", "plugins", "profile", "2026_11_28_00_22_17")
KERAS = os.path.join(SAMPLES, "keras-inputbound", "plugins", "profile", "2026_11_28_00_21_30")


@pytest.fixture
def two_hosts(tmp_path):
    """A log directory with one run of two hosts."""
    logdir = tmp_path / "logdir"
    board.make_run(logdir, "run", [(h, os.path.join(TWO_HOSTS, h + ".xplane.pb")) for h in ("worker0", "worker1")])
    return logdir


@pytest.fixture
def keras(tmp_path):
    """One run of one host, whose steps the official converter does not find."""
    logdir = tmp_path / "keras"
    board.make_run(logdir, "run", [("worker0", os.path.join(KERAS, "worker0.xplane.pb"))])
    return logdir
