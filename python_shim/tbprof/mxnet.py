# SPDX-License-Identifier: Apache-2.0
"""The names of mxnet.profiler, without MXNet.

    import tbprof.mxnet as profiler          # was: from mxnet import profiler

    profiler.set_config(profile_all=True, aggregate_stats=True, filename="profile.json")
    profiler.set_state("run")
    task = profiler.Domain("training").new_task("epoch")
    task.start(); train(); task.stop()
    profiler.dump()
    print(profiler.dumps())

Defaults, order of calls and errors are those of MXNet 1.9. Besides profile.json, dump() leaves a run that the Profile
tab shows, in set_config(logdir=…), $TBPROF_LOGDIR, or the folder of profile.json. Scopes of tbprof's other names are
the `operator` rows. Where MXNet is imported, the errors are also its MXNetError.
"""
import atexit
import contextlib
import contextvars
import difflib
import os
import sys
import threading
import time
import warnings

from tbprof import _core, _mxnet_stats, _tables, errors

_DEFAULTS = {"filename": "profile.json", "profile_all": False, "profile_symbolic": True, "profile_imperative": True,
             "profile_memory": True, "profile_api": True, "continuous_dump": True, "dump_period": 1.0,
             "aggregate_stats": False, "profile_process": "worker",
             "gpu_memory_profile_filename_prefix": "gpu_memory_profile", "logdir": ""}
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
_PROCESSES = {"worker": 0, "server": 1}
_SCOPES = {"global": ("g", 2), "process": ("p", 1), "thread": ("t", 0), "task": ("p", 1), "marker": ("p", 1)}
_BUFFERED = 65536  # events that are held before they go into profile.json


def _error(text):
    theirs = getattr(getattr(sys.modules.get("mxnet"), "base", None), "MXNetError", None)
    kind = MXNetError if theirs is None else type("MXNetError", (MXNetError, theirs), {})
    return kind(text)


class MXNetError(errors.Error):
    """What MXNet would not do, either."""


def _number_of_bool(key, value):
    text = str(value).lower()
    if text not in _BOOLEANS:
        raise _error(f"Invalid Parameter format for {key} expect boolean but value='{value}'")
    return _BOOLEANS[text]


def _checked(settings):
    """Settings with MXNet's defaults; it makes texts of the values and reads these."""
    checked = dict(_DEFAULTS)
    for key, value in settings.items():
        if key not in _DEFAULTS:
            near = difflib.get_close_matches(key, _DEFAULTS, 1)
            raise _error(f"Cannot find argument '{key}'" + (f"; did you mean '{near[0]}'?" if near else "")
                         + f" Possible arguments: {', '.join(_DEFAULTS)}")
        default = _DEFAULTS[key]
        if isinstance(default, bool):
            value = _number_of_bool(key, value)
        elif key == "dump_period":
            try:
                value = float(value)
            except (TypeError, ValueError):
                raise _error(f"Invalid Parameter format for {key} expect float but value='{value}'") from None
        elif key == "filename" and "://" in str(value):
            raise _error(f"'{value}' is not on this machine; logdir, where the run goes, need not be")
        elif key == "profile_process" and value not in _PROCESSES:
            raise _error(f"Invalid Input: '{value}', valid values are: {{'server', 'worker'}}")
        checked[key] = value
    if checked["continuous_dump"] and not checked["dump_period"] > 0:
        raise _error("dump_period has to be greater than zero with continuous_dump")
    return checked


class _Profiler:
    """The one there is. What is recorded until the last dump goes into profile.json, also what was before the first
    set_state, as far as there is room: it is `paused` alone that keeps events out, and at first nothing is."""

    def __init__(self):
        self.lock = threading.RLock()
        self.settings = dict(_DEFAULTS)
        self.stats = None                # an Aggregate with aggregate_stats
        self.is_running = self.was_run = self.has_output = self.paused = False
        self.session = _core.Session()
        self.file, self.pending, self.runs_read, self.last_write = None, [], set(), time.monotonic()

    # ---- settings and states ----

    def configure(self, settings):
        with self.lock:
            self.settings = settings
            self.file = None
            with contextlib.suppress(OSError):  # what was there before is no result of this program
                os.unlink(settings["filename"])
            if not settings["aggregate_stats"]:
                self.stats = None
            elif self.stats is None:
                self.stats = _mxnet_stats.Aggregate()

    def set_running(self, run):
        with self.lock:
            if run:
                self._start_session()
                self.was_run = self.has_output = True
            self.is_running = run
            self.pause(not run)

    def pause(self, paused):
        with self.lock:
            self.paused = paused
            if self.session.is_open:
                with contextlib.suppress(errors.Error):
                    self.session.expect_own()
                    (_core.pause if paused else _core.resume)()

    def _start_session(self):
        if self.session.is_open:
            with contextlib.suppress(errors.UnavailableError):  # else somebody has stopped it
                self.session.expect_own()
                _core.resume()
                return
        try:
            self.session.start(self._logdir(), rss_period_ms=None if self.settings["profile_memory"] else 0)
        except errors.Error as e:
            raise _error(f"the profiler does not start: {e}") from e

    def adopt_session(self):
        """That which MXNET_PROFILER_AUTOSTART=1 has started."""
        self.is_running = self.was_run = self.has_output = True
        if _core.is_active(0):
            self.session.is_open = True
        else:
            self._start_session()

    def _logdir(self):
        return (self.settings["logdir"] or os.environ.get("TBPROF_LOGDIR")
                or os.path.dirname(os.path.abspath(self.settings["filename"])))

    # ---- events ----

    def duration(self, category, name, kind, phases, start_ns):
        end_ns = time.time_ns()
        with self.lock:
            if self.paused:
                return
            _core.span(f"{name.replace('#', '_')}#category={category.replace(',', ' ')},kind={kind}#", start_ns,
                       max(0, end_ns - start_ns))
            thread = threading.get_native_id()
            more = {"id": thread} if kind == "task" else {}
            self._take((category, name, phases, (start_ns // 1000, max(start_ns, end_ns) // 1000), thread, more))

    def counter(self, category, name, value):
        with self.lock:
            if not self.paused:
                _core.counter(name, value)
                self._take((category, name, "C", (time.time_ns() // 1000,), threading.get_native_id(),
                            {"args": {name: value}}))

    def marker(self, category, name, scope):
        letter, instant_scope = _SCOPES[scope]
        with self.lock:
            if not self.paused:
                _core.instant(name, instant_scope)
                self._take((category, name, "n", (time.time_ns() // 1000,), threading.get_native_id(), {"s": letter}))

    def _take(self, event):
        if not self.has_output:
            if not self.was_run and len(self.pending) < _BUFFERED:
                self.pending.append(event)
            return
        self.pending.append(event)
        is_due = self.settings["continuous_dump"] and time.monotonic() - self.last_write > self.settings["dump_period"]
        if is_due or len(self.pending) > _BUFFERED:
            self._drain()

    def _drain(self):
        """Pending events into the file and the aggregate."""
        pending, self.pending, self.last_write = self.pending, [], time.monotonic()
        if self.file is None:
            self.file = _mxnet_stats.TraceFile(self.settings["filename"])
        try:
            self.file.add(pending)
        except OSError as e:
            raise _error(f"'{self.settings['filename']}' cannot be written: {e}") from e
        for category, name, phases, times, _, more in pending if self.stats is not None else ():
            if phases == "C":
                self.stats.add(category, name, _mxnet_stats.COUNTER, more["args"][name])
            elif phases == "n":
                self.stats.add(category, name, _mxnet_stats.OTHER)
            else:
                self.stats.add(category, name, _mxnet_stats.DURATION, times[1] - times[0])

    # ---- output ----

    def dump(self, finished):
        """What has happened goes into profile.json and into a run. Without continuous_dump, and after a last dump,
        nothing more does until the next set_state("run")."""
        with self.lock:
            is_last = finished or not self.settings["continuous_dump"]
            self._write_run(finished)
            self._drain()
            if is_last:
                self.file.finish()
                self.file = None
            self.has_output = not is_last

    def _write_run(self, is_last):
        if not self.session.is_open:
            return
        try:
            self.session.expect_own()
            if is_last:
                self.session.stop()
            else:
                _core.snapshot()
        except errors.UnavailableError:
            return  # somebody else has stopped it
        except errors.Error as e:
            raise _error(f"the run cannot be written: {e}") from e
        run = self.session.run if is_last else _core.last_run()
        if run and run not in self.runs_read:
            self.runs_read.add(run)
            self._read_back(_tables.read(run))

    def _read_back(self, run):
        """Scopes that are not of this module, as operators, and the process's memory."""
        base_us, threads = run.start_ns // 1000, run.threads
        for event in _tables.nest(run.events):
            if "kind" not in event.arguments and not event.name.startswith(_tables.PYTHON) and event.thread in threads:
                start_us = base_us + event.start_ps // 10**6
                times = (start_us, start_us + event.duration_ps // 10**6)
                self.pending.append(("operator", event.name, "BE", times, event.thread, {}))
        for name, time_ps, value in run.counters:
            if name == "process_resident_bytes":
                name = "Memory: process"
                self.pending.append(("Device Storage", name, "C", (base_us + time_ps // 10**6,), 0,
                                     {"args": {name: value}}))

    def texts(self, reset, as_json, sort_by, ascending):
        with self.lock:
            if self.has_output:
                self.dump(False)
            if self.stats is None:
                return ""
            text = (self.stats.json if as_json else self.stats.table)(sort_by, ascending)
            if reset:
                self.stats.clear()
            return text

    def at_exit(self):
        """MXNet writes what it has when it goes."""
        try:
            if self.has_output:
                self.dump(True)
            else:
                self._write_run(True)
        except errors.Error as e:
            _core.tell(f"tbprof.mxnet: {e}")


_profiler = _Profiler()
atexit.register(_profiler.at_exit)


def _is_server(profile_process):
    if _PROCESSES[profile_process]:
        raise _error("there is no kvstore server to profile here")


def set_config(**kwargs):
    """Settings, by keyword: filename, profile_all, profile_symbolic, profile_imperative, profile_memory, profile_api,
    continuous_dump, dump_period, aggregate_stats, profile_process; also logdir, where the run goes. Those that are not
    named are MXNet's defaults again."""
    settings = _checked(kwargs)
    _is_server(settings["profile_process"])
    _profiler.configure(settings)


def set_state(state="stop", profile_process="worker"):
    """"run" or "stop". What was recorded waits for dump()."""
    run = {"stop": False, "run": True}[state]
    _is_server(profile_process)
    _profiler.set_running(run)


def pause(profile_process="worker"):
    """Takes no events until resume()."""
    _is_server(profile_process)
    _profiler.pause(True)


def resume(profile_process="worker"):
    _is_server(profile_process)
    _profiler.pause(False)


def dump(finished=True, profile_process="worker"):
    """Writes profile.json and the run; finished=False: goes on after that."""
    _is_server(profile_process)
    if not _profiler.has_output:
        raise _error("Profiler hasn't been run. Config and start profiler first")
    _profiler.dump(finished is True)


def dumps(reset=False, format="table", sort_by="total", ascending=False):  # pylint: disable=redefined-builtin
    """The aggregate as text or JSON; "" without aggregate_stats. sort_by: total, avg, min, max, count. Writes what
    there is first, as dump(False) does."""
    for name, value, known in (("format", format, ("table", "json")), ("sort_by", sort_by, _mxnet_stats.SORT_KEYS),
                               ("ascending", ascending, (False, True)), ("reset", reset, (False, True))):
        if value not in known:
            raise AssertionError(f"Invalid value provided for {name}: {value}. Support: {', '.join(map(repr, known))}")
    return _profiler.texts(reset, format == "json", sort_by, ascending)


def _deprecated(old, new):
    warnings.warn(f"profiler.{old}() is deprecated. Please use profiler.{new}() instead", stacklevel=3)


def profiler_set_config(mode="symbolic", filename="profile.json"):
    """Deprecated: set_config."""
    _deprecated("profiler_set_config", "set_config")
    set_config(**{"profile_" + mode: True, "filename": filename})


def profiler_set_state(state="stop"):
    """Deprecated: set_state."""
    _deprecated("profiler_set_state", "set_state")
    set_state(state)


def dump_profile():
    """Deprecated: dump."""
    _deprecated("dump_profile", "dump")
    dump(True)


def _text(name):
    if not isinstance(name, str):
        raise TypeError(f"a name must be a str, not {type(name).__name__}")
    return name


class Domain:
    """A group of tasks, frames, counters and markers: their category."""

    def __init__(self, name):
        if not _text(name):
            raise _error("a domain needs a name")
        self.name = name

    def __str__(self):
        return self.name

    def new_task(self, name):
        return Task(self, name)

    def new_frame(self, name):
        return Frame(self, name)

    def new_counter(self, name, value=None):
        return Counter(self, name, value)

    def new_marker(self, name):
        return Marker(self, name)


class _Duration:
    """What starts and stops. It counts when it stops; a stop without a start is none."""

    _kind = _phases = ""

    def __init__(self, category, name):
        self.name, self._category, self._start_ns = _text(name), category, None

    def start(self):
        self._start_ns = time.time_ns()

    def stop(self):
        if self._start_ns is not None:
            _profiler.duration(self._category, self.name, self._kind, self._phases, self._start_ns)

    def __str__(self):
        return self.name


class Task(_Duration):
    """Work of a thread; all its passes are one row of the aggregate."""

    _kind, _phases = "task", "be"

    def __init__(self, domain, name):
        super().__init__(domain.name, name)


class Frame(_Duration):
    """One of many passes, such as a batch."""

    _kind, _phases = "frame", "()"

    def __init__(self, domain, name):
        super().__init__(domain.name + ",frame", name)


class Event(_Duration):
    """A region of code of a thread, of no domain."""

    _kind, _phases = "event", "BE"

    def __init__(self, name):
        super().__init__("event", name)


class Counter:
    """A whole number that changes."""

    def __init__(self, domain, name, value=None):
        self.name, self._domain, self._value, self._lock = _text(name), domain, 0, threading.Lock()
        if value is not None:
            self.set_value(value)

    def set_value(self, value):
        with self._lock:
            self._value = int(value)
            _profiler.counter(self._domain.name, self.name, self._value)

    def increment(self, delta=1):
        with self._lock:
            self._value += int(delta)
            _profiler.counter(self._domain.name, self.name, self._value)

    def decrement(self, delta=1):
        self.increment(-int(delta))

    def __iadd__(self, delta):
        self.increment(delta)
        return self

    def __isub__(self, delta):
        self.decrement(delta)
        return self

    def __str__(self):
        return self.name


class Marker:
    """An instant."""

    def __init__(self, domain, name):
        self.name, self.domain = _text(name), domain

    def mark(self, scope="process"):
        """scope: global, process, thread, task or marker."""
        if scope not in _SCOPES:
            raise _error(f"Invalid Input: '{scope}', valid values are: "
                         "{'global', 'marker', 'process', 'task', 'thread'}")
        _profiler.marker(self.domain.name + ",instant_marker", self.name, scope)


_current_scope = contextvars.ContextVar("tbprof.mxnet.scope", default="<unk>:")


@contextlib.contextmanager
def scope(name="<unk>:", append_mode=True):
    """Names the work inside, for what it allocates; append_mode: below the scope around it."""
    name = name if name.endswith(":") else name + ":"
    if append_mode and _current_scope.get() != "<unk>:":
        name = _current_scope.get() + name
    token = _current_scope.set(name)
    _core.annotation_push(name)
    try:
        yield token
    finally:
        _core.annotation_pop()
        _current_scope.reset(token)


if os.environ.get("MXNET_PROFILER_AUTOSTART", "0").strip() not in ("", "0"):
    try:
        _profiler.adopt_session()
    except MXNetError as e:
        _core.tell(f"tbprof.mxnet: MXNET_PROFILER_AUTOSTART: {e}")
