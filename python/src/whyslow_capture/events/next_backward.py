"""Finds a good time for the writer thread: in the backward pass the training thread releases the interpreter lock."""

from __future__ import annotations

from threading import Event
from time import perf_counter_ns

from ..layout import BACKWARD
from .sample import ResolvedSample

# Records wait no longer than this. In steps that take longer, our work does not matter.
PATIENCE_NS = 200_000_000
# Fraction of the backward pass to stay away from its ends, since the prediction may be off.
MARGIN = 0.1


class NextBackward:
    """Predicts the next backward passes from recent samples. `at`: when a step began, in ns."""

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
        """Waits for the next backward pass, or until `until` is set. Returns at once if no backward pass is known."""
        now = perf_counter_ns()
        since = (now - self._at - self._offset) % self._period if self.length else 0
        ahead = self._period - since
        # No need to wait if the backward pass is under way.
        if self.length and since > self.length // 2 and now + ahead < self._at + PATIENCE_NS:
            until.wait(ahead / 1e9)
