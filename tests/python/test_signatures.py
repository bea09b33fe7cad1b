#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names, arguments, defaults and refusals of the originals, where they are installed: what a program hands to PyTorch,
JAX, TensorFlow, Keras, MXNet or MindSpore can be handed to us, and what they refuse we refuse. Skipped one by one."""
import importlib
import inspect
import os
import unittest
import warnings

import recorded
import tbprof
from tbprof import _core

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")
P = inspect.Parameter


def original(name):
    """A module, or attributes below one; None where it is not installed."""
    module, *path = name.split(":")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = importlib.import_module(module)
    except ImportError:
        return None
    for part in path:
        found = getattr(found, part)
    return found


def parameters(function):
    """Those of a signature but self, or None where nobody tells."""
    try:
        return [p for p in inspect.signature(function).parameters.values() if p.name != "self"]
    except (TypeError, ValueError):
        return None


def plain(value):
    """A default that two libraries can share."""
    return value if value in (None, True, False) or isinstance(value, (int, float, str, tuple)) else repr(value)


def differences(ours, theirs):
    """What a caller of theirs would miss in ours; more keywords of ours are none."""
    mine, missed = parameters(ours), []
    named = {p.name: p for p in mine}
    takes_all = any(p.kind is P.VAR_KEYWORD for p in mine)
    for position, p in enumerate(parameters(theirs)):
        if p.kind in (P.VAR_KEYWORD, P.VAR_POSITIONAL):
            if not any(q.kind is p.kind for q in mine):
                missed.append(f"no {p}")
        elif p.name not in named:
            if not takes_all or p.kind is P.POSITIONAL_OR_KEYWORD:
                missed.append(f"no {p.name}")
        else:
            q = named[p.name]
            if p.kind is P.POSITIONAL_OR_KEYWORD and (q.kind is not p.kind or mine.index(q) != position):
                missed.append(f"{p.name} is at another place")
            if plain(p.default) != plain(q.default):
                missed.append(f"{p.name}={q.default!r} instead of {p.default!r}")
    missed += [f"needs {q.name}" for q in mine if q.default is P.empty and q.kind in (
        P.POSITIONAL_OR_KEYWORD, P.KEYWORD_ONLY) and q.name not in {p.name for p in parameters(theirs)}]
    if not takes_all:
        places = len([p for p in parameters(theirs) if p.kind is P.POSITIONAL_OR_KEYWORD])
        missed += [f"{q.name} can be given by place" for q in mine[places:] if q.kind is P.POSITIONAL_OR_KEYWORD]
    return missed


SAME = {
    ("tbprof.torch", "torch.profiler"): (
        "profile", "record_function", "schedule", "tensorboard_trace_handler", "supported_activities", "profile:start",
        "profile:stop", "profile:step", "profile:add_metadata", "profile:add_metadata_json", "profile:events",
        "profile:preset_metadata_json", "profile:export_chrome_trace", "profile:export_memory_timeline",
        "profile:export_stacks", "profile:get_trace_id", "profile:key_averages", "profile:prepare_trace",
        "profile:set_custom_trace_id_callback", "profile:start_trace", "profile:toggle_collection_dynamic"),
    ("tbprof.torch:EventList", "torch.autograd.profiler_util:EventList"): (
        "export_chrome_trace", "export_stacks", "key_averages", "table", "total_average"),
    ("tbprof.jax", "jax.profiler"): ("StepTraceAnnotation", "annotate_function", "start_server", "start_trace",
                                     "stop_server", "stop_trace", "trace"),
    ("tbprof.tf", "tensorflow:profiler:experimental"): (
        "Profile", "ProfilerOptions", "Trace", "Trace:set_metadata", "start", "stop", "client:trace", "client:monitor"),
    ("tbprof.mxnet", "mxnet.profiler"): (
        "Counter", "Counter:decrement", "Counter:increment", "Counter:set_value", "Domain", "Domain:new_counter",
        "Domain:new_frame", "Domain:new_marker", "Domain:new_task", "Event", "Event:start", "Event:stop", "Frame",
        "Frame:start", "Frame:stop", "Marker", "Marker:mark", "Task", "Task:start", "Task:stop", "dump", "dump_profile",
        "dumps", "pause", "profiler_set_config", "profiler_set_state", "resume", "set_config", "set_state"),
    ("tbprof.mindspore", "mindspore"): ("Profiler", "Profiler:analyse", "Profiler:op_analyse", "Profiler:start",
                                        "Profiler:stop"),
}


class Signatures(unittest.TestCase):
    def test_each_takes_what_the_original_takes(self):
        found = 0
        for (ours, theirs), names in SAME.items():
            module = original(theirs)
            for name in names if module else ():
                with self.subTest(name=f"{theirs}:{name}"):
                    self.assertEqual(differences(original(f"{ours}:{name}"), original(f"{theirs}:{name}")), [])
                    found += 1
        if not found:
            self.skipTest("none of the frameworks is installed")

    def test_the_comparison_tells_each_kind_of_difference(self):
        def theirs(a, b=1, *, c=None):
            pass

        for ours, expected in (
                (lambda a, b=1, *, c=None, more=0: 0, []),
                (lambda a, *, b=1, c=None: 0, ["b is at another place"]),
                (lambda b=1, a=2, *, c=None: 0, ["a is at another place", "a=2 instead of <class 'inspect._empty'>",
                                                 "b is at another place"]),
                (lambda a, b=2, *, c=None: 0, ["b=2 instead of 1"]),
                (lambda a, b=1: 0, ["no c"]),
                (lambda a, b=1, d=2, *, c=None: 0, ["d can be given by place"]),
                (lambda a, b=1, *, c=None, d: 0, ["needs d"])):
            self.assertEqual(differences(ours, theirs), expected)


# Refused by the original, with which kind of exception: each line is a program. Where the original refuses later than
# we do, or by accident with another kind (record_function(1) and its RuntimeError), ours stands behind it.
REFUSED = {
    ("tbprof.torch", "torch.profiler"): """
        m.record_function()
        m.record_function("x", "y", "z")
        m.record_function("x", foo=1)
        m.record_function(nam="x")
        m.record_function("x").foo
        with m.record_function(1): pass                             # TypeError
        with m.record_function("x", 1): pass                        # TypeError
        m.schedule(1, 1, 1)
        m.schedule(wait=1, warmup=1)
        m.schedule(wait="a", warmup=1, active=1)
        m.schedule(wait=1, warmup=1, active=0)
        m.schedule(wait=1, warmup=1, active=1, foo=1)
        m.schedule(wait=1, warmup=1, active=1)("a")
        m.schedule(wait=1, warmup=1, active=1)(-1)
        m.profile(1)
        m.profile(foo=1)
        m.profile(activities=[])
        m.profile(activities=5)
        m.profile(activities=["CPU"])
        m.profile(schedule=5)
        m.profile().stop()
        m.profile().stop_trace()
        m.profile().events()
        m.profile().key_averages()
        m.profile().export_chrome_trace("x")
        m.profile().export_stacks("x")
        m.profile().export_memory_timeline("x")
        m.profile().foo
        p = m.profile(); p.start(); p.stop(); p.key_averages(group_by_foo=1)
        p = m.profile(); p.start(); p.stop(); p.key_averages().table(foo=1)
        p = m.profile(); p.start(); p.stop(); p.export_chrome_trace()
        m.tensorboard_trace_handler()
        m.tensorboard_trace_handler("x", kineto_=1)
        m.ProfilerAction(99)
        m.ProfilerAction.FOO
        with m.profile(): 1 / 0
        with m.profile(on_trace_ready=lambda p: 1 / 0): pass""",
    ("tbprof.jax", "jax.profiler"): """
        m.TraceAnnotation()
        m.TraceAnnotation(1)
        m.TraceAnnotation("a", "b")
        m.TraceAnnotation("a").set_metadata(1)
        m.TraceAnnotation("a")(1)
        m.TraceAnnotation("a").foo
        m.StepTraceAnnotation()
        m.StepTraceAnnotation("a", 1)
        m.StepTraceAnnotation(1)
        m.annotate_function()
        m.annotate_function(5)                                      # TypeError
        m.annotate_function(lambda: 1, 5)()
        m.annotate_function(name="x")
        m.annotate_function(lambda: 1 / 0, "n", foo=1)()
        m.ProfileOptions().foo
        m.ProfileOptions().host_tracer_level = "a"
        m.ProfileOptions().enable_hlo_proto = 1
        m.ProfileOptions().session_id = 1
        m.ProfileOptions(1)
        m.ProfileOptions(host_tracer_level=1)
        m.start_trace()
        m.start_trace("/nonexistent", profiler_options=5)
        m.stop_trace()
        m.stop_trace(1)
        m.trace()
        m.start_server()
        m.start_server("x")
        m.stop_server()
        m.foo""",
    ("tbprof.tf", "tensorflow:profiler:experimental"): """
        m.Trace()
        m.Trace("a", "b")
        m.Trace("x").set_metadata(1)
        m.Trace("x").foo
        m.Trace("x")(1)
        m.ProfilerOptions(1, 2, 3, 4, 5)
        m.ProfilerOptions(foo=1)
        m.ProfilerOptions().foo
        m.stop()
        m.stop(foo=1)
        m.start()
        m.start(5)
        m.start("x", foo=5)
        m.Profile()
        m.Profile("x", None, 1)
        with m.Profile(5): pass
        m.server.start()
        m.server.start("x")
        m.client.trace()
        m.client.trace("grpc://localhost:1", "x", 0)
        m.client.monitor()
        m.client.foo""",
    ("tbprof.mxnet", "mxnet.profiler"): """
        m.Domain()
        m.Domain("a", "b")
        m.Domain("a").new_task()
        m.Domain("a").new_counter("b", 1, 2)
        m.Domain("a").new_marker("b").mark("nowhere")
        m.Domain("a").new_counter("b", "x")
        m.Domain(5)                                                 # TypeError
        m.Task("a")
        m.Event()
        m.Event(5)                                                  # TypeError
        m.Counter(m.Domain("a"), "b") + 1
        m.set_config(foo=1)
        m.set_config(profile_all="x")
        m.set_config("x")
        m.set_config(dump_period="x")
        m.set_config(profile_process="x")
        m.set_state("x")
        m.set_state(5)
        m.set_state("run", "x")
        m.pause("x")
        m.resume(5)
        m.dump(profile_process="x")
        m.dumps(format="x")
        m.dumps(sort_by="x")
        m.dumps(foo=1)
        m.profiler_set_config(mode="x")
        m.foo""",
    ("tbprof.mindspore", "mindspore"): """
        m.Profiler(start_profile=5)
        m.Profiler.foo""",
}


def refusal(module, line):
    """The kind of exception, by name; "" for none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(line, {"m": module})  # pylint: disable=exec-used
    except Exception as e:  # pylint: disable=broad-except
        return type(e).__name__
    finally:
        if _core.is_active(0):
            tbprof.stop(save=False)
    return ""


class Refusals(recorded.Case):
    def test_what_the_original_refuses_is_refused(self):
        found = 0
        for (ours, theirs), lines in REFUSED.items():
            module = original(theirs)
            for line in lines.strip().split("\n") if module else ():
                line, _, other = (part.strip() for part in line.partition("#"))
                with self.subTest(line=line, of=theirs):
                    asked = refusal(module, line)
                    self.assertTrue(asked)
                    self.assertEqual(refusal(original(ours), line), other or asked)
                    found += 1
        if not found:
            self.skipTest("none of the frameworks is installed")

    def test_a_trace_stopped_by_hand_inside_with_is_stopped(self):
        for module in filter(None, (original("tbprof.torch"), original("torch.profiler"))):
            ready = []
            with module.profile(on_trace_ready=ready.append) as p:
                p.stop()
            self.assertEqual(len(ready), 2)  # as torch has it


if __name__ == "__main__":
    unittest.main()
