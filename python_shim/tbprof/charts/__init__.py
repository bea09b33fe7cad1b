# SPDX-License-Identifier: Apache-2.0
"""The local charts: our own small stand-in of the chart library that the Profile pages load from a
public host. This package only knows the files; who serves them decides when (see docs/charts.md).
"""
import functools
import importlib.resources

MANIFEST = "manifest.txt"


def file_names():
    """The JavaScript files of the bundle, in order, relative to this package."""
    lines = _read(MANIFEST).decode("utf-8").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


@functools.lru_cache(maxsize=1)
def bundle() -> bytes:
    """One script that takes the place of https://www.gstatic.com/charts/loader.js.

    It is one function around all files, so that their names stay among themselves, and pure ASCII,
    so that no page's encoding can change it.
    """
    parts = [b"(function () {\n'use strict';\n"]
    parts += [_read(name) for name in file_names()]
    parts.append(b"})();\n")
    script = b"".join(parts)
    script.decode("ascii")
    return script


def _read(name: str) -> bytes:
    return importlib.resources.files(__package__).joinpath(*name.split("/")).read_bytes()
