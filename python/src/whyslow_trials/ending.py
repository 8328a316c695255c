"""Ends a trial: results first, then all ranks together, and nothing else of the job runs."""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import multiprocessing.util
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from whyslow_capture.process import rank, world_size

from .result import Measured, result_of
from .spec import TrialSpec
from .trial import Trial

__all__ = ["at_end", "is_first_rank", "leave", "world_size", "write", "write_result"]

# How long a rank waits for the others. One that leaves early would look like a failure to them.
WAIT_SECONDS = 15.0


def at_end(action: Callable[[], None]) -> None:
    """Children of multiprocessing do not run atexit functions."""
    if multiprocessing.parent_process() is None:
        atexit.register(action)
    else:
        multiprocessing.util.Finalize(None, action, exitpriority=0)


def is_first_rank() -> bool:
    return rank() == 0


def write(path: Path, text: str) -> None:
    """Whole or not at all."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(text)
    os.rename(partial, path)


def write_result(trial: Trial, measured: Measured) -> None:
    write(trial.spec.results / f"rank_{rank()}.json", result_of(trial, measured))


def leave(spec: TrialSpec) -> None:
    """
    Not by an exception: the job might catch it, and its clean-up code saves, evaluates and uploads. Every rank has
    finished its GPU work and waits here until all have.
    """
    if spec.capture:
        _close_capture()
    end = time.monotonic() + WAIT_SECONDS
    while len(list(spec.results.glob("rank_*.json"))) < world_size() and time.monotonic() < end:
        time.sleep(0.02)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    for child in multiprocessing.active_children():
        with contextlib.suppress(Exception):
            child.kill()
    os._exit(0)


def _close_capture() -> None:
    from whyslow_capture.api import active_session

    session = active_session()
    if session is not None:
        session.close()
