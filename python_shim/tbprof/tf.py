# SPDX-License-Identifier: Apache-2.0
"""The names of tf.profiler.experimental, without TensorFlow.

    import tbprof.tf as profiler          # was: tf.profiler.experimental

    profiler.start("logdir")
    for step in range(steps):
        with profiler.Trace("train", step_num=step, _r=1):
            train_step()
    profiler.stop()

Where TensorFlow is imported, the exceptions are also those of tf.errors, so that what catches them goes on to work.
"""
import collections
import functools
import sys
import types

from tbprof import _annotate, _core, errors

Trace = _core.Trace
enabled = Trace.is_enabled
_lock = _core.new_lock()


class ProfilerOptions(collections.namedtuple("ProfilerOptions", ["host_tracer_level", "python_tracer_level",
                                                                 "device_tracer_level", "delay_ms"])):
    """host_tracer_level: 1 critical, 2 info, 3 verbose. python_tracer_level, device_tracer_level: 1 on, 0 off.
    delay_ms: start that much later."""

    __slots__ = ()

    def __new__(cls, host_tracer_level=2, python_tracer_level=0, device_tracer_level=1, delay_ms=None):
        return super().__new__(cls, host_tracer_level, python_tracer_level, device_tracer_level, delay_ms)


@functools.lru_cache(maxsize=None)
def _kind_of_error(ours, theirs):
    """A class that is both ours and TensorFlow's."""
    def __init__(self, text):
        theirs.__init__(self, None, None, text)

    return type(ours.__name__, (ours, theirs), {"__init__": __init__, "__str__": theirs.__str__,
                                                "code": property(lambda self: ours.code)})


def _error(ours, text):
    theirs = getattr(getattr(sys.modules.get("tensorflow"), "errors", None), ours.__name__, None)
    return (_kind_of_error(ours, theirs) if theirs else ours)(text)


def _begin(call, *arguments):
    with _lock:
        try:
            call(*arguments)
        except errors.AlreadyExistsError as e:
            raise _error(errors.AlreadyExistsError, f"Another profiler is running. ({e})") from None


def start(logdir, options=None):
    """Starts profiling; AlreadyExistsError if a session runs. logdir "" warms up: nothing will be saved."""
    _begin(_core.start, logdir, options._asdict() if hasattr(options, "_asdict") else options)


def stop(save=True):
    """Ends profiling and saves the run; UnavailableError if no session runs."""
    with _lock:
        try:
            _core.stop(save)
        except errors.UnavailableError as e:
            if str(e).startswith("no profiler session"):
                e = errors.UnavailableError(f"Cannot export profiling results. No profiler is running. ({e})")
            raise _error(errors.UnavailableError, str(e)) from None


def warmup():
    """Loads what a session needs, so that the first one is as good as the others."""
    _begin(_core.warm_up)


class Profile:
    """A session as a context manager: saved when left, also by an exception."""

    def __init__(self, logdir, options=None):
        self._logdir, self._options = logdir, options

    def __enter__(self):
        start(self._logdir, self._options)

    def __exit__(self, kind, value, traceback):
        if kind is None:
            stop()
            return
        try:
            stop()
        except errors.Error as e:  # never instead of the program's own exception
            _core.tell(f"tbprof.tf.Profile: {e}")


def trace_wrapper(trace_name, **trace_kwargs):
    """Decorator: calls of the function are scopes of that name, or of its own (`@trace_wrapper` alone)."""
    if callable(trace_name):
        return _annotate.annotate(trace_name)
    return functools.partial(_annotate.annotate, name=trace_name, **trace_kwargs)


def _client_trace(service_addr, logdir, duration_ms, worker_list="", num_tracing_attempts=3, options=None):
    """Asks servers ("host:port,host:port") for a profile of duration_ms, into logdir; UnavailableError if none gives
    one, with the reasons. Returns the run's folder."""
    options = options or ProfilerOptions()
    if int(duration_ms) <= 0:
        raise _error(errors.InvalidArgumentError, "duration_ms must be greater than zero.")
    addresses = service_addr.replace("grpc://", "")
    try:
        folder, partly = _core.client_trace(addresses, logdir, int(duration_ms), worker_list, num_tracing_attempts,
                                            options.host_tracer_level, options.device_tracer_level,
                                            options.python_tracer_level, options.delay_ms or 0)
    except errors.UnavailableError as e:
        raise _error(errors.UnavailableError, str(e)) from None
    if partly:
        _core.tell(f"tbprof.tf.client.trace: {partly}")
    return folder


def _client_monitor(service_addr, duration_ms, level=1):
    """How busy a program with a server is, as text."""
    return _core.client_monitor(service_addr.replace("grpc://", ""), int(duration_ms), level)


server = types.SimpleNamespace(start=_core.server_start, stop=_core.server_stop)
client = types.SimpleNamespace(trace=_client_trace, monitor=_client_monitor)
