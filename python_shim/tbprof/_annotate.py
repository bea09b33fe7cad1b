# SPDX-License-Identifier: Apache-2.0
"""Functions as scopes: plain ones, coroutines, generators and asynchronous generators. Where a function rests (await,
yield), its scope ends, and a new one begins when it goes on: other work of the thread is not counted to it."""
import functools
import inspect

from tbprof import _core


def _plain(function, name, arguments):
    begin, end, args = _core.begin, _core.end, _core.args

    if not arguments:
        @functools.wraps(function)
        def wrapper(*positional, **keywords):
            scope = begin(name)
            if not scope:
                return function(*positional, **keywords)
            try:
                return function(*positional, **keywords)
            finally:
                end(scope)
        return wrapper

    @functools.wraps(function)
    def wrapper_with_arguments(*positional, **keywords):
        scope = begin(name)
        if not scope:
            return function(*positional, **keywords)
        args(scope, **arguments)
        try:
            return function(*positional, **keywords)
        finally:
            end(scope)
    return wrapper_with_arguments


class _Resumed:
    """An iterator (of a generator, or of an awaitable) each step of which is a scope."""

    __slots__ = ("_inner", "_name", "_arguments")

    def __init__(self, inner, name, arguments):
        self._inner, self._name, self._arguments = inner, name, arguments

    def __iter__(self):
        return self

    __await__ = __iter__

    def _scoped(self, call, *values):
        scope = _core.begin(self._name)
        if scope and self._arguments:
            _core.args(scope, **self._arguments)
        try:
            return call(*values)
        finally:
            _core.end(scope)

    def __next__(self):
        return self._scoped(self._inner.__next__)

    def send(self, value):
        return self._scoped(self._inner.send, value)

    def throw(self, *error):
        return self._scoped(self._inner.throw, *error)

    def close(self):
        return self._scoped(self._inner.close)


def _awaited(awaitable, name, arguments):
    return _Resumed(awaitable.__await__(), name, arguments)


def _coroutine(function, name, arguments):
    @functools.wraps(function)
    async def wrapper(*positional, **keywords):
        return await _awaited(function(*positional, **keywords), name, arguments)
    return wrapper


def _generator(function, name, arguments):
    @functools.wraps(function)
    def wrapper(*positional, **keywords):
        return (yield from _Resumed(function(*positional, **keywords), name, arguments))
    return wrapper


def _async_generator(function, name, arguments):
    @functools.wraps(function)
    async def wrapper(*positional, **keywords):
        inner = function(*positional, **keywords)
        step = inner.__anext__()
        try:
            while True:
                try:
                    value = await _awaited(step, name, arguments)
                except StopAsyncIteration:
                    return
                try:
                    step = inner.asend((yield value))
                except GeneratorExit:
                    raise
                except BaseException as e:  # pylint: disable=broad-except
                    step = inner.athrow(e)
        finally:
            await inner.aclose()
    return wrapper


def annotate(function=None, name=None, **arguments):
    """Decorator: every call of the function is a scope of its name (or of `name`), with arguments.

        @annotate
        def load(): ...

        @annotate(name="load", source="disk")
        async def load(): ...
    """
    if function is None or isinstance(function, str):
        return functools.partial(annotate, name=function or name, **arguments)
    if not callable(function) or not isinstance(name, (str, type(None))):
        raise TypeError("annotate takes a function, and a name that is a str")
    name = name or getattr(function, "__qualname__", None) or getattr(function, "__name__", "unknown function")
    if inspect.isasyncgenfunction(function):
        return _async_generator(function, name, arguments)
    if inspect.iscoroutinefunction(function):
        return _coroutine(function, name, arguments)
    if inspect.isgeneratorfunction(function):
        return _generator(function, name, arguments)
    return _plain(function, name, arguments)
