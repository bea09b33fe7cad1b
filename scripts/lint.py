#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks of the sources that no compiler makes.

  scripts/lint.py [laws|shape|all] [FILE...]

laws:  the dependency law between folders, functions that must not be used, allocation outside base/,
       the licence line, names of what headers export.
shape: lines of at most 100 columns, files of at most 800 lines, functions of at most 60 lines,
       blocks nested at most 3 deep, no tabs, no blanks at line ends.
Prints one line per finding, exit code 1 if there is any.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# What a folder may include, besides itself and the system.
LAYERS = {
    "base": (),
    "schemas": ("base",),
    "plugin_data": ("base", "schemas"),
    "convert/model": ("base", "schemas", "plugin_data"),
    "convert/read": ("base", "schemas", "plugin_data", "convert/model"),
    "convert/analyze": ("base", "schemas", "plugin_data", "convert/model"),
    "convert/tool": ("base", "schemas", "plugin_data", "convert/model", "convert/analyze"),
    "convert/report": ("base", "schemas", "plugin_data", "convert/model", "convert/analyze"),
    "convert/backend": ("base", "schemas", "plugin_data", "convert/model", "convert/analyze", "convert/read",
                        "convert/tool"),
    "capture": ("base", "schemas", "plugin_data"),
    "cli": ("base", "schemas", "plugin_data", "convert/model", "convert/analyze", "convert/read", "convert/tool",
            "convert/report", "capture"),
}
BANNED = {
    "sprintf": "snprintf", "vsprintf": "vsnprintf", "strcpy": "memcpy with a checked length",
    "strcat": "tbp_arena_cat", "strncpy": "memcpy", "strncat": "tbp_arena_cat", "strtok": "tbp_str_find",
    "atoi": "tbp_str_to_i64", "atol": "tbp_str_to_i64", "atof": "tbp_str_to_double", "gets": "nothing",
    "setlocale": "nothing: output never depends on the locale", "alloca": "the arena", "mktemp": "the file sink",
    "tmpnam": "the file sink", "rand": "nothing: output never depends on chance", "system": "nothing",
}
ALLOCATORS = ("malloc", "calloc", "realloc", "free", "strdup", "strndup", "asprintf", "vasprintf", "aligned_alloc",
              "posix_memalign")
MAY_ALLOCATE = ("capture/last_error.c", "capture/session.c", "capture/spool.c", "capture/thread.c",
                "capture/preload/malloc_preload.c")  # set-up, never while recording
MAX_LINE, MAX_FILE, MAX_FUNCTION, MAX_NESTING = 100, 800, 60, 3
SPDX = "SPDX-License-Identifier: Apache-2.0"
WITH_SPDX = (".c", ".h", ".cc", ".py", ".sh", ".proto", ".mjs", "CMakeLists.txt")


def code_only(text):
    """The text with comments and literals blanked, same length and lines."""
    def blank(m):
        return re.sub(r"[^\n]", " ", m.group(0))
    token = r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    return re.sub(token, blank, text, flags=re.S)


def layer_of(path):
    return next((name for name in LAYERS if path.startswith(name + "/")), None)


def check_includes(path, text, report):
    mine = layer_of(path)
    if not mine:
        return
    for number, line in enumerate(text.split("\n"), 1):
        m = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if not m:
            continue
        theirs = layer_of(m.group(1))
        if not theirs:
            report(path, number, f'include "{m.group(1)}" is not a path from the root')
        elif theirs != mine and theirs not in LAYERS[mine]:
            report(path, number, f"{mine} must not see {theirs} (CONTRIBUTING.md, dependency law)")


def check_calls(path, code, report):
    if not path.endswith((".c", ".h")) or path.startswith("tests/"):
        return
    may_allocate = path.startswith("base/") or path in MAY_ALLOCATE
    for m in re.finditer(r"(?<![\w.>])(\w+)\s*\(", code):
        name, number = m.group(1), code.count("\n", 0, m.start()) + 1
        if name in BANNED:
            report(path, number, f"{name} is banned; use {BANNED[name]}")
        if name in ALLOCATORS and not may_allocate:
            report(path, number, f"{name} outside base/; use the arena or TBP_VEC")


def check_names(path, code, report):
    if not path.endswith(".h") or path.startswith("tests/"):
        return
    prefix = "tbprof_" if os.path.basename(path).startswith("tbprof") else "tbp_"  # what others program against
    guard = "TBP_" + re.sub(r"\W", "_", path[:-2]).upper() + "_H"
    if f"#ifndef {guard}\n#define {guard}" not in code:
        report(path, 1, f"include guard must be {guard}")
    for number, line in enumerate(code.split("\n"), 1):
        m = re.match(r"(?:static inline |extern |_Noreturn )?[\w ]+?[ *]+(\w+)\([^)]*", line)
        if m and line[0] not in " #}" and not line.startswith("typedef") and not m.group(1).startswith(prefix):
            report(path, number, f"exported name '{m.group(1)}' must start with {prefix}")
        m = re.match(r"(?:struct|enum|union) (\w+) \{", line)
        if m and not m.group(1).startswith(prefix):
            report(path, number, f"tag '{m.group(1)}' must start with {prefix}")


def check_licence(path, text, report):
    if path.endswith(WITH_SPDX) or text.startswith("#!"):
        if SPDX not in "\n".join(text.split("\n")[:4]):
            report(path, 1, f"no line '{SPDX}' at the top")


def check_lines(path, text, report):
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_LINE and path.endswith((".c", ".h", ".cc")):
            report(path, number, f"{len(line)} columns")
        if "\t" in line and path.endswith((".c", ".h", ".cc", ".py")):
            report(path, number, "tab")
        if line != line.rstrip():
            report(path, number, "blanks at the end of the line")
    if len(lines) - 1 > MAX_FILE:
        report(path, len(lines), f"{len(lines) - 1} lines")


def check_functions(path, code, report):
    if not path.endswith(".c"):
        return
    depth = deepest = start = 0
    in_function = False
    for number, line in enumerate(code.split("\n"), 1):
        for c in line:
            if c == "{":
                depth += 1
                if depth == 1:
                    in_function, start, deepest = line.rstrip().endswith(") {") and "=" not in line, number, 0
            elif c == "}":
                depth -= 1
                if depth == 0 and in_function:
                    if number - start + 1 > MAX_FUNCTION:
                        report(path, start, f"function of {number - start + 1} lines")
                    if deepest - 1 > MAX_NESTING:
                        report(path, start, f"blocks nested {deepest - 1} deep")
            deepest = max(deepest, depth)


def listed_by_git():
    try:
        out = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    except OSError:
        return []  # no git here
    return out.stdout.split("\n") if out.returncode == 0 else []


def sources():
    found = listed_by_git()
    if not found:  # an unpacked archive
        for folder, names, files in os.walk(ROOT):
            names[:] = [n for n in names if n not in ("build", ".git", ".demo", "logdir", "__pycache__")]
            found += [os.path.relpath(os.path.join(folder, f), ROOT) for f in files]
    return sorted(set(found) - {""})


def main():
    args = sys.argv[1:]
    what = args.pop(0) if args and args[0] in ("laws", "shape", "all") else "all"
    findings = []

    def report(path, line, words):
        findings.append(f"{path}:{line}: {words}")

    for path in args or sources():
        full = os.path.join(ROOT, path)
        if not os.path.isfile(full):
            continue
        try:
            text = open(full, encoding="utf-8").read()
        except UnicodeDecodeError:
            continue  # binary
        code = code_only(text) if path.endswith((".c", ".h")) else ""
        if what != "shape":
            check_includes(path, text, report)
            check_calls(path, code, report)
            check_names(path, code, report)
            check_licence(path, text, report)
        if what != "laws":
            check_lines(path, text, report)
            check_functions(path, code, report)
    print("\n".join(findings) or f"lint {what}: nothing to report")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
