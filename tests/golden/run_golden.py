#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one golden case: a profile in text form, a tool, the answer that someone worked out by hand.

  run_golden.py --tbprof TBPROF --xpt XPT CASE_FOLDER

The tool is the name of the folder above the case. In the case folder:
  *.xpt        one host each; the file name is the host's name
  options      optional, one a line:
                 input PATH [HOST]    a profile elsewhere, relative to the case
                 args TEXT            arguments of `tbprof tool` (default: --semantics official)
                 exit N               exit status expected
  expect.json  either the whole answer, or {"check": {PATH: VALUE, …}} for what matters in it.

A path is made of steps joined by "|":
  name         member of an object, or cell of a table row by column id
  7            item of a list (negative: from the end)
  key=value    items of a list (rows of a table) in which key (column) has this value, as a list
  #            number of items
  sum:key      sum of a member over the items
  list:key     the members of all items, as a list
  json         the text is JSON itself
Numbers are equal within 1e-9 of their size.
"""
import argparse
import json
import math
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

MAX_SHOWN = 12


def is_table(x):
    return isinstance(x, dict) and "cols" in x and "rows" in x


def row_of(table, row):
    return {c["id"]: cell.get("v") if cell else None for c, cell in zip(table["cols"], row["c"])}


def items_of(x):
    """Rows of a table as objects by column id; lists as they are."""
    return [row_of(x, r) for r in x["rows"]] if is_table(x) else x


def member(x, key):
    return x.get(key) if isinstance(x, dict) else None


def step(x, word):
    if word == "json":
        return json.loads(x)
    if word == "#":
        return len(items_of(x))
    if word.startswith("sum:"):
        return sum(member(i, word[4:]) or 0 for i in items_of(x))
    if word.startswith("list:"):
        return [member(i, word[5:]) for i in items_of(x)]
    if is_table(x) and word in ("cols", "rows", "p"):
        return x.get(word)
    if isinstance(x, dict) and word in x:
        return x[word]
    if isinstance(x, dict) and not is_table(x):
        raise KeyError(word)
    if word.lstrip("-").isdigit():
        return items_of(x)[int(word)]
    key, _, value = word.partition("=")
    return [i for i in items_of(x) if str(member(i, key)) == value]


def follow(x, path):
    for word in path.split("|"):
        x = step(x, word)
    return x


def is_number(x):
    return isinstance(x, (int, float)) and not isinstance(x, bool)


def differences(want, got, at="$"):
    """Yields one line for each place where the two differ."""
    if is_number(want) and is_number(got):
        if not math.isclose(want, got, rel_tol=1e-9, abs_tol=1e-12):
            yield f"{at}: expected {want!r}, got {got!r}"
    elif isinstance(want, dict) and isinstance(got, dict):
        for key in sorted(set(want) | set(got)):
            if key not in got:
                yield f"{at}.{key}: missing"
            elif key not in want:
                yield f"{at}.{key}: not expected: {json.dumps(got[key])[:80]}"
            else:
                yield from differences(want[key], got[key], f"{at}.{key}")
    elif isinstance(want, list) and isinstance(got, list):
        if len(want) != len(got):
            yield f"{at}: expected {len(want)} items, got {len(got)}"
        for i, (w, g) in enumerate(zip(want, got)):
            yield from differences(w, g, f"{at}[{i}]")
    elif want != got or type(want) is not type(got):
        yield f"{at}: expected {json.dumps(want)[:120]}, got {json.dumps(got)[:120]}"


def check(expect, answer):
    if set(expect) == {"check"} if isinstance(expect, dict) else False:
        for path, want in expect["check"].items():
            try:
                got = follow(answer, path)
            except (KeyError, IndexError, TypeError, ValueError) as problem:
                yield f"{path}: is not there ({problem!r})"
                continue
            yield from differences(want, got, path)
    else:
        yield from differences(expect, answer)


def read_options(case):
    inputs, args, status = [], ["--semantics", "official"], 0
    for name in sorted(os.listdir(case)):
        if name.endswith(".xpt"):
            inputs.append((os.path.join(case, name), name[:-len(".xpt")]))
    path = os.path.join(case, "options")
    lines = open(path, encoding="utf-8").read().splitlines() if os.path.exists(path) else []
    for line in lines:
        words = shlex.split(line, comments=True)
        if not words:
            continue
        if words[0] == "input":
            host = words[2] if len(words) > 2 else os.path.basename(words[1])[:-len(".xpt")]
            inputs.append((os.path.join(case, words[1]), host))
        elif words[0] == "args":
            args = words[1:]
        elif words[0] == "exit":
            status = int(words[1])
        else:
            sys.exit(f"{path}: unknown option '{words[0]}'")
    return inputs, args, status


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--tbprof", required=True)
    ap.add_argument("--xpt", required=True)
    ap.add_argument("--print", action="store_true", help="show the answer, compare nothing")
    ap.add_argument("case")
    a = ap.parse_args()
    case = os.path.abspath(a.case)
    inputs, args, status = read_options(case)
    base = tempfile.mkdtemp()
    try:
        run = os.path.join(base, "plugins", "profile", "run")
        os.makedirs(run)
        for text, host in inputs:
            subprocess.run([a.xpt, "to-pb", text, os.path.join(run, host + ".xplane.pb")], check=True)
        tool = os.path.basename(os.path.dirname(case))
        r = subprocess.run([a.tbprof, "tool", tool, run] + args, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    finally:
        shutil.rmtree(base)
    if r.returncode != status:
        sys.exit(f"exit status {r.returncode}, expected {status}: {r.stderr.decode(errors='replace').strip()}")
    if a.print:
        sys.stdout.buffer.write(r.stdout)
        return
    try:
        answer = json.loads(r.stdout) if r.stdout.strip() else None
    except ValueError as problem:
        sys.exit(f"the answer is no JSON: {problem}")
    expect = json.load(open(os.path.join(case, "expect.json"), encoding="utf-8"))
    found = list(check(expect, answer))
    for line in found[:MAX_SHOWN]:
        print(line)
    if found:
        sys.exit(f"{len(found)} difference(s)")


if __name__ == "__main__":
    main()
