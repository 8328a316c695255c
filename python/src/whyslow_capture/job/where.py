"""Which code is the job's own, and the line of it that a call came from."""

from __future__ import annotations

import os
import sysconfig
from functools import lru_cache
from types import FrameType

_SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OURS = tuple(
    os.path.join(_SOURCE, name) + os.sep
    for name in ("whyslow_capture", "whyslow_dropins", "whyslow_training", "whyslow_trials")
)
STANDARD = tuple(
    {
        os.path.realpath(path) + os.sep
        for path in (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))
        if path
    }
)
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
# Longer paths are cut from the left.
MAX_PATH = 120
MAX_FRAMES = 64


def code_line(frame: FrameType | None) -> str | None:
    """`train.py:42 in save`: the innermost frame that is no library's. None if there is none."""
    found = _frame_of_the_job(frame)
    if found is None:
        return None
    path = as_typed(found.f_code.co_filename)
    short = path if len(path) <= MAX_PATH else "…" + path[-MAX_PATH:]
    return f"{short}:{found.f_lineno} in {found.f_code.co_name}"


def code_place(frame: FrameType | None) -> tuple[str, int] | None:
    """Of the same frame, the whole path and the line."""
    found = _frame_of_the_job(frame)
    return None if found is None else (os.path.abspath(found.f_code.co_filename), found.f_lineno)


def _frame_of_the_job(frame: FrameType | None) -> FrameType | None:
    for _ in range(MAX_FRAMES):
        if frame is None:
            break
        file = frame.f_code.co_filename
        if is_the_jobs(file) and not file.startswith("<"):
            return frame
        frame = frame.f_back
    return None


@lru_cache(maxsize=4096)
def is_the_jobs(file: str) -> bool:
    if file.startswith("<"):
        # Generated code and the import system, but not what was typed into a prompt or a notebook.
        return file.startswith(("<stdin", "<ipython", "<string>"))
    if any(part in file for part in _INSTALLED) or file.startswith(OURS):
        return False
    return not os.path.realpath(file).startswith(STANDARD)


def as_typed(file: str) -> str:
    """As a user would type it in the job's folder."""
    try:
        inside = os.path.relpath(file)
    except (OSError, ValueError):  # the folder is gone, or on another drive
        return file
    return os.path.normpath(file) if inside.startswith(os.pardir) else inside
