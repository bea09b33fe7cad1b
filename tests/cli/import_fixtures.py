# SPDX-License-Identifier: Apache-2.0
"""Small inputs in other tools' formats, written by hand. Run with a folder, it writes them all there."""
import json
import os
import sys


def mxnet():
    """One operator on gpu/0, logged twice as MXNet does; 1 MiB, then 3, then 2; two frames; never closed."""
    us = 1700000000000000
    thread = 12132109885817381203  # beyond 2^63
    events = [{"ph": "M", "args": {"name": name}, "pid": pid, "name": "process_name"}
              for pid, name in ((0, "gpu/0"), (1, "cpu/0"), (77, "operator"), (78, "Training,frame"),
                                (79, "Device Storage"), (80, "MXNET_C_API"))]

    def add(name, cat, ph, at, pid, **more):
        events.append(dict({"name": name, "cat": cat, "ph": ph, "ts": us + at, "pid": pid, "tid": thread}, **more))

    for begin, end in ((10, 40), (60, 80)):
        add("Convolution", "operator", "B", begin, 0)
        add("Convolution", "operator", "E", end, 0)
        add("Convolution", "operator", "b", begin, 77, id=thread)
        add("Convolution", "operator", "e", end, 77, id=thread)
        add("batch", "Training,frame", "(", begin - 5, 78)
        add("batch", "Training,frame", ")", end + 5, 78)
    add("WaitForVar", "operator", "B", 90, 1)
    add("WaitForVar", "operator", "E", 90, 1)
    for at, mib in ((12, 1), (30, 3), (70, 2)):
        add("Memory: gpu/0", "Device Storage", "C", at, 79, args={"Memory: gpu/0": mib << 20})
    add("MXNet C API Calls", "MXNET_C_API", "C", 95, 80, args={"MXNet C API Calls": 1})
    text = json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}, indent=4)
    return text[:text.rindex("}", 0, text.index("displayTimeUnit")) + 1].encode()


FILES = {"mxnet.json": mxnet}


def write(folder, name):
    path = os.path.join(folder, name)
    with open(path, "wb") as f:
        f.write(FILES[name]())
    return path


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    for file_name in FILES:
        write(sys.argv[1], file_name)
