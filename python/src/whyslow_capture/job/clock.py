"""Adds up the time that a job spends outside its training steps, by phase."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from dataclasses import dataclass
from threading import get_ident
from time import perf_counter_ns
from typing import TYPE_CHECKING

from .. import process
from ..events.sample import Totals
from ..problems import ProblemLog, describe
from .where import code_line

if TYPE_CHECKING:
    from types import FrameType

    from ..events.recorder import Recorder

EVALUATION = "evaluation"
INFERENCE = "inference"
# Shorter phases are not worth a look at the stack.
LONG_NS = 1_000_000
# Different functions and code lines kept per phase.
MAX_NAMED = 8


class PhaseTotal:
    """Time of one phase over the whole process, in ns."""

    def __init__(self) -> None:
        self.ns = self.count = self.longest = 0
        self.first_step = self.last_step = 0
        # Time by function called, and by the job's code line.
        self.calls: dict[str, int] = {}
        self.lines: dict[str, int] = {}


@dataclass(slots=True, eq=False)
class OpenPhase:
    """A phase that is open now."""

    name: str
    call: str
    begin: int
    # Time of all phases of that name before.
    before: int = 0
    # The job's code line, if it is worth knowing.
    line: str | None = None
    # Time of phases inside this one.
    inside: int = 0
    # Where it begins in the recorded step, and the list of marks that this is an index of.
    mark: int = -1
    marks: list[int] | None = None
    # Returns when the device finished what was queued before, or None if it has not yet.
    busy_until: Callable[[], int | None] | None = None


class JobClock:
    """
    Time belongs to the innermost open phase. Counts on the training thread only: what a background thread saves does
    not hold up training.
    """

    def __init__(self, problems: ProblemLog) -> None:
        self.problems = problems
        self.has_started = self.is_stopped = False
        self.is_evaluating = False
        """An evaluation is open that began with `model.eval()`, so the end of a step must be reported."""
        self.last_step_at = 0
        """Set by `Capture.step`."""
        # When the process started.
        self.started_at = perf_counter_ns() - process.age_ns()
        self.compiled_first_ns = 0
        """Set by the hooks: compiled before training began, for the model was called already."""
        self.phases: dict[str, PhaseTotal] = {}
        self._thread = get_ident()
        self.recorder: Recorder | None = None
        """None before training. Records nothing once the capture is closed."""
        self._first_step = 0
        self._open: list[OpenPhase] = []
        self._evaluation: OpenPhase | None = None
        self._snapshot: Totals = ()
        # Time of phases since the last step ended, and the step that follows it.
        self._tail_ns, self._tail_step = 0, -1
        self.inference_is_in_steps = False
        """Set by the hooks: each iteration has inference, so that is a phase of its steps."""
        self.on_evaluation: Callable[[bool], None] | None = None
        """Called when an evaluation that began with `model.eval()` opens or closes."""

    # -- the capture -------------------------------------------------------------------------------------------------

    def start(self, recorder: Recorder) -> None:
        """Training begins. What was measured so far belongs to start-up."""
        self.forget()
        self.recorder, self._first_step = recorder, recorder.current_step
        self.has_started = True
        self.last_step_at = perf_counter_ns()

    def count_in(self, unit: float) -> None:
        """From the next step on, a step is what `unit` steps were before."""
        if self.recorder is not None:
            upcoming = self.recorder.current_step + 1
            self._first_step = upcoming - max(1, round((upcoming - self._first_step) / unit))

    def stop(self) -> None:
        if not self.is_stopped and self.is_evaluating:
            self.end_evaluation(True)
        self.is_stopped = True

    def abandon(self) -> None:
        """For a forked child: CUDA does not work there, and freeing an event of an open phase would end the process."""
        self.is_stopped, self.is_evaluating = True, False
        for frame in self._open:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(frame))

    def forget(self) -> None:
        self._thread = get_ident()
        self.is_evaluating = False
        self.phases, self._open, self._snapshot = {}, [], ()

    # -- phases ------------------------------------------------------------------------------------------------------

    @property
    def is_on(self) -> bool:
        return self.has_started and not self.is_stopped and get_ident() == self._thread

    @property
    def has_trained(self) -> bool:
        return self.recorder is not None and self.recorder.current_step > self._first_step

    def is_open(self, name: str) -> bool:
        return any(frame.name == name for frame in self._open)

    @property
    def is_in_phase(self) -> bool:
        return bool(self._open)

    def enter(
        self, name: str, call: str, *, interrupts: bool = False, line_at: FrameType | None = None
    ) -> OpenPhase | None:
        """
        Opens a phase. Returns what `leave` needs, or None if it is not counted. Never raises. `interrupts`: it may
        begin between any two instructions, also while the recorder makes a mark, so it must make none. `line_at`: who
        called, if that is not known when it ends.
        """
        if not self.is_on:
            return None
        try:
            frame = OpenPhase(name, call, perf_counter_ns())
            total = self.phases.get(name)
            frame.before = 0 if total is None else total.ns
            if line_at is not None:
                # Not the Python frame itself: it would keep the job's variables alive.
                frame.line = code_line(line_at)
            recorder = self.recorder
            if recorder is not None and not self._open and not interrupts:
                if recorder.is_sampling:
                    frame.mark, frame.marks = recorder.mark(), recorder.buffer.host_ns
                frame.busy_until = recorder.queued_work()
            self._open.append(frame)
            return frame
        except Exception as error:
            self._failed(error)
            return None

    def leave(self, frame: OpenPhase | None, *, counts: bool = True, at: FrameType | None = None) -> None:
        """
        Closes it, and whatever was left open inside. `counts=False`: it turned out to be training. `at`: who called.
        """
        if frame is None or frame not in self._open:
            return
        try:
            now = perf_counter_ns()
            while self._open[-1] is not frame:
                self._close(self._open.pop(), now, True)
            if at is not None and now - frame.begin >= LONG_NS:
                frame.line = code_line(at)
            self._close(self._open.pop(), now, counts)
        except Exception as error:
            self._failed(error)

    def _close(self, frame: OpenPhase, now: int, counts: bool) -> None:
        outer = self._open[-1] if self._open else None
        begin = frame.begin
        if frame.busy_until is not None:
            finished = frame.busy_until()
            begin = now if finished is None else min(now, max(begin, finished))
        whole = max(0, now - begin)
        if not counts:
            if outer is not None:
                outer.inside += frame.inside
            return
        if outer is not None:
            outer.inside += whole
        self._add(frame, max(0, whole - frame.inside))
        recorder = self.recorder
        if recorder is not None and frame.marks is recorder.buffer.host_ns and frame.mark >= 0:
            recorder.mark_phase(frame.name, frame.mark, recorder.mark(unlike=frame.mark))

    def _add(self, frame: OpenPhase, own: int) -> None:
        step = 0 if self.recorder is None else self.recorder.current_step
        total = self.phases.get(frame.name)
        if total is None:
            total = self.phases[frame.name] = PhaseTotal()
            total.first_step = step
        total.ns += own
        total.last_step = step
        if not self.is_open(frame.name):
            total.count += 1
            total.longest = max(total.longest, total.ns - frame.before)
        _add_to(total.calls, frame.call, own)
        if frame.line is not None:
            _add_to(total.lines, frame.line, own)
        if self._tail_step != step:
            self._tail_ns, self._tail_step = 0, step
        self._tail_ns += own
        self._snapshot = tuple([(name, phase.ns) for name, phase in self.phases.items()])

    def _failed(self, error: Exception) -> None:
        self.problems.warn("job-time", f"timing the job between steps failed, training goes on: {describe(error)}")

    # -- evaluation --------------------------------------------------------------------------------------------------

    def begin_evaluation(self) -> bool:
        """`model.eval()` was called. False if it does not begin an evaluation."""
        if self.is_evaluating or not self.is_on or not self.has_trained or self.is_open(EVALUATION):
            return False
        frame = self.enter(EVALUATION, "model.eval()", line_at=sys._getframe(1))
        if frame is None:
            return False
        self._evaluation, self.is_evaluating = frame, True
        if self.on_evaluation is not None:
            self.on_evaluation(True)
        return True

    def end_evaluation(self, was_evaluation: bool) -> None:
        """`model.train()` was called, or an optimizer stepped: then the model trained in evaluation mode."""
        if not self.is_evaluating:
            return
        self.is_evaluating = False
        frame, self._evaluation = self._evaluation, None
        self.leave(frame, counts=was_evaluation)
        if self.on_evaluation is not None:
            self.on_evaluation(False)

    # -- what is written ---------------------------------------------------------------------------------------------

    def totals(self) -> Totals:
        """Time by phase so far. The same object as before if nothing has changed."""
        return self._snapshot

    def summary(self, origin_ns: int) -> dict[str, object] | None:
        """For the header of the log. Times in ms from the run's anchor. Runs on the writer thread."""
        recorder = self.recorder
        if recorder is None:
            return None
        step = recorder.current_step
        phases = self.phases.copy()  # the training thread goes on adding
        largest = sorted(phases.items(), key=lambda item: -item[1].ns)[:MAX_NAMED]
        return {
            "start_ms": _ms(self.started_at - origin_ns),
            "compiled_first_ms": _ms(self.compiled_first_ns),
            "last_step_ms": _ms(self.last_step_at - origin_ns),
            "end_ms": _ms(perf_counter_ns() - origin_ns),
            "tail_ms": _ms(self._tail_ns if self._tail_step == step else 0),
            "steps": step - self._first_step,
            "phases": {name: _describe(total) for name, total in largest},
        }


def _describe(total: PhaseTotal) -> dict[str, object]:
    # Copies, because the training thread goes on adding.
    calls, lines = dict(total.calls), dict(total.lines)
    described: dict[str, object] = {
        "ms": _ms(total.ns),
        "count": total.count,
        "longest_ms": _ms(total.longest),
        "first_step": total.first_step,
        "last_step": total.last_step,
        "call": max(calls, key=calls.__getitem__, default=None),
    }
    if lines:
        described["line"] = max(lines, key=lines.__getitem__)
    return described


def _add_to(table: dict[str, int], key: str, ns: int) -> None:
    if key in table or len(table) < MAX_NAMED:
        table[key] = table.get(key, 0) + ns


def _ms(ns: int) -> float:
    return round(ns / 1e6, 3)
