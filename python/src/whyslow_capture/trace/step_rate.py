"""How fast steps go by, seen from a thread that looks at the step number once a second."""

from __future__ import annotations

import math
from collections import deque

KEPT_S = 120.0
KEPT_CHANGES = 64
# The last so many changes are looked at by themselves: a job may have got faster.
RECENT_CHANGES = 4


class StepRate:
    def __init__(self) -> None:
        # (when first seen, step), oldest first.
        self._changes: deque[tuple[float, int]] = deque(maxlen=KEPT_CHANGES)

    def see(self, now: float, step: int) -> None:
        changes = self._changes
        if changes and step < changes[-1][1]:
            changes.clear()  # the job counts anew
        if not changes or step > changes[-1][1]:
            changes.append((now, step))
        while len(changes) > 2 and now - changes[0][0] > KEPT_S:
            changes.popleft()

    def seconds_per_step(self, now: float) -> float:
        """Pauses (a checkpoint, an evaluation) since the last step do not count: after them it goes on as before."""
        if not self._changes:
            return 1.0
        last = self._changes[-1]
        if last[1] == self._changes[0][1]:
            return max(0.001, now - last[0])
        since = (self._changes[0], self._changes[max(0, len(self._changes) - 1 - RECENT_CHANGES)])
        return min((last[0] - first[0]) / (last[1] - first[1]) for first in since)

    def steps_ahead(self, now: float, seconds: float) -> int:
        """How many steps from now nobody will have reached within `seconds`: at least 3, of short steps 5."""
        per_step = self.seconds_per_step(now)
        return max(5 if per_step < 1 else 3, math.ceil(seconds / per_step) + 2)
