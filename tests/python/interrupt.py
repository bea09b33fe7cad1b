# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C at a chosen place of the package, as its exception would come."""
import linecache
import os
import sys

import tbprof

_FOLDER = os.path.dirname(os.path.abspath(tbprof.__file__)) + os.sep


def is_with(frame):
    """Such a line comes again at the end of its block, before the lock is given back; a signal does not come there."""
    return linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip().startswith("with ")


def at_line(call, number):
    """Calls it and raises KeyboardInterrupt before the line of that number, from 0, that the package runs. Returns
    the place, or None if the call ended before."""
    left, place = number, None

    def trace(frame, event, _):
        nonlocal left, place
        if not frame.f_code.co_filename.startswith(_FOLDER):
            return None
        if event == "line" and place is None and not is_with(frame):
            left -= 1
            if left < 0:
                place = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
                raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(None)
    return place
