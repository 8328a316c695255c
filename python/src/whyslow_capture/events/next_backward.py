"""When to work beside the training thread: in the backward pass it lets go of the interpreter's lock."""

from __future__ import annotations

from threading import Event
from time import perf_counter_ns

from ..layout import BACKWARD
from .sample import ResolvedSample

# Records are not held back for longer: steps that take so long do not feel what we do.
PATIENCE_NS = 200_000_000
# Of the backward pass; ours may come a little early or late.
MARGIN = 0.1


class NextBackward:
    """The backward pass of the steps to come, as it was in the last ones. `at`: when a step began, ns."""

    def __init__(self, samples: list[ResolvedSample], at: int) -> None:
        self._at, self.length, self._offset, self._period = at, 0, 0, 0
        for sample in reversed(samples[-3:]):
            passes = [phase for phase in sample.phases if phase[0] == BACKWARD]
            if passes:
                host = sample.host_ns
                begin = host[min(phase[1] for phase in sample.phases)]
                _, first, last, _ = max(passes, key=lambda phase: host[phase[2]] - host[phase[1]])
                self.length = host[last] - host[first]
                self._offset = host[first] - begin + int(MARGIN * self.length)
                self._period = max(1, host[max(phase[2] for phase in sample.phases)] - begin)
                return

    def wait(self, until: Event) -> None:
        """For the next one, or until something else is more important; not at all where there is none."""
        now = perf_counter_ns()
        since = (now - self._at - self._offset) % self._period if self.length else 0
        ahead = self._period - since
        # In the middle of it there is nothing to wait for.
        if self.length and since > self.length // 2 and now + ahead < self._at + PATIENCE_NS:
            until.wait(ahead / 1e9)
