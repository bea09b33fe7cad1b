# SPDX-License-Identifier: Apache-2.0
"""Waiting for data, as the input-pipeline page counts it.

    for batch in tbprof.data.timed(loader):   # anything that can be iterated: list, generator, DataLoader, tf.data
        ...

Each `next` is an event whose name begins with IteratorGetNext, which the page takes for time waited for input, and
which carries the stats of an input stage, so that its table of input ops lists it. Only what lies inside a step
counts as the step's: fetch inside it.
"""
import sys

from tbprof import _core

_CATEGORIES = ("read", "enqueue", "preprocessing", "unknown")
_stages = {}


class Source:
    """What `next` is asked of; one row in the table of input ops."""

    __slots__ = ("name", "_stage")

    def __init__(self, name, category="read"):
        if category not in _CATEGORIES:
            raise ValueError(f"category must be one of {', '.join(_CATEGORIES)}, not {category!r}")
        self.name = f"IteratorGetNext {name}"
        number = _stages.setdefault((name, category), len(_stages) + 1)
        self._stage = {"_ipl_stage_id": number, "_ipl_stage_name": name, "_ipl_stage_cat": category}

    def wait(self, fetch, *arguments):
        """fetch(*arguments), as waiting for input."""
        scope = _core.begin(self.name)
        if not scope:
            return fetch(*arguments)
        _core.args(scope, **self._stage)
        try:
            return fetch(*arguments)
        finally:
            _core.end(scope)


def _passed_on(wrapper, name):
    if name == "_inner":  # of a wrapper that is being copied
        raise AttributeError(name)
    return getattr(wrapper._inner, name)


class _TimedIterator:
    __slots__ = ("_inner", "_next", "_source")

    def __init__(self, inner, source):
        self._inner, self._next, self._source = inner, inner.__next__, source

    def __iter__(self):
        return self

    def __next__(self):
        return self._source.wait(self._next)

    def __getattr__(self, name):
        return _passed_on(self, name)


class _TimedIterable:
    def __init__(self, inner, source):
        self._inner, self._source = inner, source

    def __iter__(self):
        return _TimedIterator(iter(self._inner), self._source)

    def __len__(self):
        return len(self._inner)

    def __bool__(self):
        return bool(self._inner)

    def __getattr__(self, name):
        return _passed_on(self, name)


def timed(iterable, name=None, category="read"):
    """The same values in the same order; what else the object can do is passed on to it.

    name: the row in the table of input ops; the type's name if left out. category: of the row, "read",
    "preprocessing", "enqueue" or "unknown".
    """
    source = Source(name or type(iterable).__name__, category)
    wrapper = _TimedIterator if hasattr(iterable, "__next__") else _TimedIterable
    return wrapper(iterable, source)


# ---- PyTorch's loaders, without a change in the program ----

_patched = []


def _started():
    """Every torch DataLoader counts as input while something is recorded."""
    module = sys.modules.get("torch.utils.data.dataloader")
    kind = getattr(module, "_BaseDataLoaderIter", None)
    if kind is None or _patched:
        return
    original, source = kind.__next__, Source("DataLoader")

    def __next__(self):
        return source.wait(original, self)

    kind.__next__ = __next__
    _patched.append((kind, original, __next__))


def _stopping():
    while _patched:
        kind, original, ours = _patched.pop()
        if kind.__next__ is ours:
            kind.__next__ = original


def time_torch_loaders():
    """From now on, sessions time torch's DataLoaders; tbprof.keras and tbprof.torch ask for it."""
    _core.add_hook(_started, _stopping)
