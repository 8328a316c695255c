"""
What automatic phases cost in steps that are not recorded, which are nearly all: blocks of a training loop with and
without hooks, in turn. Of a block the 20th percentile counts: what the loop takes when the machine leaves it alone. And
the whole of it with default settings, recorded steps included: the mean of a block.

    taskset -c 1 python bench/capture-hooks.py [--rounds 24] [--steps 1200]
    python bench/capture-hooks.py --device cuda --steps 200 --warm-up 60     # a step of 3 ms that the host paces
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import gpu_job
import small_job
import torch
from turns import median_interval, trimmed_mean

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "src"))
from whyslow_capture.config import CaptureConfig
from whyslow_capture.hooks import install
from whyslow_capture.session import Capture


def block(step: Callable[[int], None], capture: Capture | None, warm_up: int, steps: int) -> tuple[float, float]:
    """
    µs a step: the 20th percentile, and the mean. After hooks are put in place or taken away the interpreter learns
    anew, and hooks learn how the job goes round: `warm_up`.
    """
    uninstall = None if capture is None else install(capture, steps="optimizer")
    times = []
    for i in range(warm_up + steps):
        started = time.perf_counter()
        step(i)
        if i >= warm_up:
            times.append((time.perf_counter() - started) * 1e6)
    if uninstall is not None:
        uninstall()
    return sorted(times)[len(times) // 5], trimmed_mean(times)


def make(every: int) -> Capture:
    config = CaptureConfig(out=tempfile.mkdtemp(), auto_phases=False, record_every_n_steps=every)
    return Capture(config).open("optimizer")


def tell(what: str, times: dict[str, list[float]]) -> None:
    base = times["off"]
    print(f"{what}: off {statistics.median(base):.0f} µs a step")
    for name, own in times.items():
        middle, low, high = median_interval([a - b for a, b in zip(own, base, strict=True)])
        if name != "off":
            print(f"  {name:24} {middle:+6.1f} µs  [{low:+.1f}, {high:+.1f}]")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--warm-up", type=int, default=300)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    options = parser.parse_args()
    if options.device == "cuda":
        step: Callable[[int], None] = partial(gpu_job.plain_step, gpu_job.Job(3, "host"))
    else:
        step = small_job.Job().plain
    idle, defaults = make(1 << 40), make(10)
    variants: list[tuple[str, Capture | None]] = [
        ("off", None),
        ("off again", None),
        ("hooks, not recorded", idle),
        ("hooks, defaults", defaults),
    ]
    times = [{name: [0.0] * options.rounds for name, _ in variants} for _ in range(2)]
    # The budget settles.
    block(step, defaults, 0, 4 * options.steps)
    generator = random.Random(3)
    for i in range(options.rounds):
        for name, used in generator.sample(variants, k=len(variants)):
            times[0][name][i], times[1][name][i] = block(step, used, options.warm_up, options.steps)
    print(f"torch {torch.__version__}, Python {sys.version.split()[0]}, {time.strftime('%Y-%m-%d')}")
    print(f"{options.rounds} rounds of {options.steps} steps, stride with defaults {defaults.budget.stride}")
    tell("20th percentile", times[0])
    tell("mean", times[1])
    for used in (idle, defaults):
        used.close()


if __name__ == "__main__":
    main()
