#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sessions: starts and stops, the styles of TensorFlow and JAX, forks, timed data, the stand-in for the extension."""
import contextlib
import copy
import itertools
import os
import subprocess
import sys
import threading
import time
import types
import unittest
import warnings
from unittest import mock

import interrupt
import recorded
import tbprof
import tbprof.cntk
import tbprof.jax
import tbprof.mindspore
import tbprof.mxnet
import tbprof.tf
import tbprof.torch
from tbprof import errors


class Sessions(recorded.Case):
    def test_every_start_and_stop_is_a_run_of_its_own(self):
        for _ in range(3):  # within one second
            tbprof.start(self.logdir)
            with tbprof.Trace("work"):
                time.sleep(0.01)
            tbprof.stop()
        tbprof.start(self.logdir)
        tbprof.stop()
        found = recorded.runs(self.logdir)
        self.assertEqual(len(found), 4)
        self.assertEqual([len(recorded.named(run, "work")) for run in found], [1, 1, 1, 0])
        self.assertEqual(tbprof.last_run(), found[-1])

    def test_a_second_start_is_refused_and_the_first_goes_on(self):
        tbprof.start(self.logdir)
        with self.assertRaises(errors.AlreadyExistsError) as refusal:
            tbprof.start(self.logdir + "2")
        self.assertEqual(refusal.exception.code, 6)
        with tbprof.Trace("work"):
            pass
        tbprof.stop()
        self.assertEqual(len(recorded.named(self.run_of(), "work")), 1)
        self.assertFalse(os.path.exists(self.logdir + "2"))

    def test_stop_without_start(self):
        with self.assertRaises(errors.UnavailableError):
            tbprof.stop()

    def styles(self):
        """Start and stop of each style; a session of each can follow one of any."""
        tbprof.mxnet.set_config(filename=os.path.join(self.logdir, "profile.json"))

        def stop_mxnet():
            tbprof.mxnet.set_state("run")  # goes on with what an interrupted one has begun
            tbprof.mxnet.dump()
        torch = tbprof.torch.profile(on_trace_ready=tbprof.torch.tensorboard_trace_handler(self.logdir), native=False)
        mindspore = tbprof.mindspore.Profiler(output_path=self.logdir, start_profile=False)
        self.addCleanup(setattr, tbprof.mindspore.Profiler, "_has_initialized", False)
        return {
            "plain": (lambda: tbprof.start(self.logdir), tbprof.stop),
            "tf": (lambda: tbprof.tf.start(self.logdir), tbprof.tf.stop),
            "jax": (lambda: tbprof.jax.start_trace(self.logdir, profiler_options={}), tbprof.jax.stop_trace),
            "torch": (torch.start, torch.stop),
            "cntk": (lambda: tbprof.cntk.start_profiler(self.logdir), tbprof.cntk.stop_profiler),
            "mxnet": (lambda: tbprof.mxnet.set_state("run"), stop_mxnet),
            "mindspore": (mindspore.start, mindspore.stop)}

    def expect_none_is_left(self, place):
        try:
            tbprof.start("")
        except errors.AlreadyExistsError as e:
            self.fail(f"{place}: {e}")
        tbprof.stop(save=False)

    def test_a_start_that_a_signal_ends_leaves_no_session(self):
        native = tbprof._core.native
        original = native.start

        def interrupted(*arguments):
            original(*arguments)
            raise KeyboardInterrupt  # as if Ctrl-C came now
        for name, (start, stop) in self.styles().items():
            with self.subTest(style=name):
                with mock.patch.object(native, "start", interrupted), self.assertRaises(KeyboardInterrupt):
                    start()
                self.expect_none_is_left("native.start")
                start()
                stop()

    def test_a_signal_at_any_line_of_a_start_loses_no_session(self):
        for name in self.styles():
            with self.subTest(style=name):
                for line in itertools.count():
                    tbprof.mindspore.Profiler._has_initialized = False
                    start, stop = self.styles()[name]
                    place = interrupt.at_line(start, line)
                    with contextlib.suppress(errors.Error, RuntimeError, AssertionError):  # the style says: none runs
                        stop()
                    self.expect_none_is_left(place)
                    if not place:
                        break
                self.assertGreater(line, 5)

    def test_a_signal_at_any_line_of_a_stop_loses_no_session(self):
        for line in itertools.count():
            session = tbprof._core.Session()
            session.start("")
            place = interrupt.at_line(lambda session=session: session.stop(save=False), line)
            session.drop()
            self.expect_none_is_left(place)
            if not place:
                break
        self.assertGreater(line, 5)

    def test_a_style_leaves_a_session_alone_that_somebody_started_after_stopping_its_own(self):
        for name, (start, stop) in self.styles().items():
            if name in ("plain", "tf"):  # these end what runs, as TensorFlow does
                continue
            with self.subTest(style=name):
                start()
                tbprof.stop(save=False)
                mine = f"{self.logdir}-{name}"
                tbprof.start(mine, python_tracer_level=1)
                with contextlib.suppress(errors.Error, RuntimeError):
                    stop()
                stop_tracing_would_miss_this = subprocess.list2cmdline
                stop_tracing_would_miss_this([])
                self.assertTrue(tbprof.is_active())
                tbprof.stop()
                names = [e["name"] for e in recorded.events(self.run_of(mine))]
                self.assertEqual(len([n for n in names if n.endswith(" list2cmdline")]), 1)
                if name != "mindspore":  # which can be started once
                    start()
                    stop()
                self.expect_none_is_left(name)

    def test_a_style_pauses_and_saves_no_session_of_somebody_else(self):
        styles = self.styles()
        for name, pause in (("cntk", tbprof.cntk.disable_profiler), ("mxnet", tbprof.mxnet.pause)):
            with self.subTest(style=name):
                start, stop = styles[name]
                start()
                tbprof.stop(save=False)
                tbprof.start(f"{self.logdir}-{name}")
                pause()
                self.assertTrue(tbprof.is_active())
                if name == "mxnet":
                    tbprof.mxnet.dump(finished=False)
                tbprof.stop(save=False)
                self.assertEqual(recorded.runs(f"{self.logdir}-{name}"), [])
                with contextlib.suppress(errors.Error):
                    stop()
                with contextlib.suppress(errors.Error):
                    tbprof.stop(save=False)

    def test_a_child_that_is_recorded_ends_its_part_of_the_session(self):
        with tbprof.jax.trace(self.logdir, profiler_options={"follow_fork": True}):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a fork beside threads
                child = os.fork()
            if not child:
                with tbprof.Trace("in child"):
                    pass
                try:
                    tbprof.jax.stop_trace()
                except BaseException:  # pylint: disable=broad-except
                    os._exit(1)
                os._exit(int(tbprof.is_active(0)))
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

    def test_unknown_options_name_the_nearest_one(self):
        with self.assertRaisesRegex(errors.InvalidArgumentError, "max_host_bytes"):
            tbprof.start(self.logdir, max_host_byte=1)
        tbprof.start(self.logdir, max_host_bytes="64MiB", follow_fork=False, session_id=None)
        tbprof.stop(save=False)
        self.assertFalse(os.path.exists(self.logdir))

    def test_a_child_changes_nothing(self):
        tbprof.start(self.logdir)
        with tbprof.Trace("before"):
            pass
        child = os.fork()
        if not child:
            with tbprof.Trace("in child"):
                pass
            os._exit(0)
        os.waitpid(child, 0)
        with tbprof.Trace("after"):
            pass
        tbprof.stop()
        names = {e["name"] for e in recorded.events(self.run_of())}
        self.assertLessEqual({"before", "after"}, names)
        self.assertNotIn("in child", names)

    def test_a_folder_that_cannot_be_written_is_an_error_and_the_next_session_works(self):
        with open(self.logdir, "w", encoding="ascii"):
            pass
        with self.assertRaises(errors.Error):
            tbprof.start(self.logdir)
            tbprof.stop()
        os.remove(self.logdir)
        tbprof.start(self.logdir)
        tbprof.stop()
        self.run_of()

    def test_pause_snapshot_and_collect(self):
        tbprof.start(self.logdir)
        with tbprof.Trace("first"):
            pass
        tbprof.snapshot("first")
        tbprof.pause()
        with tbprof.Trace("paused"):
            pass
        tbprof.resume()
        with tbprof.Trace("second"):
            pass
        self.assertIn(b"second", tbprof.collect())
        tbprof.stop()
        first = next(run for run in recorded.runs(self.logdir) if run.endswith("first"))
        self.assertEqual(len(recorded.named(first, "first")), 1)
        for run in recorded.runs(self.logdir):
            self.assertEqual(recorded.named(run, "paused"), [])

    def test_what_no_session_can_begin_with_leaves_none_open(self):
        for options, kind in (({"exclude": 5}, TypeError), ({"exclude": (5,)}, TypeError),
                              ({"session_id": "a\0b"}, ValueError), ({"override_hostname": "\udcff"}, TypeError)):
            with self.assertRaises(kind, msg=options):
                tbprof.start(self.logdir, python_tracer_level=1, **options)
            with self.assertRaises(errors.UnavailableError):
                tbprof.stop()

    def end_of(self, program):
        """What a program says that ends while it is recorded."""
        program = f"import sys, tbprof\n{program}\nwith tbprof.Trace('work'): pass\n"
        r = subprocess.run([sys.executable, "-c", program, self.logdir], capture_output=True, text=True, check=True,
                           env=dict(os.environ, TBPROF_SPOOL_DIR=self._folder.name))
        self.assertEqual([name for name in os.listdir(self._folder.name) if name.startswith("tbprof-")], [])
        return r.stderr

    def test_a_program_that_ends_while_it_is_recorded_is_saved_and_told(self):
        said = self.end_of("tbprof.start(sys.argv[1], python_tracer_level=1)")
        self.assertEqual(said.count("RuntimeWarning"), 1, said)
        self.assertIn(f"without tbprof's stop: what was recorded is in {self.run_of()}", said)
        self.assertEqual(len(recorded.named(self.run_of(), "work")), 1)

    def test_there_is_nothing_to_tell_at_the_end_of_others(self):
        for program in ("tbprof.start(sys.argv[1]); tbprof.stop(save=False)", "tbprof.start('')",
                        "tbprof.start(''); tbprof._core.native.stop(False)",
                        "import os, warnings\nwarnings.simplefilter('ignore')\ntbprof.start(sys.argv[1])\n"
                        "if os.fork() == 0:\n    warnings.simplefilter('always'); sys.exit()\n"
                        "os.wait(); tbprof.stop(save=False)"):
            self.assertEqual(self.end_of(program), "", program)
        self.assertEqual(recorded.runs(self.logdir), [])

    def test_sessions_that_threads_start_and_stop_against_each_other(self):
        def fight():
            for _ in range(20):
                for call, arguments in ((tbprof.start, (self.logdir,)), (tbprof.stop, (False,))):
                    try:
                        call(*arguments, **({"python_tracer_level": 1} if arguments[0] else {}))
                    except errors.Error:
                        pass
        threads = [threading.Thread(target=fight) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if tbprof.is_active(0):
            tbprof.stop(save=False)
        self.assertIsNone(threading._profile_hook)  # pylint: disable=protected-access
        if hasattr(sys, "monitoring"):
            self.assertEqual([sys.monitoring.get_tool(i) for i in range(6)].count("tbprof"), 0)

    def test_stats_count(self):
        tbprof.start(self.logdir)
        with tbprof.Trace("x"):
            pass
        self.assertGreaterEqual(tbprof.stats()["records"], 2)
        tbprof.stop(save=False)

    def test_importing_the_package_loads_neither_runtime_nor_frameworks(self):
        script = ("import sys, tbprof, tbprof.errors\nassert 'tbprof._core' not in sys.modules\n"
                  "import tbprof.keras, tbprof.tf, tbprof.jax, tbprof.torch, tbprof.data\n"
                  "print([m for m in ('numpy', 'tensorflow', 'keras', 'jax', 'torch') if m in sys.modules])")
        result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        self.assertEqual((result.stdout, result.stderr), ("[]\n", ""))


class TensorFlowStyle(recorded.Case):
    def test_start_stop_profile_and_trace(self):
        options = tbprof.tf.ProfilerOptions(host_tracer_level=3)
        self.assertEqual(tuple(options), (3, 0, 1, None))
        with tbprof.tf.Profile(self.logdir, options):
            with tbprof.tf.Trace("train", step_num=1, _r=1):
                pass
        self.assertEqual(recorded.step_names(self.run_of()), ["train 1"])

    def test_refusals(self):
        with self.assertRaisesRegex(errors.UnavailableError, "No profiler is running"):
            tbprof.tf.stop()
        tbprof.tf.start(self.logdir)
        with self.assertRaisesRegex(errors.AlreadyExistsError, "Another profiler is running"):
            tbprof.tf.start(self.logdir)
        tbprof.tf.stop(save=False)

    def test_a_run_that_cannot_be_written_is_no_session_that_was_missing(self):
        full = errors.UnavailableError("cannot write output: No space left on device")
        with mock.patch.object(tbprof.tf._core, "stop", side_effect=full), \
                self.assertRaisesRegex(errors.UnavailableError, "^cannot write output: No space left on device$"):
            tbprof.tf.stop()

    def test_refusals_are_tensorflows_too(self):
        class OpError(Exception):
            def __init__(self, node_def, op, message):
                super().__init__(node_def, op, message)
                self.message = message

            def __str__(self):
                return self.message
        tensorflow = types.SimpleNamespace(errors=types.SimpleNamespace(UnavailableError=OpError))
        with mock.patch.dict(sys.modules, tensorflow=tensorflow):
            with self.assertRaises(OpError) as refusal:
                tbprof.tf.stop()
        self.assertIsInstance(refusal.exception, errors.UnavailableError)
        self.assertIn("No profiler is running", str(refusal.exception))

    def test_profile_saves_and_never_hides_the_exception(self):
        with self.assertRaises(ZeroDivisionError), tbprof.tf.Profile(self.logdir):
            1 / 0  # pylint: disable=pointless-statement
        self.run_of()
        with self.assertRaises(ZeroDivisionError), tbprof.tf.Profile(self.logdir):
            tbprof.stop()
            1 / 0  # pylint: disable=pointless-statement
        self.assertEqual(len(self.told()), 1)

    def test_warm_up_saves_nothing(self):
        tbprof.tf.warmup()
        tbprof.tf.start("")
        tbprof.tf.stop()
        self.assertFalse(os.path.exists(self.logdir))

    def test_trace_wrapper(self):
        @tbprof.tf.trace_wrapper
        def plain():
            return 1

        @tbprof.tf.trace_wrapper("other", a=2)
        def other():
            return 2
        with tbprof.tf.Profile(self.logdir):
            self.assertEqual((plain(), other()), (1, 2))
        self.assertEqual(len(recorded.named(self.run_of(), "other")), 1)


class JaxStyle(recorded.Case):
    def test_trace_and_annotations(self):
        @tbprof.jax.annotate_function
        def function():
            return 1
        with tbprof.jax.trace(self.logdir):
            for step in range(3):
                with tbprof.jax.StepTraceAnnotation("train", step_num=step), tbprof.jax.TraceAnnotation("inside", k=1):
                    function()
        run = self.run_of()
        self.assertEqual(recorded.step_names(run), ["train 0", "train 1", "train 2"])
        self.assertEqual(len(recorded.named(run, "inside")), 3)

    def test_refusals(self):
        with self.assertRaisesRegex(RuntimeError, "No profile started"):
            tbprof.jax.stop_trace()
        tbprof.jax.start_trace(self.logdir)
        with self.assertRaisesRegex(RuntimeError, "Profile has already been started"):
            tbprof.jax.start_trace(self.logdir)
        tbprof.jax.stop_trace()
        self.run_of()

    def test_a_failed_stop_leaves_the_next_trace_possible(self):
        tbprof.jax.start_trace(self.logdir)
        tbprof.stop(save=False)
        with self.assertRaises(RuntimeError):
            tbprof.jax.stop_trace()
        with tbprof.jax.trace(self.logdir):
            pass
        self.run_of()

    def test_python_functions_are_traced_as_jax_does_unless_told_otherwise(self):
        def traced_function():
            return 1
        for level, expected in ((None, 1), (0, 0)):
            options = None
            if level is not None:
                options = tbprof.jax.ProfileOptions()
                options.python_tracer_level = level
            with tbprof.jax.trace(f"{self.logdir}{level}", profiler_options=options):
                traced_function()
            found = [e for e in recorded.events(self.run_of(f"{self.logdir}{level}")) if "traced_function" in e["name"]]
            self.assertEqual(len(found), expected)


class OnDemand(recorded.Case):
    """A server in this process, and its client."""

    def setUp(self):
        super().setUp()
        try:
            self.port = tbprof.jax.start_server(0)
        except errors.UnimplementedError as e:
            self.skipTest(str(e))
        self.addCleanup(tbprof.jax.stop_server)

    def test_a_client_gets_what_happens_meanwhile(self):
        is_over = threading.Event()

        def work():
            while not is_over.is_set():
                with tbprof.Trace("served"):
                    time.sleep(0.001)
        thread = threading.Thread(target=work)
        thread.start()
        try:
            folder = tbprof.tf.client.trace(f"localhost:{self.port}", self.logdir, 1000)
        finally:
            is_over.set()
            thread.join()
        self.assertEqual(os.path.realpath(folder), os.path.realpath(self.run_of()))
        self.assertGreater(len(recorded.named(self.run_of(), "served")), 2)

    def test_one_server_at_a_time(self):
        with self.assertRaisesRegex(ValueError, "Only one profiler server"):
            tbprof.tf.server.start(0)

    def test_durations_and_servers_that_are_not_there(self):
        with self.assertRaises(errors.InvalidArgumentError):
            tbprof.tf.client.trace("localhost:1", self.logdir, 0)
        with self.assertRaises(errors.UnavailableError):
            tbprof.tf.client.trace("localhost:1", self.logdir, 10, num_tracing_attempts=1)
        with self.assertRaisesRegex(errors.InvalidArgumentError, "'gs://bucket/log' is not on this machine"):
            tbprof.tf.client.trace(f"localhost:{self.port}", "gs://bucket/log", 10)

    def test_monitor(self):
        self.assertTrue(tbprof.tf.client.monitor(f"localhost:{self.port}", 50))


class Data(recorded.Case):
    def test_waiting_inside_a_step_is_input_and_everything_else_is_not(self):
        def slow():
            for i in range(8):
                time.sleep(0.05)
                yield i
        tbprof.start(self.logdir)
        loader = tbprof.data.timed(slow(), "reader", "preprocessing")
        for step in range(8):
            with tbprof.StepTrace("train", step_num=step):
                self.assertEqual(next(loader), step)
                end = time.perf_counter() + 0.005  # an eleventh, so that it stays below four fifths on busy machines
                while time.perf_counter() < end:
                    pass
        tbprof.stop()
        overview = recorded.page("overview_page", self.run_of(), "--semantics", "official")
        verdicts = [t["p"]["input_conclusion"] for t in overview if "input_conclusion" in t.get("p", {})]
        self.assertIn("HIGHLY input-bound", verdicts[0])
        rows = [row["c"] for t in recorded.page("input_pipeline_analyzer", self.run_of(), "--semantics", "official")
                if t.get("cols") and t["cols"][0]["id"] == "opName" for row in t["rows"]]
        self.assertEqual([(r[0]["v"], r[1]["v"], r[6]["v"]) for r in rows],
                         [("IteratorGetNext reader", 8, "Preprocessing")])

    def test_is_copied_and_true_as_the_object_is(self):
        class Stream:
            def __iter__(self):
                return iter((1, 2))
        self.assertTrue(tbprof.data.timed(Stream()))
        self.assertFalse(tbprof.data.timed([]))
        for twin in (copy.copy, copy.deepcopy):
            self.assertEqual(list(twin(tbprof.data.timed([1, 2]))), [1, 2])
            self.assertEqual(list(twin(tbprof.data.timed(iter([1, 2])))), [1, 2])

    def test_passes_on_what_the_object_can_do(self):
        values = tbprof.data.timed([3, 1, 2])
        self.assertEqual((len(values), list(values), list(values), values.index(1)), (3, [3, 1, 2], [3, 1, 2], 1))
        self.assertRaises(ValueError, tbprof.data.timed, [], category="nonsense")


class StandIn(recorded.Case):
    """Without the extension module: one warning, and either ctypes or nothing."""

    def script(self, body, **environment):
        code = "import sys\nsys.modules['tbprof._tbprof'] = None\n" + body
        return subprocess.run([sys.executable, "-W", "always", "-c", code], capture_output=True, text=True,
                              env=dict(os.environ, **environment))

    def test_records_through_ctypes(self):
        library = os.path.join(os.path.dirname(recorded.TBPROF), "libtbprof.so")
        result = self.script(f"import tbprof\ntbprof.start({self.logdir!r})\n"
                             "for i in range(3):\n  with tbprof.StepTrace('train', step_num=i, word='w'): pass\n"
                             "tbprof.counter('c', 1)\ntbprof.stop()\nprint(tbprof.stats()['records'] > 3)",
                             TBPROF_LIBRARY=library)
        self.assertEqual(result.stdout, "True\n", result.stderr)
        self.assertEqual(result.stderr.count("Warning"), 1, result.stderr)
        self.assertEqual(recorded.step_names(self.run_of()), ["train 0", "train 1", "train 2"])

    def test_does_nothing_without_the_library(self):
        result = self.script("import tbprof, tbprof.keras, tbprof.torch, tbprof.jax\n"
                             "from tbprof import _fallback\n_fallback._library = None\n"
                             "with tbprof.Trace('x', a=1) as t: t.set_metadata(b=2)\n"
                             "try: tbprof.start('/nowhere')\n"
                             "except tbprof.errors.UnavailableError as e: print('refused')")
        self.assertEqual(result.stdout, "refused\n", result.stderr)
        self.assertEqual(result.stderr.count("Warning"), 1, result.stderr)


if __name__ == "__main__":
    unittest.main()
