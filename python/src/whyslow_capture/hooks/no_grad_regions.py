"""No-grad regions: the job calls its model without gradients, in a rollout, or to evaluate it without `eval()`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ..job.clock import EVALUATION, INFERENCE, JobClock, OpenPhase
from ..layout import NO_GRAD

if TYPE_CHECKING:
    from .phase_tracker import PhaseTracker


class NoGradRegions:
    """
    One lasts from the first such call to the next call with gradients. If the loop repeats it, it is a phase of its
    steps, which recorded steps have (`no_grad`). If it is rare, it is between steps, and the clock of the job
    counts all of them (`inference`).
    """

    def __init__(self, tracker: PhaseTracker, clock: JobClock) -> None:
        self._tracker = tracker
        self._clock = clock
        self.is_open = False
        self._between: OpenPhase | None = None
        self._begin = -1

    def called(self) -> None:
        """The model was called without gradients, on the training thread."""
        tracker = self._tracker
        if self.is_open or tracker.in_backward or self._clock.is_open(EVALUATION):
            return
        self.is_open = True
        is_in_step = tracker.loop.no_grad_begins()
        tracker.plain_optimizer = 0  # the end of this step matters again
        self._clock.inference_is_in_steps = tracker.loop.is_on
        if self._clock.is_in_phase:
            return  # torch.inference_mode or a generation, which the clock counts already
        if not is_in_step:
            self._between = self._clock.enter(INFERENCE, "model without gradients", line_at=sys._getframe(1))
        elif tracker.recorder.is_sampling:
            tracker.leaves_micro()
            # A name that the job gives says more.
            self._begin = -1 if tracker.recorder.is_in_own_phase() else tracker.recorder.mark()
        else:
            tracker.disarm()

    def end(self, *, is_certain: bool = True) -> bool:
        """
        The model is called with gradients. `is_certain=False`: it must have been, but nobody saw when. Returns whether
        one was open.
        """
        if not self.is_open:
            return False
        self.is_open = False
        between, self._between = self._between, None
        begin, self._begin = self._begin, -1
        if between is not None:
            self._clock.leave(between, counts=is_certain)
        elif begin >= 0 and is_certain:
            recorder = self._tracker.recorder
            recorder.mark_phase(NO_GRAD, begin, recorder.mark(unlike=begin))
        return True
