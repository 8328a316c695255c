"""What a sampled stack waits for, and what threads other than the training thread do meanwhile."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from types import FrameType

from .job.where import is_the_jobs

# File, line and function of the job.
Line = tuple[str, int, str]

# The library function in which a thread waits for somebody else's item, by module and name. Its innermost frames are
# those of `threading`, `selectors` and the like.
_WAITS: dict[tuple[str, str], str] = {
    ("queue", "get"): "queue",
    ("multiprocessing.queues", "get"): "queue",
    ("torch.multiprocessing.queue", "get"): "queue",
    ("multiprocessing.connection", "recv"): "message",
    ("multiprocessing.connection", "recv_bytes"): "message",
    ("multiprocessing.connection", "poll"): "message",
    ("multiprocessing.connection", "wait"): "message",
    ("multiprocessing.pool", "get"): "future",
    ("multiprocessing.pool", "next"): "future",
    ("concurrent.futures._base", "result"): "future",
    ("asyncio.base_events", "_run_once"): "await",
}
# Frames from the innermost one, among which the wait must be.
_NEAR = 8
MAX_THREADS = 16
MAX_LINES = 64
MAX_DEPTH = 40
MAX_LISTED = 4
_OURS = "whyslow"


def wait_kind(leaf: FrameType) -> str | None:
    """`queue`, `message`, `future` or `await`. None: it does not wait for an item."""
    frame: FrameType | None = leaf
    # A coroutine that runs is inside the event loop as well, so there the loop itself must be what waits.
    awaits = leaf.f_code.co_name == "select" and leaf.f_globals.get("__name__") == "selectors"
    for _ in range(_NEAR):
        if frame is None:
            return None
        kind = _WAITS.get((str(frame.f_globals.get("__name__", "")), frame.f_code.co_name))
        if kind is not None and (kind != "await" or awaits):
            return kind
        frame = frame.f_back
    return None


class Background:
    """Lines of the job that its other Python threads are in."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, Line]] = Counter()

    def count(self, frames: Mapping[int, FrameType]) -> None:
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        for ident, leaf in list(frames.items())[:MAX_THREADS]:
            name = names.get(ident, "")
            if name.startswith(_OURS):
                continue
            line = _own_line(leaf)
            key = None if line is None else (name[:80], line)
            if key is not None and (key in self._counts or len(self._counts) < MAX_LINES):
                self._counts[key] += 1

    def most_common(self) -> list[tuple[str, Line, int]]:
        return [(name, line, count) for (name, line), count in self._counts.copy().most_common(MAX_LISTED)]


def _own_line(leaf: FrameType) -> Line | None:
    frame: FrameType | None = leaf
    for _ in range(MAX_DEPTH):
        if frame is None:
            return None
        code = frame.f_code
        if is_the_jobs(code.co_filename):
            return code.co_filename, frame.f_lineno or 0, code.co_name
        frame = frame.f_back
    return None
