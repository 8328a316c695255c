"""`with cap.phase(name)` and `cap.lap(name)`: next to nothing in steps that are not recorded, which are nearly all."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from .events.recorder import Recorder

# Takes any arguments and returns what is false, without entering the interpreter; the cheapest of those that do, with
# cold caches. It is no function of Python's, so that a class needs no `staticmethod` around it.
_NOTHING: Any = type.__prepare__


class PhaseContext:
    """
    One object a name, kept for the whole run: code may hold on to it. Its class changes with the recorder's state, and
    this one, for steps that are not recorded, has no code of ours in it. On a slow host each call of a Python function
    between launches costs a microsecond and more.
    """

    __slots__ = ()

    __enter__: Any = _NOTHING
    __exit__: Any = _NOTHING


class Lap:
    """`cap.lap(name)`, likewise: one object for the whole run, whose class changes."""

    __slots__ = ()

    __call__: Any = _NOTHING


class PhaseContexts(dict[str, PhaseContext]):
    """By name. Looked up by the interpreter itself."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder
        # A class for each name, so that no function of ours is in between: for steps that are recorded, and for those
        # that a profiler window watches.
        self._recorded: dict[str, type[PhaseContext]] = {}
        self._watched: dict[str, type[PhaseContext]] = {}
        self.lap = Lap()
        self._recorded_lap = _lap_calling(recorder.buffer.lap)
        self._watched_lap = _lap_calling(recorder.lap)
        recorder.on_recording = self.switch

    def __missing__(self, given: str) -> PhaseContext:
        name, recorder = str(given), self._recorder
        self._recorded[given] = _calling(recorder.buffer.begin, recorder.buffer.end, name)
        self._watched[given] = _calling(recorder.begin, recorder.end, name)
        context = self[given] = PhaseContext()
        self.switch()
        return context

    def switch(self) -> None:
        recorder = self._recorder
        is_watched = recorder.watch is not None
        lap = self._watched_lap if is_watched else self._recorded_lap
        self.lap.__class__ = lap if recorder.recording else Lap
        kinds = self._watched if is_watched else self._recorded
        # Another thread may name a new one meanwhile.
        for name, context in list(self.items()):
            context.__class__ = kinds[name] if recorder.recording else PhaseContext


def _calling(begin: Callable[[str], None], end: Callable[..., None], name: str) -> type[PhaseContext]:
    calls = {
        "__slots__": (),
        "__enter__": staticmethod(partial(begin, name)),
        "__exit__": staticmethod(partial(end, name)),
    }
    return type("RecordedPhase", (PhaseContext,), calls)


def _lap_calling(lap: Callable[[str], None]) -> type[Lap]:
    return type("RecordedLap", (Lap,), {"__slots__": (), "__call__": staticmethod(lap)})
