"""
Variants of a step that take turns, so that the machine's moods meet all of them alike, and how far the result is known.
For the programs beside it.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

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


def ratio_of_means(ours: list[float], other: list[float]) -> tuple[float, float, float]:
    """Of what two variants add in the same turns, with a bootstrap 95 % interval."""
    generator, places = random.Random(2), range(len(ours))

    def of(chosen: Sequence[int]) -> float:
        return trimmed_mean([ours[i] for i in chosen]) / trimmed_mean([other[i] for i in chosen])

    draws = sorted(of(generator.choices(places, k=len(ours))) for _ in range(DRAWS))
    return of(places), draws[round(0.025 * DRAWS)], draws[round(0.975 * DRAWS) - 1]


class Turns(NamedTuple):
    """µs a step of the first variant; by how much each exceeds it, on the whole and turn by turn."""

    base: float
    rows: dict[str, Row]
    extra: dict[str, list[float]]


def take_turns(variants: dict[str, Callable[[int], None]], turns: int, in_row: int = 1) -> Turns:
    """
    Runs every variant once a turn, in any order: so many steps in a row, of which the first does not count if there are
    more than one, with the step's number. Prints the host's time for a step of the first, and by how much each exceeds
    it with a bootstrap 95 % interval.
    """
    times: dict[str, list[float]] = {name: [] for name in variants}
    order, generator = list(variants), random.Random(3)
    warm_up = max(2, WARM_UP // in_row)
    for turn in range(turns):
        generator.shuffle(order)
        for name in order:
            body, number = variants[name], turn * in_row
            if in_row > 1:
                body(number)
                number += 1
            end = (turn + 1) * in_row
            started = time.perf_counter()
            for i in range(number, end):
                body(i)
            took = time.perf_counter() - started
            if turn >= warm_up:
                times[name].append(took * 1e6 / (end - number))
    first = next(iter(times.values()))
    base = trimmed_mean(first)
    row = "" if in_row == 1 else f" of {in_row - 1} steps"
    print(f"\nhost's time for a step, {turns - warm_up} turns{row} each: {next(iter(variants))} {base:.0f} µs")
    rows: dict[str, Row] = {}
    extra = {name: [a - b for a, b in zip(own, first, strict=True)] for name, own in times.items()}
    for name, own in extra.items():
        draws = sorted(trimmed_mean(generator.choices(own, k=len(own))) for _ in range(DRAWS))
        low, high = draws[round(0.025 * DRAWS)], draws[round(0.975 * DRAWS) - 1]
        rows[name] = {"us": trimmed_mean(own), "low": low, "high": high}
        print(f"  {name:44} {rows[name]['us']:+7.1f} µs  [{low:+.1f}, {high:+.1f}]")
    return Turns(base, rows, extra)
