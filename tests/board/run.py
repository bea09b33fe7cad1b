#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of the Python package against real TensorBoard and real releases of the official plugin.

  run.py --build FOLDER [--shared FOLDER] [PYTEST ARGUMENT...]

FOLDER/python-tests gets an environment with this package, tensorboard and pytest, and the releases of the
plugin unpacked beside it; all of it is kept for the next run. Exit code 77, with the reason, if that cannot
be had (no package index, no headers of Python).
"""
import argparse
import os
import subprocess
import sys
import venv

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SKIPPED = 77
# What the plugin needs at run time, so that its releases can be taken without their own wishes.
PACKAGES = ("tensorboard", "pytest", "etils[epath]", "fsspec", "cheroot", "gviz_api", "six", "werkzeug", "protobuf",
            "packaging", "numpy", "absl-py", "duckdb", "ml-dtypes", "fire")
PLUGINS = ("xprof==2.24.2", "xprof==2.23.1", "xprof==2.22.3", "xprof==2.21.6", "xprof==2.20.0",
           "tensorboard-plugin-profile==2.19.5", "tensorboard-plugin-profile==2.19.0",
           "tensorboard-plugin-profile==2.18.0", "tensorboard-plugin-profile==2.15.2",
           "tensorboard-plugin-profile==2.11.2")


class Unavailable(Exception):
    pass


def call(*words):
    result = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if result.returncode:
        raise Unavailable(" ".join(words[-3:]) + ": " + (result.stdout + result.stderr).strip()[-400:])


SOURCES = ("CMakeLists.txt", "cmake", "base", "schemas", "plugin_data", "convert", "capture", "cli", "python_shim")


def changed_since(stamp):
    """Whether a source of the package is younger than the file, or there is no file."""
    if not os.path.exists(stamp):
        return True
    paths = [path for path in (os.path.join(ROOT, name) for name in SOURCES) if os.path.exists(path)]
    files = [os.path.join(folder, name) for path in paths for folder, _, names in os.walk(path) for name in names]
    return max(os.path.getmtime(path) for path in paths + files) > os.path.getmtime(stamp)


def prepare(base, plugins=PLUGINS):
    """The Python of the environment in that folder, made where it is missing, with these releases of the plugin."""
    folder = os.path.join(base, "venv")
    python = os.path.join(folder, "bin", "python")
    stamp = os.path.join(folder, "tbprof-is-installed") # goes with the environment
    if not os.path.exists(os.path.join(base, "packages-are-there")):
        try:
            venv.create(folder, with_pip=True, clear=True)
        except (subprocess.CalledProcessError, OSError) as e:
            raise Unavailable(f"no virtual environment: {e}") from e
        call(python, "-m", "pip", "install", "-q", *PACKAGES)
        open(os.path.join(base, "packages-are-there"), "w").close()
    if changed_since(stamp):
        call(python, "-m", "pip", "install", "-q", "--force-reinstall", "--no-deps", os.path.join(ROOT, "python_shim"))
        open(stamp, "w").close()
    for plugin in plugins:
        target = os.path.join(base, "plugins", plugin)
        if not os.path.isdir(target):
            call(python, "-m", "pip", "install", "-q", "--no-deps", "--target", target + ".part", plugin)
            os.rename(target + ".part", target)
    return python


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--shared", default=os.path.join(os.path.dirname(ROOT), "shared"))
    args, rest = parser.parse_known_args()
    base = os.path.join(os.path.abspath(args.build), "python-tests")
    os.makedirs(base, exist_ok=True)
    try:
        python = prepare(base)
    except Unavailable as e:
        print(f"skipped: {e}")
        return SKIPPED
    environment = dict(os.environ, TBPROF=os.path.join(os.path.abspath(args.build), "tbprof"),
                       TBPROF_PLUGINS=os.path.join(base, "plugins"), TBPROF_SHARED=os.path.abspath(args.shared),
                       TBPROF_BASE=base, PYTHONDONTWRITEBYTECODE="1")
    return subprocess.run([python, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *(rest or [HERE])],
                          env=environment, stdin=subprocess.DEVNULL).returncode


if __name__ == "__main__":
    sys.exit(main())
