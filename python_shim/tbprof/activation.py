# SPDX-License-Identifier: Apache-2.0
"""Putting tbprof's answers in place of the official converter's, in the memory of this process only.

Three generations of the plugin, told apart by what their code looks like, and each only within the
versions that this was tried with (KNOWN):

  attribute  xprof 2.21 and later: the plugin calls `_pywrap_profiler_plugin.xspace_to_tools_data`, looked up
             at every call (2.23 and later) or bound as a default argument of `xspace_to_tool_data`.
  function   2.11.2 - 2.20: the plugin calls `raw_to_tool_data.xspace_to_tool_data`, looked up at every call.
             Its converter answers with protobuf messages, so the whole function is replaced.

Beside that our bodies come packed to the plugin's data route, `respond` marks them, `get_plugin_apps` gets a
door-keeper (guard.py), the version of caches is written for answers that made some, and the page can be given another
chart library (charts_page.py).
"""
import functools
import importlib
import importlib.util
import inspect
import logging
import threading

from tbprof import _backend
from tbprof import charts_page
from tbprof import guard
from tbprof import version_file

KNOWN = ((2, 11, 2), (2, 24, 2))  # first, last
FIRST_UNNESTED = (2, 19, 6)  # older pages want the older dialect
FIRST_PLAIN_NAMES = (2, 19, 1)  # before, names of tools end with ^
FIRST_PACKED = (2, 15, 0)  # older plugins answer without gzip
NAMES_ANYWAY = "tool_names_anyway"  # what the backend calls the list after the official converter named none
PACKAGES = ("xprof", "tensorboard_plugin_profile")
DISTRIBUTIONS = {"xprof": "xprof", "tensorboard_plugin_profile": "tensorboard-plugin-profile"}


class Refused(Exception):
    """Why tbprof stays out of the way."""


class Official:
    """The modules of the official plugin that is installed."""

    def __init__(self, package):
        self.package = package
        self.version_text = _version_text(package)
        self.version = _numbers(self.version_text)

    def module(self, name):
        return importlib.import_module(self.package + "." + name)


def _version_text(package):
    try:
        return importlib.import_module(package + ".version").__version__
    except (ImportError, AttributeError):  # before 2.14
        from importlib import metadata
        return metadata.version(DISTRIBUTIONS[package])


def _numbers(text):
    parts = []
    for part in text.split("."):
        digits = part
        while digits and not digits.isdigit():
            digits = digits[:-1]
        if not digits:
            break
        parts.append(int(digits))
        if digits != part:
            return tuple(parts[:3]) + (-1,)  # a pre-release: before its release
    return tuple(parts[:3])


def find_official():
    """The package that has the plugin; `xprof` wins, as in TensorBoard's own order of names since 2.20."""
    for package in PACKAGES:
        try:
            found = importlib.util.find_spec(package + ".profile_plugin")
        except ImportError:
            found = None
        if found:
            return Official(package)
    raise Refused("no Profile plugin is installed (pip install xprof)")


def _wants(function, *names):
    """True if the first parameters have these names (a compiled function does not tell: taken as it is)."""
    try:
        parameters = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return True
    return parameters[:len(names)] == list(names)


class Memory(threading.local):
    """The body that tbprof made last in this thread, so that `respond` knows it again by identity, and whether the
    route that this thread answers hands bodies on as they are, so that they can be packed while they are made."""
    body = None
    packs = False


_memory = Memory()


def _answer(paths, tool, options, legacy):
    body = _backend.answer([str(p) for p in paths], tool, options, legacy, _memory.packs)
    _memory.body = body
    return body


def _plain(tool):
    return tool[:-1] if tool.endswith("^") else tool


# ---- attribute ----


def replace_attribute(official):
    wrapper = official.module("convert._pywrap_profiler_plugin")
    original = wrapper.xspace_to_tools_data
    if not _wants(original, "xspace_paths", "tool_name", "options"):
        raise Refused("its converter takes other arguments than known")

    @functools.wraps(original)
    def xspace_to_tools_data(xspace_paths, tool_name, options=None):
        body = _answer(xspace_paths, tool_name, options, False)
        if body is None and tool_name == "tool_names":
            return _names(original, xspace_paths, options or {})
        if body is None:
            return original(xspace_paths, tool_name, options or {})
        return body, True

    wrapper.xspace_to_tools_data = xspace_to_tools_data
    raw = official.module("convert.raw_to_tool_data")
    bound = raw.xspace_to_tool_data
    if bound.__defaults__:  # bound before we came
        bound.__defaults__ = tuple(xspace_to_tools_data if d is original else d for d in bound.__defaults__)
    _keep_trace_json(raw)


def _names(original, paths, options):
    """The list of tools from the official converter; ours where one bad file among them keeps it from making any."""
    try:
        data, success = original(paths, "tool_names", options)
    except Exception as e:  # its failures are of many kinds
        logging.getLogger("tbprof").warning("the official converter lists no tools: %s", e)
        data, success = b"", False
    if data and success:
        return data, success
    return _answer(paths, NAMES_ANYWAY, None, False) or b"", True


def _keep_trace_json(raw):
    """The official trace_viewer answer is a message that Python turns into JSON; ours is JSON already."""
    original = raw.process_raw_trace

    @functools.wraps(original)
    def process_raw_trace(raw_trace):
        return raw_trace if raw_trace is _memory.body else original(raw_trace)

    raw.process_raw_trace = process_raw_trace


# ---- function ----


def replace_function(official):
    raw = official.module("convert.raw_to_tool_data")
    original = raw.xspace_to_tool_data
    if not _wants(original, "xspace_paths", "tool", "params"):
        raise Refused("its converter takes other arguments than known")
    legacy = official.version < FIRST_UNNESTED

    @functools.wraps(original)
    def xspace_to_tool_data(xspace_paths, tool, params, *rest, **named):
        body = None
        if not rest and not named and not (params.get("tqx") or "").startswith("out:csv"):
            options = dict(params.get("trace_viewer_options") or {})
            body = _answer(xspace_paths, _plain(tool), options, legacy)
        if body is None:
            return original(xspace_paths, tool, params, *rest, **named)
        return body, "application/json"

    raw.xspace_to_tool_data = xspace_to_tool_data
    _complete_names(raw, "^" if official.version < FIRST_PLAIN_NAMES else "")


def _complete_names(raw, mark):
    """Some releases offer no page at all when a run has no programs (2.19.5), or a bad file: then ours, at least."""
    original = raw.xspace_to_tool_names

    @functools.wraps(original)
    def xspace_to_tool_names(xspace_paths):
        names = original(xspace_paths)
        if not names:
            body = _answer(xspace_paths, NAMES_ANYWAY, None, False) or b""
            names = [name + mark for name in body.decode("ascii").split(",") if name]
        return names

    raw.xspace_to_tool_names = xspace_to_tool_names


# ---- answers ----


def wrap_respond(plugin):
    original = plugin.respond
    if not _wants(original, "body", "content_type", "code", "content_encoding"):
        raise Refused("its answers are made in another way than known")

    @functools.wraps(original)
    def respond(body, content_type, code=200, content_encoding=None, *rest, **named):
        ours = body is not None and body is _memory.body
        _memory.body = None
        if ours and _memory.packs:
            content_encoding = "gzip"
        response = original(body, content_type, code, content_encoding, *rest, **named)
        if ours:
            response.headers["X-Tbprof"] = _backend.version
        return response

    plugin.respond = respond


def keep_cache_version(plugin_class):
    """Caches that an older plugin left are removed by the official converter when it is asked, and only then; the
    plugin writes its own version beside them after any answer, from which on they would pass as its own."""
    original = getattr(plugin_class, "_write_cache_version_file", None)
    if not original:  # before 2.20.1
        return

    @functools.wraps(original)
    def _write_cache_version_file(self, *args, **named):
        if _memory.body is None:
            original(self, *args, **named)

    plugin_class._write_cache_version_file = _write_cache_version_file


def pack_data(plugin_class):
    """The data route looks into no body, unlike that of CSV."""
    original = plugin_class.data_route

    @functools.wraps(original)
    def data_route(self, environ, start_response):
        _memory.packs = True
        try:
            return original(self, environ, start_response)
        finally:
            _memory.packs = False

    plugin_class.data_route = data_route


def activate(even_if_unknown=False):
    """Replaces what has to be replaced; returns a line for the log. Raises if nothing was done."""
    official = find_official()
    if not even_if_unknown and not KNOWN[0] <= official.version <= KNOWN[1]:
        raise Refused(f"{official.package} {official.version_text} is not a version that tbprof "
                      f"{_backend.version} knows (TBPROF_BACKEND=on tries it nevertheless)")
    if getattr(find_official, "done", False):
        return f"tbprof {_backend.version} is in charge already"
    if official.version >= (2, 19, 0):  # else it comes with TensorFlow, which raw_to_tool_data imports
        official.module("convert._pywrap_profiler_plugin")
    plugin = official.module("profile_plugin")
    by_attribute = "xspace_to_tool_data_fn" in inspect.signature(plugin.ProfilePlugin.__init__).parameters
    if by_attribute:
        replace_attribute(official)
    else:
        replace_function(official)
    keep_cache_version(plugin.ProfilePlugin)
    version_file.install(plugin.ProfilePlugin)
    wrap_respond(plugin)
    if official.version >= FIRST_PACKED:
        pack_data(plugin.ProfilePlugin)
    guard.install(plugin.ProfilePlugin)
    charts = charts_page.install(plugin.ProfilePlugin, plugin.respond)
    find_official.done = True
    return (f"tbprof {_backend.version} answers for {official.package} {official.version_text}; "
            f"charts: {charts}; TBPROF_BACKEND=off turns it off")
