# SPDX-License-Identifier: Apache-2.0
"""Asks other processes for a profile: those with a server of tbprof, TensorFlow or JAX.

    tbprof.client.trace("host-a:6009,host-b:6009", "logdir", duration_ms=2000)
"""
import os

from tbprof import _core

_LEVELS = {"host_tracer_level": 2, "device_tracer_level": 1, "python_tracer_level": 0}


def _option(options, name, otherwise):
    value = options.get(name) if isinstance(options, dict) else getattr(options, name, None)
    return otherwise if value is None else value


def trace(service_addr, logdir, duration_ms, worker_list="", num_tracing_attempts=3, options=None):
    """Profiles all servers of service_addr at the same time, into one run of logdir; returns its folder.

    options: a ProfilerOptions or a dict: levels of the tracers, delay_ms. Servers that give nothing are a warning as
    long as one does; if none does, an error says what came of each.
    """
    levels = [int(_option(options, name, value)) for name, value in _LEVELS.items()]
    folder, text = _core.client_trace(service_addr, os.fspath(logdir), int(duration_ms), worker_list,
                                      int(num_tracing_attempts), *levels, int(_option(options, "delay_ms", 0)))
    if text:
        _core.tell(f"tbprof.client.trace: {text}")
    return folder


def monitor(service_addr, duration_ms, level=1):
    """How busy a process is, as text: steps per second, processor, memory."""
    return _core.client_monitor(service_addr, int(duration_ms), int(level))
