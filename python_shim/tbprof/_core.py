# SPDX-License-Identifier: Apache-2.0
"""The one layer between the styles (tbprof.keras, tbprof.tf, tbprof.jax, tbprof.torch …) and the capture runtime.

Everything a style needs is here: annotations as they come from the extension module (or from its stand-in, where
that does not load), sessions with options by name, and hooks for what has to happen while something is recorded.
A process has one session; who starts a second one gets tbprof.errors.AlreadyExistsError.
"""
import os
import warnings

try:
    from tbprof import _tbprof as native
    has_extension = True
except ImportError as _reason:
    from tbprof import _fallback as native
    has_extension = False
    warnings.warn(native.describe(_reason), RuntimeWarning, stacklevel=2)

# Annotations: cheap when nothing is recorded, never an exception.
begin, end, args = native.begin, native.end, native.args
step_begin, step_end = native.step_begin, native.step_end
activity_start, activity_end, span = native.activity_start, native.activity_end, native.span
instant, counter = native.instant, native.counter
flow_produce, flow_consume = native.flow_produce, native.flow_consume
annotation_push, annotation_pop = native.annotation_push, native.annotation_pop
memory_alloc, memory_free, memory_baseline = native.memory_alloc, native.memory_free, native.memory_baseline
thread_name, warn = native.thread_name, native.warn
Trace, StepTrace, Scope, record_function = native.Trace, native.StepTrace, native.Scope, native.record_function

# Sessions, as far as there is nothing to add.
pause, resume, snapshot, collect = native.pause, native.resume, native.snapshot, native.collect
is_active, last_run, stats, metadata_set = native.is_active, native.last_run, native.stats, native.metadata_set
server_start, server_stop = native.server_start, native.server_stop
client_trace, client_monitor = native.client_trace, native.client_monitor
version = native.version

_hooks = []


def add_hook(started, stopping):
    """Calls started() after every start and stopping() before every stop. What they raise is a warning."""
    if (started, stopping) not in _hooks:
        _hooks.append((started, stopping))


def _call_hooks(which):
    for pair in _hooks:
        try:
            pair[which]()
        except Exception as e:  # pylint: disable=broad-except
            tell(f"tbprof: {e!r} while a session {'is stopped' if which else 'starts'}; it goes on")


def tell(text, stacklevel=3):
    """A warning that stays one, even where warnings are errors."""
    try:
        warnings.warn(text, RuntimeWarning, stacklevel=stacklevel)
    except RuntimeWarning:
        import logging
        logging.getLogger("tbprof").warning("%s", text)


def option_texts(options):
    """Options as the runtime takes them: texts, None left out."""
    texts = {}
    for key, value in (options or {}).items():
        if value is None:
            continue
        texts[key] = str(int(value)) if isinstance(value, bool) else str(value)
    return texts


def start(logdir, options=None, *, exclude=(), **more):
    """Starts the session. logdir "": nothing is saved at its end.

    options, or keywords: those of tbprof_options in capture/tbprof.h by name ("max_host_bytes", "64MiB").
    exclude: beginnings of file names whose functions the Python tracer leaves out.
    """
    level = native.start(os.fspath(logdir), option_texts({**(options or {}), **more}))
    if level:
        from tbprof import _python_tracer
        _python_tracer.start(level, tuple(exclude))
    _call_hooks(0)


def trace_in_capture(level):
    """The function tracer in a session that a client of the server began; 0: off again. Called by the server."""
    from tbprof import _python_tracer
    if level:
        _python_tracer.start(level, ())
    else:
        _python_tracer.stop()


def stop(save=True):
    """Ends the session and writes its run; raises UnavailableError if there is none."""
    if is_active(1):
        _call_hooks(1)
    from tbprof import _python_tracer
    _python_tracer.stop()
    native.stop(save)
