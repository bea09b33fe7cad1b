# SPDX-License-Identifier: Apache-2.0
"""What the environment may say to the backend; what it says beyond that is told, not taken for something else."""

OFF = ("off", "0", "no", "false")
SIZE = None  # a number of bytes

KNOWN = {
    "TBPROF_BACKEND": ("", "on", "auto", *OFF),
    "TBPROF_CHARTS": ("", "auto", "local", "remote"),
    "TBPROF_SEMANTICS": ("", "official", "repair", "tf"),
    "TBPROF_CACHE_BYTES": SIZE,
}


def doubts(environ):
    """One line for each variable whose value is not known and so has no effect."""
    lines = []
    for name, values in KNOWN.items():
        given = environ.get(name)
        if given is None:
            continue
        if values is SIZE:
            if not (given.isascii() and given.isdigit() and int(given) < 1 << 64):
                lines.append(f"{name}={given!r} is no number of bytes and has no effect")
        elif (given.lower() if name != "TBPROF_SEMANTICS" else given) not in values:
            lines.append(f"{name}={given!r} is not known ({', '.join(v for v in values if v)}) and has no effect")
    return lines
