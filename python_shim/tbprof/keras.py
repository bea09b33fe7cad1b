# SPDX-License-Identifier: Apache-2.0
"""ProfilerCallback: the profile_batch of Keras's TensorBoard callback, for every backend.

    model.fit(x, y, callbacks=[tbprof.keras.ProfilerCallback("logs", profile_batch=(10, 20))])

Batches are counted as Keras does: from 1, over all epochs of a fit, one for each call of on_train_batch_begin. The
run lies in logs/train. A step lasts from the begin of a batch to the begin of the next one (or the end of the epoch),
so that fetching data lies inside; what the model's step function takes and what fetching takes is told apart inside
it. Nothing is imported from Keras: any object that calls these hooks will do (Keras 3, tf_keras).

The callback never breaks training: whatever goes wrong here is one warning. It defines no hook that would turn off
Keras's asynchronous dispatch of callbacks. train_on_batch calls no callbacks: use tbprof.start and stop there.
"""
import atexit
import functools
import itertools
import operator
import os
import sys
import threading
import weakref

from tbprof import _core, _keras_input, data

_NONE, _RECORD, _SAVE = 0, 2, 3  # of a schedule; 1 (warm up) is nothing here
_PROFILE_BATCH = ("profile_batch must be a non-negative integer or 2-tuple of positive integers. A pair of positive "
                  "integers signifies a range of batches to profile. Found: ")


def parse_profile_batch(value):
    """(first, last) batch, (0, 0) for none; ValueError as Keras has it. numpy's integers are integers here."""
    if isinstance(value, str):
        pair = [int(part) for part in value.split(",")]
    elif isinstance(value, (tuple, list)):
        pair = list(value)
    else:
        pair = [value, value]
    try:
        first, last = (operator.index(i) for i in pair)
    except (TypeError, ValueError):
        raise ValueError(f"{_PROFILE_BATCH}{value}") from None
    if first < 0 or last < first or (isinstance(value, str) and len(pair) != 2):
        raise ValueError(f"{_PROFILE_BATCH}{value}")
    return first, last


def _never_raises(hook):
    """A hook of ours that fails says so once, is not called again in this fit, and lets training go on."""
    @functools.wraps(hook)
    def wrapper(self, *positional, **keywords):
        if self._is_broken and hook.__name__ != "on_train_begin":
            return
        try:
            hook(self, *positional, **keywords)
        except Exception as e:  # pylint: disable=broad-except
            self._is_broken = True
            text = f"{_core.text_of(e)} (in {hook.__name__})"
            self._tell(text, f"{text}; training goes on without a profile")
            self._give_up()
    return wrapper


def _default(hook):
    """Marks a hook as Keras marks those of its base class: one that does nothing need not be waited for."""
    hook._is_default = True
    return hook


def _callers():
    """The code of all that runs in this thread outside of this module, outermost first."""
    frame, found = sys._getframe(1), []  # pylint: disable=protected-access
    while frame and frame.f_globals is globals():
        frame = frame.f_back
    while frame:
        found.append(frame.f_code)
        frame = frame.f_back
    return found[::-1]


class _Fit:
    """A fit as its place among what runs: all that both its first hook and a later one were called from."""

    def __init__(self):
        self._thread, self._path = threading.current_thread(), _callers()

    def note_place(self):
        both = itertools.takewhile(lambda pair: pair[0] is pair[1], zip(self._path, _callers()))
        self._path = [one for one, _ in both]

    def is_over_in(self, other):
        """Whether this one has ended, however it did, by what runs while the other one does."""
        if self._thread is not other._thread:
            return not self._thread.is_alive()
        return other._path[:-1][:len(self._path)] != self._path  # else the other one runs inside this one


class ProfilerCallback:
    """Profiles a range of training batches.

    log_dir: as for Keras's TensorBoard callback; runs go to its folder `train`, or to log_dir itself with
        train_subdir=False (as tf_keras does).
    profile_batch: a batch, a pair (first, last) or "first,last"; 0: none. Or a schedule: a function from the number
        of a batch (from 0) to an action, as tbprof.torch.schedule makes.
    native: also drive the profiler of the backend (TensorFlow, JAX) and put its planes into the run.
    track_input: tell waiting for data apart from computing.
    options: those of tbprof.start.
    """

    async_safe = True  # Keras may dispatch the hooks of others as it likes

    def __init__(self, log_dir="logs", profile_batch=(2, 11), *, native=False, train_subdir=True, track_input=True,
                 name="train", **options):
        self.model = self.params = None
        self._schedule = profile_batch if callable(profile_batch) else None
        self._asked = profile_batch
        self._first, self._last = (1, 0) if self._schedule else parse_profile_batch(profile_batch)
        self._logdir = os.path.join(os.fspath(log_dir), "train") if train_subdir else os.fspath(log_dir)
        self._native, self._track_input, self._name, self._options = native, track_input, name, options
        self._told = set()
        self._batch = 0            # of this fit, from 1
        self._sessions = 0         # of this fit
        self._session, self._is_broken = _core.Session(), False
        self._scopes = {}          # open ones by kind: "epoch", "validation", "predict", "batch"
        self._input = self._driver = None
        self._fit = _Fit()
        if self._first == 0 < self._last:
            self._first = 1
            self._tell("zero", f"batches count from 1: profile_batch={profile_batch!r} starts with batch 1")
        atexit.register(_save_at_exit, weakref.ref(self))

    # ---- what Keras calls ----

    def set_model(self, model):
        self.model = model

    def set_params(self, params):
        self.params = params

    def _implements_train_batch_hooks(self):  # what tf_keras asks
        return self._schedule is not None or self._last > 0

    def _implements_test_batch_hooks(self):
        return True

    def _implements_predict_batch_hooks(self):
        return True

    @_never_raises
    def on_train_begin(self, logs=None):
        self._is_broken = False
        if self._is_recording:
            self._tell("left", "a fit begins while another one is profiled, which has ended by an exception, or in which "
                       "this one runs with the same callback; the profile of the other one ends here and is saved")
            self._stop()
        self._batch, self._sessions, self._fit = 0, 0, _Fit()

    @_never_raises
    def on_epoch_begin(self, epoch, logs=None):
        self._epoch = epoch
        self._open("epoch", f"epoch {epoch}")

    @_never_raises
    def on_train_batch_begin(self, batch, logs=None):
        self._end_step()
        self._batch += 1
        if self._batch == 1:
            self._end_one_that_is_over()
        if self._is_recording and self._ends_before(self._batch):
            self._stop()
        if not self._is_recording and self._begins_with(self._batch):
            self._start()
        if self._is_recording or self._begins_with(self._batch + 1):  # one earlier: what it sets up is not profiled
            self._track()
        if self._is_recording and self._driver:
            self._driver.step(self._name, self._batch)
            self._open("step", f"{self._name} {self._batch}")
        elif self._is_recording:
            _core.step_begin(self._name, self._batch)
            if self._input is None:
                self._open("step", "step body")  # the Profile tab shows no step with nothing inside

    @_never_raises
    def on_epoch_end(self, epoch, logs=None):
        self._end_step()
        self._close("epoch")
        if self._is_recording and self._ends_before(self._batch + 1):
            self._stop()

    @_never_raises
    def on_train_end(self, logs=None):
        self._end_step()
        if self._is_recording:
            self._stop()
        if not self._sessions and self._implements_train_batch_hooks():
            wanted = "its schedule" if self._schedule else f"batches {self._first}-{self._last}"
            self._tell("unreached", f"nothing was profiled: profile_batch={self._asked!r} asks for {wanted}, this fit "
                       f"saw {self._batch} batches")

    @_never_raises
    def on_test_begin(self, logs=None):
        self._end_step()
        self._open("validation", "validation")

    @_never_raises
    def on_test_batch_begin(self, batch, logs=None):
        self._open("batch", "validation batch")

    @_never_raises
    def on_test_end(self, logs=None):
        self._close("batch")
        self._close("validation")

    @_never_raises
    def on_predict_begin(self, logs=None):
        self._open("predict", "predict")

    @_never_raises
    def on_predict_batch_begin(self, batch, logs=None):
        self._open("batch", "predict batch")

    @_never_raises
    def on_predict_end(self, logs=None):
        self._close("batch")
        self._close("predict")

    @_default
    def on_batch_begin(self, batch, logs=None):
        pass

    @_default
    def on_batch_end(self, batch, logs=None):
        pass

    @_default
    def on_train_batch_end(self, batch, logs=None):
        tracked = self._input  # Keras may call this in another thread than the other hooks
        if tracked:
            tracked.note_end_of_batch()

    @_default
    def on_test_batch_end(self, batch, logs=None):
        pass

    @_default
    def on_predict_batch_end(self, batch, logs=None):
        pass

    # ---- which batches ----

    def _action(self, batch):
        return int(getattr(self._schedule(batch - 1), "value", 0)) if batch > 0 else _NONE

    def _begins_with(self, batch):
        if self._schedule:
            return self._action(batch) >= _RECORD
        return batch == self._first and self._last > 0

    def _ends_before(self, batch):
        if self._schedule:
            return self._action(batch - 1) == _SAVE or self._action(batch) < _RECORD
        return batch > self._last

    # ---- the session ----

    @property
    def _is_recording(self):
        return self._session.is_open

    def _end_one_that_is_over(self):
        """The session of another callback whose fit an exception has ended: none of its hooks was called for that."""
        self._fit.note_place()
        session = _core.open_session()
        other = session.owner if session else None
        if isinstance(other, ProfilerCallback) and other is not self and other._fit.is_over_in(self._fit):
            self._tell("left", "an earlier fit, which has ended by an exception, is still profiled; its profile ends here "
                       "and is saved")
            try:
                other._stop()
            except Exception as e:  # pylint: disable=broad-except
                self._tell("lost", f"the profile of an earlier fit could not be saved: {_core.text_of(e)}")

    def _start(self):
        self._session.owner = self
        data.time_torch_loaders()
        if self._native:
            from tbprof import _native_profilers
            self._driver = _native_profilers.start(_keras_input.backend_of(self.model), self._tell)
        try:
            own = {"gpu": "off"} if self._driver else {}  # the framework's profiler has the GPU: there is one user of it
            self._session.start(self._logdir, {**own, **(self._options or {})})
        except BaseException:
            driver, self._driver = self._driver, None
            if driver:
                driver.stop("")
            raise
        self._sessions += 1
        if hasattr(self, "_epoch"):
            self._open("epoch", f"epoch {self._epoch}")

    def _stop(self):
        for kind in ("step", "batch", "predict", "validation", "epoch"):
            self._close(kind)
        self._stop_tracking()
        driver = self._driver
        try:
            self._session.stop(finish=driver.stop if driver else None)
        finally:
            self._driver = None

    def _track(self):
        wants_driver = self._native and not self._is_recording  # whether there is one shows when it starts
        if self._track_input and self._input is None and not self._driver and not wants_driver:
            self._input = _keras_input.track(self.model)

    def _stop_tracking(self):
        tracked, self._input = self._input, None
        if tracked:
            tracked.stop()

    def _give_up(self):
        """After a failure of ours: no session, no wrapped function stays behind."""
        try:
            if self._is_recording:
                self._stop()
            self._stop_tracking()
        except Exception:  # pylint: disable=broad-except
            pass  # the first failure was told

    def _end_step(self):
        if self._driver:
            self._driver.end_step()
            self._close("step")
        elif self._is_recording:
            self._close("step")
            _core.step_end()

    def _open(self, kind, name):
        self._close(kind)
        if self._is_recording:
            self._scopes[kind] = _core.begin(name)

    def _close(self, kind):
        _core.end(self._scopes.pop(kind, 0))

    def _tell(self, reason, text):
        if reason not in self._told:
            self._told.add(reason)
            _core.tell(f"ProfilerCallback: {text}", stacklevel=4)


def _save_at_exit(reference):
    callback = reference()
    if callback is not None and callback._is_recording:
        callback._give_up()
