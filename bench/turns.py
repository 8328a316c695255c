"""
Variants of a step that take turns, so that the machine's moods meet all of them alike, and how far the result is known.
For the programs beside it.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable

# The first turns fill caches and find what is to be found.
WARM_UP = 50
DRAWS = 300
Row = dict[str, float]


def trimmed_mean(values: list[float]) -> float:
    """Without the outermost hundredth: steps that the machine took away from us."""
    ordered = sorted(values)
    cut = len(ordered) // 100
    return statistics.fmean(ordered[cut : len(ordered) - cut])


def median_interval(values: list[float]) -> tuple[float, float, float]:
    """The median and its 95 % interval, by drawing rounds again. Not the mean: one round may fall into a pause."""
    generator = random.Random(1)
    draws = sorted(statistics.median(generator.choices(values, k=len(values))) for _ in range(1000))
    return statistics.median(values), draws[25], draws[974]


def take_turns(variants: dict[str, Callable[[int], None]], steps: int) -> tuple[float, dict[str, Row]]:
    """
    Runs every variant once a turn, in any order, with the turn's number. Returns the host's µs a step of the first, and
    by how much each exceeds it with a bootstrap 95 % interval; and prints both.
    """
    times: dict[str, list[float]] = {name: [] for name in variants}
    order, generator = list(variants), random.Random(3)
    for turn in range(steps):
        generator.shuffle(order)
        for name in order:
            started = time.perf_counter()
            variants[name](turn)
            took = time.perf_counter() - started
            if turn >= WARM_UP:
                times[name].append(took * 1e6)
    first = next(iter(times.values()))
    base = trimmed_mean(first)
    print(f"\nhost's time for a step, turn by turn, {steps - WARM_UP} steps each: {next(iter(variants))} {base:.0f} µs")
    rows: dict[str, Row] = {}
    for name, own in times.items():
        extra = [a - b for a, b in zip(own, first, strict=True)]
        draws = sorted(trimmed_mean(generator.choices(extra, k=len(extra))) for _ in range(DRAWS))
        low, high = draws[round(0.025 * DRAWS)], draws[round(0.975 * DRAWS) - 1]
        rows[name] = {"us": trimmed_mean(extra), "low": low, "high": high}
        print(f"  {name:44} {rows[name]['us']:+7.1f} µs  [{low:+.1f}, {high:+.1f}]")
    return base, rows
