#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The callback for Keras, driven by a stand-in for Keras's training loop: the same hooks in the same order."""
import contextlib
import functools
import os
import subprocess
import sys
import threading
import time
import types
import unittest
import warnings
from unittest import mock

import recorded
import tbprof
import tbprof.keras
import tbprof.torch
from tbprof import _core, _keras_input, _xplane


class Integer:
    """Like numpy's integers: no int, but usable as one."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


class Model:
    """What Keras's fit does with callbacks and a train function."""

    def __init__(self, batches=6, work=0.002, fails_at=None):
        self.batches, self.work, self.fails_at = batches, work, fails_at
        self.train_function = self._train
        self.seen, self.stop_training = 0, False

    def _train(self, batch):
        end = time.perf_counter() + self.work
        while time.perf_counter() < end:
            pass
        self.seen += 1
        if self.seen == self.fails_at:
            raise ArithmeticError("of the program")
        return {"loss": 0.0}

    def next_batch(self):
        """What a data set does between two steps."""

    def argument(self, batch):
        return batch

    def end_batch(self, callback, batch, logs):
        callback.on_train_batch_end(batch, logs)

    def fit(self, callback, epochs=1, validation=False):
        callback.set_params({"epochs": epochs})
        callback.set_model(self)
        callback.on_train_begin()
        for epoch in range(epochs):
            callback.on_epoch_begin(epoch)
            for batch in range(self.batches):
                self.next_batch()
                callback.on_train_batch_begin(batch)
                logs = self.train_function(self.argument(batch))
                self.end_batch(callback, batch, logs)
            if validation:
                callback.on_test_begin()
                for batch in range(2):
                    callback.on_test_batch_begin(batch)
                    callback.on_test_batch_end(batch)
                callback.on_test_end()
            callback.on_epoch_end(epoch)
        callback.on_train_end()


class JaxModel(Model):
    """Returns before it has computed, as JAX does: block_until_ready is what waits, and notes (call, waited for)."""

    def __init__(self, waits_for_logs, **arguments):
        super().__init__(**arguments)
        self.waits_for_logs, self.waits = waits_for_logs, []

    def _train(self, batch):
        self.seen += 1
        return (self.seen, time.perf_counter() + self.work), "state"

    def argument(self, batch):
        return iter((batch,))

    def block_until_ready(self, result):
        self.waits.append((self.seen, result[0]))
        time.sleep(max(0, result[1] - time.perf_counter()))

    def end_batch(self, callback, batch, logs):
        """In a thread of its own, unless a callback wants to know the logs of each batch."""
        if self.waits_for_logs:
            time.sleep(max(0, logs[0][1] - time.perf_counter()))
            callback.on_train_batch_end(batch, logs)
        else:
            thread = threading.Thread(target=callback.on_train_batch_end, args=(batch, logs))
            thread.start()
            thread.join()


class ProfileBatch(recorded.Case):
    """The cases of Keras's own callback: which batches make a session."""

    def sessions(self, argument, batches=6, epochs=1, fits=1):
        callback = tbprof.keras.ProfilerCallback(self.logdir, argument)
        for _ in range(fits):
            Model(batches).fit(callback, epochs)
        found = []
        for run in recorded.runs(os.path.join(self.logdir, "train")):
            numbers = [int(e["args"]["step_num"]) for e in recorded.steps(run)]
            found.append([numbers[0], numbers[-1]])
            self.assertEqual(numbers, list(range(numbers[0], numbers[-1] + 1)))
        return found

    def test_batches_of_each_argument(self):
        for argument, expected in ((2, [[2, 2]]), (True, [[1, 1]]), ("2,4", [[2, 4]]), ((2, 4), [[2, 4]]),
                                   ([2, 4], [[2, 4]]), ((4, 20), [[4, 6]]), (Integer(2), [[2, 2]]),
                                   ((Integer(2), 3), [[2, 3]]), (" 2 , 3 ", [[2, 3]])):
            with self.subTest(argument=argument):
                self.setUp()
                self.assertEqual(self.sessions(argument), expected)
                self.assertEqual(self.told(), [])

    def test_zero_is_off(self):
        for argument in (0, False, (0, 0), "0,0"):
            self.assertEqual(self.sessions(argument), [])
        self.assertEqual(self.told(), [])

    def test_two_epochs_count_on(self):
        self.assertEqual(self.sessions((6, 9), batches=4, epochs=2), [[6, 8]])

    def test_two_fits_in_one_second_are_two_runs(self):
        self.assertEqual(self.sessions((2, 3), fits=2), [[2, 3], [2, 3]])

    def test_refused(self):
        for argument in ("5", (5, 3), -1, 2.0, (1, 2, 3), "a,b", None, (2.0, 3), "2,4,6", "4,2"):
            with self.subTest(argument=argument), self.assertRaises(ValueError):
                tbprof.keras.ProfilerCallback(self.logdir, argument)

    def test_from_zero_is_told_and_begins_with_one(self):
        self.assertEqual(self.sessions("0,3"), [[1, 3]])
        self.assertEqual(len(self.told()), 1)
        self.assertIn("batches count from 1", self.told()[0])

    def test_batches_that_never_come_are_told_with_figures(self):
        self.assertEqual(self.sessions((9, 12)), [])
        self.assertEqual(len(self.told()), 1)
        self.assertIn("9-12", self.told()[0])
        self.assertIn("6 batches", self.told()[0])

    def test_a_schedule(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            schedule = tbprof.torch.schedule(wait=1, warmup=0, active=2, repeat=2)
        self.assertEqual(self.sessions(schedule, batches=8), [[2, 3], [5, 6]])

    def test_no_subfolder(self):
        Model().fit(tbprof.keras.ProfilerCallback(self.logdir, 2, train_subdir=False))
        self.run_of()


class Recording(recorded.Case):
    def fit(self, model, **arguments):
        callback = tbprof.keras.ProfilerCallback(self.logdir, (2, 5), train_subdir=False, **arguments)
        model.fit(callback, validation=True)
        return self.run_of()

    def test_steps_last_from_begin_to_begin_and_hold_the_step_function(self):
        model = Model(work=0.005)
        model.next_batch = tbprof.annotate(name="next batch")(model.next_batch)
        run = self.fit(model)
        steps = recorded.steps(run)
        self.assertEqual(recorded.step_names(run), [f"train {i}" for i in range(2, 6)])
        inner = recorded.named(run, "step function")
        self.assertEqual(len(inner), 4)
        self.assertTrue(all(5000 <= e["dur"] for e in inner), inner)
        between = recorded.named(run, "next batch")
        self.assertEqual(len(between), 4)  # after each of the steps: it belongs to that one
        for step, function, batch in zip(steps, inner, between):
            self.assertLessEqual(step["ts"], function["ts"])
            self.assertLessEqual(function["ts"] + function["dur"], batch["ts"])
            self.assertLessEqual(batch["ts"] + batch["dur"], step["ts"] + step["dur"] + 0.001)
        for before, after in zip(steps, steps[1:]):
            self.assertLessEqual(before["ts"] + before["dur"], after["ts"] + 0.001)

    def test_steps_are_shown_though_nothing_is_told_apart_inside(self):
        run = self.fit(Model(), track_input=False)
        self.assertEqual(recorded.step_names(run), [f"train {i}" for i in range(2, 6)])
        self.assertEqual(recorded.named(run, "step function"), [])

    def waits_of(self, model):
        with mock.patch.dict(sys.modules, jax=types.SimpleNamespace(block_until_ready=model.block_until_ready)), \
                mock.patch.object(_keras_input, "backend_of", lambda model: "jax"):
            model.fit(tbprof.keras.ProfilerCallback(self.logdir, (3, 5), train_subdir=False))
        self.assertEqual(self.told(), [])
        return model.waits

    def test_steps_of_jax_wait_for_the_one_before(self):
        self.assertEqual(self.waits_of(JaxModel(False)), [(2, 2), (3, 2), (4, 3), (5, 4)])

    def test_where_the_loop_waits_for_each_step_of_jax_the_wait_is_the_steps(self):
        self.assertEqual(self.waits_of(JaxModel(True, work=0.005)), [(2, 2), (3, 3), (4, 4), (5, 5)])
        inner = recorded.named(self.run_of(), "step function")
        self.assertEqual(len(inner), 3)
        self.assertTrue(all(4900 <= e["dur"] for e in inner), inner)

    def test_epochs_and_validation_are_scopes(self):
        callback = tbprof.keras.ProfilerCallback(self.logdir, (1, 20), train_subdir=False)
        Model(batches=3).fit(callback, epochs=2, validation=True)
        names = [e["name"] for e in recorded.events(self.run_of())]
        self.assertEqual((names.count("validation"), names.count("validation batch")), (2, 4))
        self.assertEqual((names.count("epoch 0"), names.count("epoch 1")), (1, 1))

    def kind_for(self, module="keras.src.backend.tensorflow.trainer", own=None, **attributes):
        """What stands in for the train function of a model of TensorFlow's, made by `module`, or by the program."""
        def written_in(name):
            where = "__main__" if name == own else module
            return functools.update_wrapper(types.FunctionType((lambda _: None).__code__, {"__name__": where}),
                                            types.SimpleNamespace(__module__=module))  # as functools.wraps does
        model = type("M", (), {"make_train_function": written_in("make_train_function")})()
        model.train_function = written_in("train_function")
        vars(model).update(attributes)
        with mock.patch.dict(sys.modules, tensorflow=types.SimpleNamespace(queue=None)), \
                mock.patch.object(_keras_input, "backend_of", lambda model: "tensorflow"):
            return _keras_input._kind_for(model).__name__

    def test_elements_are_handed_on_to_functions_that_take_one_a_call(self):
        """Another one would wait for its second element for ever."""
        self.assertEqual(self.kind_for(), "_TensorFlow")
        self.assertEqual(self.kind_for("tf_keras.src.engine.training", steps_per_execution=1), "_TensorFlow")
        for module, kind in (("tensorflow.python.eager", "_TensorFlow"), ("__main__", "_Wrapped")):
            graph = type("Function", (), {"__module__": module, "__call__": print})()
            graph.python_function = types.FunctionType((lambda _: None).__code__, {"__name__": "keras.x"})
            self.assertEqual(self.kind_for(train_function=graph), kind)
        for different in ({"own": "make_train_function"}, {"own": "train_function"}, {"steps_per_execution": 2},
                          {"steps_per_execution": "auto"},
                          {"steps_per_execution": 1, "_autotune_steps_per_execution": True}):
            self.assertEqual(self.kind_for(**different), "_Wrapped", different)

    def test_elements_that_cannot_be_handed_on_are_left_to_keras(self):
        got, iterator = [], iter("ab")
        ours = _keras_input._TensorFlow(lambda iterator: got.append(next(iterator)))
        with mock.patch.object(_keras_input, "_Feed", side_effect=ValueError("a TensorArray")):
            ours(iterator)
            ours(iterator)
            _keras_input._TensorFlow(lambda iterator: None)(iter("c"))
        self.assertEqual(got, ["a", "b"])
        (told,) = self.told()
        self.assertIn("waiting for data is not told apart from computing", told)
        self.assertIn("a TensorArray", told)

    def test_the_train_function_is_given_back(self):
        model = Model()
        original = model.train_function
        self.fit(model)
        self.assertEqual(model.train_function, original)

    def test_a_new_train_function_stays(self):
        model = Model()
        callback = tbprof.keras.ProfilerCallback(self.logdir, (1, 2))
        callback.set_model(model)
        callback.on_train_begin()
        callback.on_train_batch_begin(0)
        model.train_function = new = lambda batch: None
        callback.on_train_end()
        self.assertIs(model.train_function, new)

    def test_hooks_that_do_nothing_say_so(self):
        callback = tbprof.keras.ProfilerCallback(self.logdir)
        for hook in ("on_batch_end", "on_train_batch_end", "on_test_batch_end", "on_predict_batch_end"):
            self.assertTrue(getattr(callback, hook)._is_default)


class Profiler:
    """What _native_profilers uses of jax.profiler. Arguments: what start, a step's end and stop raise, and the file."""

    def __init__(self, start=None, end=None, stop=None, file=b"\x0a\x0b\x12\x09/host:CPU"):
        self._fails = {"start": start, "end": end, "stop": stop}
        self._file, self.calls, self.folder = file, [], ""

    def _call(self, what):
        self.calls.append(what)
        if self._fails.get(what):
            raise self._fails[what]

    ProfileOptions = types.SimpleNamespace

    def start_trace(self, folder, profiler_options):
        self.folder = folder
        self._call("start")

    def stop_trace(self):
        self._call("stop")
        run = os.path.join(self.folder, "plugins", "profile", "theirs")
        os.makedirs(run)
        if self._file is not None:
            with open(os.path.join(run, "h.xplane.pb"), "wb") as file:
                file.write(self._file)

    @contextlib.contextmanager
    def StepTraceAnnotation(self, name, step_num):  # pylint: disable=invalid-name
        self._call(f"step {step_num}")
        yield
        self._call("end")


class Native(recorded.Case):
    """The framework's own profiler beside ours; here, a session of ours stands in for its file."""

    def test_a_backend_without_one_is_told_and_recorded_by_us(self):
        Model().fit(tbprof.keras.ProfilerCallback(self.logdir, (2, 4), train_subdir=False, native=True))
        self.assertEqual(recorded.step_names(self.run_of()), ["train 2", "train 3", "train 4"])
        self.assertEqual(len(self.told()), 1)
        self.assertIn("our events alone", self.told()[0])

    def fit(self, profiler, fits=1, **hooks):
        """With a backend whose profiler that is; returns the callback. hooks: of the model."""
        callback = tbprof.keras.ProfilerCallback(self.logdir, (2, 3), train_subdir=False, track_input=False, native=True)
        with mock.patch.dict(sys.modules, jax=types.SimpleNamespace(profiler=profiler)), \
                mock.patch.object(_keras_input, "backend_of", lambda model: "jax"):
            for _ in range(fits):
                model = Model()
                model.__dict__.update(hooks)
                model.fit(callback)
                self.assertEqual(model.seen, 6)
                self.assertFalse(tbprof.is_active(0))
        return callback

    def processes(self, run):
        trace = recorded.page("trace_viewer", run)["traceEvents"]
        return {e["args"]["name"] for e in trace if e.get("name") == "process_name"}

    def test_theirs_and_ours_are_one_run(self):
        profiler = Profiler()
        self.fit(profiler)
        self.assertEqual(profiler.calls, ["start", "step 2", "end", "step 3", "end", "stop"])
        self.assertEqual(self.told(), [])
        self.assertIn("/host:CPU tbprof", " ".join(self.processes(self.run_of())))
        self.assertFalse(os.path.exists(profiler.folder))

    def test_one_that_does_not_start_is_told_once_and_our_steps_are_there(self):
        profiler = Profiler(start=RuntimeError("Profile has already been started."))
        self.fit(profiler, fits=2)
        self.assertEqual(profiler.calls, ["start", "start"])
        self.assertEqual(len(self.told()), 1, self.told())
        self.assertIn("the profiler of jax does not start (RuntimeError: Profile has already been started.)",
                      self.told()[0])
        for run in recorded.runs(self.logdir):
            self.assertEqual(recorded.step_names(run), ["train 2", "train 3"])
        self.assertEqual(len(recorded.runs(self.logdir)), 2)

    def test_one_that_fails_later_is_told_once_and_the_run_is_ours(self):
        for part, expected in ((dict(stop=RuntimeError("No profile started")), "(RuntimeError: No profile started)"),
                               (dict(stop=MemoryError()), "(MemoryError)"),
                               (dict(file=None), "it has left 0 files"), (dict(file=b""), "its file is empty"),
                               (dict(file=b"\x0a\xff"), "(IndexError")):
            with self.subTest(part=part):
                self.setUp()
                profiler = Profiler(**part)
                callback = self.fit(profiler)
                self.assertEqual(profiler.calls[-1], "stop")
                self.assertIsNone(callback._driver)
                self.assertEqual(len(self.told()), 1, self.told())
                self.assertIn(expected, self.told()[0])
                self.assertNotIn("tbprof", " ".join(self.processes(self.run_of())))
                self.assertFalse(os.path.exists(profiler.folder))

    def test_one_that_the_program_has_stopped_and_started_anew_goes_on(self):
        profiler = Profiler()

        def next_batch():
            if profiler.calls[-1:] == ["step 3"]:
                profiler.stop_trace()
                profiler.start_trace(self.logdir, None)
        self.fit(profiler, next_batch=next_batch)
        self.assertEqual(profiler.calls, ["start", "step 2", "end", "step 3", "stop", "start", "end"])
        self.assertIn("/host:CPU tbprof", " ".join(self.processes(self.run_of())))
        self.assertEqual(self.told(), [])

    def test_a_step_of_theirs_that_fails_ends_both_and_saves_them(self):
        profiler = Profiler(end=ValueError("scope"))
        self.fit(profiler)
        self.assertEqual(profiler.calls[-1], "stop")
        self.assertEqual(len(self.told()), 1, self.told())
        self.assertIn("ValueError: scope", self.told()[0])
        self.run_of()

    def test_theirs_ends_with_a_session_of_ours_that_does_not_start_or_stop(self):
        def fails(*_):
            raise OSError("no space left")
        run = None
        for what in ("start", "stop"):
            profiler = Profiler()
            original = _core.native.stop
            stop = fails if what == "start" else lambda _, session: [original(False, session), fails()]
            with mock.patch.object(_core.native, what, stop):
                self.fit(profiler)
            self.assertEqual((profiler.calls[0], profiler.calls[-1]), ("start", "stop"))
            self.assertEqual(len(self.told()), 1, self.told())
            self.assertIn("OSError: no space left", self.told()[0])
            self.assertEqual(run and self.processes(run), run and before)  # what was saved earlier stays as it was
            self.warnings.clear()
            if run is None:
                tbprof.start(self.logdir)
                tbprof.stop()
                run = self.run_of()
                before = self.processes(run)

    def test_our_plane_stands_beside_theirs_on_their_clock(self):
        spaces, brackets = [], []
        for name in ("theirs", "ours"):
            tbprof.start(self.logdir)
            time.sleep(0.1)
            before = time.time_ns()
            with tbprof.Trace(name):
                pass
            brackets.append((before, time.time_ns()))
            spaces.append(tbprof.collect())
            tbprof.stop(save=False)
        theirs, ours = spaces
        run = os.path.join(self.logdir, "plugins", "profile", "both")
        os.makedirs(run)
        with open(os.path.join(run, "host.xplane.pb"), "wb") as file:
            file.write(_xplane.beside(theirs, ours))
        trace = recorded.page("trace_viewer@", run)["traceEvents"]
        starts = {e["name"]: e["ts"] for e in trace if e.get("name") in ("theirs", "ours") and "ts" in e}
        apart_us = (_xplane.start_time_ns(ours) - _xplane.start_time_ns(theirs)) / 1000
        self.assertGreater(apart_us, 99000)
        # Each scope lies within what was read around it, whatever else the machine does meanwhile; the clocks of
        # two sessions, and the system's, agree within ten milliseconds, a tenth of what they are apart.
        least = (brackets[1][0] - brackets[0][1]) / 1000 - 10000
        most = (brackets[1][1] - brackets[0][0]) / 1000 + 10000
        self.assertTrue(least <= starts["ours"] - starts["theirs"] <= most, (least, starts, most, apart_us))
        processes = {e["args"]["name"] for e in trace if e.get("name") == "process_name"}
        self.assertTrue(any(p.endswith("/host:CPU tbprof") for p in processes), processes)

    def test_files_that_are_no_profiles_are_refused(self):
        for data in (b"\x0a\xff", b"\x0b", b"\x0a\x05ab", b"\x08" + b"\x80" * 10 + b"\x01"):
            with self.assertRaises((ValueError, IndexError)):
                _xplane.beside(b"", data)


class Trouble(recorded.Case):
    """A callback never breaks training."""

    def test_a_session_that_runs_already_is_one_warning(self):
        tbprof.start(self.logdir)
        model = Model()
        model.fit(tbprof.keras.ProfilerCallback(self.logdir + "2", 2))
        self.assertEqual(model.seen, 6)
        self.assertEqual(len(self.told()), 1)
        self.assertTrue(tbprof.is_active())
        tbprof.stop(save=False)

    def test_a_session_that_the_program_started_meanwhile_is_its_own(self):
        class Changing(Model):
            def next_batch(model):  # pylint: disable=no-self-argument
                if model.seen == 3:
                    tbprof.stop(save=False)
                    tbprof.start(self.logdir)
        Changing().fit(tbprof.keras.ProfilerCallback(self.logdir, (2, 5)))
        self.assertTrue(tbprof.is_active())
        tbprof.stop()
        self.run_of()
        self.assertEqual(recorded.runs(os.path.join(self.logdir, "train")), [])
        self.assertEqual(len(self.told()), 1, self.told())
        self.assertIn("stopped by somebody else", self.told()[0])

    def test_a_stop_that_fails_is_one_warning(self):
        model = Model()
        callback = tbprof.keras.ProfilerCallback(self.logdir, (2, 3))
        original = _core.native.stop
        self.addCleanup(setattr, _core.native, "stop", original)

        def stop(_, session):
            original(False, session)
            raise OSError("no space left")
        _core.native.stop = stop
        model.fit(callback)
        self.assertEqual((model.seen, len(self.told())), (6, 1))
        self.assertIn("no space left", self.told()[0])
        _core.native.stop = original
        model.fit(callback)  # the next fit is profiled
        self.run_of(os.path.join(self.logdir, "train"))

    def test_a_start_that_a_signal_ends_is_no_obstacle_for_the_next_fit(self):
        callback = tbprof.keras.ProfilerCallback(self.logdir, (2, 3))
        original = _core.native.start

        def start(*arguments):
            original(*arguments)
            raise KeyboardInterrupt  # as if Ctrl-C came now
        with mock.patch.object(_core.native, "start", start), self.assertRaises(KeyboardInterrupt):
            Model().fit(callback)
        self.assertFalse(tbprof.is_active())
        Model().fit(callback)
        self.run_of(os.path.join(self.logdir, "train"))
        self.assertEqual(self.told(), [])

    def test_an_exception_without_a_text_is_told_by_its_kind(self):
        class Speechless(Exception):
            def __str__(self):
                raise ValueError("no text")
            __repr__ = __str__

        for error, expected in ((MemoryError(), "ProfilerCallback: MemoryError (in on_train_batch_begin); training goes on"),
                                (Speechless(), "ProfilerCallback: Speechless (in on_train_batch_begin); training goes on"),
                                (KeyError("x"), "ProfilerCallback: KeyError: 'x' (in on_train_batch_begin); training")):
            self.warnings.clear()
            with mock.patch.object(_core.native, "start", side_effect=error):
                Model().fit(tbprof.keras.ProfilerCallback(self.logdir, (2, 3)))
            self.assertEqual(len(self.told()), 1)
            self.assertIn(expected, self.told()[0])

    def test_a_fit_inside_a_fit_ends_the_outer_profile_and_says_so(self):
        callback = tbprof.keras.ProfilerCallback(self.logdir, (2, 5), train_subdir=False)
        outer = Model()
        outer.next_batch = lambda: outer.seen == 3 and Model(batches=3).fit(callback)
        outer.fit(callback)
        self.assertEqual(outer.seen, 6)
        inner, first = sorted(recorded.runs(self.logdir), key=lambda run: len(recorded.steps(run)))[:2]
        self.assertEqual([len(recorded.steps(run)) for run in (inner, first)], [2, 2])
        self.assertEqual(len(self.told()), 1, self.told())
        self.assertIn("in which this one runs with the same callback", self.told()[0])

    def test_warnings_that_are_errors_do_not_break_it(self):
        model = Model()
        with warnings.catch_warnings(), self.assertLogs("tbprof", "WARNING"):
            warnings.simplefilter("error")
            model.fit(tbprof.keras.ProfilerCallback(self.logdir, (9, 12)))
        self.assertEqual(model.seen, 6)

    def test_the_programs_own_exception_is_what_arrives(self):
        callback = tbprof.keras.ProfilerCallback(self.logdir, (2, 5))
        model = Model(fails_at=3)
        with self.assertRaisesRegex(ArithmeticError, "of the program"):
            model.fit(callback)
        self.assertTrue(tbprof.is_active())
        Model().fit(callback)  # the profile of the broken fit is saved, then this one's
        self.assertEqual(len(recorded.runs(os.path.join(self.logdir, "train"))), 2)
        self.assertEqual(len(self.told()), 1)

    def broken_fit(self):
        """Its callback is nobody's when it has ended."""
        with self.assertRaisesRegex(ArithmeticError, "of the program"):
            Model(fails_at=3).fit(tbprof.keras.ProfilerCallback(self.logdir, (2, 5), train_subdir=False))
        self.assertTrue(tbprof.is_active())

    def steps_of_runs(self):
        return sorted(len(recorded.steps(run)) for run in recorded.runs(self.logdir))

    def test_a_broken_fit_is_saved_when_one_with_another_callback_begins(self):
        def deeper(levels):
            if levels:
                return deeper(levels - 1)
            return Model().fit(tbprof.keras.ProfilerCallback(self.logdir, (2, 4), train_subdir=False))
        for levels in (0, 1, 3):
            with self.subTest(levels=levels):
                self.setUp()
                self.broken_fit()
                deeper(levels)
                self.assertFalse(tbprof.is_active(0))
                self.assertEqual(self.steps_of_runs(), [2, 3])
                self.assertEqual(len(self.told()), 1, self.told())
                self.assertIn("an earlier fit, which has ended by an exception", self.told()[0])

    def test_a_broken_fit_is_saved_though_the_next_one_profiles_nothing(self):
        self.broken_fit()
        Model().fit(tbprof.keras.ProfilerCallback(self.logdir, 0))
        self.assertFalse(tbprof.is_active(0))
        self.assertEqual(self.steps_of_runs(), [2])

    def test_a_broken_fit_that_is_paused_is_saved(self):
        self.broken_fit()
        tbprof.pause()
        Model().fit(tbprof.keras.ProfilerCallback(self.logdir, (2, 4), train_subdir=False))
        self.assertEqual(self.steps_of_runs(), [2, 3])

    def test_a_broken_fit_of_a_thread_that_has_ended_is_saved(self):
        thread = threading.Thread(target=self.broken_fit)
        thread.start()
        thread.join()
        Model().fit(tbprof.keras.ProfilerCallback(self.logdir, (2, 4), train_subdir=False))
        self.assertEqual(self.steps_of_runs(), [2, 3])

    def test_a_broken_fit_that_cannot_be_saved_is_told_and_the_next_one_is_profiled(self):
        self.broken_fit()
        original = _core.native.stop

        def stop(_, session):
            _core.native.stop = original
            original(False, session)
            raise OSError("no space left")
        with mock.patch.object(_core.native, "stop", stop):
            Model().fit(tbprof.keras.ProfilerCallback(self.logdir, (2, 4), train_subdir=False))
        self.assertEqual(self.steps_of_runs(), [3])
        self.assertEqual(len(self.told()), 2, self.told())
        self.assertIn("could not be saved: OSError: no space left", self.told()[1])

    def outer_fit_with(self, inner):
        """A fit in which, at its third batch, inner() is called; it is profiled to its end."""
        outer = Model()
        outer.next_batch = lambda: outer.seen == 3 and inner()
        outer.fit(tbprof.keras.ProfilerCallback(self.logdir, (2, 5), train_subdir=False))
        self.assertEqual(self.steps_of_runs(), [4])
        self.assertEqual(len(self.told()), 1, self.told())
        self.assertIn("AlreadyExistsError", self.told()[0])

    def other_fit(self):
        Model(batches=3).fit(tbprof.keras.ProfilerCallback(self.logdir, (2, 5), train_subdir=False))

    def test_a_fit_inside_a_fit_with_another_callback_is_refused(self):
        self.outer_fit_with(self.other_fit)

    def test_a_fit_in_another_thread_is_refused_meanwhile(self):
        def in_a_thread():
            thread = threading.Thread(target=self.other_fit)
            thread.start()
            thread.join()
        self.outer_fit_with(in_a_thread)

    def test_a_broken_fit_is_saved_when_the_program_ends(self):
        script = (f"import sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})\n"
                  "import test_keras, tbprof.keras\n"
                  f"test_keras.Model(fails_at=3).fit(tbprof.keras.ProfilerCallback({self.logdir!r}, (2, 5)))")
        result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        self.assertIn("ArithmeticError: of the program", result.stderr)
        run = self.run_of(os.path.join(self.logdir, "train"))
        self.assertEqual(len(recorded.steps(run)), 2)

    def test_an_unwritable_folder(self):
        with open(self.logdir, "w", encoding="ascii"):
            pass
        model = Model()
        model.fit(tbprof.keras.ProfilerCallback(self.logdir, (2, 3)))
        self.assertEqual((model.seen, len(self.told())), (6, 1))


if __name__ == "__main__":
    unittest.main()
