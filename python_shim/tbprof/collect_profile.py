# SPDX-License-Identifier: Apache-2.0
"""Collects a profile from a process that runs a profiler server, as jax.collect_profile does.

    python -m tbprof.collect_profile PORT DURATION_MS [--log_dir DIR] [--host HOST]
"""
import argparse
import os
import tempfile

from tbprof import _core, client


def collect_profile(port, duration_in_ms, host="127.0.0.1", log_dir=None, no_perfetto_link=True, xprof_options=None):
    """Returns the run's folder. xprof_options: levels by name; the defaults are those of JAX."""
    if not no_perfetto_link:
        _core.tell("tbprof.collect_profile: no link to Perfetto is made; `tbprof convert` writes a trace.json.gz "
                          "that ui.perfetto.dev opens")
    options = {"host_tracer_level": 2, "device_tracer_level": 1, "python_tracer_level": 1, **(xprof_options or {})}
    log_dir = os.fspath(log_dir) if log_dir is not None else tempfile.mkdtemp()
    if host.startswith("grpc://"):
        host = host[len("grpc://"):]
    folder = client.trace(f"{host}:{port}", log_dir, duration_in_ms, options=options)
    print(f"Dumped profiling information in: {log_dir}")
    return folder


def main():
    parser = argparse.ArgumentParser(prog="python -m tbprof.collect_profile", description=__doc__.split("\n", 1)[0])
    parser.add_argument("port", type=int, help="port of the server")
    parser.add_argument("duration_in_ms", type=int, help="how long to record")
    parser.add_argument("--log_dir", help="where the run goes; default: a new temporary folder")
    parser.add_argument("--host", default="127.0.0.1", help="default: this machine")
    parser.add_argument("--no_perfetto_link", action="store_true", help="accepted; no link is made")
    for name, level in (("host", 2), ("device", 1), ("python", 1)):
        parser.add_argument(f"--{name}_tracer_level", type=int, default=level)
    args = parser.parse_args()
    levels = {f"{n}_tracer_level": getattr(args, f"{n}_tracer_level") for n in ("host", "device", "python")}
    collect_profile(args.port, args.duration_in_ms, args.host, args.log_dir, True, levels)


if __name__ == "__main__":
    main()
