#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a large, still meaningful trace of PyTorch's profiler from a real one.

  scale_kineto.py IN.json[.gz] OUT.json --events N

All events but the metadata are written again and again as the texts they are, each time later by the span of the
input: ts and the numbers that link events (correlation, External id, id of arrows) and those of steps are fresh, so
that nothing links across the copies. Head and tail of the document stay. Prints the number of events.
"""
import argparse
import gzip
import json
import re
import sys

NUMBER = re.compile(r'"(ts|correlation|[Ee]xternal id|id)"\s*:\s*(\d+)|"ProfilerStep#(\d+)')
METADATA = re.compile(r'"ph"\s*:\s*"M"')
NO_ID = 1 << 31  # from here on: "none" in 32 bits


def pieces(text):
    """(head, [event texts], tail) of the document."""
    at = head = text.index("[", text.index('"traceEvents"')) + 1
    decoder = json.JSONDecoder(strict=False)
    events = []
    while True:
        while text[at] in " \n\r\t,":
            at += 1
        if text[at] == "]":
            return text[:head], events, text[at:]
        _, end = decoder.raw_decode(text, at)
        events.append(text[at:end])
        at = end


def fields(events):
    """The text between numbers that change, and those numbers: (kind, value)."""
    joined = ",\n  ".join(events)
    fixed, changing, at = [], [], 0
    for m in NUMBER.finditer(joined):
        group = 2 if m.group(2) else 3
        fixed.append(joined[at:m.start(group)])
        changing.append((m.group(1) or "step", int(m.group(group))))
        at = m.end(group)
    return fixed, changing, joined[at:]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("src")
    ap.add_argument("dst")
    ap.add_argument("--events", type=int, required=True)
    a = ap.parse_args()
    opener = gzip.open if a.src.endswith(".gz") else open
    with opener(a.src, "rb") as f:
        head, events, tail = pieces(f.read().decode("utf-8", "replace"))
    once = [e for e in events if METADATA.search(e)]
    events = [e for e in events if not METADATA.search(e)]
    fixed, changing, rest = fields(events)
    times = [v for kind, v in changing if kind == "ts"]
    steps = [v for kind, v in changing if kind == "step"]
    ids = [v for kind, v in changing if kind not in ("ts", "step") and v < NO_ID]
    fresh = max(ids, default=0) + 1
    shift = {"ts": max(times) - min(times) + 1000, "step": max(steps) - min(steps) + 1 if steps else 0}
    pairs = [(text, v, shift.get(kind, fresh), kind not in shift and (v == 0 or v >= NO_ID))
             for text, (kind, v) in zip(fixed, changing)]
    copies = max(1, round(a.events / len(events)))
    with open(a.dst, "w", encoding="utf-8") as out:
        out.write(head + "\n  " + ",\n  ".join(once))
        for k in range(copies):
            out.write(",\n  " if once or k else "")
            out.write("".join(f"{text}{v if none else v + k * by}" for text, v, by, none in pairs))
            out.write(rest)
        out.write("\n  " + tail)
    print(len(once) + copies * len(events))


if __name__ == "__main__":
    sys.exit(main())
