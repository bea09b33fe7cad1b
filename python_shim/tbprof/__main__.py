# SPDX-License-Identifier: Apache-2.0
"""Records a Python program from its first line to its last:

    python -m tbprof [--logdir DIR] [--python-tracer LEVEL] [-O NAME=VALUE]... SCRIPT.py [ARGUMENT...]
    python -m tbprof [options] -m MODULE [ARGUMENT...]

Exceptions, sys.exit and the exit code are the program's own; its profile is saved in any case. `tbprof run` does the
same for programs that are no Python.
"""
import argparse
import runpy
import sys

from tbprof import _core, errors


def _parse(words):
    parser = argparse.ArgumentParser(prog="python -m tbprof", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logdir", default="logdir", help="where the run goes; default: ./logdir")
    parser.add_argument("--python-tracer", type=int, choices=(0, 1, 2), default=1, metavar="LEVEL",
                        help="0: no functions, 1: Python functions (default), 2: C functions, too")
    parser.add_argument("-O", action="append", default=[], metavar="NAME=VALUE", dest="options",
                        help="an option of tbprof.start, such as max_host_bytes=1GiB")
    parser.add_argument("-m", action="store_true", dest="is_module", help="the program is a module")
    parser.add_argument("program", metavar="SCRIPT.py")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    args = parser.parse_args(words)
    for option in args.options:
        if "=" not in option:
            parser.error(f"'{option}' is not NAME=VALUE")
    args.options = dict(option.split("=", 1) for option in args.options)
    return args


def main(words=None):
    args = _parse(words)
    args.options.setdefault("python_tracer_level", args.python_tracer)
    try:
        _core.start(args.logdir, args.options)
    except errors.Error as e:
        print(f"tbprof: nothing is recorded: {e}", file=sys.stderr)
        return 2
    sys.argv[:] = [args.program, *args.arguments]
    try:
        if args.is_module:
            runpy.run_module(args.program, run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = args.program.rpartition("/")[0] or "."
            runpy.run_path(args.program, run_name="__main__")
    finally:
        _save()
    return 0


def _save():
    try:
        _core.stop()
        print(f"tbprof: recorded in {_core.last_run()}", file=sys.stderr)
    except errors.Error as e:
        print(f"tbprof: {e}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
