# SPDX-License-Identifier: Apache-2.0
"""The names of mindspore.Profiler, without MindSpore.

    from tbprof.mindspore import Profiler          # was: from mindspore import Profiler

    profiler = Profiler(output_path="./data")
    train()
    profiler.analyse()

Arguments, order of calls and errors are those of MindSpore 1 and 2.0. analyse() writes the files of its CPU platform
into <output_path>/profiler (tbprof._mindspore_files has what is in them), and a run for the Profile tab below
output_path: `tensorboard --logdir ./data`.
"""
import json
import os
import stat
import sys
import time

from tbprof import _core, _mindspore_files, _tables, errors

_UNUSED = ("op_time", "profile_communication", "profile_memory", "parallel_strategy", "aicore_metrics", "l2_cache",
           "sync_enable", "data_process", "ascend_job_id", "hccl", "pcie", "job_id")
_LIMIT_MB = 500


def _checked_bool(name, value):
    if isinstance(value, bool):
        return value
    raise TypeError(f"Parameter {name}: input type must be bool!")


def _now():
    return time.strftime("%Y-%m-%d %H:%M:%S")


class Profiler:
    """Profiles from here (start_profile=False: from start()) to analyse(). One at a time.

    subgraph: "all", "Default" or "Gradients"; is_detail: also a table of operators; is_show_op_path: with their
    paths; optypes_to_deal, optypes_not_deal: types of operators, with commas between them; timeline_limit: MB of the
    timeline file. Those that only other platforms of MindSpore have are told and not used.
    """

    _has_initialized = False

    def __init__(self, subgraph="all", is_detail=True, is_show_op_path=False, output_path=None, optypes_to_deal="",
                 optypes_not_deal="Variable", *, start_profile=True, timeline_limit=_LIMIT_MB, **others):
        if Profiler._has_initialized:
            raise RuntimeError("Do not init twice in the profiler.")
        if subgraph not in ("all", *_mindspore_files.SUBGRAPHS):
            raise ValueError(f"subgraph must be all or Default or Gradients, but got {subgraph}.")
        self._is_detail = _checked_bool("is_detail", is_detail)
        self._is_show_op_path = _checked_bool("is_show_op_path", is_show_op_path)
        if not isinstance(start_profile, bool):
            raise TypeError(f"For 'Profiler', the parameter start_profile must be bool, but got type "
                            f"{type(start_profile)}")
        for name in others:
            _core.tell(f"{name} is an invalid param which doesn't work."
                       + ("" if name in _UNUSED else " MindSpore does not know it, either."))
        self._limit_bytes = self._checked_limit(timeline_limit) * 1024 * 1024
        self._filter = _mindspore_files.Filter(subgraph, optypes_to_deal, optypes_not_deal)
        self._session, self._has_finished = _core.Session(), False
        self._run, self._report, self._times = "", None, {}
        self._rank = os.environ.get("RANK_ID", "")
        self._rank = self._rank if self._rank.isdigit() else "0"
        self._logdir = self._output_folder(output_path)
        self._folder = os.path.join(self._logdir, "profiler")
        self._make_folder()
        if start_profile:
            self.start()
        Profiler._has_initialized = True

    @staticmethod
    def _checked_limit(limit):
        if isinstance(limit, bool) or not isinstance(limit, int):
            _core.tell(f"For 'Profiler', the parameter timeline_limit must be int, but got type {type(limit)}, it will "
                       f"be set to {_LIMIT_MB}.")
            return _LIMIT_MB
        if limit <= 0:
            _core.tell("[Profiler]The 'timeline_limit' parameter must be greater than 0, it will be set to "
                       f"{_LIMIT_MB}.")
            return _LIMIT_MB
        return limit

    @staticmethod
    def _output_folder(output_path):
        if output_path == "" or "://" in str(output_path):
            raise RuntimeError("The path is invalid!" + (f" '{output_path}' is not on this machine." if output_path else ""))
        of_environment = os.environ.get("MS_DIAGNOSTIC_DATA_PATH")
        if output_path is not None and of_environment:
            _core.tell("Both parameter output_path and environment variable MS_DIAGNOSTIC_DATA_PATH have values set, "
                       "and the profiling data saving path is the value set in parameter output_path")
        return os.path.abspath(os.fspath(output_path) if output_path is not None else of_environment or "data")

    def _make_folder(self):
        if os.path.isdir(self._folder):
            _core.tell("The target dir already exists. There may be some old profiling data, and they will be "
                       "rewritten in the end.")
            return
        os.makedirs(self._folder, exist_ok=True)
        os.chmod(self._folder, stat.S_IRWXU)

    def start(self):
        """Begins to profile, with start_profile=False; RuntimeError if it has begun, or has been stopped."""
        if self._session.is_open:
            raise RuntimeError("The profiler has already started. Use profiler.start() only when start_profile value "
                               "is set to False.")
        if self._has_finished:
            raise RuntimeError("MindSpore Profiling has finished, repeated start and stop actions are not supported.")
        self._times["profiling_start_time"] = _now()
        self._session.start(self._logdir)

    def stop(self):
        """Ends profiling; analyse() does, too. RuntimeError if it has not begun."""
        if not self._session.is_open:
            raise RuntimeError("The profiler has not started, so can not stop. Please call the start() method before "
                               "calling the stop() method.")
        self._has_finished = True
        try:
            self._session.stop()
            self._run = self._session.run
        except errors.UnavailableError:
            pass  # somebody else has stopped it: there is nothing to analyse
        self._times["profiling_stop_time"] = _now()

    def analyse(self):
        """Ends profiling and writes the tables, also of nothing."""
        Profiler._has_initialized = False
        if self._session.is_open:
            self.stop()
        self._times["analyse_start_time"] = _now()
        self._report = _mindspore_files.Report(_tables.read(self._run), self._filter)
        try:
            _mindspore_files.write(self._folder, self._rank, self._report, is_detail=self._is_detail,
                                   is_show_op_path=self._is_show_op_path, limit_bytes=self._limit_bytes)
            self._write_info()
        except OSError as e:
            raise RuntimeError(f"Fail to write timeline data. ({e})") from e

    def op_analyse(self, op_name, device_id=None):
        """What analyse() found of a type of operators, or of several (a list), as JSON: for each its calls by the
        shapes of their inputs (an argument `shapes` of the scope), times in microseconds."""
        if device_id and not isinstance(device_id, int):
            raise TypeError(f"For 'Profiler.op_analyse()', the parameter device_id must be int, but got type "
                            f"{type(device_id)}")
        if not isinstance(op_name, (str, list)):
            raise TypeError(f"For 'Profiler.op_analyse()', the parameter op_name must be str or list, but got type "
                            f"{type(op_name)}")
        if not op_name:
            raise TypeError("For 'Profiler.op_analyse()', the parameter op_name cannot be \"\", '' or [].")
        if self._report is None:
            raise RuntimeError(f"No profiler file is found in the path <{self._folder}>. Check whether the profiler "
                               "path is correct.")
        names = [op_name] if isinstance(op_name, str) else op_name
        return json.dumps({**{name: self._of_type(name) for name in names}, "device_id": str(device_id or 0)})

    def _of_type(self, name):
        of_type = [event for event in self._report.ops if _mindspore_files.op_type(event.name) == name]
        if not of_type:
            raise RuntimeError(f"The information of <{name}> is not found. Please verify that the operator name is "
                               "correct or the operator is used in the network.")
        rows = _tables.rows(of_type, lambda event: str(event.arguments.get("shapes", "")))
        return [{"op_side": "cpu", "input_shape": row.name, "op_occurrences": row.count,
                 "op_total_time(us)": round(row.self_ps / _mindspore_files.PS_PER_US, 4),
                 "op_avg_time(us)": round(row.self_ps / row.count / _mindspore_files.PS_PER_US, 4)} for row in rows]

    def _write_info(self):
        module = sys.modules.get("mindspore")
        info = {**self._times, "context_mode": "graph", "rank_id": self._rank,
                "ms_version": getattr(module, "__version__", ""), "analyse_end_time": _now(),
                "rank_size": int(os.environ.get("RANK_SIZE", "1") or 1), "is_heterogeneous": False}
        with open(os.path.join(self._folder, f"profiler_info_{self._rank}.json"), "w", encoding="utf-8") as file:
            json.dump(info, file)
