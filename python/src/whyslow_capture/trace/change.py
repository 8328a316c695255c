"""
How much a series of step times changed, with a confidence interval.

Neighbouring steps are alike (the machine has slow moments), so single steps are no independent measurements. Steps are
grouped into blocks of four. The medians of the blocks are far less dependent and ignore a rare long step. They are
compared on a log scale by Yuen's t-test, which trims a fifth of the blocks at each end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log
from statistics import mean, median, variance

BLOCK = 4
# Three blocks on each side. Fewer say nothing.
LEAST_STEPS = 3 * BLOCK
TRIMMED = 0.2
# Two-sided, 95 %.
Z = 1.96


@dataclass(frozen=True)
class Change:
    """The logarithm of after ÷ before, its variance, and the degrees of freedom of the variance."""

    log_ratio: float
    variance: float
    freedom: float

    def plus(self, other: Change) -> Change:
        """Both changes, one after the other."""
        total = self.variance + other.variance
        parts = self.variance**2 / self.freedom + other.variance**2 / other.freedom
        freedom = total**2 / parts if parts > 0 else min(self.freedom, other.freedom)
        return Change(self.log_ratio + other.log_ratio, total, freedom)

    @property
    def interval(self) -> tuple[float, float, float]:
        """(low, likely, high) as relative changes: 0.02 is 2 % slower."""
        reach = quantile(self.freedom) * self.variance**0.5
        low, likely, high = (exp(self.log_ratio + d) - 1 for d in (-reach, 0.0, reach))
        return low, likely, high


def change(before: Sequence[float], after: Sequence[float]) -> Change | None:
    """None if there are too few steps."""
    if min(len(before), len(after)) < LEAST_STEPS:
        return None
    old, new = _level(before), _level(after)
    return Change(-old.log_ratio, old.variance, old.freedom).plus(new)


def drift(before: Sequence[float], after: Sequence[float], between: int) -> float:
    """
    The part of the log ratio that a job explains which was getting slower anyway: what its steps did before, continued
    to the steps after. `between`: steps that lie between the two series. Never negative.
    """
    half = len(before) // 2
    if half == 0:
        return 0.0
    gained = log(median(before[-half:])) - log(median(before[:half]))
    return max(0.0, gained) * ((len(before) + len(after)) / 2 + between) / (len(before) - half)


def _level(steps: Sequence[float]) -> Change:
    """The trimmed mean of the blocks, on a log scale, as a change from 1 ms."""
    blocks = sorted(log(median(steps[at : at + BLOCK])) for at in range(0, len(steps) - BLOCK + 1, BLOCK))
    cut = int(TRIMMED * len(blocks))
    kept = blocks[cut : len(blocks) - cut]
    winsorized = [kept[0]] * cut + kept + [kept[-1]] * cut
    freedom = len(kept) - 1
    return Change(mean(kept), variance(winsorized) * (len(blocks) - 1) / (len(kept) * freedom), freedom)


def quantile(freedom: float) -> float:
    """Of Student's t, two-sided 95 %, by its expansion in 1/freedom: 3 % too low at 2, exact to 0.5 % from 3 on."""
    n = max(freedom, 1.0) if freedom < inf else inf
    return (
        Z
        + (Z**3 + Z) / (4 * n)
        + (5 * Z**5 + 16 * Z**3 + 3 * Z) / (96 * n**2)
        + (3 * Z**7 + 19 * Z**5 + 17 * Z**3 - 15 * Z) / (384 * n**3)
    )
