"""
`cap.phase(name)` and `cap.lap(name)`. They cost next to nothing in steps that are not recorded, which is most steps.

On a slow host each Python function called between kernel launches costs a microsecond or more. So the objects that the
job calls have no Python code of ours in them: when recording starts or stops, `_Phases.switch` replaces their classes.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from .events.recorder import Recorder

# Takes any arguments and returns something false without running Python code. With cold caches it is the cheapest of
# the built-ins that do. It is not a Python function, so it needs no `staticmethod` in a class.
_NO_OP: Any = type.__prepare__


def phase_and_lap(recorder: Recorder) -> tuple[Callable[[str], AbstractContextManager[None]], Callable[[str], None]]:
    """
    Returns the functions that a capture exposes as `phase` and `lap`.

    `phase` is a dict lookup, done by the interpreter. It returns one object per name, kept for the whole run, so the
    job may hold on to it. `lap` is one object. Both do nothing until `recorder` records; then their classes are swapped
    for ones whose `__enter__`, `__exit__` and `__call__` are the recorder's own functions, bound to the name in C.
    """
    phases = _Phases(recorder)
    return phases.__getitem__, phases.lap


class _Phase:
    """Used as is in steps that are not recorded."""

    __slots__ = ()

    __enter__: Any = _NO_OP
    __exit__: Any = _NO_OP


class _Lap:
    """Used as is in steps that are not recorded."""

    __slots__ = ()

    __call__: Any = _NO_OP


class _Phases(dict[str, _Phase]):
    """Phase objects by name."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder
        # One class per name, so that the name is bound without a function of ours. Recorded steps write straight to the
        # buffer. Steps that a profiler window watches go through the recorder, which calls the window.
        self._recorded: dict[str, type[_Phase]] = {}
        self._watched: dict[str, type[_Phase]] = {}
        self.lap = _Lap()
        self._recorded_lap = _lap_class(recorder.buffer.lap)
        self._watched_lap = _lap_class(recorder.lap)
        recorder.on_recording = self.switch

    def __missing__(self, given: str) -> _Phase:
        name, recorder = str(given), self._recorder
        self._recorded[given] = _phase_class(recorder.buffer.begin, recorder.buffer.end, name)
        self._watched[given] = _phase_class(recorder.begin, recorder.end, name)
        context = self[given] = _Phase()
        self.switch()
        return context

    def switch(self) -> None:
        """Gives all objects the classes for the recorder's current state."""
        recorder = self._recorder
        is_watched = recorder.watch is not None
        lap = self._watched_lap if is_watched else self._recorded_lap
        self.lap.__class__ = lap if recorder.recording else _Lap
        classes = self._watched if is_watched else self._recorded
        # A copy, because another thread may add a name meanwhile.
        for name, context in list(self.items()):
            context.__class__ = classes[name] if recorder.recording else _Phase


def _phase_class(begin: Callable[[str], None], end: Callable[..., None], name: str) -> type[_Phase]:
    calls = {
        "__slots__": (),
        "__enter__": staticmethod(partial(begin, name)),
        "__exit__": staticmethod(partial(end, name)),
    }
    return type("RecordedPhase", (_Phase,), calls)


def _lap_class(lap: Callable[[str], None]) -> type[_Lap]:
    return type("RecordedLap", (_Lap,), {"__slots__": (), "__call__": staticmethod(lap)})
