# SPDX-License-Identifier: Apache-2.0
"""Log directories that are not on this machine (gs://, s3://, hdfs:// …). What is recorded goes into a temporary folder;
after the session, what is in it is copied: with fsspec, or, where fsspec is not there or does not know the address, with
TensorFlow's file systems if the program has loaded TensorFlow (no framework is imported here). If that fails, the folder
stays, and one warning says how to copy it by hand. copy_run takes a run to another log directory in the same way, which
may be a folder of this machine."""
import glob
import os
import re
import shlex
import shutil
import sys
import tempfile

from tbprof import _core

places = {}    # runs that were copied: their folders here, and where they are
_folders = []  # with these, for who reads what was recorded, until the next one or the program's end
_BY_HAND = {"gs": "gsutil -m cp -r {folder}/* {logdir}/", "s3": "aws s3 cp --recursive {folder} {logdir}",
            "hdfs": "hdfs dfs -put {folder}/* {logdir}/"}


def is_remote(path):
    """Whether it is a URL; the capture runtime knows those of files."""
    return bool(re.match(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]*://", os.fsdecode(path)))


def clean():
    """Removes what has been copied."""
    places.clear()
    while _folders:
        shutil.rmtree(_folders.pop(), ignore_errors=True)


def _in_child():
    places.clear()
    _folders.clear()  # the parent's


os.register_at_fork(after_in_child=_in_child)


class _Fsspec:
    def __init__(self, logdir):
        import fsspec
        self._files, self._root = fsspec.core.url_to_fs(logdir)

    def _path(self, name):
        return f"{self._root.rstrip('/')}/{name}"

    def exists(self, name):
        return self._files.exists(self._path(name))

    def put(self, path, name):
        self._files.put_file(path, self._path(name))


class _TensorFlow:
    def __init__(self, tensorflow, logdir):
        self._files, self._root = tensorflow.io.gfile, logdir

    def exists(self, name):
        return self._files.exists(f"{self._root}/{name}")

    def put(self, path, name):
        target = f"{self._root}/{name}"
        self._files.makedirs(os.path.dirname(target))
        self._files.copy(path, target, overwrite=True)


class _Here:
    """A folder of this machine."""

    def __init__(self, logdir):
        self._root = logdir

    def exists(self, name):
        return os.path.exists(os.path.join(self._root, name))

    def put(self, path, name):
        target = os.path.join(self._root, name)
        part = f"{target}.{os.getpid()}.part"
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(path, part)
        try:
            os.link(part, target)  # whole, and never in place of another's
        finally:
            os.unlink(part)


def _store_of(logdir):
    if not is_remote(logdir):
        return _Here(logdir)
    try:
        return _Fsspec(logdir)
    except (ImportError, ValueError):  # it, or what it needs for this kind of address
        tensorflow = sys.modules.get("tensorflow")
        if not tensorflow:
            raise
        return _TensorFlow(tensorflow, logdir)


def _free_name(store, run, files):
    """The run's name, or one with a number if somebody has one of these files there already."""
    for name in (run, *(f"{run}_{i}" for i in range(1, 10))):
        if not any(store.exists(f"plugins/profile/{name}/{file}") for file in files):
            return name
    raise FileExistsError(f"plugins/profile/{run} and {run}_1 … {run}_9 are there already")


def _put_run(store, run, names):
    """Copies the files of a run, each under its name of `names`; what the run is called there."""
    name = _free_name(store, os.path.basename(run), names.values())
    for file, there in names.items():
        store.put(os.path.join(run, file), f"plugins/profile/{name}/{there}")
    return name


def _put_markers(store, folder):
    """What tells old TensorBoards of the runs."""
    for file in os.listdir(folder):
        if os.path.isfile(os.path.join(folder, file)) and not store.exists(file):
            store.put(os.path.join(folder, file), file)


def copy_run(run, logdir, host=None):
    """Copies a run, of one host, into another log directory, there or here; where it is then."""
    def named(file):
        return file if host is None else re.sub("[:/]", "_", host) + file[-len(".xplane.pb"):]

    store = _store_of(logdir)
    name = _put_run(store, run, {file: named(file) for file in os.listdir(run) if file.endswith(".xplane.pb")})
    _put_markers(store, os.path.join(run, os.pardir, os.pardir, os.pardir))
    return f"{logdir}/plugins/profile/{name}"


class Copy:
    """The folder of one session for a log directory that is not here."""

    def __init__(self, logdir):
        self._logdir, self.folder = logdir.rstrip("/"), tempfile.mkdtemp(prefix="tbprof-")

    def discard(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def upload(self):
        """After the session. Whatever goes wrong with that is a warning."""
        clean()
        try:
            self._put_all()
        except BaseException as e:
            by_hand = _BY_HAND.get(self._logdir.split(":")[0], "")
            by_hand = by_hand.format(folder=shlex.quote(self.folder), logdir=shlex.quote(self._logdir))
            _core.tell(f"tbprof: the profile could not be copied to {self._logdir} ({_core.text_of(e)}); it is kept in "
                       f"{self.folder}: copy what is in it" + (f", with `{by_hand}`" if by_hand else ""), stacklevel=5)
            if not isinstance(e, Exception):
                raise
        else:
            _folders.append(self.folder)

    def _put_all(self):
        runs = glob.glob(os.path.join(glob.escape(self.folder), "plugins", "profile", "*"))
        store = _store_of(self._logdir) if runs else None
        for run in runs:
            name = _put_run(store, run, {file: file for file in os.listdir(run)})
            places[run] = f"{self._logdir}/plugins/profile/{name}"
        if runs:
            _put_markers(store, self.folder)
