"""Times what interrupts a job anywhere: full garbage collections, and compilation."""

from __future__ import annotations

import gc
import linecache
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache, partial
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


class Interruptions:
    def __init__(self, clock: JobClock) -> None:
        self._clock = clock
        self._collecting: OpenPhase | None = None
        self._compiling: OpenPhase | None = None
        # 0: not before training.
        self._compiles_first_at = 0
        self._forget_import: Callable[[], object] | None = None
        self._hooks: list[Hook] = []
        # Bound once, so that they can be found again in the lists they are put in.
        self._on_gc = self._collection
        self._on_start, self._on_end = never_compiled(self._make_start()), never_compiled(self._make_end())

    def install(self, groups: frozenset[str]) -> None:
        if "gc" in groups:
            gc.callbacks.append(self._on_gc)
            self._hooks.append(Hook("gc.callbacks", lambda: _take_out(gc.callbacks, self._on_gc)))
        if "compile" in groups:
            self._forget_import = after_import({DYNAMO: self._watch_dynamo})

    def remove(self) -> None:
        if self._forget_import is not None:
            self._forget_import()
        while self._hooks:
            self._hooks.pop().remove()

    def _collection(self, phase: str, info: dict[str, int]) -> None:
        if info.get("generation") != FULL or not self._clock.is_on:
            return
        if phase == "start":
            call = "gc.collect" if asks_for_collection(_caller()) else AUTOMATIC
            self._collecting = self._clock.enter("gc", call, interrupts=True)
        else:
            frame, self._collecting = self._collecting, None
            self._clock.leave(frame)

    def _watch_dynamo(self, module: Any) -> None:
        for name, ours in (("start_callbacks", self._on_start), ("end_callbacks", self._on_end)):
            held = getattr(module.callback_handler, name)
            held.append(ours)
            hook = Hook(f"{DYNAMO}.callback_handler.{name}", partial(_take_out, held, ours))
            self._hooks.append(hook)

    # Plain functions, because torch before 2.7 takes no arguments in these callbacks and later versions pass one.
    def _make_start(self) -> Callable[..., None]:
        def start(*_: object) -> None:
            self._compiling = self._clock.enter("compile", "torch.compile")
            self._compiles_first_at = 0 if self._clock.has_started else perf_counter_ns()

        return start

    def _make_end(self) -> Callable[..., None]:
        def end(*_: object) -> None:
            frame, self._compiling = self._compiling, None
            self._clock.leave(frame, at=sys._getframe(1))
            began, self._compiles_first_at = self._compiles_first_at, 0
            if began and not self._clock.has_started:
                self._clock.compiled_first_ns += perf_counter_ns() - began

        return end
