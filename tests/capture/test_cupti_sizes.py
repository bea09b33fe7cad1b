#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our table of CUPTI's record sizes against NVIDIA's own libraries: those of a CUDA toolkit, and those of the packages
on PyPI, which are fetched into a folder of the build ($CUPTI_FOLDER). Skipped where there is none of them."""
import glob
import os
import subprocess
import sys
import zipfile

ORACLE, FOLDER = os.environ["CUPTI_ORACLE"], os.environ["CUPTI_FOLDER"]
PACKAGES = ("nvidia-cuda-cupti-cu11==11.7.101", "nvidia-cuda-cupti-cu11==11.8.87", "nvidia-cuda-cupti-cu12==12.2.142",
            "nvidia-cuda-cupti-cu12==12.4.127", "nvidia-cuda-cupti-cu12==12.6.80", "nvidia-cuda-cupti-cu12==12.9.79",
            "nvidia-cuda-cupti==13.0.85")
TOOLKITS = ("/usr/local/cuda*/lib64/libcupti.so.1*", "/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so.1*")


def fetch(package):
    """Folder with the package's files; '' if it cannot be had."""
    folder = os.path.join(FOLDER, package.replace("==", "-"))
    if not os.path.isdir(folder):
        why = "too slow"
        try:
            why = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary",
                                  ":all:", "-d", folder + ".whl", package], capture_output=True, text=True,
                                 timeout=300).stderr
        except subprocess.TimeoutExpired:
            pass
        wheels = glob.glob(os.path.join(folder + ".whl", "*.whl"))
        if not wheels:
            print(f"not to be had: {package}: {(why.strip().splitlines() or ['?'])[-1]}")
            return ""
        with zipfile.ZipFile(wheels[0]) as z:
            z.extractall(folder)
    return folder


def libraries():
    found = {os.path.realpath(p) for pattern in TOOLKITS for p in glob.glob(pattern)}
    for package in PACKAGES:
        folder = fetch(package)
        found |= set(glob.glob(os.path.join(folder, "nvidia", "**", "libcupti.so.1*"), recursive=True)) if folder else set()
    return sorted(found)


def main():
    results = []
    for library in libraries():
        done = subprocess.run([ORACLE, library], capture_output=True, text=True, timeout=240)
        print(library, done.stdout, done.stderr, sep="\n", end="")
        results.append(done.returncode)
    n_skipped = results.count(77)
    n_failed = sum(code not in (0, 77) for code in results)
    print(f"libraries: {results.count(0)} passed, {n_failed} failed, {n_skipped} skipped")
    if not results or n_skipped == len(results):
        print("skipped: no libcupti here, and none to be had")
        return 77
    return n_failed != 0


if __name__ == "__main__":
    sys.exit(main())
