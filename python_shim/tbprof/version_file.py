# SPDX-License-Identifier: Apache-2.0
"""The version beside the plugin's caches, where it is no text.

The plugin (xprof 2.21 and later) reads `cache_version.txt` for every page. It goes on without caches where the file is
not there or cannot be read, but bytes that are no text are a failure of all pages, also of those that need no cache.
Here they become what the plugin knows to deal with, and tells in its log.
"""
import io

NAME = "cache_version.txt"


class _Version:
    """The path of such a file."""

    def __init__(self, path):
        self._path = path

    def __getattr__(self, name):
        return getattr(self._path, name)

    def open(self, mode="r"):
        if mode != "r":
            return self._path.open(mode)
        with self._path.open(mode) as f:
            try:
                return io.StringIO(f.read())
            except UnicodeDecodeError as e:
                raise OSError(f"'{self._path}' is no text: caches of an unknown version are not used") from e


class _Paths:
    """The plugin's module of paths, all of it but such files."""

    def __init__(self, module):
        self._module = module

    def __getattr__(self, name):
        return getattr(self._module, name)

    def Path(self, *parts):  # pylint: disable=invalid-name
        path = self._module.Path(*parts)
        return _Version(path) if path.name == NAME else path


def _read(plugin):
    return _Paths(plugin.__dict__["_epath"])


def _write(plugin, module):
    plugin.__dict__["_epath"] = module


def install(plugin_class):
    """Of the class, since its object may have been made before we came."""
    if "epath_module" in (plugin_class.__init__.__kwdefaults__ or {}):
        plugin_class._epath = property(_read, _write)
