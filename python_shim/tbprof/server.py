# SPDX-License-Identifier: Apache-2.0
"""Lets others ask this process for a profile: the CAPTURE PROFILE button of TensorBoard, `tbprof capture`, the clients
of TensorFlow and JAX. Nothing is recorded until somebody asks.

    tbprof.start_server(6009)
"""
import operator
import os

from tbprof import _core

_MODES = {None: -1, "client": 0, "server": 1, "auto": 2}


def _texts(value, separator):
    if value is None or isinstance(value, (str, os.PathLike)):
        return None if value is None else os.fspath(value)
    return separator.join(os.fspath(v) for v in value)


def start_server(port, *, bind=None, mode=None, allow_root=None, allow_peers=None, token=None, max_duration_ms=0,
                 allow_python_tracer=False, allow_remote_workers=False):
    """Starts the server of this process and returns its port; ValueError if there is one. port 0: a free one.

    bind: None for this machine only; an IP address of it; "unix:/path". mode: profiles go back to the client
    ("client", the default), into the client's log directory ("server"; it must lie in allow_root), or the latter
    where it is of this machine ("auto"). An address that others reach needs allow_peers ("10.0.0.0/8") or a token.
    """
    if mode not in _MODES:
        raise ValueError(f"mode {mode!r} is none of 'client', 'server', 'auto'")
    return _core.server_start(operator.index(port), bind, token, bool(allow_python_tracer), _MODES[mode], _texts(allow_root, ":"),
                              _texts(allow_peers, ","), int(max_duration_ms), bool(allow_remote_workers))


def stop_server():
    """Ends it; ValueError if there is none."""
    _core.server_stop()
