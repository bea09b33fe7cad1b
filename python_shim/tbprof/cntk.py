# SPDX-License-Identifier: Apache-2.0
"""The names of cntk.debugging's profiler, without CNTK.

    from tbprof.cntk import start_profiler, enable_profiler, stop_profiler    # was: from cntk.debugging import …

    start_profiler("profiler")                 # prepared, not enabled
    for epoch in range(epochs):
        train(epoch)
        enable_profiler()                      # after the first epoch, as CNTK's training session does
    stop_profiler()

stop_profiler() writes <time>_summary_<rank>.txt and <time>_detail_<rank>.csv into the directory, as CNTK does, and a
run for the Profile tab beside them (`tensorboard --logdir profiler`). Scopes with the names of CNTK's own events
(FIXED_EVENTS) are the rows of the summary; profile_scope makes them, and so does everything else of tbprof.
"""
import contextlib
import math
import os
import time

from tbprof import _core, _tables, errors

DEFAULT_BUFFER_SIZE = 32 * 1024 * 1024
MAIN_EVENTS = ("Epoch", "_Minibatch Iteration", "__Get Minibatch", "__Forward + Backward", "__Gradient Aggregation",
               "__Weight Update", "__Post Processing")
READER_EVENTS = ("Prefetch Minibatch",)
FIXED_EVENTS = MAIN_EVENTS + READER_EVENTS
_RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID")
_HEADINGS = ("Mean", "StdDev", "Min", "Max", "Count", "Total")

profile_scope = _core.Scope  # PROFILE_SCOPE and PROFILE_FUNCTION in one: a context manager, or a decorator


class _State:
    """What stop_profiler has to write, and where."""

    def __init__(self):
        self.lock, self.session, self.folder = _core.new_lock(), _core.Session(), ""


_state = _State()


def start_profiler(dir="profiler", sync_gpu=True, reserve_mem=DEFAULT_BUFFER_SIZE):  # pylint: disable=redefined-builtin
    """Prepares for profiling into a directory; enable_profiler() begins. reserve_mem: bytes of events, at most: when
    they are full, later events are dropped, and that is told. RuntimeError if it is prepared already."""
    with _state.lock:
        if _state.session.is_open:
            raise RuntimeError("Error: ProfilerInit: Profiler already initialized.\n")
        folder = os.fspath(dir)
        if "://" in folder:
            raise RuntimeError(f"Error: ProfilerInit: Directory <{folder}> is not on this machine.\n")
        try:
            os.mkdir(folder)
        except FileExistsError:
            pass
        except OSError as e:
            raise RuntimeError(f"Error: ProfilerInit: Cannot create directory <{folder}>.\n") from e
        _state.folder = folder
        _state.session.start(folder, start_paused=True, sync_gpu=bool(sync_gpu), max_host_bytes=int(reserve_mem),
                             full_policy="stop")


def _switch(change):
    with _state.lock:
        if _state.session.is_open:
            with contextlib.suppress(errors.UnavailableError):  # somebody else has stopped the session
                _state.session.expect_own()
                change()


def enable_profiler():
    """Begins to gather, or goes on; nothing happens before start_profiler()."""
    _switch(_core.resume)


def disable_profiler():
    """Gathers nothing until enable_profiler()."""
    _switch(_core.pause)


def stop_profiler():
    """Writes the report, the events and the run; nothing happens before start_profiler()."""
    with _state.lock:
        if not _state.session.is_open:
            return
        try:
            _state.session.stop()
        except errors.UnavailableError:
            return  # somebody else has stopped it
        if _core.stats()["dropped_cap"]:
            _core.tell("Warning: Performance Profiler: Buffer is full, no more events will be recorded.")
        _write(_state.folder, _tables.read(_state.session.run))


def _write(folder, run):
    now = time.localtime()
    rank = next((os.environ[name] for name in _RANKS if os.environ.get(name, "").isdigit()), "")
    beginning = os.path.join(folder, time.strftime("%Y-%m-%d_%H-%M-%S", now))
    events = [event for event in _tables.nest(run.events) if not event.name.startswith(_tables.PYTHON)]
    _write_file(f"{beginning}_summary_{rank}.txt", _summary(events, now), "ProfilerGenerateReport")
    _write_file(f"{beginning}_detail_{rank}.csv", _detail(events, run.start_ns), "ProfilerGenerateDetailFile")


def _write_file(path, lines, who):
    try:
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(lines)
    except OSError as e:
        raise RuntimeError(f"Error: {who}: Cannot create file <{path}>.\n") from e


def _detail(events, start_ns):
    """Events in the order in which they ended; times in milliseconds since 1970."""
    yield "EventDescription,ThreadId,BeginTimeStamp(ms),EndTimeStamp(ms)\n"
    for event in sorted(events, key=lambda e: e.end_ps):
        begin, end = (_milliseconds(start_ns * 1000 + ps) for ps in (event.start_ps, event.end_ps))
        yield f'"{event.name}",{event.thread},{begin},{end}\n'


def _milliseconds(ps):
    """Eight digits after the point; a float has not enough for times since 1970."""
    return f"{ps // 10**9}.{ps % 10**9 // 10:08d}"


def _time(seconds):
    if seconds < 60:
        return f"{seconds * 1000:13.3f} ms"
    whole = int(seconds)
    return f"    {whole // 3600:02d}:{whole // 60 % 60:02d}:{seconds % 60:06.3f}"


def _row(row):
    seconds = 1e-12
    mean = row.total_ps / row.count
    # In whole numbers: what is left of two large sums would not be exact in floats.
    variance = max(0, row.squares * row.count - row.total_ps**2) / row.count**2
    times = [_time(ps * seconds) for ps in (mean, math.sqrt(variance), row.min_ps, row.max_ps)]
    return f"{row.name:<26}: {' '.join(times)} {row.count:16d} {_time(row.total_ps * seconds)}\n"


def _summary(events, now):
    rows = {row.name: row for row in _tables.rows(events)}
    yield "CNTK Performance Profiler Summary Report\n\n"
    yield time.strftime("Time Stamp: %Y/%m/%d %H:%M:%S\n\n", now)
    yield f"{'Description':.<27} " + " ".join(f"{heading:.>16}" for heading in _HEADINGS) + "\n\n"
    yield "Main Thread\n\n"
    yield from (_row(rows[name]) for name in MAIN_EVENTS if name in rows)
    yield "\nData Reader\n\n"
    yield from (_row(rows[name]) for name in READER_EVENTS if name in rows)
