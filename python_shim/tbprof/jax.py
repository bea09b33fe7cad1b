# SPDX-License-Identifier: Apache-2.0
"""The names of jax.profiler, without JAX.

    import tbprof.jax as profiler         # was: jax.profiler

    with profiler.trace("logdir"):
        for step, batch in enumerate(loader):
            with profiler.StepTraceAnnotation("train", step_num=step):
                state = train_step(state, batch)

JAX computes while Python goes on: what a step's scope holds is dispatching, unless something waits for the result
inside it (jax.block_until_ready).
"""
import gzip
import numbers
import os
import sys
from contextlib import contextmanager

from tbprof import _annotate, _core, errors

TraceAnnotation = _core.Trace
StepTraceAnnotation = _core.StepTrace
_lock = _core.new_lock()


class ProfileOptions:
    """Options as attributes: those of tbprof.start, JAX's among them. What only its own tracers know
    (advanced_configuration, enable_hlo_proto …) is kept and not used."""

    _DEFAULTS = {"host_tracer_level": 2, "device_tracer_level": 1, "python_tracer_level": 1, "duration_ms": 0,
                 "start_timestamp_ns": 0, "session_id": "", "repository_path": "", "raise_error_on_start_failure": False,
                 "enable_hlo_proto": True, "include_dataset_ops": True}
    _USED = ("host_tracer_level", "device_tracer_level", "python_tracer_level", "duration_ms", "start_timestamp_ns",
             "session_id", "override_hostname", "raise_error_on_start_failure")

    def __init__(self):
        self.__dict__.update(self._DEFAULTS, advanced_configuration={})

    def __setattr__(self, name, value):
        kind = type(self._DEFAULTS.get(name, value))
        if not isinstance(value, numbers.Integral if kind is int else kind):
            raise TypeError(f"ProfileOptions.{name} must be {kind.__name__}, not {type(value).__name__}")
        self.__dict__[name] = value

    def texts(self):
        values = ((key, getattr(self, key, "")) for key in self._USED)
        return {key: value for key, value in values if value != ""}


class _State:
    """What stop_trace has to do."""

    def __init__(self):
        self.session, self.wants_perfetto = _core.Session(), False


_state = _State()


def _versions():
    """As JAX notes them in the profile, where it is imported."""
    jax = sys.modules.get("jax")
    jaxlib = sys.modules.get("jaxlib")
    for key, module in (("jax_version", jax), ("jaxlib_version", jaxlib)):
        if getattr(module, "__version__", None):
            _core.metadata_set(key, str(module.__version__))


def start_trace(log_dir, create_perfetto_link=False, create_perfetto_trace=False, profiler_options=None):
    """Starts a trace; RuntimeError while one runs. create_perfetto_trace: also writes perfetto_trace.json.gz.
    profiler_options: a ProfileOptions, or a dict of options of tbprof.start."""
    with _lock:
        if _state.session.is_open:
            raise RuntimeError("Profile has already been started. Only one profile may be run at a time.")
        if profiler_options is None:
            profiler_options = ProfileOptions()
        options = profiler_options.texts() if hasattr(profiler_options, "texts") else dict(profiler_options)
        if create_perfetto_trace or create_perfetto_link:
            options["convert"] = True
        try:
            _state.session.start(log_dir, options)
            _state.wants_perfetto = create_perfetto_trace or create_perfetto_link
            _versions()
        except errors.AlreadyExistsError as e:
            raise RuntimeError("Profile has already been started. Only one profile may be run at a time. "
                               f"({e})") from None
        except BaseException:
            _state.session.drop()
            raise
    if create_perfetto_link:
        _core.tell("tbprof.jax: no server for the Perfetto link is started; perfetto_trace.json.gz is written into the "
                   "run's folder: open it at ui.perfetto.dev")


def _write_perfetto_trace(folder):
    """The run's trace viewer page without what Perfetto does not know."""
    import json
    for name in sorted(os.listdir(folder)) if folder else ():
        if name.endswith(".trace.json.gz"):
            with gzip.open(os.path.join(folder, name), "rb") as file:
                trace = json.load(file)
            trace.pop("metadata", None)
            with gzip.open(os.path.join(folder, "perfetto_trace.json.gz"), "wt") as file:
                json.dump(trace, file)
            return
    _core.tell("tbprof.jax: the run has no trace.json.gz to make a Perfetto trace of")


def stop_trace():
    """Ends the trace and saves it; RuntimeError if none was started."""
    with _lock:
        if not _state.session.is_open:
            raise RuntimeError("No profile started")
        wants_perfetto = _state.wants_perfetto
        # Also if saving fails, it has ended: the next trace can start.
        _state.session.stop(finish=_write_perfetto_trace if wants_perfetto else None)


@contextmanager
def trace(log_dir, create_perfetto_link=False, create_perfetto_trace=False, profiler_options=None):
    """A trace as a context manager: saved when left, also by an exception."""
    start_trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        yield
    except BaseException:
        try:
            stop_trace()
        except (RuntimeError, OSError) as e:  # never instead of the program's own exception
            _core.tell(f"tbprof.jax.trace: {_core.text_of(e)}")
        raise
    stop_trace()


def annotate_function(func, name=None, **decorator_kwargs):
    """Decorator: calls of the function are scopes of its name; coroutines and generators too."""
    if not callable(func) or not isinstance(name, (str, type(None))):
        raise TypeError("annotate_function takes a function and its name, a str")
    return _annotate.annotate(func, name=name, **decorator_kwargs)


def set_metadata(key, value):
    """Into the profile's plane "Task Environment"."""
    _core.metadata_set(str(key), str(value))


def start_server(port, requires_backend=True):
    """A server that records when a client asks (TensorBoard's CAPTURE PROFILE, `tbprof capture`); on this machine's
    own addresses only, other than JAX's. ValueError if there is one. Port 0: a free one; returns the port."""
    del requires_backend
    return _core.server_start(port)


def stop_server():
    """Stops it; ValueError if there is none."""
    _core.server_stop()


_JAX_ALONE = ("device_memory_profile", "save_device_memory_profile", "register_subprocess", "ProfileData",
              "ProfileEvent", "ProfilePlane")


def __getattr__(name):
    theirs = getattr(sys.modules.get("jax.profiler"), name, None) if name in _JAX_ALONE else None
    if theirs is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return theirs
