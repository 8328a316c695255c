"""
What the events tier costs: interleaved rounds of the same training loop with capture off, with CUDA events used the
plain way (two fresh events a phase, 3 phases), and with whyslow_capture (7 phases). A table with 95% intervals.

    python bench/capture-overhead.py [--rounds 40] [--json results.json]
    python bench/capture-overhead.py --only none --turns 3000       # what a recorded step costs, as a ratio
    python bench/capture-overhead.py --only none --turns 0 --defaults 9000      # what the defaults cost

Needs a GPU. Results with date, device and versions are kept in docs/internal/measurements.md.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from event_ways import ALWAYS, Automatic, Laps, Naive, Ours, hooks_at_rest
from gpu_job import Job, plain_step, run_plain
from turns import Estimate, mean_ratio, median_interval, median_ratio, take_turns

PLAIN = "plain events, every step, 3 phases"
BLOCKS, LAPS = "whyslow, every step, 7 phases", "whyslow, every step, 7 phases as laps"


def told_ratio(name: str, ratio: Estimate) -> dict[str, float]:
    middle, low, high = ratio
    print(f"  {name}: {middle:.2f} [{low:.2f}, {high:.2f}] of what plain events with 3 phases cost")
    return {"ratio": middle, "low": low, "high": high}


def measure(title: str, job: Job, rounds: int, steps: int, options: argparse.Namespace) -> dict[str, object]:
    ours = Ours()
    every, laps = Ours(**ALWAYS), Laps(**ALWAYS)
    automatic = Automatic()
    variants: dict[str, Callable[[Job, int], float]] = {
        "off": run_plain,
        "off again": run_plain,
        PLAIN: Naive(1),
        "plain events, 1 in 10, 3 phases": Naive(10),
        "whyslow, defaults, 7 phases": ours,
        "whyslow, defaults, automatic phases": automatic,
        BLOCKS: every,
        LAPS: laps,
    }
    if options.few:
        variants = {name: run for name, run in variants.items() if name.startswith("off") or "defaults" in name}
    for run in variants.values():
        run(job, steps)
    # Time for the budget to settle before it is judged.
    for _ in range(10):
        ours(job, steps)
        automatic(job, steps)
    times: dict[str, list[float]] = {name: [] for name in variants}
    order = list(variants)
    shuffler = random.Random(7)
    for _ in range(rounds):
        shuffler.shuffle(order)
        for name in order:
            times[name].append(variants[name](job, steps))
    base = times["off"]
    print(f"\n{title}: step {statistics.median(base):.3f} ms, {rounds} rounds of {steps} steps a variant, interleaved")
    rows = {}
    for name in variants:
        extra = [(t / b - 1) * 100 for t, b in zip(times[name], base, strict=True)]
        middle, low, high = median_interval(extra)
        micros = statistics.median(base) * 10 * middle
        rows[name] = {"percent": middle, "low": low, "high": high, "us_per_step": micros}
        print(f"  {name:44} {middle:+7.2f}%  [{low:+.2f}, {high:+.2f}]   {micros:+8.1f} µs per step")
    added = {name: [t - b for t, b in zip(times[name], base, strict=True)] for name in variants}
    for name in (BLOCKS, LAPS):
        if name in variants:
            rows[f"{name}, ratio"] = told_ratio(name, median_ratio(added[name], added[PLAIN]))
    own = ours.capture.budget.summary()
    print("  its own account:", json.dumps(own))
    print("  with hooks:", json.dumps(automatic.capture.budget.summary()))
    for used in (ours, every, laps, automatic):
        if used.opened:
            used.capture.close()
    return {"step_ms": statistics.median(base), "rows": rows, "own": own}


def measure_in_turns(job: Job, turns: int) -> dict[str, object]:
    """
    What a recorded step costs the host, and one that is not recorded: variants take turns in a loop that the host
    paces, so that the machine's moods meet all of them alike. Flushes and reading are in the means.
    """
    blocks, laps, idle = Ours(**ALWAYS), Laps(**ALWAYS), Ours(record_every_n_steps=1 << 40)
    plain = Naive(1)
    bodies: dict[str, Callable[[int], None]] = {
        "off": lambda i: plain_step(job, i),
        "off again": lambda i: plain_step(job, i),
        PLAIN: lambda i: plain.step(job, i),
        BLOCKS: lambda i: blocks.step(job, i),
        LAPS: lambda i: laps.step(job, i),
        "whyslow, not recorded": lambda i: idle.step(job, i),
    }
    for used in (blocks, laps, idle):
        used.open()
    torch.cuda.synchronize()
    taken = take_turns(bodies, turns)
    ratios = {name: told_ratio(name, mean_ratio(taken.extra[name], taken.extra[PLAIN])) for name in (BLOCKS, LAPS)}
    for used in (blocks, laps, idle):
        used.capture.close()
    return {"off_us": taken.base, "rows": taken.rows, "ratios": ratios}


def measure_calls(job: Job, turns: int = 1000) -> dict[str, float]:
    """What single calls take in steps that are not recorded, with the caches as other steps left them."""
    used = Ours(record_every_n_steps=1 << 40)
    used.open()
    capture = used.capture
    for i in range(3):
        used.step(job, i)

    def phase() -> None:
        with capture.phase("forward"):
            pass

    calls: dict[str, Callable[[], object]] = {
        "nothing": lambda: None,
        "with cap.phase(name)": phase,
        "cap.lap(name)": lambda: capture.lap("forward"),
        "cap.step()": lambda: capture.step(),
    }
    times: dict[str, list[int]] = {name: [] for name in calls}
    for i in range(turns):
        for name, call in calls.items():
            plain_step(job, i)
            started = time.perf_counter_ns()
            call()
            times[name].append(time.perf_counter_ns() - started)
    capture.close()
    nothing = statistics.median(times.pop("nothing"))
    print(f"\na call in a step that is not recorded, {turns} of each between steps:")
    found = {name: (statistics.median(own) - nothing) / 1e3 for name, own in times.items()}
    for name, us in found.items():
        print(f"  {name:44} {us:7.2f} µs")
    return found


def measure_defaults(job: Job, turns: int) -> dict[str, object]:
    """What capture as it comes costs the host: with its phases, recorded steps included; and hooks that are at rest."""
    blocks, laps = Ours(), Laps()
    resting, close = hooks_at_rest(job)
    for used in (blocks, laps):
        used.open()
        # Time for the budget to settle before it is judged.
        for i in range(1000):
            used.step(job, i)
        # In turns with others its steps seem long: it is not to take that for the job's pace and record more often.
        budget = used.capture.budget
        budget.note_pace = budget.note_sample = lambda *_: None  # type: ignore[method-assign]
    bodies: dict[str, Callable[[int], None]] = {
        "off": lambda i: plain_step(job, i),
        "off again": lambda i: plain_step(job, i),
        "whyslow, defaults, 7 phases": lambda i: blocks.step(job, i),
        "whyslow, defaults, 7 phases as laps": lambda i: laps.step(job, i),
        "hooks, not recorded": resting,
    }
    taken = take_turns(bodies, turns)
    for name, row in taken.rows.items():
        middle, low, high = (row[key] / taken.base * 100 for key in ("us", "low", "high"))
        print(f"  {name:44} {middle:+7.2f}%  [{low:+.2f}, {high:+.2f}]")
    for used in (blocks, laps):
        print("  its own account:", json.dumps(used.capture.budget.summary()))
        used.capture.close()
    close()
    return {"off_us": taken.base, "rows": taken.rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--few", action="store_true", help="only off and the defaults: for narrow intervals")
    parser.add_argument("--only", default="", help="jobs whose title contains this")
    parser.add_argument("--turns", type=int, default=1500, help="of each variant, one step at a time; 0: none")
    parser.add_argument("--defaults", type=int, default=0, help="turns of the defaults, one step at a time")
    options = parser.parse_args()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {time.strftime('%Y-%m-%d')}")
    jobs = (
        ("3 ms, GPU-bound", 3, "gpu", options.rounds, 50),
        ("3 ms, host-bound", 3, "host", options.rounds, 50),
        ("30 ms, GPU-bound", 30, "gpu", max(10, options.rounds // 4), 30),
    )
    results = {
        title: measure(title, Job(ms, bound), rounds, steps, options)
        for title, ms, bound, rounds, steps in jobs
        if options.only in title
    }
    if options.turns:
        results["in turns"] = measure_in_turns(Job(3, "host"), options.turns)
    if options.defaults:
        job = Job(3, "host")
        results["defaults"] = measure_defaults(job, options.defaults)
        results["calls"] = measure_calls(job)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
