"""Runs a piece of work in a process of its own, forked before CUDA is touched.

A case must be measured in a process in which no profiler has run: after the first CUDA profile CUPTI stays attached and
slows the steps of host-bound loops by 1.25 to 1.7 times for the rest of the process. Forking after `import torch` makes
that cheap: a child only has to start CUDA.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import time
import traceback
from collections.abc import Callable
from typing import Any


class ChildFailed(Exception):
    """What went wrong in the child, in its own words."""


def run_in_child(work: Callable[[], Any], seconds: int) -> Any:
    """The result of `work`. Raises ChildFailed when it raises, dies, or takes longer than `seconds`."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        os.setsid()  # its DataLoader workers end with it
        _work_and_exit(work, write)
    os.close(write)
    try:
        answer = _read_all(read, seconds)
    finally:
        os.close(read)
        _end_group(pid)
        os.waitpid(pid, 0)
    if answer is None:
        raise ChildFailed(f"took longer than {seconds} s")
    if not answer:
        raise ChildFailed("the process died")
    ok, value = pickle.loads(answer)
    if not ok:
        raise ChildFailed(value)
    return value


def _work_and_exit(work: Callable[[], Any], write: int) -> None:
    try:
        answer = (True, work())
    except BaseException as error:
        traceback.print_exc(limit=-4)
        answer = (False, f"{error!r:.300}")
    with os.fdopen(write, "wb") as target:
        target.write(pickle.dumps(answer))
    # Not a normal exit: threads of loaders and of the profiler may never end.
    os._exit(0)


def _read_all(read: int, seconds: int) -> bytes | None:
    """Everything the child writes; None when that takes too long."""
    deadline, parts = time.monotonic() + seconds, []
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([read], [], [], left)[0]:
            return None
        part = os.read(read, 1 << 20)
        if not part:
            return b"".join(parts)
        parts.append(part)


def _end_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
