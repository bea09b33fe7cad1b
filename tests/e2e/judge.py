# SPDX-License-Identifier: Apache-2.0
"""What a page of the Profile tab must show, given tbprof's answer for it.

judge(view, answer, texts) returns (complaints, facts): view is a line of tab.mjs, answer the JSON of `tbprof tool`. Figures
are those on the page: texts, and rows and cells of its tables and charts, not what the server sent.
"""
import re

LONGEST_TABLE = 1000  # rows that pages show of a table
CELL = 200            # characters of a text that tab.mjs tells
GIB = 2 ** 30
TIMES = {"Average Step Time": "steptime_ms_average", "All Others Time": "other_time_ms_avg",
         "Compilation Time": "compile_time_ms_avg", "Output Time": "outfeed_time_ms_avg",
         "Input Time": "infeed_time_ms_avg", "Kernel Launch Time": "kernel_launch_time_ms_avg",
         "Host Compute Time": "host_compute_time_ms_avg",
         "Device Collective Communication Time": "device_collectives_time_ms_avg",
         "Device to Device Time": "device_to_device_time_ms_avg",
         "Device Compute Time": "device_compute_time_ms_avg"}


class Page:
    """A view, and what is wrong with it so far."""

    def __init__(self, view):
        self.text = " ".join(view["text"].split())
        self.draws = (view["charts"] or {}).get("draws", [])
        self.tracks = view["tracks"]
        self.complaints, self.facts = [], []

    def need(self, condition, complaint):
        if not condition:
            self.complaints.append(complaint)
        return bool(condition)

    def shows(self, text, what):
        return self.need(" ".join(str(text).split()) in self.text, f"{what}: '{text}' is not on the page")

    def drawn(self, kinds, column, at_least=1):
        """The last drawn of these kinds that has the column."""
        found = [d for d in self.draws if d["kind"] in kinds and len(d["cols"]) >= at_least
                 and any(column in (c["id"], c["label"]) for c in d["cols"])]
        return found[-1] if found else None

    def same_cells(self, drawn, table, what):
        """Every column that both have by its id, cell by cell, but for sums that pages make themselves."""
        if drawn["all"] is None:
            return
        ids = [c["id"] for c in table["cols"]]
        common = [(at, ids.index(c["id"])) for at, c in enumerate(drawn["cols"])
                  if c["id"] in ids and "cumulative" not in c["id"].lower()]
        self.need(common, f"{what}: no column of the answer is drawn")
        for at, ours in common:
            shown = [row[at] for row in drawn["all"]]
            wanted = [plain(cell(row, ours)) for row in table["rows"][:LONGEST_TABLE]]
            if not self.need(sorted(map(key, shown)) == sorted(map(key, wanted)),
                             f"{what}: cells of '{ids[ours]}' are others"):
                return


def plain(value):
    return value[:CELL] if isinstance(value, str) else value


def key(value):
    """Numbers as the page rounds them, and None, in one order."""
    return (0, round(value, 6), "") if isinstance(value, (int, float)) else (1, 0, str(value))


def cell(row, column):
    value = row["c"][column]
    return value.get("v") if isinstance(value, dict) else value


def table_with(answer, column):
    tables = answer if isinstance(answer, list) else [answer]
    return next((t for t in tables if any(c["id"] == column for c in t.get("cols", []))), None)


def step_chart(page, table):
    chart = page.drawn(("AreaChart", "ColumnChart", "SteppedAreaChart"), "deviceComputeTimeMs") or \
        page.drawn(("AreaChart", "ColumnChart", "SteppedAreaChart"), "Device compute")
    if page.need(chart, "no chart of steps"):
        page.need(chart["rows"] == len(table["rows"]),
                  f"chart of steps has {chart['rows']} rows, not {len(table['rows'])}")
        page.same_cells(chart, table, "chart of steps")
        page.facts.append(f"{chart['rows']} steps drawn")


def overview(page, answer):
    steps = table_with(answer, "stepnum")
    shown = 0
    for label, name in TIMES.items():
        found = re.search(re.escape(label) + r"(?: ?\(σ = [^)]*\))?(?: ?lower is better\.)? ?(\S+) ms", page.text)
        if not found:
            continue
        wanted = steps["p"].get(name)
        page.need(found.group(1) == wanted, f"'{label}' is {found.group(1)} ms, not {wanted}")
        shown += 1
        if label == "Average Step Time":
            page.facts.append(f"step {wanted} ms")
    page.need(shown >= 9, f"only {shown} of the times are shown")
    environment = answer[2]["p"]
    page.shows(f"Device type: {environment['device_type']}", "run environment")
    page.shows(f"Number of Hosts used: {environment['host_count']}", "run environment")
    page.facts.append(f"{shown} times, {environment['device_type']}, {environment['host_count']} host(s)")
    if environment.get("is_training") != "false" and steps["rows"]:
        step_chart(page, steps)
    top = page.drawn(("Table",), "operation")
    if top:
        page.need(top["rows"] == len(answer[0]["rows"]), f"{top['rows']} top ops, not {len(answer[0]['rows'])}")
        page.same_cells(top, answer[0], "top ops")
        page.facts.append(f"{top['rows']} top ops")


def input_pipeline(page, answer):
    steps = table_with(answer, "stepnum")
    p = steps["p"]
    page.shows(f"Average: {p['steptime_ms_average']} ms", "step time")
    page.shows(f"Range: {p['steptime_ms_minimum']} - {p['steptime_ms_maximum']} ms", "step time")
    page.facts.append(f"step {p['steptime_ms_average']} ms")
    if p.get("input_conclusion"):
        page.shows(re.sub("<[^>]*>", "", p["input_conclusion"]), "conclusion")
    step_chart(page, steps)
    ops = table_with(answer, "opName")
    if ops and ops["rows"]:
        drawn_table(page, ops, "opName", "input ops", at_least=1)


def drawn_table(page, table, column, what, at_least=5):
    drawn = page.drawn(("Table",), column, at_least)
    wanted = min(len(table["rows"]), LONGEST_TABLE)
    if not page.need(drawn, f"no table of {what}"):
        return
    page.need(wanted and drawn["rows"] == wanted, f"table of {what} has {drawn['rows']} rows, not {wanted}")
    page.same_cells(drawn, table, what)
    page.facts.append(f"{drawn['rows']} {what}")


def ops(page, answer):
    without_idle = answer[1] if answer[1]["rows"] else answer[0]
    drawn_table(page, without_idle, "operation", "ops")
    page.need(page.drawn(("PieChart",), "operation") or any(d["kind"] == "PieChart" for d in page.draws), "no pie")


def kernels(page, answer):
    drawn_table(page, table_with(answer, "kernel_name"), "kernel_name", "kernels")


def size_texts(size):
    size = int(size)
    found = [f"{size / GIB:.2f} GiB"]
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            return found + [f"{size:.2f} {unit}", f"{size:.1f} {unit}"]
        size /= 1024
    return found


def memory(page, answer):
    name = answer["memoryIds"][0]
    allocator = answer["memoryProfilePerAllocator"][name]
    summary = allocator["profileSummary"]
    points = allocator.get("sampledTimelineSnapshots") or allocator["memoryProfileSnapshots"]
    page.shows(name, "allocator")
    for what, size in (("capacity", summary["memoryCapacity"]), ("peak ever", summary["peakBytesUsageLifetime"]),
                       ("peak", summary["peakStats"]["peakBytesInUse"])):
        page.need(any(text in page.text for text in size_texts(size)), f"memory: {what} {size_texts(size)} is not shown")
    allocations = sum(s["activityMetadata"]["memoryActivity"] == "ALLOCATION" for s in points)
    page.shows(f"#Allocation {allocations}", "memory")
    chart = page.drawn(("AreaChart", "LineChart", "SteppedAreaChart"), "Heap") or \
        page.drawn(("AreaChart", "LineChart", "SteppedAreaChart"), "heap")
    if page.need(chart, "no memory timeline"):
        page.need(chart["rows"] == len(points), f"memory timeline has {chart['rows']} points, not {len(points)}")
    page.facts.append(f"{name}, {allocations} allocations, {len(points)} points, "
                      f"peak {size_texts(summary['peakStats']['peakBytesInUse'])[1]}")


def pod(page, answer):
    steps = answer["podStatsSequence"]["podStatsMap"]
    selected = re.search(r"Selected step: (\d+)", page.text)
    if not page.need(selected, "no step is selected"):
        return
    cores = steps[int(selected.group(1))]["podStatsPerCore"].values()
    labels = {str(event["id"]): event["name"] for event in answer["stepBreakdownEvents"]}
    wanted = sorted((labels[number], key(us)) for core in cores for number, us in core["stepBreakdownUs"].items())
    bars = [d for d in page.draws if d["kind"] in ("ColumnChart", "BarChart") and d["all"]]
    shown = [sorted((column["label"], key(row[at])) for row in d["all"] for at, column in enumerate(d["cols"])
                    if column["label"] in labels.values()) for d in bars]
    page.need(wanted in shown, f"no chart of the times of {len(cores)} cores")
    page.facts.append(f"{len(steps)} steps, {len(cores)} cores")


def trace(page, answer):
    events = answer["traceEvents"]
    wanted, names = {}, {}
    for event in events:
        # the viewer draws instants of a thread as slices without length
        if event.get("ph") == "X" or (event.get("ph") == "i" and event.get("s") == "t"):
            track = (str(event["pid"]), str(event["tid"]))
            wanted[track] = wanted.get(track, 0) + 1
        elif event.get("ph") == "M" and event["name"] == "process_name":
            names[str(event["pid"])] = event["args"]["name"]
    if not page.need(page.tracks, "the trace viewer shows no trace"):
        return
    shown = {(str(p["pid"]), str(t["tid"])): t["slices"] for p in page.tracks["processes"] for t in p["threads"]}
    for track, slices in wanted.items():
        page.need(shown.get(track) == slices, f"track {track} has {shown.get(track)} slices, not {slices}")
    for process in page.tracks["processes"]:
        if any(t["slices"] for t in process["threads"]):
            page.need(process["name"] == names.get(str(process["pid"])), f"a process is called '{process['name']}'")
            page.shows(process["name"], "process")
    page.need(sum(wanted.values()), "the answer has no event")
    page.facts.append(f"{len(page.tracks['processes'])} processes, {len(shown)} tracks, {sum(shown.values())} slices")


def elsewhere(page, answer):
    """A page of the official converter: it is not empty."""
    page.need(len(page.text) > 400 or page.draws, "the page is empty")
    page.facts.append(f"{len(page.draws)} charts, {len(page.text)} characters")


JUDGES = {"overview_page": overview, "input_pipeline_analyzer": input_pipeline, "framework_op_stats": ops,
          "tensorflow_stats": ops, "kernel_stats": kernels, "memory_profile": memory, "pod_viewer": pod,
          "trace_viewer": trace}


def spoiled(answer):
    """Another answer: every number is one more, every text that is a number has one digit more."""
    if isinstance(answer, dict):
        return {name: spoiled(value) for name, value in answer.items()}
    if isinstance(answer, list):
        return [spoiled(value) for value in answer]
    if isinstance(answer, str):
        return answer + "1" if re.fullmatch(r"[0-9.]+", answer) else answer
    return answer + 1 if isinstance(answer, (int, float)) and not isinstance(answer, bool) else answer


def judge(view, answer, texts=()):
    """A page that would be right with another answer, too, was not looked at, and is wrong."""
    complaints, facts = look(view, answer)
    shown = Page(view)
    cells = [str(cell) for drawn in shown.draws if drawn["all"] for row in drawn["all"] for cell in row]
    complaints += [f"'{text}' is not on the page" for text in texts
                   if text not in shown.text and not any(text in cell for cell in cells)]
    if answer and not complaints and not look(view, spoiled(answer))[0]:
        complaints.append("other figures would pass, too")
    return complaints, facts


def look(view, answer):
    page = Page(view)
    page.need(view["is_open"], "the page did not open")
    for status in [a["status"] for a in view["answers"] if a["status"] != 200]:
        page.need(False, f"the server answered {status}")
    for complaint in view["errors"] + (view["charts"] or {}).get("problems", []):
        page.need(False, str(complaint))
    if "PROFILE" not in view["tab"].upper():
        page.need(False, "no Profile tab")
    try:
        JUDGES.get(view["tool"].rstrip("@#^"), elsewhere)(page, answer)
    except (KeyError, IndexError, TypeError, AttributeError) as e:
        page.need(False, f"the answer has another shape: {type(e).__name__} {e}")
    return page.complaints, page.facts
