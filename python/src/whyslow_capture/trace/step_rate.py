"""Estimates the step time from step numbers that a thread reads once a second."""

from __future__ import annotations

import math
from collections import deque

KEPT_S = 120.0
KEPT_CHANGES = 64
# The most recent changes are also looked at on their own, since the job may have become faster.
RECENT_CHANGES = 4


class StepRate:
    def __init__(self) -> None:
        # (time first seen, step), oldest first.
        self._changes: deque[tuple[float, int]] = deque(maxlen=KEPT_CHANGES)

    def observe(self, now: float, step: int) -> None:
        changes = self._changes
        if changes and step < changes[-1][1]:
            changes.clear()  # the job started counting again
        if not changes or step > changes[-1][1]:
            changes.append((now, step))
        while len(changes) > 2 and now - changes[0][0] > KEPT_S:
            changes.popleft()

    def seconds_per_step(self, now: float) -> float:
        """Ignores a pause (checkpoint, evaluation) since the last step: afterwards the job continues as before."""
        if not self._changes:
            return 1.0
        last = self._changes[-1]
        if last[1] == self._changes[0][1]:
            return max(0.001, now - last[0])
        since = (self._changes[0], self._changes[max(0, len(self._changes) - 1 - RECENT_CHANGES)])
        return min((last[0] - first[0]) / (last[1] - first[1]) for first in since)

    def steps_ahead(self, now: float, seconds: float) -> int:
        """A number of steps that no rank will complete within `seconds`. At least 3, or 5 if steps are short."""
        per_step = self.seconds_per_step(now)
        return max(5 if per_step < 1 else 3, math.ceil(seconds / per_step) + 2)
