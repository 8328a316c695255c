"""
What automatic phases cost in steps that are not recorded, which are nearly all: blocks of a training loop with and
without hooks, on the CPU, in turn. Of a block the 20th percentile counts: what the loop takes when the machine leaves
it alone.

    taskset -c 1 python bench/capture-hooks.py [--rounds 24] [--steps 1200]
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

import torch
from small_job import Job
from turns import median_interval

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "src"))
from whyslow_capture.config import CaptureConfig
from whyslow_capture.hooks import install
from whyslow_capture.session import Capture
from whyslow_capture.touched import GROUPS

# After hooks are put in place or taken away the interpreter learns anew, and hooks learn how the job goes round.
WARM_UP = 300


def block(job: Job, capture: Capture | None, steps: int) -> float:
    """µs per step."""
    uninstall = None if capture is None else install(capture, steps="optimizer", groups=frozenset(GROUPS))
    times = []
    for i in range(WARM_UP + steps):
        started = time.perf_counter()
        job.plain(i)
        if i >= WARM_UP:
            times.append((time.perf_counter() - started) * 1e6)
    if uninstall is not None:
        uninstall()
    return sorted(times)[len(times) // 5]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--steps", type=int, default=1200)
    options = parser.parse_args()
    job = Job()
    config = CaptureConfig(out=tempfile.mkdtemp(), auto_phases=False, record_every_n_steps=1 << 40)
    capture = Capture(config).open("optimizer")
    variants: list[tuple[str, Capture | None]] = [("off", None), ("off again", None), ("hooks", capture)]
    times: dict[str, list[float]] = {name: [] for name, _ in variants}
    generator = random.Random(3)
    for _ in range(options.rounds):
        generator.shuffle(variants)
        for name, used in variants:
            times[name].append(block(job, used, options.steps))
    capture.close()
    print(f"torch {torch.__version__}, Python {sys.version.split()[0]}, {time.strftime('%Y-%m-%d')}")
    print(f"off: {statistics.median(times['off']):.0f} µs per step, {options.rounds} rounds of {options.steps} steps")
    for name in ("off again", "hooks"):
        extra = [a - b for a, b in zip(times[name], times["off"], strict=True)]
        middle, low, high = median_interval(extra)
        print(f"  {name:10} {middle:+6.1f} µs  [{low:+.1f}, {high:+.1f}]")


if __name__ == "__main__":
    main()
