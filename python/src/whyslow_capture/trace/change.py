"""
How much step times changed, from groups of steps that were timed at different moments.

Neighboring steps are alike, and a shared machine changes its speed for seconds at a time. So a group is one
measurement, however many steps it has, and differences among the groups before are noise. The
fastest group counts: other users of the machine only add time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

# Fewer groups do not show how much they differ.
LEAST_GROUPS = 4
# Among the fastest of many groups, on a host whose speed varies by 40%.
MOST_NOISE = 0.1


@dataclass(frozen=True)
class Change:
    """The fastest groups before and after, and how far each of them may be off. Changes are relative: 0.02 is 2%."""

    before_ms: float
    after_ms: float
    noise: float
    earlier: float = 1.0
    """What was left behind before, as a factor."""

    @property
    def likely(self) -> float:
        return self.earlier * self.after_ms / self.before_ms - 1

    @property
    def low(self) -> float:
        return (1 + self.likely) / (1 + self.noise) - 1

    @property
    def high(self) -> float:
        return (1 + self.likely) * (1 + self.noise) - 1

    def after(self, earlier: float) -> Change:
        return Change(self.before_ms, self.after_ms, self.noise, earlier)


def change(before: Sequence[Sequence[float]], after: Sequence[Sequence[float]]) -> Change:
    """Of step times, in groups. Neither side is empty."""
    old = sorted(median(group) for group in before)
    return Change(old[0], min(median(group) for group in after), _noise(old))


def _noise(levels: Sequence[float]) -> float:
    """Half of what the groups differ by, apart from the outermost tenths."""
    if len(levels) < LEAST_GROUPS:
        return MOST_NOISE
    tenth = len(levels) // 10
    return min(MOST_NOISE, (levels[-1 - tenth] / levels[tenth] - 1) / 2)
