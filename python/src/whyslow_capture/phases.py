"""`with cap.phase(name)`: next to nothing in steps that are not recorded, which are nearly all."""

from __future__ import annotations

from typing import Any

from .events.recorder import Recorder


class PhaseContext:
    """
    One object a name, kept for the whole run: code may hold on to it. Its class changes with the recorder's state, and
    this one, for steps that are not recorded, has no code of ours in it: `"".format` takes any arguments and returns
    what is false, without entering the interpreter. On a slow host each call of a Python function between launches
    costs a microsecond and more.
    """

    __slots__ = ("_name", "_recorder")

    def __init__(self, recorder: Recorder, name: str) -> None:
        self._recorder, self._name = recorder, name

    __enter__: Any = staticmethod("".format)
    __exit__: Any = staticmethod("".format)


class RecordedPhase(PhaseContext):
    __slots__ = ()

    def __enter__(self) -> None:
        self._recorder.begin(self._name)

    def __exit__(self, *_: object) -> None:
        self._recorder.end(self._name)


class PhaseContexts(dict[str, PhaseContext]):
    """By name. Looked up by the interpreter itself."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder
        self._kind: type[PhaseContext] = PhaseContext
        recorder.on_recording = self.switch
        self.switch(recorder.recording)

    def __missing__(self, name: str) -> PhaseContext:
        context = self[name] = self._kind(self._recorder, str(name))
        return context

    def switch(self, recording: bool) -> None:
        kind = self._kind = RecordedPhase if recording else PhaseContext
        # Another thread may name a new one meanwhile.
        for context in list(self.values()):
            context.__class__ = kind
