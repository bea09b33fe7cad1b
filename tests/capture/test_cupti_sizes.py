#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our table of CUPTI's records against NVIDIA's own libraries and public headers: those of a CUDA toolkit, and those of
the packages on PyPI, which are fetched into a folder of the build ($CUPTI_FOLDER). Sizes are what a library steps by,
fields what its headers say (cupti_offsets.c). Libraries of 13.2 and later do nothing without a driver: of these only
the headers count. Skipped where there is none of them."""
import glob
import os
import subprocess
import sys
import zipfile

ORACLE, FOLDER = os.environ["CUPTI_ORACLE"], os.environ["CUPTI_FOLDER"]
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PACKAGES = ("nvidia-cuda-cupti-cu11==11.7.101", "nvidia-cuda-cupti-cu11==11.8.87", "nvidia-cuda-cupti-cu12==12.2.142",
            "nvidia-cuda-cupti-cu12==12.4.127", "nvidia-cuda-cupti-cu12==12.6.80", "nvidia-cuda-cupti-cu12==12.9.79",
            "nvidia-cuda-cupti==13.0.85", "nvidia-cuda-cupti==13.1.115",)
WITH_HEADERS = PACKAGES + ("nvidia-cuda-cupti-cu12==12.3.101", "nvidia-cuda-cupti-cu12==12.8.90",
                           "nvidia-cuda-cupti==13.2.75", "nvidia-cuda-cupti==13.3.75", "nvidia-cuda-cupti==13.5.25")
CUDA_HEADERS = "/usr/local/cuda/include"  # cuda.h, which CUPTI's headers want
TOOLKITS = ("/usr/local/cuda*/lib64/libcupti.so.1*", "/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so.1*")


is_too_slow = []  # one package was: others are not tried


def fetch(package):
    """Folder with the package's files; '' if it cannot be had."""
    folder = os.path.join(FOLDER, package.replace("==", "-"))
    if not os.path.isdir(folder):
        if is_too_slow:
            return ""
        why = "too slow"
        try:
            why = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary",
                                  ":all:", "-d", folder + ".whl", package], capture_output=True, text=True,
                                 timeout=300).stderr
        except subprocess.TimeoutExpired:
            is_too_slow.append(package)
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


def step_through(library):
    done = subprocess.run([ORACLE, library], capture_output=True, text=True, timeout=240)
    print(library, done.stdout, done.stderr, sep="\n", end="")
    return done.returncode


def header_folders():
    found = [CUDA_HEADERS] if os.path.exists(os.path.join(CUDA_HEADERS, "cupti_activity.h")) else []
    for package in WITH_HEADERS:
        folder = fetch(package)
        found += glob.glob(os.path.join(folder, "nvidia", "*", "include")) if folder else []
    return found


def check_headers(folder):
    """0, or not: the table against the headers of the folder."""
    program = os.path.join(FOLDER, "offsets")
    done = subprocess.run(
        [os.environ.get("CC", "cc"), "-std=c11", "-D_GNU_SOURCE", "-w", "-I", SOURCE, "-isystem", folder, "-isystem", CUDA_HEADERS,
         os.path.join(SOURCE, "tests", "capture", "cupti_offsets.c"), *os.environ["CUPTI_TABLE"].split(":"), "-o", program],
        capture_output=True, text=True, timeout=240)
    if done.returncode == 0:
        done = subprocess.run([program], capture_output=True, text=True, timeout=240)
    print(folder, done.stdout, done.stderr, sep="\n", end="")
    return done.returncode


def main():
    results = [step_through(library) for library in libraries()]
    n_skipped = results.count(77)
    n_failed = sum(code not in (0, 77) for code in results)
    print(f"libraries: {results.count(0)} passed, {n_failed} failed, {n_skipped} skipped")
    has_cuda = os.path.exists(os.path.join(CUDA_HEADERS, "cuda.h"))
    checked = [check_headers(folder) for folder in header_folders()] if has_cuda else []
    print(f"headers: {checked.count(0)} passed, {len(checked) - checked.count(0)} failed")
    if not checked and n_skipped == len(results):
        print("skipped: no libcupti here, and none to be had")
        return 77
    return n_failed + len(checked) - checked.count(0) != 0


if __name__ == "__main__":
    sys.exit(main())
