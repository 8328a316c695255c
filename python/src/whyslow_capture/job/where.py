"""The line of the job's own code that a call came from."""

from __future__ import annotations

import os
import sysconfig
from functools import lru_cache
from types import FrameType

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# This package, and the one that applies fixes for `whyslow try`.
_NAMES = ("whyslow_capture", "whyslow_training", "whyslow_trials")
OURS = tuple(os.path.join(os.path.dirname(_PACKAGE), name) + os.sep for name in _NAMES)
_LIBRARIES = tuple({path + os.sep for name in ("stdlib", "platstdlib") if (path := sysconfig.get_path(name))})
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
# Longer paths are cut from the left.
MAX_PATH = 120
MAX_FRAMES = 64


def code_line(frame: FrameType | None) -> str | None:
    """`train.py:42 in save`: the innermost frame that is no library's. None if there is none."""
    found = _frame_of_the_job(frame)
    if found is None:
        return None
    return f"{_short(found.f_code.co_filename)}:{found.f_lineno} in {found.f_code.co_name}"


def code_place(frame: FrameType | None) -> tuple[str, int] | None:
    """Of the same frame, the whole path and the line."""
    found = _frame_of_the_job(frame)
    return None if found is None else (os.path.abspath(found.f_code.co_filename), found.f_lineno)


def _frame_of_the_job(frame: FrameType | None) -> FrameType | None:
    for _ in range(MAX_FRAMES):
        if frame is None or _is_the_jobs(frame.f_code.co_filename):
            return frame
        frame = frame.f_back
    return None


@lru_cache(maxsize=256)
def _is_the_jobs(path: str) -> bool:
    if path.startswith(("<", *OURS)):
        return False
    return not (any(part in path for part in _INSTALLED) or path.startswith(_LIBRARIES))


def _short(path: str) -> str:
    try:
        inside = os.path.relpath(path)
    except (OSError, ValueError):  # the folder is gone, or on another drive
        inside = path
    path = os.path.normpath(path) if inside.startswith(os.pardir) else inside
    return path if len(path) <= MAX_PATH else "…" + path[-MAX_PATH:]
