"""
What the events tier costs: interleaved rounds of the same training loop with capture off, with CUDA events used the
plain way (two fresh events a phase, 3 phases), and with whyslow_capture (7 phases). A table with 95 % intervals.

    python bench/capture-overhead.py [--rounds 40] [--json results.json]
    python bench/capture-overhead.py --recorded --rounds 200 --turns 0      # only what a recorded step costs, as a ratio

Needs a GPU. Results with date, device and versions are kept in bench/results.md.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from turns import median_interval, take_turns

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "src"))
from whyslow_capture.config import CaptureConfig
from whyslow_capture.hooks import install
from whyslow_capture.session import Capture


class Job:
    """A training loop whose step takes about `step_ms`, bound by the GPU or by the host that launches it."""

    def __init__(self, step_ms: float, bound: str) -> None:
        torch.manual_seed(0)
        if bound == "gpu":
            width, depth, batch = 4096, 4, 2048
        else:
            width, depth, batch = 256, 12, 64
        layers: list[torch.nn.Module] = []
        for _ in range(depth):
            layers += [torch.nn.Linear(width, width), torch.nn.GELU()]
        self.model = torch.nn.Sequential(*layers).cuda().to(torch.bfloat16)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-6)
        self.host = [torch.randn(batch, width, dtype=torch.bfloat16).pin_memory() for _ in range(4)]
        self.repeat = 1
        self.calibrate(step_ms)

    def calibrate(self, step_ms: float) -> None:
        for _ in range(3):
            run_plain(self, 10)
        for _ in range(4):
            measured = run_plain(self, 30)
            self.repeat = max(1, round(self.repeat * step_ms / measured))

    def batch(self, i: int) -> torch.Tensor:
        return self.host[i % 4]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(self.repeat):
            x = self.model(x)
        return x.float().pow(2).mean()


def timed(steps: int, body: Callable[[int], None]) -> float:
    # The first steps after another variant are slower whichever it is, and for hooks they find the model.
    for i in range(3):
        body(i)
    torch.cuda.synchronize()
    started = time.perf_counter()
    for i in range(steps):
        body(i)
    torch.cuda.synchronize()
    return (time.perf_counter() - started) / steps * 1e3


def plain_step(job: Job, i: int) -> None:
    x = job.batch(i)
    x = x.to("cuda", non_blocking=True)
    loss = job.forward(x)
    loss.backward()
    job.optimizer.step()
    job.optimizer.zero_grad(set_to_none=True)


def run_plain(job: Job, steps: int) -> float:
    return timed(steps, lambda i: plain_step(job, i))


class Naive:
    """As lmms-engine does it: fresh events around host_to_device, training_step, training_metrics; read at a flush."""

    def __init__(self, every: int) -> None:
        self.every = every
        self.pending: list[tuple[str, int, torch.cuda.Event, torch.cuda.Event]] = []
        self.sink = tempfile.TemporaryFile("w")  # noqa: SIM115 (open while the loop runs)

    def __call__(self, job: Job, steps: int) -> float:
        return timed(steps, lambda i: self.step(job, i))

    def flush(self) -> None:
        for name, step, begin, end in self.pending:
            end.synchronize()
            row = {"name": name, "step": step, "rank": 0, "duration_ms": begin.elapsed_time(end)}
            self.sink.write(json.dumps(row) + "\n")
        self.sink.flush()
        self.pending.clear()

    def phase(self, name: str, i: int, work: Callable[[], object]) -> object:
        if i % self.every:
            return work()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        result = work()
        end.record()
        self.pending.append((name, i, begin, end))
        return result

    def step(self, job: Job, i: int) -> None:
        x = self.phase("host_to_device", i, lambda: job.batch(i).to("cuda", non_blocking=True))

        def train() -> None:
            loss = job.forward(x)  # type: ignore[arg-type]
            loss.backward()
            job.optimizer.step()
            job.optimizer.zero_grad(set_to_none=True)

        self.phase("training_step", i, train)
        self.phase("training_metrics", i, lambda: None)
        if i % 10 == 9:
            self.flush()


class Ours:
    """Seven phases: data_wait, host_to_device, forward, backward, optimizer, training_metrics, training_step."""

    def __init__(self, **config: object) -> None:
        self.capture = Capture(CaptureConfig(out=tempfile.mkdtemp(), auto_phases=False, **config))  # type: ignore[arg-type]
        self.opened = False

    def open(self) -> None:
        if not self.opened:
            self.capture.open()
            self.opened = True

    def __call__(self, job: Job, steps: int) -> float:
        self.open()
        return timed(steps, lambda i: self.step(job, i))

    def step(self, job: Job, i: int) -> None:
        cap = self.capture
        with cap.phase("data_wait"):
            x = job.batch(i)
        with cap.phase("host_to_device"):
            x = x.to("cuda", non_blocking=True)
        with cap.phase("forward"):
            loss = job.forward(x)
        with cap.phase("backward"):
            loss.backward()
        with cap.phase("optimizer"):
            job.optimizer.step()
            job.optimizer.zero_grad(set_to_none=True)
        with cap.phase("training_metrics"):
            pass
        cap.step()


class Automatic(Ours):
    """Phases found by hooks. They are in place only while this variant runs: the others must not feel them."""

    def __call__(self, job: Job, steps: int) -> float:
        self.open()
        uninstall = install(self.capture, steps="manual")
        self.capture.recorder.abandon_step()
        self.capture.recorder.start_step()
        try:
            return timed(steps, lambda i: self.step(job, i))
        finally:
            uninstall()

    def step(self, job: Job, i: int) -> None:
        plain_step(job, i)
        self.capture.step()


def median_ratio(ours: list[float], plain: list[float]) -> tuple[float, float, float]:
    """Of what two ways add, with a bootstrap 95 % interval over rounds."""
    generator, places = random.Random(2), range(len(ours))

    def of(chosen: list[int]) -> float:
        return statistics.median(ours[i] for i in chosen) / statistics.median(plain[i] for i in chosen)

    draws = sorted(of(generator.choices(places, k=len(ours))) for _ in range(1000))
    return of(list(places)), draws[25], draws[974]


PLAIN, RECORDED = "plain events, every step, 3 phases", "whyslow, every step, no budget, 7 phases"


def measure(title: str, job: Job, rounds: int, steps: int, options: argparse.Namespace) -> dict[str, object]:
    ours = Ours()
    every = Ours(record_every_n_steps=1, max_overhead=1.0)
    automatic = Automatic()
    variants: dict[str, Callable[[Job, int], float]] = {
        "off": run_plain,
        "off again": run_plain,
        PLAIN: Naive(1),
        "plain events, 1 in 10, 3 phases": Naive(10),
        "whyslow, defaults, 7 phases": ours,
        "whyslow, defaults, automatic phases": automatic,
        RECORDED: every,
    }
    if options.few:
        variants = {name: run for name, run in variants.items() if name.startswith("off") or "defaults" in name}
    if options.recorded:
        variants = {name: run for name, run in variants.items() if name.startswith("off") or "every step" in name}
    for run in variants.values():
        run(job, steps)
    # Time for the budget to settle before it is judged.
    for _ in range(0 if options.recorded else 10):
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
        print(f"  {name:44} {middle:+7.2f} %  [{low:+.2f}, {high:+.2f}]   {micros:+8.1f} µs a step")
    if RECORDED in variants:
        added = [[t - b for t, b in zip(times[name], base, strict=True)] for name in (RECORDED, PLAIN)]
        middle, low, high = median_ratio(*added)
        rows["ratio"] = {"ratio": middle, "low": low, "high": high}
        print(f"  a recorded step with 7 phases costs {middle:.2f} [{low:.2f}, {high:.2f}] of plain events with 3")
    own = (every if options.recorded else ours).capture.budget.summary()
    print("  its own account:", json.dumps(own))
    for used in (ours, every, automatic):
        if used.opened:
            used.capture.close()
    return {"step_ms": statistics.median(base), "rows": rows, "own": own}


def measure_single_steps(job: Job, steps: int) -> dict[str, object]:
    """
    What a recorded step costs the host, and one that is not recorded: variants take turns from step to step in a loop
    that the host paces, so that the machine's moods meet all of them alike. Flushes and reading are in the means.
    """
    recorded, idle = Ours(record_every_n_steps=1, max_overhead=1.0), Ours(record_every_n_steps=1 << 40)
    plain = Naive(1)
    bodies: dict[str, Callable[[int], None]] = {
        "off": lambda i: plain_step(job, i),
        "plain events, 3 phases": lambda i: plain.step(job, i),
        "whyslow, recorded, 7 phases": lambda i: recorded.step(job, i),
        "whyslow, not recorded": lambda i: idle.step(job, i),
    }
    recorded.open()
    idle.open()
    torch.cuda.synchronize()
    base, rows = take_turns(bodies, steps)
    recorded.capture.close()
    idle.capture.close()
    return {"off_us": base, "rows": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--few", action="store_true", help="only off and the defaults: for narrow intervals")
    parser.add_argument("--recorded", action="store_true", help="only off and every step recorded")
    parser.add_argument("--only", default="", help="jobs whose title contains this")
    parser.add_argument("--turns", type=int, default=1500, help="steps of each variant, taken in turns; 0: none")
    options = parser.parse_args()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {time.strftime('%Y-%m-%d')}")
    jobs = (
        ("3 ms, GPU-bound", 3, "gpu", options.rounds, 20 if options.recorded else 50),
        ("3 ms, host-bound", 3, "host", options.rounds, 20 if options.recorded else 50),
        ("30 ms, GPU-bound", 30, "gpu", max(10, options.rounds // 4), 30),
    )
    results = {
        title: measure(title, Job(ms, bound), rounds, steps, options)
        for title, ms, bound, rounds, steps in jobs
        if options.only in title
    }
    if options.turns:
        results["single steps"] = measure_single_steps(Job(3, "host"), options.turns)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
