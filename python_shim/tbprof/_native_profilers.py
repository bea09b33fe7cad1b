# SPDX-License-Identifier: Apache-2.0
"""The profiler of a framework, driven together with ours: its file becomes the run's, with our events in a host plane
of their own. Steps are then the framework's, so that its events belong to them."""
import glob
import os
import shutil
import sys
import tempfile

from tbprof import _core, _xplane


class Driver:
    """One session of a framework's profiler, and its steps. tell(reason, text) says what is missing in the run."""

    def __init__(self, start, stop, step, tell):
        self._folder = tempfile.mkdtemp(prefix="tbprof-native-")
        self._stop, self._make_step, self._step, self._tell = stop, step, None, tell
        try:
            start(self._folder)
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise

    def step(self, name, number):
        self.end_step()
        self._step = self._make_step(name, number)
        self._step.__enter__()

    def end_step(self):
        step, self._step = self._step, None
        if step is not None:
            step.__exit__(None, None, None)

    def _files(self):
        return glob.glob(os.path.join(self._folder, "plugins", "profile", "*", "*.xplane.pb"))

    def stop(self, run):
        """Ends it and puts its planes into the run (a folder; "": there is none). If that fails, the run is ours."""
        try:
            try:
                self.end_step()
            finally:
                if not self._files():  # else the program has ended it: if one runs now, it is the program's
                    self._stop()
            theirs = self._files()
            ours = glob.glob(os.path.join(run, "*.xplane.pb")) if run else []
            if len(theirs) == 1 and len(ours) == 1:
                _put_together(theirs[0], ours[0])
            elif ours:
                raise ValueError(f"it has left {len(theirs)} files, not one")
        except Exception as e:  # pylint: disable=broad-except
            self._tell("native stop", f"native=True: what the backend's own profiler has recorded is not in the run "
                       f"({_core.text_of(e)}); our events alone are")
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)


def _put_together(theirs, ours):
    with open(theirs, "rb") as file:
        their_bytes = file.read()
    if not any(number == _xplane.PLANES for number, _, _ in _xplane.fields(their_bytes)):
        raise ValueError("its file is empty")
    with open(ours, "rb") as file:
        together = _xplane.beside(their_bytes, file.read())
    temporary = os.path.join(os.path.dirname(ours), f".{os.path.basename(ours)}.tmp.{os.getpid()}")
    with open(temporary, "wb") as file:
        file.write(together)
    os.replace(temporary, ours)


def _tensorflow(tell):
    profiler = sys.modules["tensorflow"].profiler.experimental
    return Driver(profiler.start, profiler.stop, lambda name, n: profiler.Trace(name, step_num=n, _r=1), tell)


def _jax(tell):
    profiler = sys.modules["jax"].profiler
    options = profiler.ProfileOptions()
    options.python_tracer_level = 0  # ours does that

    def start(folder):
        profiler.start_trace(folder, profiler_options=options)
    return Driver(start, profiler.stop_trace, lambda name, n: profiler.StepTraceAnnotation(name, step_num=n), tell)


def start(backend, tell):
    """A Driver, or None with a warning by tell(reason, text) for a backend whose profiler is not known here."""
    make = {"tensorflow": _tensorflow, "jax": _jax}.get(backend)
    if make is None:
        tell("native", f"native=True: the profiler of {backend or 'this backend'} is not driven; our events alone are "
             "recorded")
        return None
    try:
        return make(tell)
    except Exception as e:  # pylint: disable=broad-except
        tell("native", f"native=True: the profiler of {backend} does not start ({_core.text_of(e)}); our events alone "
             "are recorded")
        return None
