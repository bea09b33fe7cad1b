#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes random sessions and answers them with other programs; random_sessions.py runs it.

  random_worker.py make RULES JOBS       writes the sessions whose kind the generator in the folder RULES makes
  random_worker.py rules RULES JOBS      answers with the executable rules in this folder
  random_worker.py official - JOBS       answers with the official package; needs a Python that has it

The folders of rules have modules of the same names, so each needs a process of its own. JOBS is a JSON list of
sessions {kind, seed, folder}; a session's files are FOLDER/run/h*.xplane.pb, its answers FOLDER/<tool>.<who>
("rules", "official"). A refusal is an empty answer. What is answered is not asked again.
"""
import glob
import json
import os
import random
import sys
import tempfile

TABLES = ("framework_op_stats", "kernel_stats", "memory_profile")
PAGES = ("overview_page", "input_pipeline_analyzer", "pod_viewer")


def files_of(job):
    return sorted(glob.glob(os.path.join(job["folder"], "run", "*.xplane.pb")))


def of_tables(fuzz, kind, r):
    if kind == "multi":
        return fuzz.multi_case(r)[1]
    return [fuzz.GEN[kind](r)[1]] if kind in fuzz.GEN else None


def of_pages(fuzz, kind, r):
    if kind == "serving":
        return [fuzz.space([fuzz.make_serving(r)])]
    if kind == "tpu-steps":
        return [fuzz.make_tpu(r)]
    if kind in ("steps", "hosts"):
        return [fuzz.make(r) for _ in range(1 if kind == "steps" else r.randint(2, 3))]
    return None


def make(jobs):
    tempfile.tempdir = jobs[0]["folder"]  # what the generator leaves behind goes when the session does
    import fuzz  # from the folder of rules
    maker = of_tables if hasattr(fuzz, "GEN") else of_pages
    for job in jobs:
        for k, data in enumerate(maker(fuzz, job["kind"], random.Random(job["seed"])) or ()):
            with open(os.path.join(job["folder"], "run", "h%d.xplane.pb" % k), "wb") as f:
                f.write(data)


def write(job, tool, who, answer):
    with open(os.path.join(job["folder"], tool + "." + who), "wb") as f:
        f.write(answer if isinstance(answer, bytes) else (answer or "").encode())


def table_answers(job):
    import tables
    for tool in TABLES + ("overview_ops",):
        try:
            yield tool, tables.answer(tool, files_of(job))
        except tables.Refused:
            yield tool, ""


def page_answers(job):
    import analysis
    import pages
    session = analysis.Session(files_of(job))
    for tool in PAGES:
        yield tool, pages.TOOLS[tool](session)


def rules(jobs):
    answers = table_answers if os.path.exists(os.path.join(sys.path[0], "tables.py")) else page_answers
    for job in jobs:
        for tool, answer in answers(job):
            write(job, tool, "rules", answer)


def official(jobs):
    from xprof.convert import raw_to_tool_data as converter
    for job in jobs:
        paths = files_of(job)
        hosts = [os.path.basename(p)[:-len(".xplane.pb")] for p in paths]
        for tool in TABLES + PAGES:
            if os.path.exists(os.path.join(job["folder"], tool + ".official")):
                continue
            params = {"hosts": hosts, "host": hosts[0] if len(hosts) == 1 else "ALL_HOSTS", "use_saved_result": False,
                      "session_path": os.path.dirname(paths[0]), "trace_viewer_options": {"resolution": "8000"},
                      "graph_viewer_options": {}}
            try:
                answer, _ = converter.xspace_to_tool_data(paths, tool, params)
            except Exception:  # pylint: disable=broad-except  it raises what it likes
                answer = ""
            write(job, tool, "official", answer)


def main():
    what, folder, path = sys.argv[1:]
    sys.path.insert(0, folder)
    with open(path) as f:
        jobs = json.load(f)
    del sys.argv[1:]  # the generators look at it
    {"make": make, "rules": rules, "official": official}[what](jobs)


if __name__ == "__main__":
    main()
