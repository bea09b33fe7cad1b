#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Annotations: what is written, what is left alone, what it costs in references."""
import asyncio
import contextlib
import gc
import importlib
import sys
import threading
import unittest

import recorded
import tbprof
from tbprof import _core


class Annotations(recorded.Case):
    def test_nothing_is_recorded_without_a_session(self):
        self.assertEqual(_core.begin("x"), 0)
        with tbprof.Trace("x") as t:
            t.set_metadata(a=1)
        self.assertFalse(tbprof.Trace.is_enabled())

    def test_scopes_nest_and_carry_arguments(self):
        tbprof.start(self.logdir)
        with tbprof.Trace("outer", rows=3, ratio=0.5, what="ab", big=2**70, flag=True) as t:
            t.set_metadata(late=7)
            _core.end(_core.begin("inner"))
        tbprof.stop()
        run = self.run_of()
        outer, inner = recorded.named(run, "outer"), recorded.named(run, "inner")
        self.assertEqual((len(outer), len(inner)), (1, 1))
        arguments = {k: str(v) for k, v in outer[0]["args"].items()}
        self.assertEqual({k: arguments[k] for k in ("rows", "what", "big", "flag", "late")},
                         {"rows": "3", "what": "ab", "big": str(2**70), "flag": "1", "late": "7"})
        self.assertEqual(float(arguments["ratio"]), 0.5)
        self.assertLessEqual(outer[0]["ts"], inner[0]["ts"])
        self.assertGreaterEqual(outer[0]["ts"] + outer[0]["dur"], inner[0]["ts"] + inner[0]["dur"])

    def test_the_clock_of_a_trace_starts_when_it_is_made_that_of_a_scope_when_entered(self):
        tbprof.start(self.logdir)
        trace = tbprof.Trace("made")
        with tbprof.Trace("between"):
            pass
        with trace:
            pass
        scope = tbprof.Scope("entered")
        with tbprof.Trace("between"):
            pass
        with scope:
            pass
        tbprof.stop()
        found = {e["name"]: e["ts"] for e in recorded.events(self.run_of()) if e["name"] != "between"}
        between = sorted(e["ts"] for e in recorded.named(self.run_of(), "between"))
        self.assertLess(found["made"], between[0])
        self.assertGreater(found["entered"], between[1])

    def test_every_way_in_and_out_is_one_scope(self):
        class Callable(tbprof.Scope):
            def __call__(self, *_):
                raise AssertionError("called")

        class Overridden(tbprof.Trace):
            def __enter__(self):
                return super().__enter__()

            def __exit__(self, *exc):
                return super().__exit__(*exc)

        tbprof.start(self.logdir)
        with tbprof.Trace("with") as t:
            self.assertIsInstance(t, tbprof.Trace)
        with contextlib.ExitStack() as stack:
            stack.enter_context(tbprof.Scope("stack"))
        by_hand = tbprof.Scope("by hand")
        self.assertIs(by_hand.__enter__(), by_hand)
        self.assertIsNone(by_hand.__exit__(None, None, None))
        of_class = tbprof.Scope("of class")
        self.assertIs(type(of_class).__enter__(of_class), of_class)
        self.assertIsNone(type(of_class).__exit__(of_class, None, None, None))
        with Callable("callable"), Overridden("overridden"):
            pass
        tbprof.stop()
        run = self.run_of()
        for name in ("with", "stack", "by hand", "of class", "callable", "overridden"):
            self.assertEqual(len(recorded.named(run, name)), 1, name)

    def test_a_trace_can_be_used_again(self):
        scope = tbprof.Trace("again", a=1)
        tbprof.start(self.logdir)
        for _ in range(3):
            with scope:
                pass
        tbprof.stop()
        self.assertEqual(len(recorded.named(self.run_of(), "again")), 3)

    def test_steps_are_steps_for_the_official_plugin(self):
        tbprof.start(self.logdir)
        for step in range(4):
            with tbprof.StepTrace("train", step_num=step):
                pass
        tbprof.stop()
        self.assertEqual(recorded.step_names(self.run_of()), [f"train {i}" for i in range(4)])

    def test_step_num_alone_makes_a_step_too(self):
        tbprof.start(self.logdir)
        for step in range(3):
            with tbprof.Trace("loop", step_num=step):
                pass
        tbprof.stop()
        self.assertEqual(recorded.step_names(self.run_of()), [f"loop {i}" for i in range(3)])

    def test_strange_names_and_values_do_no_harm(self):
        class Bad:
            def __str__(self):
                raise OSError
        tbprof.start(self.logdir)
        for name in ("", "\ud800", "x" * 5000, "näme 漢字", "a#b#"):
            with tbprof.Trace(name, value=Bad(), **{"kéy": "\ud800", "": 3}):
                pass
        _core.end(12345)
        _core.counter("c", "no number")
        _core.counter("c", 3)
        tbprof.stop()
        self.assertIn("näme 漢字", {e["name"] for e in recorded.events(self.run_of())})
        with self.assertRaises(TypeError):
            tbprof.Trace()
        with self.assertRaises(TypeError):
            _core.begin()

    def test_an_exception_passes_and_closes_the_scope(self):
        tbprof.start(self.logdir)
        with self.assertRaises(KeyError), tbprof.Trace("raises"):
            raise KeyError
        with tbprof.Trace("after"):
            pass
        tbprof.stop()
        raises, after = recorded.named(self.run_of(), "raises")[0], recorded.named(self.run_of(), "after")[0]
        self.assertLessEqual(raises["ts"] + raises["dur"], after["ts"])

    def test_threads_have_lines_of_their_own(self):
        tbprof.start(self.logdir)

        def work():
            with tbprof.Trace("in thread"):
                pass
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        with tbprof.Trace("in main"):
            pass
        tbprof.stop()
        tids = {e["name"]: e["tid"] for e in recorded.events(self.run_of())}
        self.assertNotEqual(tids["in thread"], tids["in main"])

    def test_a_module_loaded_again_leaves_the_first_one_as_it_is(self):
        """As in another interpreter of the process."""
        first = sys.modules.pop("tbprof._tbprof")
        self.addCleanup(sys.modules.__setitem__, "tbprof._tbprof", first)
        again = importlib.import_module("tbprof._tbprof")
        self.assertIsNot(again.StepTrace, tbprof.StepTrace)
        tbprof.start(self.logdir)
        for step, module in enumerate((tbprof, again)):
            with module.StepTrace("train", step_num=step), module.Scope("scope"), module.Trace("trace"):
                pass
        tbprof.stop()
        self.assertEqual(recorded.step_names(self.run_of()), ["train 0", "train 1"])
        for name in ("scope", "trace"):
            self.assertEqual(len(recorded.named(self.run_of(), name)), 2, name)

    def test_references_are_given_back(self):
        name, value = "a name of its own", object()
        gc.collect()
        before = sys.getrefcount(name), sys.getrefcount(value)
        for session in range(2):
            if session:
                tbprof.start(self.logdir)
            for _ in range(200):
                with tbprof.Trace(name, value=value) as t:
                    t.set_metadata(again=value)
                tbprof.StepTrace(name, step_num=1)
                with tbprof.Scope(name, text="text"), tbprof.record_function(name, "text"):
                    pass
                _core.end(_core.begin(name))
        tbprof.stop(save=False)
        del t
        gc.collect()
        self.assertEqual((sys.getrefcount(name), sys.getrefcount(value)), before)


class Decorators(recorded.Case):
    def recorded_by(self, call):
        tbprof.start(self.logdir)
        result = call()
        tbprof.stop()
        return result, self.run_of()

    def test_functions_and_methods(self):
        class Owner:
            @tbprof.annotate(name="method", kind="m")
            def method(self, x, *, y=2):
                return x + y

        @tbprof.annotate
        def function(x):
            """Text."""
            return x
        self.assertEqual((function.__name__, function.__doc__), ("function", "Text."))
        self.assertEqual(function(3), 3)
        result, run = self.recorded_by(lambda: (function(1), Owner().method(1, y=5)))
        self.assertEqual(result, (1, 6))
        self.assertEqual(recorded.named(run, "method")[0]["args"]["kind"], "m")
        self.assertEqual(len([e for e in recorded.events(run) if e["name"].endswith("function")]), 1)

    def test_what_cannot_be_decorated_is_refused_at_once(self):
        for function, name in ((5, None), (len, 5), (None, 5)):
            with self.assertRaises(TypeError, msg=(function, name)):
                tbprof.annotate(function, name=name)(len)

    def test_a_trace_is_a_decorator(self):
        @tbprof.Scope("scope", level=3)
        def function():
            return 4
        result, run = self.recorded_by(function)
        self.assertEqual((result, len(recorded.named(run, "scope"))), (4, 1))

    def test_a_scope_is_called_with_one_function_and_nothing_else(self):
        from tbprof import _fallback
        for scope in (tbprof.Trace("t"), tbprof.Scope("s"), tbprof.StepTrace("n", step_num=1), _fallback.Trace("f")):
            self.assertEqual(scope(lambda: 3)(), 3)
            self.assertEqual(scope(func=lambda: 4)(), 4)
            for args, keywords in (((), {"x": 1}), ((len,), {"x": 1}), ((len,), {"func": len}), ((1,), {}),
                                   ((1, 2), {}), ((1, 2, 3), {}), ((1, 2, 3, 4), {}), ((None, None, None), {"x": 1})):
                with self.assertRaises(TypeError, msg=(args, keywords)):
                    scope(*args, **keywords)

    def test_the_name_may_be_a_keyword(self):
        from tbprof import _fallback
        tbprof.start(self.logdir)
        with tbprof.Trace(name="by keyword", rows=3), tbprof.record_function(name="as PyTorch has it", args="text"):
            pass
        tbprof.stop()
        run = self.run_of()
        self.assertEqual(recorded.named(run, "by keyword")[0]["args"]["rows"], "3")
        self.assertEqual(recorded.named(run, "as PyTorch has it")[0]["args"]["args"], "text")
        for module in (tbprof, _fallback):
            for args, keywords in (((), {}), ((3,), {}), ((), {"name": 3}), (("a", "b"), {})):
                for kind in (module.Trace, module.StepTrace, module.Scope):
                    with self.assertRaises(TypeError, msg=(kind, args, keywords)):
                        kind(*args, **keywords)

    def test_record_function_takes_what_pytorch_takes(self):
        from tbprof import _fallback
        for module in (tbprof, _fallback):
            for args, keywords in ((("x",), {"foo": 1}), (("x", "y", "z"), {}), ((), {}), ((1,), {}), (("x", 1), {}),
                                   (("x", "y"), {"args": "z"}), ((), {"nam": "x"})):
                with self.assertRaises(TypeError, msg=(args, keywords)):
                    module.record_function(*args, **keywords)
        tbprof.start(self.logdir)
        for keywords in ({}, {"args": None}, {"args": "text"}):
            with tbprof.record_function("scope", **keywords):
                pass
        tbprof.stop()
        found = [e.get("args", {}).get("args") for e in recorded.named(self.run_of(), "scope")]
        self.assertEqual(found, [None, None, "text"])

    def test_a_generator_is_a_scope_each_time_it_runs(self):
        @tbprof.annotate(name="generator")
        def count(n):
            got = []
            for i in range(n):
                got.append((yield i))
            return got

        def use():
            generator = count(2)
            values = [next(generator)]
            with tbprof.Trace("between"):
                values.append(generator.send("a"))
            try:
                generator.send("b")
            except StopIteration as e:
                return values, e.value
        result, run = self.recorded_by(use)
        self.assertEqual(result, ([0, 1], ["a", "b"]))
        self.assertEqual(len(recorded.named(run, "generator")), 3)

    def test_a_generator_gets_its_exceptions_and_is_closed(self):
        seen = []

        @tbprof.annotate
        def watched():
            try:
                yield 1
            except KeyError:
                seen.append("KeyError")
                yield 2
            finally:
                seen.append("closed")
        generator = watched()
        next(generator)
        self.assertEqual(generator.throw(KeyError()), 2)
        generator.close()
        self.assertEqual(seen, ["KeyError", "closed"])

    def test_coroutines_rest_without_a_scope(self):
        @tbprof.annotate(name="coroutine")
        async def sleeper(x, awaited):
            await awaited.wait()
            return x

        async def waker(awaited):
            with tbprof.Trace("meanwhile"):
                awaited.set()

        async def all_of_them():
            awaited = asyncio.Event()
            return await asyncio.gather(sleeper(1, awaited), sleeper(2, awaited), waker(awaited))
        result, run = self.recorded_by(lambda: asyncio.run(all_of_them()))
        self.assertEqual(result, [1, 2, None])
        found = sorted(recorded.events(run), key=lambda e: e["ts"])  # each runs, rests, runs
        self.assertEqual([e["name"] for e in found], ["coroutine"] * 2 + ["meanwhile"] + ["coroutine"] * 2)
        for before, after in zip(found, found[1:]):
            self.assertLessEqual(before["ts"] + before["dur"], after["ts"] + 0.001)

    def test_asynchronous_generators(self):
        @tbprof.annotate(name="async generator")
        async def numbers():
            for i in range(3):
                await asyncio.sleep(0)
                yield i

        async def use():
            return [i async for i in numbers()]
        result, run = self.recorded_by(lambda: asyncio.run(use()))
        self.assertEqual(result, [0, 1, 2])
        self.assertGreaterEqual(len(recorded.named(run, "async generator")), 4)


if __name__ == "__main__":
    unittest.main()
