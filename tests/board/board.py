# SPDX-License-Identifier: Apache-2.0
"""A real TensorBoard on a loopback port with one release of the official plugin, and requests to it."""
import functools
import gzip
import http.client
import os
import socket
import subprocess
import sys
import time
from urllib import parse

PLUGINS = os.environ["TBPROF_PLUGINS"]
TBPROF = os.environ["TBPROF"]
SHARED = os.environ["TBPROF_SHARED"]
BASE = "/data/plugin/profile"
NEWEST = "xprof==2.24.2"
ALL_HOSTS = "ALL_HOSTS"
START_S = 300
STAND_IN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stand_in")


def version_of(plugin):
    return tuple(int(n) for n in plugin.split("==")[-1].split("."))


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.sent = status, headers, body

    @functools.cached_property
    def body(self):
        return gzip.decompress(self.sent) if self.headers.get("content-encoding") == "gzip" else self.sent

    @property
    def is_ours(self):
        return "x-tbprof" in self.headers


class Board:
    """with Board(logdir) as b: b.data(run, tool, host)"""

    def __init__(self, logdir, plugin=NEWEST, python=sys.executable, **environment):
        self.logdir, self.log_path = str(logdir), str(logdir).rstrip("/") + ".log"
        env = {**os.environ, "TBPROF_CHARTS": "remote", "PYTHONDONTWRITEBYTECODE": "1", **environment}
        if plugin:
            env["PYTHONPATH"] = os.path.join(PLUGINS, plugin)  # an absolute path stays as it is
            if os.pathsep not in plugin and version_of(plugin) < (2, 19):  # these import TensorFlow
                env["PYTHONPATH"] += os.pathsep + STAND_IN
                env["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = "python"
        for _ in range(3):
            self.start(python, env)
            if self.has_answered():
                return
            self.__exit__()
            if "already in use" not in self.text():
                break
        raise AssertionError("TensorBoard did not start:\n" + self.text())

    def start(self, python, env):
        """On a port that is free now; another program may have it when TensorBoard wants it."""
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.log = open(self.log_path, "wb")
        self.process = subprocess.Popen(
            [python, "-m", "tensorboard.main", "--logdir", self.logdir, "--host", "127.0.0.1", "--port",
             str(self.port), "--load_fast", "false"],
            env=env, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def has_answered(self):
        end = time.monotonic() + START_S
        while time.monotonic() < end and self.process.poll() is None:
            try:
                self.get("/data/plugins_listing")
                return True
            except OSError:
                time.sleep(0.1)
        return False

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.terminate()
        self.process.wait(120)
        self.log.close()

    def text(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def get(self, path, timeout=300):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()

    def route(self, name, **query):
        return self.get(f"{BASE}/{name}?{parse.urlencode(query)}")

    def data(self, run, tool, host, **query):
        return self.route("data", run=run, tag=tool, host=host, **query)

    def cpu_s(self):
        """Processor time of the server so far, all threads, also those that ended: the clock of clock_getcpuclockid."""
        return time.clock_gettime(~self.process.pid << 3 | 2)

    def forget_peak(self):
        with open(f"/proc/{self.process.pid}/clear_refs", "w") as f:
            f.write("5")

    def resident_bytes(self, peak=False):
        key = "VmHWM:" if peak else "VmRSS:"
        with open(f"/proc/{self.process.pid}/status") as f:
            return next(int(line.split()[1]) * 1024 for line in f if line.startswith(key))


def tbprof_tool(run_folder, tool, host=None, legacy=False, **options):
    """Body of `tbprof tool`, or None if it refuses."""
    words = [TBPROF, "tool", tool, str(run_folder)]
    if host and host != ALL_HOSTS:
        words += ["--host", host]
    if legacy:
        words += ["--dialect", "legacy"]
    for key, value in options.items():
        words += ["-O", f"{key}={value}"]
    result = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True)
    return result.stdout if result.returncode == 0 else None


def run_folder(logdir, run):
    return os.path.join(str(logdir), "plugins", "profile", run)


def make_run(logdir, run, files, link=False):
    """files: (host, path) pairs."""
    folder = run_folder(logdir, run)
    os.makedirs(folder)
    for host, path in files:
        to = os.path.join(folder, host + ".xplane.pb")
        if link:
            os.symlink(path, to)
        else:
            with open(path, "rb") as f, open(to, "wb") as g:
                g.write(f.read())
    return folder
