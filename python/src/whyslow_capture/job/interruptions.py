"""Times what interrupts a job anywhere: full garbage collections, and compilation."""

from __future__ import annotations

import gc
import linecache
import sys
from contextlib import ExitStack, suppress
from functools import lru_cache
from time import perf_counter_ns
from types import CodeType, FrameType
from typing import Any

from ..hooks.dynamo import never_compiled
from ..patching import Hook
from .clock import JobClock, OpenPhase
from .imports import after_import

# Collections of the youngest objects are frequent and short.
FULL = 2
DYNAMO = "torch._dynamo.callback"
AUTOMATIC = "automatic collection"


@lru_cache(maxsize=256)
def _names_collect(code: CodeType, line: int) -> bool:
    """Whether this line calls `gc.collect`, under whatever name it was imported."""
    return "collect" in code.co_names and "collect" in (linecache.getline(code.co_filename, line) or "collect")


def asks_for_collection(frame: FrameType | None) -> bool:
    """Otherwise the collector started by itself, at some allocation in this frame."""
    return frame is not None and _names_collect(frame.f_code, frame.f_lineno or 0)


def _caller() -> FrameType | None:
    """The frame in which the collection started. None: in no Python code, such as while the interpreter ends."""
    return sys._getframe(1).f_back


def _take_out(held: list[Any], ours: object) -> None:
    with suppress(ValueError):
        held.remove(ours)


def install(clock: JobClock, _patches: object, groups: frozenset[str], undo: ExitStack) -> None:
    interruptions = Interruptions(clock, undo)
    if "gc" in groups:
        interruptions.add("gc.callbacks", gc.callbacks, interruptions.collection)
    if "compile" in groups:
        undo.callback(after_import({DYNAMO: interruptions.watch_dynamo}))


class Interruptions:
    def __init__(self, clock: JobClock, undo: ExitStack) -> None:
        self._clock, self._undo = clock, undo
        self._collecting: OpenPhase | None = None
        self._compiling: OpenPhase | None = None
        # 0: not before training.
        self._compiles_first_at = 0

    def add(self, target: str, held: list[Any], ours: object) -> None:
        """Adds a hook to the list that its owner has for them."""
        held.append(ours)
        self._undo.callback(Hook(target, lambda: _take_out(held, ours)).remove)

    def collection(self, phase: str, info: dict[str, int]) -> None:
        if info.get("generation") != FULL or not self._clock.is_on:
            return
        if phase == "start":
            call = "gc.collect" if asks_for_collection(_caller()) else AUTOMATIC
            self._collecting = self._clock.enter("gc", call, interrupts=True)
        else:
            frame, self._collecting = self._collecting, None
            self._clock.leave(frame)

    def watch_dynamo(self, module: Any) -> None:
        for name, ours in (("start_callbacks", self.compilation_begins), ("end_callbacks", self.compilation_ends)):
            held = getattr(module.callback_handler, name)
            self.add(f"{DYNAMO}.callback_handler.{name}", held, never_compiled(ours))

    # torch before 2.7 passes no arguments to these callbacks, and later versions pass one.
    def compilation_begins(self, *_: object) -> None:
        self._compiling = self._clock.enter("compile", "torch.compile")
        self._compiles_first_at = 0 if self._clock.has_started else perf_counter_ns()

    def compilation_ends(self, *_: object) -> None:
        frame, self._compiling = self._compiling, None
        self._clock.leave(frame, at=sys._getframe(1))
        began, self._compiles_first_at = self._compiles_first_at, 0
        if began and not self._clock.has_started:
            self._clock.compiled_first_ns += perf_counter_ns() - began
