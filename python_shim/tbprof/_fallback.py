# SPDX-License-Identifier: Apache-2.0
"""Stands in for the extension module where that does not load: slow for each event, but never an import error.

Calls libtbprof with ctypes if the library is found (beside this package, $TBPROF_LIBRARY, or where the system has
it). Without it, annotations do nothing and sessions are refused with the reason. No Python function tracer.
"""
import ctypes
import os

from tbprof import errors

_NAMES = ("libtbprof.so.1", "libtbprof.so")


def _load():
    folder = os.path.dirname(os.path.abspath(__file__))
    wanted = [os.environ.get("TBPROF_LIBRARY")] + [os.path.join(folder, n) for n in _NAMES] + list(_NAMES)
    reasons = []
    for path in filter(None, wanted):
        try:
            return ctypes.CDLL(path), ""
        except OSError as e:
            reasons.append(str(e))
    return None, reasons[-1]


_library, _reason = _load()
version = ""
if _library:
    _u64, _i64, _text, _size = ctypes.c_uint64, ctypes.c_int64, ctypes.c_char_p, ctypes.c_size_t
    for _name, _result, *_arguments in (
            ("version", _text), ("last_error", _text), ("last_run", _text),
            ("scope_begin_dyn_slow", _u64, _text, _size, ctypes.c_int, ctypes.c_int), ("scope_end_slow", None, _u64),
            ("scope_arg_i64", None, _u64, _text, _i64), ("scope_arg_f64", None, _u64, _text, ctypes.c_double),
            ("scope_arg_str", None, _u64, _text, _text, _size), ("step_begin", None, _text, _i64), ("step_end", None),
            ("activity_start", _u64, _text, _size, ctypes.c_int), ("activity_end", None, _u64),
            ("span", None, _text, _size, _i64, _i64), ("instant", None, _text, ctypes.c_int),
            ("counter_i64", None, _text, _i64), ("counter_f64", None, _text, ctypes.c_double),
            ("flow_produce", None, ctypes.c_int, _u64), ("flow_consume", None, ctypes.c_int, _u64),
            ("annotation_push", None, _text, _size), ("annotation_pop", None), ("thread_name", None, _text),
            ("warn", None, _text), ("metadata_set", ctypes.c_int, _text, _text), ("pause", ctypes.c_int),
            ("resume", ctypes.c_int), ("stop", ctypes.c_int, ctypes.c_int), ("snapshot", ctypes.c_int, _text),
            ("is_active", ctypes.c_int, ctypes.c_int), ("options_init", None, ctypes.c_void_p),
            ("options_set", ctypes.c_int, ctypes.c_void_p, _text, _text),
            ("start", ctypes.c_int, _text, ctypes.c_void_p),
            ("collect", ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(_size)),
            ("bytes_free", None, ctypes.c_void_p), ("stats", ctypes.c_int, ctypes.c_void_p)):
        _function = getattr(_library, "tbprof_" + _name)
        _function.restype, _function.argtypes = _result, _arguments
    version = _library.tbprof_version().decode()
    _state = _u64.in_dll(_library, "tbprof_g_state")
_keys = {}  # texts whose address must stay


def describe(reason):
    """The one warning."""
    if _library:
        return f"tbprof: its extension module does not load ({reason}): events are recorded through ctypes, slowly"
    return f"tbprof: its extension module does not load ({reason}), nor does libtbprof ({_reason}): nothing is recorded"


def _is_on():
    return _library is not None and _state.value & 255 != 0


def _bytes(text):
    return text.encode("utf-8", "replace") if isinstance(text, str) else b""


def _key(text):
    return _keys.setdefault(text, _bytes(text))


def _check(status):
    if status:
        raise errors.from_status(status, _library.tbprof_last_error().decode("utf-8", "replace"))


def _need():
    if _library is None:
        raise errors.UnavailableError(f"nothing can be recorded: libtbprof does not load ({_reason})")
    return _library


# ---- annotations ----

def begin(name, level=1):
    if not _is_on():
        return 0
    text = _bytes(name)
    return _library.tbprof_scope_begin_dyn_slow(text, len(text), level, 0)


def end(handle):
    if handle:
        _library.tbprof_scope_end_slow(handle)


def args(handle, **arguments):
    for key, value in arguments.items() if handle else ():
        if isinstance(value, float):
            _library.tbprof_scope_arg_f64(handle, _key(key), value)
        elif hasattr(value, "__index__") and -2**63 <= value.__index__() < 2**63:
            _library.tbprof_scope_arg_i64(handle, _key(key), value.__index__())
        else:
            text = _bytes(str(value))
            _library.tbprof_scope_arg_str(handle, _key(key), text, len(text))


def step_begin(name, number):
    if _is_on():
        _library.tbprof_step_begin(_bytes(name), int(number))


def step_end():
    if _library:
        _library.tbprof_step_end()


def activity_start(name):
    text = _bytes(name)
    return _library.tbprof_activity_start(text, len(text), 1) if _is_on() else 0


def activity_end(activity):
    if activity:
        _library.tbprof_activity_end(activity)


def span(name, start_ns, duration_ns):
    text = _bytes(name)
    if _is_on():
        _library.tbprof_span(text, len(text), start_ns, duration_ns)


def instant(name, scope=0):
    if _is_on():
        _library.tbprof_instant(_bytes(name), scope)


def counter(name, value):
    if _is_on():
        record = _library.tbprof_counter_i64 if isinstance(value, int) else _library.tbprof_counter_f64
        record(_bytes(name), value)


def flow_produce(context_type, number):
    if _is_on():
        _library.tbprof_flow_produce(context_type, number)


def flow_consume(context_type, number):
    if _is_on():
        _library.tbprof_flow_consume(context_type, number)


def annotation_push(name):
    text = _bytes(name)
    if _is_on():
        _library.tbprof_annotation_push(text, len(text))


def annotation_pop():
    if _is_on():
        _library.tbprof_annotation_pop()


def memory_alloc(allocator, address, requested, allocated=None, region=None, data_type=0, shape=None):
    """Not through ctypes."""


def memory_free(allocator, address):
    """Not through ctypes."""


def memory_baseline(allocator, capacity, in_use, peak):
    """Not through ctypes."""


def thread_name(name):
    if _library:
        _library.tbprof_thread_name(_bytes(name))


def warn(text):
    if _library:
        _library.tbprof_warn(_bytes(text))


def twins(make):
    """Not here: labels are missing from what torch's own profiler tells."""


class Trace:
    """A scope as a context manager; the clock starts when it is made."""

    __slots__ = ("_name", "_arguments", "_scope")
    _is_step = _is_lazy = False

    def __init__(self, name, **arguments):
        if not isinstance(name, str):
            raise TypeError("one name is needed, a str; the rest are keywords")
        self._name, self._arguments, self._scope = name, arguments, 0
        if _is_on() and not self._is_lazy:
            self._begin()

    def __call__(self, func):
        if not callable(func):
            raise TypeError("a scope is called with one function, which it decorates")
        self.__exit__()
        from tbprof import _annotate
        return _annotate.annotate(func, self._name, **self._arguments)

    def _begin(self):
        self._scope = begin(self._name)
        args(self._scope, **self._arguments)
        if self._is_step or "_r" in self._arguments or "step_num" in self._arguments:
            if "_r" not in self._arguments:
                args(self._scope, _r=1)
            begin("step body")

    def __enter__(self):
        if not self._scope and _is_on():
            self._begin()
        return self

    def __exit__(self, *_):
        end(self._scope)
        self._scope = 0

    def set_metadata(self, **arguments):
        args(self._scope, **arguments)

    @staticmethod
    def is_enabled():
        return _is_on()


class StepTrace(Trace):
    """A scope that is a step."""

    __slots__ = ()
    _is_step = True


class Scope(Trace):
    """A Trace whose clock starts when it is entered."""

    __slots__ = ()
    _is_lazy = True


class record_function(Scope):  # pylint: disable=invalid-name
    """A scope as PyTorch has it."""

    __slots__ = ()

    def __init__(self, name, args=None):  # pylint: disable=redefined-outer-name
        if args is not None and not isinstance(args, str):
            raise TypeError("record_function() argument 'args' must be str or None")
        super().__init__(name, **({} if args is None else {"args": args}))


# ---- sessions ----

def start(logdir, options, session):
    library = _need()
    block = ctypes.create_string_buffer(4096)  # larger than the options of any release
    library.tbprof_options_init(block)
    kept = [(_bytes(k), _bytes(v)) for k, v in options.items()]
    for key, value in kept:
        _check(library.tbprof_options_set(block, key, value))
    _check(library.tbprof_start(os.fsencode(logdir), block))
    session.generation = generation()
    session.is_open = True
    return 0


def generation():
    return _state.value >> 48 if _library else 0


def stop(save=True, session=None):
    if _library is None:
        raise errors.UnavailableError("no session is running")
    status = _library.tbprof_stop(int(bool(save)))
    if session is not None:
        session.is_open = False
    _check(status)


def pause():
    _check(_need().tbprof_pause())


def resume():
    _check(_need().tbprof_resume())


def snapshot(run=None):
    _check(_need().tbprof_snapshot(None if run is None else _bytes(run)))


def collect():
    data, size = ctypes.c_void_p(), ctypes.c_size_t()
    _check(_need().tbprof_collect(ctypes.byref(data), ctypes.byref(size)))
    try:
        return ctypes.string_at(data, size.value)
    finally:
        _library.tbprof_bytes_free(data)


def is_active(level=1):
    return _library is not None and bool(_library.tbprof_is_active(level))


def last_run():
    return os.fsdecode(_library.tbprof_last_run()) if _library else ""


def stats():
    names = ("records", "bytes", "threads", "snapshots", "dropped_cap", "dropped_ring", "dropped_no_chunk",
             "dropped_too_long", "dropped_reentrant", "dropped_depth", "dropped_threads", "cut_by_stop", "names_cut")
    values = (ctypes.c_uint64 * (len(names) + 1))(8 * (len(names) + 1))
    _check(_need().tbprof_stats(values))
    return dict(zip(names, values[1:]))


def metadata_set(key, value):
    _check(_need().tbprof_metadata_set(_bytes(key), _bytes(value)))


def _no_network(*_):
    raise errors.UnimplementedError("capture on demand needs the extension module; `tbprof capture` does without")


server_start = server_stop = client_trace = client_monitor = _no_network
