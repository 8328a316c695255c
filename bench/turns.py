"""
Variants of a step that take turns, so that the machine's moods meet all of them alike, and how far the result is known.
Used by the programs in this folder.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

# The first turns fill caches and find what is to be found.
WARM_UP = 50
DRAWS = 400
NEIGHBORS = 25
Row = dict[str, float]
# The middle, and the ends of its 95% interval.
Estimate = tuple[float, float, float]


def trimmed_mean(values: list[float]) -> float:
    """Without the outermost hundredth: steps that the machine took away from us."""
    ordered = sorted(values)
    cut = len(ordered) // 100
    return statistics.fmean(ordered[cut : len(ordered) - cut])


def interval(count: int, of: Callable[[Sequence[int]], float], together: int = 1) -> Estimate:
    """
    What `of` finds in all of so many turns, and its 95% interval by drawing them again, so many neighbors together:
    what disturbs a machine lasts longer than a step, and single ones would seem to know more than they do.
    """
    generator = random.Random(1)
    rows = [range(begin, min(begin + together, count)) for begin in range(0, count, together)]
    draws = sorted(of([i for row in generator.choices(rows, k=len(rows)) for i in row]) for _ in range(DRAWS))
    return of(range(count)), draws[round(0.025 * DRAWS)], draws[round(0.975 * DRAWS) - 1]


def median_interval(values: list[float]) -> Estimate:
    """Of rounds, not the mean: one round may fall into a pause."""
    return interval(len(values), lambda chosen: statistics.median(values[i] for i in chosen))


def median_ratio(ours: list[float], other: list[float]) -> Estimate:
    """Of what two ways add in the same rounds."""

    def of(chosen: Sequence[int]) -> float:
        return statistics.median(ours[i] for i in chosen) / statistics.median(other[i] for i in chosen)

    return interval(len(ours), of)


def mean_interval(values: list[float]) -> Estimate:
    """Of turns."""
    return interval(len(values), lambda chosen: trimmed_mean([values[i] for i in chosen]), NEIGHBORS)


def mean_ratio(ours: list[float], other: list[float]) -> Estimate:
    """Of what two ways add in the same turns."""

    def of(chosen: Sequence[int]) -> float:
        return trimmed_mean([ours[i] for i in chosen]) / trimmed_mean([other[i] for i in chosen])

    return interval(len(ours), of, NEIGHBORS)


class Turns(NamedTuple):
    """µs per step of the first variant; by how much each exceeds it, on the whole and turn by turn."""

    base: float
    rows: dict[str, Row]
    extra: dict[str, list[float]]


def take_turns(variants: dict[str, Callable[[int], None]], turns: int) -> Turns:
    """
    Runs every variant once a turn, in any order, with the turn's number. Prints the host's time for a step of the
    first, and by how much each exceeds it with a 95% interval.
    """
    times: dict[str, list[float]] = {name: [] for name in variants}
    order, generator = list(variants), random.Random(3)
    for turn in range(turns):
        generator.shuffle(order)
        for name in order:
            started = time.perf_counter()
            variants[name](turn)
            took = time.perf_counter() - started
            if turn >= WARM_UP:
                times[name].append(took * 1e6)
    first = next(iter(times.values()))
    base = trimmed_mean(first)
    print(f"\nhost's time for a step, {turns - WARM_UP} turns each: {next(iter(variants))} {base:.0f} µs")
    rows: dict[str, Row] = {}
    extra = {name: [a - b for a, b in zip(own, first, strict=True)] for name, own in times.items()}
    for name, own in extra.items():
        middle, low, high = mean_interval(own)
        rows[name] = {"us": middle, "low": low, "high": high}
        print(f"  {name:44} {rows[name]['us']:+7.1f} µs  [{low:+.1f}, {high:+.1f}]")
    return Turns(base, rows, extra)
