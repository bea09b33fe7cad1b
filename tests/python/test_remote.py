#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Log directories that are not on this machine. Stand-ins for fsspec and for TensorFlow's file systems keep what they
get in a folder: store://bucket/x is <folder>/bucket/x."""
import contextlib
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import time
import types
import unittest
from unittest import mock

import interrupt
import recorded
import test_keras
import tbprof
import tbprof.cntk
import tbprof.jax
import tbprof.keras
import tbprof.mindspore
import tbprof.mxnet
import tbprof.torch
from tbprof import _core, _remote, errors

LOGDIR = "store://bucket/logs"
STAND_IN = """
import os, shutil, types
def url_to_fs(url):
    scheme, _, path = url.partition("://")
    if scheme not in ("store", "gs"):
        raise ValueError("Protocol not known: " + scheme)
    root = os.environ["TBPROF_TEST_STORE"]
    def put_file(here, there):
        os.makedirs(os.path.dirname(os.path.join(root, there)), exist_ok=True)
        shutil.copyfile(here, os.path.join(root, there))
    return types.SimpleNamespace(exists=lambda path: os.path.exists(os.path.join(root, path)), put_file=put_file), path
core = types.SimpleNamespace(url_to_fs=url_to_fs)
"""


class Remote(recorded.Case):
    def setUp(self):
        super().setUp()
        self.store, self.here = (os.path.join(self._folder.name, name) for name in ("store", "here"))
        os.mkdir(self.here)
        self.bucket = os.path.join(self.store, "bucket", "logs")
        self.fsspec = types.ModuleType("fsspec")
        exec(STAND_IN, self.fsspec.__dict__)  # pylint: disable=exec-used
        for patch in (mock.patch.dict(os.environ, TBPROF_TEST_STORE=self.store), mock.patch.object(tempfile, "tempdir", self.here),
                      mock.patch.dict(sys.modules, fsspec=self.fsspec, tensorflow=None)):
            patch.start()
            self.addCleanup(patch.stop)
        self.addCleanup(_remote.clean)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.here)

    def record(self, logdir=LOGDIR, **options):
        tbprof.start(logdir, **options)
        with tbprof.StepTrace("train", step_num=1):
            pass
        tbprof.stop()

    def kept(self):
        return glob.glob(os.path.join(self.here, "*"))


class Copies(Remote):
    def test_a_run_is_there_and_nothing_is_here(self):
        self.record()
        run = self.run_of(self.bucket)
        self.assertEqual(recorded.step_names(run), ["train 1"])
        self.assertEqual(tbprof.last_run(), f"{LOGDIR}/plugins/profile/{os.path.basename(run)}")
        self.assertEqual(len(glob.glob(os.path.join(self.bucket, "*.profile-empty"))), 1)
        self.assertEqual(self.told(), [])
        _remote.clean()  # as at the end of the program
        self.assertEqual(self.kept(), [])

    def test_runs_do_not_overwrite_each_other(self):
        for _ in range(3):  # within one second
            self.record(session_id="same", override_hostname="a")
        self.record(session_id="same", override_hostname="b")  # another host of the job: the same run
        names = {os.path.basename(run): sorted(os.listdir(run)) for run in recorded.runs(self.bucket)}
        self.assertEqual(names, {"same": ["a.xplane.pb", "b.xplane.pb"], "same_1": ["a.xplane.pb"],
                                 "same_2": ["a.xplane.pb"]})
        self.assertEqual(len(self.kept()), 1)  # that of the last session

    def test_snapshots_are_copied_at_the_end(self):
        tbprof.start(LOGDIR)
        tbprof.snapshot("first")
        self.assertFalse(os.path.exists(self.store))
        tbprof.stop()
        self.assertEqual(len(recorded.runs(self.bucket)), 2)

    def test_a_session_that_ended_by_itself_is_copied_when_the_next_one_starts(self):
        tbprof.start(LOGDIR, duration_ms=1)
        while not glob.glob(os.path.join(self.here, "*", "plugins", "profile", "*", "*.xplane.pb")):
            time.sleep(0.01)
        for _ in range(500):  # the file is there a moment before the session is gone
            with contextlib.suppress(errors.AlreadyExistsError):
                tbprof.start(self.logdir)
                break
            time.sleep(0.01)
        self.run_of(self.bucket)
        tbprof.stop(save=False)
        self.assertEqual(len(recorded.runs(self.bucket)), 1)

    def test_a_session_of_another_object_is_copied_where_it_was_to_go(self):
        model = test_keras.Model()
        model.next_batch = lambda: model.seen == 3 and tbprof.stop()
        model.fit(tbprof.keras.ProfilerCallback(LOGDIR, (2, 5)))
        self.assertEqual(len(recorded.steps(self.run_of(os.path.join(self.bucket, "train")))), 2)

    def test_styles_put_all_of_a_run_there_and_read_it_here(self):
        test_keras.Model().fit(tbprof.keras.ProfilerCallback(LOGDIR, (2, 3)))
        self.assertEqual(recorded.step_names(self.run_of(os.path.join(self.bucket, "train"))), ["train 2", "train 3"])
        with tbprof.jax.trace(LOGDIR + "/jax", create_perfetto_trace=True, profiler_options={}):
            pass
        self.assertIn("perfetto_trace.json.gz", os.listdir(self.run_of(os.path.join(self.bucket, "jax"))))
        handler = tbprof.torch.tensorboard_trace_handler(LOGDIR + "/torch")
        with tbprof.torch.profile(on_trace_ready=handler, native=False) as profile:
            with tbprof.torch.record_function("forward"):
                pass
        self.run_of(os.path.join(self.bucket, "torch"))
        self.assertIn("forward", profile.key_averages().table())
        tbprof.mxnet.set_config(filename="profile.json", aggregate_stats=True, logdir=LOGDIR + "/mxnet")
        tbprof.mxnet.set_state("run")
        with tbprof.Scope("work"):
            pass
        tbprof.mxnet.dump()
        self.run_of(os.path.join(self.bucket, "mxnet"))
        self.assertIn("work", tbprof.mxnet.dumps())
        self.assertEqual(self.told(), [])

    def test_what_is_not_saved_is_not_copied_and_leaves_nothing(self):
        tbprof.start(LOGDIR)
        tbprof.stop(save=False)
        with self.assertRaises(errors.InvalidArgumentError):
            tbprof.start(LOGDIR, max_host_byte=1)
        tbprof.start("")
        with self.assertRaises(errors.AlreadyExistsError):
            tbprof.start(LOGDIR)
        tbprof.stop()
        self.assertEqual((os.path.exists(self.store), self.kept(), self.told()), (False, [], []))

    def test_a_program_that_ends_while_it_is_recorded(self):
        with open(os.path.join(self._folder.name, "fsspec.py"), "w", encoding="ascii") as file:
            file.write(STAND_IN)
        program = ("import os, sys, tbprof\ntbprof.start(sys.argv[1])\nwith tbprof.Trace('work'): pass\n"
                   "tbprof.stop()\ntbprof.start(sys.argv[1])\nif os.fork() == 0: sys.exit()\nos.wait()\n")
        path = os.pathsep.join((self._folder.name, os.environ["PYTHONPATH"]))
        r = subprocess.run([sys.executable, "-c", program, LOGDIR], capture_output=True, text=True, check=True,
                           env=dict(os.environ, PYTHONPATH=path, TMPDIR=self.here))
        first, second = recorded.runs(self.bucket)
        self.assertEqual(len(recorded.named(first, "work")), 1)
        self.assertIn(f"what was recorded is in {LOGDIR}/plugins/profile/{os.path.basename(second)}", r.stderr)
        self.assertEqual(self.kept(), [])

    def test_with_the_file_systems_of_tensorflow(self):
        def there(path):
            return path.replace("store://", self.store + os.sep)
        gfile = types.SimpleNamespace(
            exists=lambda path: os.path.exists(there(path)), makedirs=lambda path: os.makedirs(there(path), exist_ok=True),
            copy=lambda here, path, overwrite: shutil.copyfile(here, there(path)))
        tensorflow = types.SimpleNamespace(io=types.SimpleNamespace(gfile=gfile))
        unknown = types.SimpleNamespace(core=types.SimpleNamespace(url_to_fs=mock.Mock(side_effect=ValueError)))
        for fsspec in (None, unknown):
            with mock.patch.dict(sys.modules, fsspec=fsspec, tensorflow=tensorflow):
                self.record()
        self.assertEqual(len(recorded.runs(self.bucket)), 2)
        self.assertEqual(self.told(), [])


class Trouble(Remote):
    """One warning that says where the run is, and the program goes on."""

    def expect_kept(self, reason):
        folder, = self.kept()
        told, = self.told()
        self.assertIn(reason, told)
        self.assertIn(f"it is kept in {folder}: copy what is in it", told)
        run = self.run_of(folder)
        self.assertEqual(tbprof.last_run(), run)
        _remote.clean()
        self.assertEqual(recorded.step_names(run), ["train 1"])
        return told

    def test_nothing_that_could_copy(self):
        with mock.patch.dict(sys.modules, fsspec=None):
            self.record("gs://bucket/it's/")
        told = self.expect_kept("could not be copied to gs://bucket/it's (ModuleNotFoundError: ")
        self.assertIn("with `gsutil -m cp -r ", told)
        self.assertIn("""/* 'gs://bucket/it'"'"'s'/`""", told)

    def test_tensorflow_is_not_imported_for_it(self):
        with open(os.path.join(self._folder.name, "tensorflow.py"), "w", encoding="ascii") as file:
            file.write("raise SystemExit('imported')\n")
        with mock.patch.dict(sys.modules, fsspec=None), mock.patch.object(sys, "path", [self._folder.name, *sys.path]):
            del sys.modules["tensorflow"]
            self.record("gs://bucket/logs")
        self.expect_kept("(ModuleNotFoundError: ")

    def test_addresses_that_nobody_knows(self):
        self.record("strange://bucket/logs")
        self.assertTrue(self.expect_kept("Protocol not known: strange").endswith("copy what is in it"))

    def test_a_copy_that_fails(self):
        with mock.patch.object(shutil, "copyfile", side_effect=PermissionError("not yours")):
            self.record()
        self.expect_kept(f"could not be copied to {LOGDIR} (PermissionError: not yours)")

    def test_ctrl_c_while_it_is_copied_ends_the_session_and_keeps_the_run(self):
        with mock.patch.object(shutil, "copyfile", side_effect=KeyboardInterrupt), self.assertRaises(KeyboardInterrupt):
            self.record()
        self.expect_kept("(KeyboardInterrupt)")
        self.record()  # the next one works
        self.run_of(self.bucket)

    def test_names_that_are_all_taken(self):
        for i in ("", *(f"_{n}" for n in range(1, 10))):
            os.makedirs(os.path.join(self.bucket, "plugins", "profile", "same" + i, "h.xplane.pb"))
        self.record(session_id="same", override_hostname="h")
        self.expect_kept("same_1 … same_9 are there already")

    def test_training_goes_on(self):
        model = test_keras.Model()
        with mock.patch.object(shutil, "copyfile", side_effect=OSError("no route")):
            model.fit(tbprof.keras.ProfilerCallback(LOGDIR, (2, 3)))
        self.assertEqual(model.seen, 6)
        self.assertEqual(len(self.told()), 1, self.told())

    def test_a_signal_at_any_line_of_a_start_loses_no_session(self):
        for line in range(10**6):
            session = _core.Session()
            place = interrupt.at_line(lambda: session.start(LOGDIR), line)  # pylint: disable=cell-var-from-loop
            session.drop()
            with self.assertRaises(errors.UnavailableError, msg=place):
                tbprof.stop()
            if not place:
                break
        self.assertGreater(line, 10)
        self.assertEqual((os.path.exists(self.store), self.told()), (False, []))


class Addresses(Remote):
    def test_what_is_remote(self):
        for path in ("gs://b", "s3://b/x", "hdfs://host:1/x", "S3A+x.y-1://b", b"gs://b"):
            self.assertTrue(_remote.is_remote(path), path)
        for path in ("", "log", "/log", "./gs://x", "gs:/x", "file:///x", "file://x", "1s://x", "a/b://x"):
            self.assertFalse(_remote.is_remote(path), path)

    def test_files_of_this_machine(self):
        tbprof.start("file://" + self.logdir)
        tbprof.stop()
        self.assertEqual(tbprof.last_run(), self.run_of())

    def test_files_that_are_written_here_alone_are_refused_elsewhere(self):
        os.makedirs("store:/bucket")  # what a path of that name would need
        for call, kind in ((lambda: tbprof.cntk.start_profiler(LOGDIR), RuntimeError),
                           (lambda: tbprof.mindspore.Profiler(output_path=LOGDIR), RuntimeError),
                           (lambda: tbprof.mxnet.set_config(filename=LOGDIR + "/profile.json"), tbprof.mxnet.MXNetError),
                           (lambda: tbprof.torch.tensorboard_trace_handler(LOGDIR, kineto=True), ValueError)):
            with self.assertRaisesRegex(kind, "not on this machine|is not there"):
                call()
        self.assertEqual((os.listdir("."), os.listdir("store:/bucket")), (["store:"], []))


if __name__ == "__main__":
    unittest.main()
