# SPDX-License-Identifier: Apache-2.0
"""Torch's own profiler beside ours, and its operators as spans of our run.

Only what runs on the CPU is taken over: each operator goes onto the line of its thread, with the times that torch
measured. Labels of record_function are left out, for they are scopes of ours already.
"""
import contextlib
import sys
import threading

from tbprof import _core


class Ops:
    """One torch profiler, driven by a tbprof.torch.profile."""

    def __init__(self, activities, wanted):
        self._module = sys.modules["torch"].profiler
        self.profiler = self._module._KinetoProfile(activities=self._activities(activities), **wanted)
        self._step = None

    def _activities(self, ours):
        kinds = self._module.ProfilerActivity
        if ours is None:
            return None
        return [getattr(kinds, a.name) if hasattr(a, "name") else a for a in ours]

    def prepare(self):
        self.profiler.prepare_trace()

    def start(self):
        self.profiler.start_trace()
        _core.native.twins(self._module.record_function)

    def stop(self):
        """Before our session stops."""
        _core.native.twins(None)
        self.profiler.stop_trace()
        _take_over(self.profiler)

    def begin_step(self, number):
        self._step = self._module.record_function(f"ProfilerStep#{number}")
        self._step.__enter__()

    def end_step(self):
        step, self._step = self._step, None
        if step is not None:
            step.__exit__(None, None, None)

    def metadata(self, key, value):
        with contextlib.suppress(Exception):  # torch refuses it outside a trace
            self.profiler.add_metadata_json(key, value)


def make(activities, wanted):
    """Ops, or None with one warning if torch's profiler is not what it was."""
    if "torch" not in sys.modules:
        import torch  # noqa: F401  pylint: disable=import-error,unused-import  (native=True asks for it)
    try:
        return Ops(activities, wanted)
    except (AttributeError, TypeError) as e:
        _core.tell(f"tbprof.torch: torch's own profiler is left out ({e!r}): its operators are not in the run", 5)
        return None


def _spans_by_thread(profiler):
    threads = {}
    for event in profiler.profiler.kineto_results.events():
        if event.device_type().name == "CPU" and not event.is_user_annotation() and event.duration_ns() >= 0:
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


def _take_over(profiler):
    try:
        threads = _spans_by_thread(profiler)
    except (AttributeError, RuntimeError, TypeError) as e:
        _core.warn(f"torch's operators are not in this profile: {e!r}")
        return
    _record(threads.pop(threading.get_native_id(), ()))
    for number, spans in sorted(threads.items()):  # their threads may be gone: one of ours writes for each
        writer = threading.Thread(target=_record_as_thread, args=(spans, f"torch {number}"))
        writer.start()
        writer.join()
