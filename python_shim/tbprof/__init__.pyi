# SPDX-License-Identifier: Apache-2.0
from os import PathLike
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, TypeVar, Union, overload

from tbprof import (
    client as client, cntk as cntk, data as data, errors as errors, jax as jax, keras as keras, mindspore as mindspore,
    mxnet as mxnet, server as server, tf as tf, torch as torch)
from tbprof._tbprof import (
    Scope as Scope, StepTrace as StepTrace, Trace as Trace, activity_end as activity_end,
    activity_start as activity_start, annotation_pop as annotation_pop, annotation_push as annotation_push,
    begin as begin, collect as collect, counter as counter, end as end, flow_consume as flow_consume,
    flow_produce as flow_produce, instant as instant, is_active as is_active, last_run as last_run,
    memory_alloc as memory_alloc, memory_baseline as memory_baseline, memory_free as memory_free,
    metadata_set as metadata_set, pause as pause, resume as resume, snapshot as snapshot, span as span,
    stats as stats, step_begin as step_begin, step_end as step_end, thread_name as thread_name, warn as warn)
from tbprof.collect_profile import collect_profile as collect_profile
from tbprof.server import start_server as start_server, stop_server as stop_server
from tbprof.tf import Profile as Profile, ProfilerOptions as ProfilerOptions, trace_wrapper as trace_wrapper
from tbprof.torch import (
    profile as profile, record_function as record_function, schedule as schedule,
    tensorboard_trace_handler as tensorboard_trace_handler)

_F = TypeVar("_F", bound=Callable[..., Any])

__version__: str

def start(logdir: Union[str, "PathLike[str]"], options: Optional[Mapping[str, Any]] = ..., *,
          exclude: Sequence[str] = ..., **more: Any) -> None: ...
def stop(save: bool = ...) -> None: ...
@overload
def annotate(function: _F, name: Optional[str] = ..., **arguments: Any) -> _F: ...
@overload
def annotate(function: Optional[str] = ..., name: Optional[str] = ..., **arguments: Any) -> Callable[[_F], _F]: ...
