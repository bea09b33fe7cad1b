# SPDX-License-Identifier: Apache-2.0
"""A door-keeper in front of the plugin's routes: names that cannot be those of runs, hosts, tools or programs are
refused before the plugin makes paths of them. (The plugin itself joins a run's name to the log directory as it is,
so that `run=../../x` leads out of it, and that of a program to the run's folder.) `session_path` and `run_path` are
the plugin's own, documented way of opening folders elsewhere and stay open, but for names that are no paths. A run
that is not there is told so; the plugin fails with a traceback.
"""
import functools
import logging
import sys
from urllib import parse

LONGEST_NAME = 1024
LONGEST_PATH = 4096
LONGEST_QUERY = 65536
_log = logging.getLogger("tbprof")
BODY_HEADERS = [("Content-Type", "text/plain; charset=utf-8"), ("X-Content-Type-Options", "nosniff"),
                ("Content-Security-Policy", "default-src 'none'")]


def _is_plain(text, longest):
    return len(text) <= longest and not any(ord(c) < 32 or ord(c) == 127 for c in text)


def _fault_of_run(run):
    if not _is_plain(run, LONGEST_PATH):
        return "is no name of a run"
    if run.startswith("/") or "://" in run:
        return "is not below the log directory"
    if any(part == ".." for part in run.split("/")):
        return "leads out of the log directory"
    return None


def _fault_of_host(host):
    if not _is_plain(host, LONGEST_NAME) or "/" in host or host in (".", ".."):
        return "is no name of a host"
    return None


def _fault_of_path(path):
    return None if _is_plain(path, LONGEST_PATH) else "is no path"


def _fault_of_tool(tool):
    return None if _is_plain(tool, LONGEST_NAME) and "/" not in tool else "is no name of a tool"


def _fault_of_part(name):
    """Of what becomes a part of a file's name."""
    return None if _is_plain(name, LONGEST_NAME) and "/" not in name else "is no name"


CHECKS = {"module_name": _fault_of_part, "program_id": _fault_of_part, "device_type": _fault_of_part,
          "run": _fault_of_run, "host": _fault_of_host, "tag": _fault_of_tool,
          "session_path": _fault_of_path, "run_path": _fault_of_path}


def fault(query):
    """Why a query string is refused, or None."""
    if len(query) > LONGEST_QUERY:
        return "the query is too long"
    for key, value in parse.parse_qsl(query, keep_blank_values=True, errors="replace"):
        words = CHECKS[key](value) if key in CHECKS else None
        if "\0" in key + value:  # no text of ours, and an exception in the plugin or in the extension
            words = "holds a NUL character"
        if key == "hosts":
            words = next((w for w in map(_fault_of_host, value.split(",")) if w), None)
        if words:
            return f"'{key[:LONGEST_NAME]}' {words}"
    return None


def _refuse(status, words, environ, start_response, exc_info=None):
    body = words.encode("utf-8", "replace")
    start_response(status, BODY_HEADERS + [("Content-Length", str(len(body)))], exc_info)
    return [] if environ.get("REQUEST_METHOD") == "HEAD" else [body]  # the server sends what it gets


def _answer(app, environ, start_response):
    """The whole answer: from 2.21 on the plugin's applications are generators, which fail only when they are read."""
    answer = app(environ, start_response)
    try:
        return list(answer)
    finally:
        if hasattr(answer, "close"):
            answer.close()


def _words_of_failure(failure):
    """Status and text. Plugins up to 2.19 ask their tables for names, whose failure has the name alone as its text."""
    if isinstance(failure, LookupError):
        return "404 Not Found", f"nothing is known under this name: {failure}"
    if isinstance(failure, (RuntimeError, ValueError, OSError)):
        return "404 Not Found", str(failure)
    return "500 Internal Server Error", f"the plugin fails at this request: {failure!r}"


def keep(app):
    """The WSGI application behind the door."""

    @functools.wraps(app)
    def guarded(environ, start_response):
        words = fault(environ.get("QUERY_STRING", ""))
        if words is not None:
            return _refuse("400 Bad Request", words, environ, start_response)
        try:
            return _answer(app, environ, start_response)
        except Exception as e:  # the plugin's failures are of many kinds
            status, words = _words_of_failure(e)
            _log.warning("%s: %s", environ.get("PATH_INFO", ""), words)
            return _refuse(status, words, environ, start_response, sys.exc_info())

    return guarded


def install(plugin_class):
    original = plugin_class.get_plugin_apps

    @functools.wraps(original)
    def get_plugin_apps(self):
        return {route: keep(app) for route, app in original(self).items()}

    plugin_class.get_plugin_apps = get_plugin_apps
