# SPDX-License-Identifier: Apache-2.0
"""Tells waiting for data from computing inside a batch of Keras, without a change in the training loop.

The loop calls model.train_function once a batch; while a profile is recorded, that is ours, which calls the model's.
- JAX hands it an iterator and fetches inside: the iterator is timed.
- TensorFlow hands it an iterator, too, but fetches inside a graph. Here the element is fetched first, timed, and
  handed on through a queue whose dataset has the same element types: the graph is the one that was traced already.
  Not where the program has a train function of its own, which may take any number of elements.
- PyTorch fetches before: its loaders are timed by tbprof.data.
"""
import functools
import sys
import threading
import types

from tbprof import _core, data


def backend_of(model):
    """"tensorflow", "jax", "torch" …, without importing anything."""
    keras = sys.modules.get("keras")
    if type(model).__module__.split(".")[0] == "tf_keras" or keras is None:
        return "tensorflow" if "tensorflow" in sys.modules else ""
    if any(kind.__module__.startswith("tf_keras") for kind in type(model).__mro__):
        return "tensorflow"
    backend = getattr(getattr(keras, "backend", None), "backend", None)
    return backend() if callable(backend) else ""


class _Wrapped:
    """Stands in for a model's train_function."""

    name = "step function"
    is_waited_for = False  # Keras waits for the result of each call before it goes on

    def __init__(self, function):
        self.function = function

    def __call__(self, *arguments, **keywords):
        scope = _core.begin(self.name)
        try:
            return self.function(*self.fetched(arguments), **keywords)
        finally:
            _core.end(scope)

    def __getattr__(self, name):
        return getattr(self.function, name)

    def fetched(self, arguments):
        return arguments


class _Jax(_Wrapped):
    """JAX returns before it has computed. Each call waits for the result of the one before: fetching still overlaps
    with computing, as it would without us, but a step takes as long as the computer needs for one. Where Keras waits
    for each result right after the call, this is done inside, so that the wait counts as the computing it is."""

    _previous = None

    def __call__(self, *arguments, **keywords):
        scope = _core.begin(self.name)
        try:
            result = self.function(*self.fetched(arguments), **keywords)
            previous, self._previous = self._previous, result[0]
            overlaps = _core.is_active(1) and not self.is_waited_for
            sys.modules["jax"].block_until_ready(previous if overlaps else result[0])
            return result
        finally:
            _core.end(scope)

    def fetched(self, arguments):
        *state, iterator = arguments
        return (*state, data.timed(iterator, "Keras data"))


class _TensorFlow(_Wrapped):
    """For functions that take one element a call, as Keras's own do: one that took another would wait for ever."""

    def __init__(self, function):
        super().__init__(function)
        self._source = data.Source("Keras data")
        self._feeds = {}  # by id: (the iterator, which keeps it its own; its _Feed, or None)

    def fetched(self, arguments):
        iterator, = arguments
        if id(iterator) not in self._feeds:
            self._feeds[id(iterator)] = iterator, _feed_for(iterator)
        _, feed = self._feeds[id(iterator)]
        if feed is None:
            return arguments
        feed.put(self._source.wait(next, iterator))
        return (feed.iterator,)


def _feed_for(iterator):
    try:
        return _Feed(iterator)
    except Exception as e:  # pylint: disable=broad-except
        _tell_once("ProfilerCallback: waiting for data is not told apart from computing, since elements of this dataset "
                   f"cannot be handed on ({_core.text_of(e)})")
        return None


@functools.lru_cache(maxsize=None)
def _tell_once(text):
    _core.tell(text, stacklevel=4)


class _Feed:
    """A tf.data iterator that gives what is put into it, one element at a time, typed as another one."""

    def __init__(self, like):
        tf = sys.modules["tensorflow"]
        self._nest = tf.nest
        spec = like.element_spec
        parts = tf.nest.flatten(spec, expand_composites=True)
        if any(part.dtype == tf.variant for part in parts):  # of which an element may not be one: a TensorArray's
            raise TypeError("it has variants")
        self._queue = tf.queue.FIFOQueue(1, [part.dtype for part in parts])
        dtypes_are_one = len(parts) == 1

        @tf.autograph.experimental.do_not_convert
        def take(_):
            values = self._queue.dequeue()
            values = [values] if dtypes_are_one else values
            values = [tf.ensure_shape(v, part.shape) for v, part in zip(values, parts)]
            return tf.nest.pack_sequence_as(spec, values, expand_composites=True)

        options = tf.data.Options()
        options.experimental_optimization.apply_default_optimizations = False
        options.experimental_optimization.inject_prefetch = False  # it would take an element too many
        options.autotune.enabled = False
        self.iterator = iter(tf.data.Dataset.from_tensors(0).repeat().map(take).with_options(options))
        if self.iterator.element_spec != spec:
            raise TypeError("they would not be the same")

    def put(self, element):
        self._queue.enqueue(self._nest.flatten(element, expand_composites=True))


class Tracked:
    """train_function is ours until stop()."""

    def __init__(self, model, kind):
        self._model, self._ours = model, kind(model.train_function)
        model.train_function = self._ours
        self._thread = threading.get_ident()

    def note_end_of_batch(self):
        """Called by the hook of that. Keras calls it in the thread of the fit if one of the callbacks wants to know what
        the batch gave, after it has waited for this; else in one of its own, and goes on meanwhile."""
        self._ours.is_waited_for = threading.get_ident() == self._thread

    def stop(self):
        if self._model.train_function is self._ours:  # else someone made a new one
            self._model.train_function = self._ours.function


def _is_keras(function):
    """By where it was written: functools.wraps copies the name of the module, and an object of the program's may pass
    on any attribute."""
    if type(function).__module__.startswith("tensorflow."):
        function = getattr(function, "python_function", None)
    return (isinstance(function, types.FunctionType)
            and function.__globals__.get("__name__", "").split(".")[0] in ("keras", "tf_keras"))


def _takes_one(model):
    """Whether TensorFlow's train function is one of Keras that takes one element a call, now and later."""
    steps = getattr(model, "steps_per_execution", None) or getattr(model, "_steps_per_execution", 1)
    is_tuned = isinstance(steps, str) or getattr(model, "_autotune_steps_per_execution", False)
    is_plain = type(getattr(model, "distribute_strategy", None)).__name__ in ("_DefaultDistributionStrategy",
                                                                               "NoneType")
    is_own = _is_keras(model.train_function) and _is_keras(getattr(type(model), "make_train_function", None))
    return is_plain and is_own and not is_tuned and int(steps) == 1


def _kind_for(model):
    backend = backend_of(model)
    if backend != "tensorflow":
        return {"jax": _Jax}.get(backend, _Wrapped)
    return _TensorFlow if _takes_one(model) and hasattr(sys.modules["tensorflow"], "queue") else _Wrapped


def track(model):
    """Tracked, or None for a model without a train function."""
    if not callable(getattr(model, "train_function", None)):
        return None
    return Tracked(model, _kind_for(model))
