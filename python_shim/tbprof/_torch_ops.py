# SPDX-License-Identifier: Apache-2.0
"""Torch's operators in our run: from its own profiler beside ours, as spans, or from its ITT annotations, as scopes.

Of its profiler only what runs on the CPU is taken over: each operator goes onto the line of its thread, with the times
that torch measured. Our labels, which it has seen, too, are left out: they are scopes of ours already.
ITT annotations need no profiler: torch calls the capture runtime at each operator (capture/itt_collect.c). It looks for
where to call when it is imported.
"""
import contextlib
import os
import sys
import threading

from tbprof import _core


class Ops:
    """One torch profiler, driven by a tbprof.torch.profile."""

    def __init__(self, activities, wanted):
        self._module = sys.modules["torch"].profiler
        self.profiler = self._module._KinetoProfile(activities=self._activities(activities), **wanted)
        self._step, self._labels = None, set()

    def _activity(self, ours):
        if isinstance(ours, dict):
            return {self._activity(activity): what for activity, what in ours.items()}
        return getattr(self._module.ProfilerActivity, ours.name) if hasattr(ours, "name") else ours

    def _activities(self, ours):
        return None if ours is None else [self._activity(activity) for activity in ours]

    def has_gpu(self):
        """Torch's profiler records the GPU, which can have one such user."""
        return any(getattr(a, "name", "") == "CUDA" for a in getattr(self.profiler, "activities", None) or ())

    def prepare(self):
        self.profiler.prepare_trace()

    def start(self):
        self.profiler.start_trace()
        _core.native.twins(self._twin)

    def stop(self):
        """Before our session stops."""
        _core.native.twins(None)
        self.profiler.stop_trace()
        _take_over(self.profiler, self._labels)
        self._labels = set()

    def _twin(self, name):
        self._labels.add(name)
        return self._module.record_function(name)

    def begin_step(self, number):
        self._step = self._twin(f"ProfilerStep#{number}")
        self._step.__enter__()

    def end_step(self):
        step, self._step = self._step, None
        if step is not None:
            step.__exit__(None, None, None)

    def toggle(self, enable, activities):
        self.profiler.toggle_collection_dynamic(enable, self._activities(activities))

    def trace_id(self):
        return getattr(self.profiler.profiler, "trace_id", None)

    def metadata(self, key, value):
        with contextlib.suppress(Exception):  # torch refuses it outside a trace
            self.profiler.add_metadata_json(key, value)


class Annotations:
    """Torch's ITT annotations, switched on for a trace. On the thread that starts it and those that work for it."""

    def __init__(self):
        self._emit = None

    def start(self):
        try:
            self._emit = sys.modules["torch"].autograd.profiler.emit_itt()
            self._emit.__enter__()
        except (AttributeError, RuntimeError) as e:  # another profiler of torch's runs
            self._emit = None
            _core.tell(f"tbprof.torch: torch's operators are not in this profile ({_core.text_of(e)})", 5)

    def stop(self):
        emit, self._emit = self._emit, None
        if emit is not None:
            emit.__exit__(None, None, None)


def _is_ours(path):
    return os.path.basename(path or "").startswith("libtbprof.so")


def offer_annotations():
    """Tells a torch that is imported later where its annotations go, unless somebody else collects them."""
    if "torch" in sys.modules or "INTEL_LIBITTNOTIFY64" in os.environ:
        return
    with contextlib.suppress(OSError), open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        paths = (line.rstrip("\n").split(maxsplit=5)[-1] for line in maps)
        path = next(filter(_is_ours, paths), None)
        if path:
            os.environ["INTEL_LIBITTNOTIFY64"] = path
            os.environ.setdefault("INTEL_ITTNOTIFY_GROUPS", "all")


def annotations():
    """Annotations, or None if torch is not there or would call somebody else."""
    return Annotations() if "torch" in sys.modules and _is_ours(os.environ.get("INTEL_LIBITTNOTIFY64")) else None


def make(activities, wanted):
    """Ops, or None with one warning if torch's profiler is not what it was."""
    if "torch" not in sys.modules:
        import torch  # noqa: F401  pylint: disable=import-error,unused-import  (native=True asks for it)
    try:
        return Ops(activities, wanted)
    except (AttributeError, TypeError) as e:
        _core.tell(f"tbprof.torch: torch's own profiler is left out ({_core.text_of(e)}): its operators are not in the "
                   "run", 5)
        return None


def _spans_by_thread(profiler, labels):
    threads = {}
    for event in profiler.profiler.kineto_results.events():
        is_ours = event.is_user_annotation() and event.name() in labels
        if event.device_type().name == "CPU" and not is_ours and event.duration_ns() >= 0:
            spans = threads.setdefault(event.device_resource_id(), [])
            spans.append((event.start_ns(), -event.duration_ns(), event.name()))
    return threads


def _record(spans):
    span = _core.span
    for start_ns, minus_duration, name in sorted(spans):
        span(name, start_ns, -minus_duration)


def _record_as_thread(spans, name):
    _core.thread_name(name)
    _record(spans)


def _take_over(profiler, labels):
    try:
        threads = _spans_by_thread(profiler, labels)
    except (AttributeError, RuntimeError, TypeError) as e:
        _core.warn(f"torch's operators are not in this profile: {_core.text_of(e)}")
        return
    _record(threads.pop(threading.get_native_id(), ()))
    for number, spans in sorted(threads.items()):  # their threads may be gone: one of ours writes for each
        writer = threading.Thread(target=_record_as_thread, args=(spans, f"torch {number}"))
        writer.start()
        writer.join()
