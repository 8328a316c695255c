"""Random laps and phases: all are within their step, and laps follow each other without a gap."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import fake_clock
import fake_cuda
import pytest
from fake_clock import Clock
from support import make, records_of

from whyslow_capture.session import Capture

LAPS = ("data_wait", "l1", "l2", "inner")
# From no time at all, over times too short for a phase, to a pause that needs a new anchor.
PAUSES_NS = (0, 200, 2_500, 4_000, 9_000, 50_000, 1_000_000, 600_000_000)
# Records have four decimals of a millisecond.
DIGITS_MS = 2e-3


def do_something(cap: Capture, clock: Clock, dice: random.Random) -> None:
    clock.now += dice.choice(PAUSES_NS)
    choice = dice.random()
    if choice < 0.5:
        cap.lap(dice.choice(LAPS[:3]))
    elif choice < 0.9:
        with cap.phase(dice.choice("ab")):
            clock.now += dice.choice(PAUSES_NS)
            if dice.random() < 0.3:
                with cap.phase(dice.choice("ab")):
                    clock.now += dice.choice(PAUSES_NS)
            if dice.random() < 0.2:
                cap.lap("inner")
    else:
        cap.micro_step()


def check(step: list[dict[str, Any]]) -> int:
    (whole,) = [r for r in step if r["name"] == "training_step"]
    end = whole["start_ms"] + whole["duration_ms"]
    for r in step:
        assert r["duration_ms"] >= 0
        assert whole["start_ms"] - DIGITS_MS <= r["start_ms"] and r["start_ms"] + r["duration_ms"] <= end + DIGITS_MS
    # As in the file: in the order of their ends.
    laps = [r for r in step if r["name"] in LAPS]
    place = whole["start_ms"]
    for lap in laps:
        assert lap["start_ms"] == pytest.approx(place, abs=DIGITS_MS)
        place = lap["start_ms"] + lap["duration_ms"]
    return len(laps)


@pytest.mark.parametrize("seed", range(16))
def test_laps_and_phases(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    clock = fake_clock.install(monkeypatch, tick_ns=dice.choice((50, 500, 2_000)))
    if seed % 4:
        device = fake_cuda.install(monkeypatch, clock)
        device.lag_ns, device.takes_ns = dice.choice((0, 10_000, 3_000_000)), dice.choice((0, 500, 3_000))
    with make(tmp_path, record_every_n_steps=dice.choice((1, 1, 3))) as cap:
        for _ in range(40):
            for _ in range(dice.randrange(9)):
                do_something(cap, clock, dice)
            cap.step()
        clock.now += 100_000_000
        assert cap.problems.counts == {}
    rows = records_of(tmp_path)
    numbers = sorted({r["step"] for r in rows})
    assert len(numbers) >= 13
    assert sum(check([r for r in rows if r["step"] == number]) for number in numbers) > 10
