# SPDX-License-Identifier: Apache-2.0
"""The names of torch.profiler.

    from tbprof.torch import profile, record_function, schedule, tensorboard_trace_handler

    with profile(schedule=schedule(wait=1, warmup=1, active=3), on_trace_ready=tensorboard_trace_handler("log")) as p:
        for batch in loader:
            with record_function("forward"): ...
            p.step()

The schedule, the order of calls, warnings and errors are torch's. A trace becomes a run that the Profile tab shows;
steps are `ProfilerStep#n`, and torch's DataLoaders count as input. Where torch is imported, its own profiler runs
beside, so that its operators are in the run and events, key_averages, export_chrome_trace and export_stacks are its
own. Without it (native=False), these are made of the run, in torch's layout, and operators come from torch's ITT
annotations, if it was imported after this module. EventList.of_run(folder) makes tables of any run. Nothing here
imports torch.
"""
import contextlib
import enum
import os
import shutil
import sys
import tempfile
import warnings

from tbprof import _core, _torch_ops, data, errors
from tbprof._torch_tables import DeviceType, EventList  # noqa: F401  pylint: disable=unused-import


class ProfilerAction(enum.Enum):
    """What happens at a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class ProfilerActivity(enum.Enum):
    """What is recorded; torch's own are taken as well."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3


def _original(name):
    """The same of torch.profiler, or None where that is not imported."""
    return getattr(sys.modules.get("torch.profiler"), name, None)


def __getattr__(name):
    if name == "ExecutionTraceObserver" and _original(name):
        return _original(name)  # what profile(execution_trace_observer=…) hands to torch
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def supported_activities():
    """What can be recorded here: torch's answer, where it is imported."""
    ask = _original("supported_activities")
    return ask() if ask else {ProfilerActivity.CPU}


def kineto_available():
    """Whether torch's own profiler can run beside ours."""
    ask = _original("kineto_available")
    return bool(ask and ask())


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    """A function from the number of a step to its action: skip_first steps, then cycles of wait, warmup, active."""
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), "
            f"active={active} (need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0).")
    if warmup == 0:
        warnings.warn("Profiler won't be using warmup, this can skew profiler results", stacklevel=2)
    cycle = wait + warmup + active

    def action(step):
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step += (wait if skip_first_wait else 0) - skip_first
        at = step % cycle
        if at < wait or (repeat > 0 and step >= repeat * cycle):
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def _always(_):
    return ProfilerAction.RECORD


_torch_ops.offer_annotations()

# A scope with a name, and torch's optional text; also a decorator. Torch's own profiler sees it, too, while it runs
# beside ours.
record_function = _core.record_function


class _Handler:
    """What tensorboard_trace_handler returns: torch calls it with the profile, tbprof asks where the run goes."""

    def __init__(self, dir_name, worker_name, suffix, export, is_kineto):
        self.dir_name, self.worker_name = os.fspath(dir_name), worker_name
        if is_kineto and "://" in self.dir_name:
            raise ValueError(f"kineto=True writes as torch does, on this machine alone, and '{dir_name}' is not there")
        self._suffix, self._export, self._is_kineto = suffix, export, is_kineto

    def __call__(self, prof):
        if not isinstance(prof, profile):
            self._write(prof)
            return
        try:
            if self._is_kineto:
                self._write(prof)
            elif prof.on_trace_ready is not self:  # else the run is there: it was written when the trace stopped
                self._take(prof.run)
        except Exception as e:  # pylint: disable=broad-except
            _core.tell(f"tbprof: the trace could not be written to {self.dir_name} ({_core.text_of(e)})")

    def _write(self, prof):
        """As torch's handler does, errors included."""
        import socket
        import time
        try:
            os.makedirs(self.dir_name, exist_ok=True)
        except OSError as e:
            raise RuntimeError("Can't create directory: " + self.dir_name) from e
        worker = self.worker_name or f"{socket.gethostname()}_{os.getpid()}"
        path = os.path.join(self.dir_name, f"{worker}.{time.time_ns()}{self._suffix}")
        prof.export_chrome_trace(path, **self._export)

    def _take(self, run):
        """Called by a handler of the program's own, for which the run went elsewhere."""
        if not run:
            return  # there is no trace, which has been told
        from tbprof import _remote
        _remote.copy_run(run, self.dir_name, self.worker_name)


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False, use_python_export=False, *, kineto=False):
    """For on_trace_ready: each trace becomes a run in dir_name, of which worker_name is the host.

    kineto: instead as torch's handler does, a file <worker>.<time>.pt.trace.json[.gz].
    """
    suffix = ".pt.trace.json.gz" if use_gzip else ".pt.trace.json"
    return _Handler(dir_name, worker_name, suffix, {"use_python_export": True} if use_python_export else {}, kineto)


def _names_of(activities):
    """Those of a list of activities, or of dictionaries from activities to what to collect of them."""
    entries = (list(entry) if isinstance(entry, dict) else [entry] for entry in activities)
    return {getattr(activity, "name", None) for entry in entries for activity in entry}


class profile:  # pylint: disable=invalid-name,too-many-instance-attributes
    """Records what happens inside it, by a schedule if there is one.

    Arguments as torch.profiler.profile has them. native: run torch's own profiler beside ours; default: if torch is
    imported. options: those of tbprof.start. `run` is the folder of the trace written last; without a handler of ours
    it is a temporary one, gone with this object.
    """

    def __init__(self, *, activities=None, schedule=None, on_trace_ready=None, record_shapes=False,
                 profile_memory=False, with_stack=False, with_flops=False, with_modules=False,
                 experimental_config=None, execution_trace_observer=None, acc_events=False, use_cuda=None,
                 custom_trace_id_callback=None, post_processing_timeout_s=None, native=None, options=None):
        activities = None if activities is None else list(activities)
        if activities is not None and not _names_of(activities) & set(ProfilerActivity.__members__):
            raise AssertionError("No valid profiler activities found")
        if use_cuda is not None:
            warnings.warn("`use_cuda` is deprecated, use `activities` argument instead", FutureWarning, stacklevel=2)
        self.activities = activities
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self.with_flops, self.with_modules = with_flops, with_modules
        self.schedule, self.record_steps = (schedule, True) if schedule else (_always, False)
        self.on_trace_ready = on_trace_ready
        self.run, self.step_num = "", 0
        self.current_action = self._action(0)
        self._options = dict(options or {}, record_shapes=record_shapes, with_stack=with_stack)
        if with_stack:
            self._options.setdefault("python_tracer_level", 1)
        self._metadata, self._folder, self._is_stepping, self._events = {}, None, False, None
        self._was_recorded = self._has_failed = False
        self._session = _core.Session()
        self.custom_trace_id_callback = custom_trace_id_callback
        self._told = set()
        wanted = {"record_shapes": record_shapes, "profile_memory": profile_memory, "with_stack": with_stack,
                  "with_flops": with_flops, "with_modules": with_modules, "acc_events": acc_events,
                  "experimental_config": experimental_config, "execution_trace_observer": execution_trace_observer,
                  "custom_trace_id_callback": custom_trace_id_callback,
                  "post_processing_timeout_s": post_processing_timeout_s}
        wanted = {key: value for key, value in wanted.items() if value}
        self._ops = _torch_ops.make(activities, wanted) if native or (native is None and "torch" in sys.modules) else None
        self._annotations = _torch_ops.annotations() if native is not None and not native else None

    # ---- the state machine ----

    def _action(self, step):
        action = self.schedule(step)
        return ProfilerAction(getattr(action, "value", action))  # torch's enumeration is as good

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, value, traceback):
        if kind is None:
            self.stop()
            return
        try:
            self.stop()
        except Exception as e:  # pylint: disable=broad-except
            _core.tell(f"tbprof.torch.profile: {_core.text_of(e)}")  # never instead of the program's own exception

    def start(self):
        self._transit(ProfilerAction.NONE, self.current_action)
        self._begin_step()

    def stop(self):
        self._end_step()
        self._transit(self.current_action, None)

    def step(self):
        """Tells that the next step begins."""
        self._end_step()
        before, next_step = self.current_action, self.step_num + 1
        self.current_action = self._action(next_step)
        self.step_num = next_step
        self._transit(before, self.current_action)
        self._begin_step()

    def _transit(self, before, after):
        a = ProfilerAction
        if before is a.NONE:
            self._open_cycle(after)
        elif before is a.WARMUP:
            if after is a.NONE:
                warnings.warn("Incorrect schedule: WARMUP followed by NONE", stacklevel=3)
            if after in (a.RECORD, a.RECORD_AND_SAVE):
                self._begin_trace()
            elif after is not a.WARMUP and self._ops:  # what was warmed up is dropped
                self._ops.start()
                self._ops.stop()
        elif before is a.RECORD:
            if after in (a.NONE, a.WARMUP):
                warnings.warn(f"Incorrect schedule: RECORD followed by {after.name}", stacklevel=3)
                self._end_trace(save=self._folder is not None)  # the handler is not called: no run for it
            elif after is None:
                self._save()
        else:
            self._save()
            if after is not None:
                self._open_cycle(after)

    def _open_cycle(self, action):
        if action is not ProfilerAction.NONE and action is not None:
            self._prepare()
        if action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            self._begin_trace()

    def _save(self):
        if self._end_trace() and self.on_trace_ready:
            self.on_trace_ready(self)

    # A trace of the schedule that fails is a warning, and its cycle has none: the training goes on.

    def _prepare(self):
        try:
            self.prepare_trace()
        except Exception as e:  # pylint: disable=broad-except
            self._ops = None  # it would not start, and our own trace with it
            self._tell(e, "without torch's own profiler")

    def _go_on_after(self, call, *arguments):
        try:
            call(*arguments)
        except Exception as e:  # pylint: disable=broad-except
            self._tell(e, "with what this trace has")

    def _begin_trace(self):
        try:
            self.start_trace()
        except Exception as e:  # pylint: disable=broad-except
            self._tell(e)
        finally:
            self._has_failed = not self._session.is_open

    def _end_trace(self, save=True):
        has_failed, self._has_failed = self._has_failed, False
        try:
            if not has_failed:
                self.stop_trace(save)
        except AssertionError:  # stop without start, as torch has it
            raise
        except Exception as e:  # pylint: disable=broad-except
            has_failed = True
            self._tell(e)
        return not has_failed

    def _tell(self, error, how="without this trace"):
        text = _core.text_of(error)
        if text not in self._told:
            self._told.add(text)
            _core.tell(f"tbprof.torch.profile: {text}; training goes on {how}", stacklevel=6)

    def _begin_step(self):
        if self.record_steps and self._session.is_open:
            _core.step_begin(f"ProfilerStep#{self.step_num}", self.step_num)
            _core.begin("step body")  # the Profile tab shows no step with nothing inside
            self._is_stepping = True
        if self.record_steps and self._ops:
            self._go_on_after(self._ops.begin_step, self.step_num)

    def _end_step(self):
        if self._ops:
            self._go_on_after(self._ops.end_step)
        if self._is_stepping:
            _core.step_end()
            self._is_stepping = False

    # ---- one trace ----

    def prepare_trace(self):
        """Warms up: what a trace needs is loaded before the first step that counts."""
        data.time_torch_loaders()
        with contextlib.suppress(errors.Error):  # start_trace will say it
            _core.warm_up({"gpu": "off"})
        if self._ops:
            self._ops.prepare()

    def start_trace(self):
        handler = self.on_trace_ready
        logdir = getattr(handler, "dir_name", None)
        if logdir is None or getattr(handler, "_is_kineto", False):
            self._discard()
            self._folder = logdir = tempfile.mkdtemp(prefix="tbprof-")
        options = dict(self._options, override_hostname=getattr(handler, "worker_name", None))
        if self._ops and self._ops.has_gpu():
            options.setdefault("gpu", "off")
        try:
            self._session.start(logdir, options)
            if self._ops:
                self._ops.start()
            if self._annotations:
                self._annotations.start()
            for key, value in self._metadata.items():
                _core.metadata_set(key, value)
        except BaseException:  # also torch's profiler did not start
            self._session.drop()
            raise

    def stop_trace(self, save=True):
        if not self._session.is_open:
            if self._was_recorded:
                return  # stopped by hand inside `with`
            raise AssertionError("Profiler must be initialized before stopping trace")
        self._was_recorded = True
        try:
            if self._annotations:
                self._annotations.stop()
            if self._ops:
                self._ops.stop()
        finally:
            self._session.stop(save)
            self.run = self._session.run

    def _discard(self):
        folder, self._folder = self._folder, None
        if folder:
            shutil.rmtree(folder, ignore_errors=True)

    def __del__(self):
        try:
            self._discard()
        except Exception:  # pylint: disable=broad-except
            pass  # the interpreter is going down

    # ---- metadata ----

    def add_metadata(self, key, value):
        """A text into the profile."""
        self.add_metadata_json(key, value)

    def add_metadata_json(self, key, value):
        """A text that is JSON into the profile."""
        if self._ops:
            self._ops.metadata(key, value)
        if self._session.is_open:
            _core.metadata_set(str(key), str(value))

    def preset_metadata_json(self, key, value):
        """The same for every trace to come."""
        self._metadata[str(key)] = str(value)

    # ---- results: torch's own where its profiler ran, else those of the run ----

    def _listed(self, what):
        if self._session.is_open:
            raise RuntimeError("Profiler didn't finish running")
        if not self.run:
            raise AssertionError(f"Profiler must be initialized before {what}")
        if self._events is None or self._events[0] != self.run:
            self._events = self.run, EventList.of_run(self.run)
        return self._events[1]

    def events(self):
        """An EventList of all calls."""
        return self._ops.profiler.events() if self._ops else self._listed("accessing events")

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        """An EventList of averages by name; its table() is text."""
        events = self._ops.profiler if self._ops else self._listed("getting key averages")
        later = {"group_by_overload_name": True} if group_by_overload_name else {}  # than torch's first releases
        return events.key_averages(group_by_input_shape, group_by_stack_n, **later)

    def export_chrome_trace(self, path, use_python_export=False):
        """A file in Chrome's format; .gz is packed."""
        if self._ops:
            later = {"use_python_export": True} if use_python_export else {}
            self._ops.profiler.export_chrome_trace(path, **later)
        else:
            self._listed("exporting chrome trace").export_chrome_trace(path)

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """Lines of functions and a number, for flame graphs; needs with_stack=True."""
        if self._ops:
            self._ops.profiler.export_stacks(path, metric)
            return
        events = self._listed("exporting stacks")
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        events.export_stacks(path, metric)

    # ---- what torch's own profiler alone can do ----

    def export_memory_timeline(self, path, device=None):
        """Torch's memory events as a plot or a file."""
        if not (self.record_shapes and self.profile_memory and self.with_stack):
            raise ValueError("record_shapes=True, profile_memory=True, with_stack=True required for memory profiling.")
        if not self._ops:
            raise AssertionError("export_memory_timeline() needs torch's own profiler beside (native=True)")
        self._ops.profiler.export_memory_timeline(path, device)

    def toggle_collection_dynamic(self, enable, activities):
        """Switches activities of torch's profiler on or off; what tbprof records goes on."""
        if self._ops:
            self._ops.toggle(enable, activities)

    def set_custom_trace_id_callback(self, callback):
        """What names torch's next trace."""
        self.custom_trace_id_callback = callback
        if self._ops:
            self._ops.profiler.custom_trace_id_callback = callback

    def get_trace_id(self):
        """The name of torch's trace, or None."""
        return self._ops.trace_id() if self._ops else None
