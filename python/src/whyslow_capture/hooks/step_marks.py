"""The marks of a recorded step, and the phases between them: which phase begins where another ends."""

from __future__ import annotations

from ..events.recorder import Recorder
from ..layout import BACKWARD, FORWARD, HOST_TO_DEVICE, OPTIMIZER


class StepMarks:
    """Marks are −1 until they are seen."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.begin_step()

    def begin_step(self) -> None:
        self._optimizer = 0
        self._optimizer_begin = -1
        self._ran_closure = False
        self._begin_micro()

    def _begin_micro(self) -> None:
        self._loaded = -1
        self._copy_begin = self._copy_end = -1
        self._forward_begin = -1
        self._copies_recorded = False
        self._backward_done = False

    def loaded(self) -> None:
        """A batch came."""
        self._loaded = self._recorder.mark()

    def end_micro(self) -> None:
        """Something other than a backward pass begins. After one, it belongs to the next micro-batch."""
        self.end_copies()
        self._leave_backward()

    def _leave_backward(self) -> None:
        if self._backward_done:
            self._recorder.next_micro()
            self._begin_micro()

    # -- copies ------------------------------------------------------------------------------------------------------

    def want_copies(self) -> bool:
        if self._optimizer_begin >= 0:
            return False
        self._leave_backward()
        # If the job times its copies itself, add nothing.
        return self._copies_recorded or not self._recorder.has(HOST_TO_DEVICE)

    def copied(self, begin: int) -> None:
        """A copy was launched after the mark `begin`. One phase covers all copies, from the first to the last."""
        if self._copy_begin < 0:
            self._copy_begin = begin
        self._copy_end = self._recorder.mark(unlike=begin)

    def end_copies(self) -> None:
        begin, end = self._copy_begin, self._copy_end
        if begin >= 0 and end >= 0:
            self._copy_begin = self._copy_end = -1
            self._copies_recorded = True
            self._loaded = max(self._loaded, end)
            self._recorder.mark_phase(HOST_TO_DEVICE, begin, end)

    # -- forward and backward ----------------------------------------------------------------------------------------

    @property
    def is_in_forward(self) -> bool:
        return self._forward_begin >= 0

    def forward_begins(self) -> None:
        self._forward_begin = self._recorder.mark()
        self._closure_begins(self._forward_begin)

    def _closure_begins(self, at: int) -> None:
        """If an optimizer calls it again (LBFGS), the optimizer's own work in between ends here."""
        if self._optimizer_begin >= 0 and self._ran_closure:
            self._recorder.mark_phase(OPTIMIZER, self._optimizer_begin, at)

    def backward_begins(self) -> None:
        """Forward, including the loss, ends where the outermost backward begins."""
        recorder = self._recorder
        begin = self._forward_begin if self._forward_begin >= 0 else self._loaded
        self._forward_begin = self._loaded = -1
        boundary = recorder.mark(unlike=begin)
        if begin < 0:
            self._closure_begins(boundary)
        elif not recorder.has(FORWARD):
            recorder.mark_phase(FORWARD, begin, boundary)
        recorder.begin(BACKWARD, at=boundary)

    def backward_ends(self) -> bool:
        """
        Whether it ran in an optimizer's closure. Then the optimizer's own work begins here, and the closure may be
        called again.
        """
        self._recorder.end(BACKWARD)
        end = self._recorder.mark()
        self._backward_done = True
        if self._optimizer_begin < 0:
            return False
        self._optimizer_begin, self._ran_closure = end, True
        return True

    # -- optimizer ---------------------------------------------------------------------------------------------------

    def optimizer_begins(self, optimizer: int) -> None:
        # If the same optimizer begins again, its last step failed and the job went on.
        if self._optimizer_begin < 0 or self._optimizer == optimizer:
            self._optimizer, self._ran_closure = optimizer, False
            self._optimizer_begin = self._recorder.mark()

    def optimizer_ends(self, optimizer: int) -> bool:
        """Whether it ran a closure."""
        begin = self._optimizer_begin
        if begin < 0 or self._optimizer != optimizer:
            return False
        self._optimizer_begin = -1
        self._recorder.mark_phase(OPTIMIZER, begin, self._recorder.mark(unlike=begin))
        return self._ran_closure
