# SPDX-License-Identifier: Apache-2.0
"""tbprof: record profiles of Python programs, and answer TensorBoard's Profile tab.

    import tbprof

    with tbprof.Profile("logdir"):                      # then: tensorboard --logdir logdir
        for step, batch in enumerate(tbprof.data.timed(loader)):
            with tbprof.StepTrace("train", step_num=step):
                train(batch)

Whoever comes from another profiler finds its names in tbprof.keras, tbprof.tf, tbprof.jax, tbprof.torch,
tbprof.mxnet, tbprof.cntk and tbprof.mindspore. Nothing here imports a framework, and importing the package alone does
not load the capture runtime: TensorBoard imports it too (tbprof.loader), and records nothing.
"""
import importlib

_PLACES = {
    "_core": ("start", "stop", "pause", "resume", "snapshot", "collect", "is_active", "last_run", "stats",
              "metadata_set", "begin", "end", "step_begin", "step_end", "activity_start", "activity_end",
              "span", "instant", "counter", "flow_produce", "flow_consume", "annotation_push", "annotation_pop",
              "memory_alloc", "memory_free", "memory_baseline", "thread_name", "warn", "Trace", "StepTrace", "Scope"),
    "_annotate": ("annotate",),
    "server": ("start_server", "stop_server"),
    "collect_profile": ("collect_profile",),
    "tf": ("Profile", "ProfilerOptions", "trace_wrapper"),
    "torch": ("profile", "schedule", "record_function", "tensorboard_trace_handler"),
}
_HOMES = {name: home for home, names in _PLACES.items() for name in names}
_STYLES = ("keras", "tf", "jax", "torch", "mxnet", "cntk", "mindspore", "data", "errors", "client", "server")
__all__ = sorted(_HOMES) + sorted(_STYLES)


def __getattr__(name):
    if name in _STYLES:
        return importlib.import_module(f"tbprof.{name}")
    if name == "__version__":
        return importlib.import_module("tbprof._core").version
    if name not in _HOMES:
        raise AttributeError(f"module 'tbprof' has no attribute '{name}'")
    value = getattr(importlib.import_module(f"tbprof.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(__all__))
