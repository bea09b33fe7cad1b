# SPDX-License-Identifier: Apache-2.0
"""The one layer between the styles (tbprof.keras, tbprof.tf, tbprof.jax, tbprof.torch …) and the capture runtime.

Everything a style needs is here: annotations as they come from the extension module (or from its stand-in, where
that does not load), sessions with options by name, and hooks for what has to happen while something is recorded.
A process has one session; who starts a second one gets tbprof.errors.AlreadyExistsError.
"""
import atexit
import contextlib
import os
import sys
import threading
import warnings

from tbprof import errors


def text_of(error):
    """Its kind and what it says, if anything, for a warning. Errors are anybody's classes: their texts may fail, too."""
    try:
        said = str(error)
    except Exception:  # pylint: disable=broad-except
        said = ""
    return type(error).__name__ + (f": {said}" if said else "")


def tell(text, stacklevel=3):
    """A warning that stays one, even where warnings are errors, or what shows them fails."""
    try:
        warnings.warn(text, RuntimeWarning, stacklevel=stacklevel)
    except Exception:  # pylint: disable=broad-except
        import logging
        logging.getLogger("tbprof").warning("%s", text)


try:
    from tbprof import _tbprof as native
    has_extension = True
except ImportError as _reason:
    from tbprof import _fallback as native
    has_extension = False
    tell(native.describe(_reason))

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
is_active, stats, metadata_set = native.is_active, native.stats, native.metadata_set
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
            tell(f"tbprof: while a session {'is stopped' if which else 'starts'}: {text_of(e)}; it goes on")


def last_run():
    """Where the run is that was written last; "": there is none."""
    run, remote = native.last_run(), sys.modules.get("tbprof._remote")
    return remote.places.get(run, run) if remote else run


def option_texts(options):
    """Options as the runtime takes them: texts, None left out."""
    texts = {}
    for key, value in (options or {}).items():
        if value is None:
            continue
        texts[key] = str(int(value)) if isinstance(value, bool) else str(value)
    return texts


def new_lock():
    """A lock that a signal handler may take again, and that is free in the child of a fork."""
    lock = threading.RLock()
    os.register_at_fork(after_in_child=lock._at_fork_reinit)  # pylint: disable=protected-access
    return lock


def _beginnings(exclude):
    found = (exclude,) if isinstance(exclude, str) else tuple(exclude)
    if not all(isinstance(beginning, str) for beginning in found):
        raise TypeError("exclude: beginnings of file names are needed, each a str")
    return found


def _tracer(what, *arguments):
    """Does something with the function tracer; if that fails, only functions are missing."""
    from tbprof import _python_tracer
    try:
        getattr(_python_tracer, what)(*arguments)
    except Exception as e:  # pylint: disable=broad-except
        tell(f"tbprof: in the function tracer: {text_of(e)}; Python functions may be missing in this profile")


def _copy_for(folder):
    """A _remote.Copy, or None for a folder of this machine."""
    if "://" not in os.fsdecode(folder):
        return None
    from tbprof import _remote
    return _remote.Copy(os.fsdecode(folder)) if _remote.is_remote(folder) else None


class Session:
    """The process's session, as the style that starts it has it. is_open: this style has started it and not stopped it
    yet; somebody else may have, and may have started one of his own, which is left alone. A signal's exception (Ctrl-C)
    may come between any two lines, and what a style notes after a start would be missing: a start is whole or undone
    here, a stop ends the session whatever comes, and is_open is right in between. run: the folder that its last stop
    has written, on this machine, also if the log directory is not; "": none. owner: what the style has noted."""

    def __init__(self):
        self.is_open, self.generation, self.run, self.owner = False, None, "", None

    def start(self, logdir, options=None, *, exclude=(), **more):
        """As start() of this module."""
        beginnings, folder = _beginnings(exclude), os.fspath(logdir)
        texts = option_texts({**(options or {}), **more})
        copy = _copy_for(folder)
        self.is_open = False
        try:
            level = native.start(copy.folder if copy else folder, texts, self)
            ended, _left_open[:] = next(iter(_left_open[2:]), None), [self, folder, copy]
            if ended:  # a session whose duration was over, and which nobody has stopped
                ended.upload()
            if level and _left_open:  # else another thread has stopped it
                _tracer("start", level, beginnings)
            _call_hooks(0)
        except BaseException:
            self.drop()
            if copy:
                copy.discard()
            raise

    def expect_own(self):
        """Raises UnavailableError if by now another session is there than the one that was started here."""
        if self.is_open and self.generation not in (None, native.generation()):
            self.is_open = False
            raise errors.UnavailableError("this profiler session was stopped by somebody else, who has started another")

    def stop(self, save=True, finish=None):
        """Ends the session, or whatever session runs if none was started here; raises UnavailableError if there is
        none. finish(run) is called in any case: it completes the run."""
        self.run, copy = "", None
        try:
            self.expect_own()
            copy = next(iter(_left_open[2:]), None)
            self._end(save)
        finally:
            try:
                if finish:
                    finish(self.run)
            finally:
                if copy:
                    (copy.upload if save else copy.discard)()

    def _end(self, save):
        try:
            if is_active(1):
                _call_hooks(1)
            _tracer("stop")
        finally:
            is_saved = save and _left_open[1:2] != [""]
            try:
                native.stop(save, self)
                self.run = native.last_run() if is_saved else ""
            finally:
                _left_open.clear()
                _tracer("stop")  # another thread has started this session, and its tracer meanwhile

    def drop(self):
        """Ends it, if it is open, and saves nothing."""
        if self.is_open:
            with contextlib.suppress(errors.Error):
                self.stop(save=False)


def start(logdir, options=None, *, exclude=(), **more):
    """Starts the session. logdir "": nothing is saved at its end.

    options, or keywords: those of tbprof_options in capture/tbprof.h by name ("max_host_bytes", "64MiB").
    exclude: beginnings of file names whose functions the Python tracer leaves out.
    """
    Session().start(logdir, options, exclude=exclude, **more)


def trace_in_capture(level):
    """The function tracer in a session that a client of the server began; 0: off again. Called by the server."""
    if level:
        _tracer("start", level, ())
    else:
        _tracer("stop")


def stop(save=True):
    """Ends the session and writes its run; raises UnavailableError if there is none."""
    Session().stop(save)


def warm_up(options=None):
    """Loads what a session needs, so that the first one is as good as the others."""
    session = Session()
    try:
        session.start("", options)
        session.stop(save=False)
    finally:
        session.drop()


_left_open = []  # the Session that was started here last, its log directory, and its copy if that is not here


def open_session():
    """The Session that was started here and not stopped yet, or None; its duration may be over."""
    return next(iter(_left_open), None)


def _in_child():
    """It is not saved at the end of a child. If the child is recorded (follow_fork), that is the same session's part."""
    for session in _left_open[:1]:
        session.generation = native.generation()
    _left_open.clear()


os.register_at_fork(after_in_child=_in_child)


@atexit.register  # before all that may save something: after it
def _remove_copies():
    remote = sys.modules.get("tbprof._remote")
    if remote:
        remote.clean()


@atexit.register
def _stop_server_at_exit():
    """A capture that runs is answered while there is an interpreter yet: its tracer is of Python."""
    try:
        server_stop()
    except (ValueError, errors.UnimplementedError):
        pass


@atexit.register  # before those of the styles, which come later: after them
def _save_at_exit():
    """Of a program that ends while it is recorded."""
    if not _left_open:
        return
    wants_run = bool(_left_open[1])
    try:
        stop(wants_run)
        if wants_run:
            tell(f"tbprof: the program ends without tbprof's stop: what was recorded is in {last_run()}")
    except Exception as e:  # pylint: disable=broad-except
        if not str(e).startswith("no profiler session"):  # it had ended by itself
            tell(f"tbprof: the program ends without tbprof's stop, and its recording could not be saved: {text_of(e)}")
