# SPDX-License-Identifier: Apache-2.0
from os import PathLike
from typing import Tuple, Union

from tbprof._tbprof import Scope

DEFAULT_BUFFER_SIZE: int
MAIN_EVENTS: Tuple[str, ...]
READER_EVENTS: Tuple[str, ...]
FIXED_EVENTS: Tuple[str, ...]

profile_scope = Scope

def start_profiler(dir: Union[str, "PathLike[str]"] = ..., sync_gpu: bool = ..., reserve_mem: int = ...) -> None: ...
def enable_profiler() -> None: ...
def disable_profiler() -> None: ...
def stop_profiler() -> None: ...
