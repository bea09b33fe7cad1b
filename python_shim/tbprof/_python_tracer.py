# SPDX-License-Identifier: Apache-2.0
"""Turns the function tracer of the extension module on and off: through sys.monitoring from Python 3.12 on, before
that through the profile functions of threads. What it could not record is told in the profile."""
import os
import sys
import threading
import types

from tbprof import _core

_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep
_TOOL = "tbprof"
_TOOL_IDS = (2, 3, 4, 5)  # sys.monitoring.PROFILER_ID, then the free ones
# is_on: something of it may be installed; is_whole: all of it.
_state = types.SimpleNamespace(tool=None, is_on=False, is_whole=False, hook=None)
_lock = _core.new_lock()  # threads may start and stop sessions as they like


def _callbacks(level):
    events, native = sys.monitoring.events, _core.native
    wanted = [(events.PY_START, native.on_start), (events.PY_RESUME, native.on_start),
              (events.PY_RETURN, native.on_return), (events.PY_YIELD, native.on_return),
              (events.PY_UNWIND, native.on_unwind), (events.PY_THROW, native.on_throw)]
    if level > 1:
        wanted += [(events.CALL, native.on_call), (events.C_RETURN, native.on_c_return),
                   (events.C_RAISE, native.on_c_return)]
    return wanted


def _start_monitoring(level):
    monitoring = sys.monitoring
    monitoring.use_tool_id(_state.tool, _TOOL)
    mask = 0
    for event, callback in _callbacks(level):
        monitoring.register_callback(_state.tool, event, callback)
        if event not in (monitoring.events.C_RETURN, monitoring.events.C_RAISE):  # they come with CALL
            mask |= event
    monitoring.restart_events()  # what an earlier session left out may be wanted now
    monitoring.set_events(_state.tool, mask)


def _start_profile():
    threading.setprofile(_core.native.profile_bootstrap)
    _core.native.profile_install()


def _find_place():
    """Why there is no place for the tracer, or None; nothing is installed yet."""
    if hasattr(sys, "monitoring"):
        _state.tool = next((i for i in _TOOL_IDS if sys.monitoring.get_tool(i) is None), None)
        return "all tools of sys.monitoring are taken" if _state.tool is None else None
    _state.hook = getattr(threading, "_profile_hook", None)
    return None if sys.getprofile() is None else f"another profiler is active ({sys.getprofile()!r})"


def _start(level, exclude):
    if not _core.has_extension:
        _core.warn("Python functions were not traced: the extension module does not load")
        return
    problem = _find_place()
    if problem:
        _core.warn(f"Python functions were not traced: {problem}")
        return
    disable = getattr(getattr(sys, "monitoring", None), "DISABLE", None)
    _state.is_on = True  # first: what a signal's exception interrupts here is for _stop to undo
    _core.native.tracer_start(level, (_FOLDER, "<frozen importlib") + exclude, disable, types.FunctionType, types.MethodType)
    if hasattr(sys, "monitoring"):
        _start_monitoring(level)
    else:
        _start_profile()
    _state.is_whole = True


def _stop_monitoring():
    monitoring = sys.monitoring
    if monitoring.get_tool(_state.tool) != _TOOL:
        was_whole, _state.is_whole = _state.is_whole, False
        if was_whole:
            raise RuntimeError("somebody has taken its tool of sys.monitoring away")
        return
    monitoring.set_events(_state.tool, 0)
    for event, _ in _callbacks(2):
        monitoring.register_callback(_state.tool, event, None)
    _state.is_whole = False
    monitoring.free_tool_id(_state.tool)


def _stop():
    if not _state.is_on:
        return
    left_out = _core.native.tracer_stop()
    if hasattr(sys, "monitoring"):
        _stop_monitoring()
    else:
        _core.native.profile_remove()
        threading.setprofile(_state.hook)
    _state.is_on = _state.is_whole = False  # last: a stop that is interrupted can be repeated
    if left_out["too_deep"]:
        _core.warn(f"{left_out['too_deep']} Python calls were nested deeper than 512 and not recorded")
    if left_out["unknown"]:
        _core.warn(f"{left_out['unknown']} Python calls were of functions beyond the first 65,536 and not recorded")


def start(level, exclude):
    with _lock:
        _stop()
        _start(level, exclude)


def stop():
    """Before the session stops, so that the notes reach the profile."""
    with _lock:
        _stop()


def _in_child():
    """A child that is not recorded has nothing to be called for: a loader's workers would be slower."""
    if not _core.is_active(0):
        stop()


os.register_at_fork(after_in_child=_in_child)
