"""Measures one case: free-running and synced step times, an events log, a profiler trace."""

from __future__ import annotations

import gzip
import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, schedule

from registry import Case, Loop

MIN_REPEATS, MAX_REPEATS = 3, 5
FREE_SECONDS = 4.0
"""After the third repeat, no further one is begun once this is spent."""
SYNCED_SECONDS = 2.0
DRAIN_SECONDS = 6.0
SOAK_SECONDS = 2.5
"""nvidia-smi dmon reports once a second; this gives it two lines of a loaded GPU."""


@dataclass(frozen=True)
class StepTime:
    step_ms: float
    data_wait_ms: float
    host_to_device_ms: float | None


@dataclass(frozen=True)
class Timing:
    step_ms: float
    step_ms_sync: float
    spread: float
    """Largest less smallest repeat, as a share of the median one."""
    steps: list[StepTime]

    @property
    def data_wait_ms(self) -> float:
        return statistics.fmean(step.data_wait_ms for step in self.steps)


class Clock:
    """Marks on the device's timeline, or on the host's where there is no device."""

    def __init__(self, device: str) -> None:
        self.gpu = device == "cuda"

    def mark(self) -> Any:
        if not self.gpu:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def ms(self, start: Any, stop: Any) -> float:
        return start.elapsed_time(stop) if self.gpu else (stop - start) * 1e3

    def synchronize(self) -> None:
        if self.gpu:
            torch.cuda.synchronize()


@dataclass
class RawStep:
    waited_s: float
    before_copy: Any
    after_copy: Any
    end: Any


class Driver:
    """Runs one loop. Every phase of the measurement draws from the same iterator, as a training does."""

    def __init__(self, loop: Loop, clock: Clock) -> None:
        self.loop, self.clock = loop, clock
        self.batches = iter(loop.batches)
        self.prefetched: int = getattr(loop.batches, "prefetched", 0)

    def step(self) -> None:
        batch = next(self.batches)
        self.loop.step(self.loop.move(batch) if self.loop.move else batch)

    def timed_step(self) -> RawStep:
        """One step with marks but without waiting for any of them."""
        start = time.perf_counter()
        batch = next(self.batches)
        waited = time.perf_counter() - start
        before = after = None
        if self.loop.move:
            before = self.clock.mark()
            batch = self.loop.move(batch)
            after = self.clock.mark()
        self.loop.step(batch)
        return RawStep(waited, before, after, self.clock.mark())


def synced_steps(driver: Driver, count: int) -> list[float]:
    """Step times with a synchronize after each, as many scripts measure them."""
    times: list[float] = []
    driver.clock.synchronize()
    begin = last = time.perf_counter()
    while len(times) < count and (len(times) < MIN_REPEATS or last - begin < SYNCED_SECONDS):
        driver.step()
        driver.clock.synchronize()
        now = time.perf_counter()
        times.append((now - last) * 1e3)
        last = now
    return times


def free_steps(driver: Driver, count: int) -> list[StepTime]:
    """Whole repeats of `count` steps in one run that nothing interrupts: what the job really does."""
    driver.clock.synchronize()
    begin, first = time.perf_counter(), driver.clock.mark()
    raw: list[RawStep] = []
    for repeat in range(MAX_REPEATS):
        if repeat >= MIN_REPEATS and time.perf_counter() - begin > FREE_SECONDS:
            break
        raw += [driver.timed_step() for _ in range(count)]
    driver.clock.synchronize()
    starts = [first, *(step.end for step in raw)]
    return [as_step_time(driver.clock, start, step) for start, step in zip(starts, raw, strict=False)]


def as_step_time(clock: Clock, start: Any, raw: RawStep) -> StepTime:
    copied = None if raw.before_copy is None else clock.ms(raw.before_copy, raw.after_copy)
    return StepTime(clock.ms(start, raw.end), raw.waited_s * 1e3, copied)


def drain(driver: Driver) -> None:
    """Workers fill their queue whenever a step takes long, or none is run: a first step, a profiler that starts, a turn of
    a neighbor. The steps that find it full tell nothing about the loader's rate, so they are run before anything is
    measured."""
    begin = time.perf_counter()
    for _ in range(2 * driver.prefetched):
        driver.step()
        if time.perf_counter() - begin > DRAIN_SECONDS:
            break
    driver.clock.synchronize()


def warm_up(driver: Driver, case: Case) -> None:
    for _ in range(case.warm):
        driver.step()
    if driver.clock.gpu:
        bind_to_cores()
    drain(driver)


def bind_to_cores() -> None:
    """
    The threads that launch, onto the same two cores for every process: cores of a shared host differ by 20% and more at
    the same moment. Threads that compute on the CPU keep all of them.
    """
    cores = sorted(os.sched_getaffinity(0))[4:6]
    for task in Path("/proc/self/task").iterdir():
        is_launching = task.name == str(os.getpid()) or (task / "comm").read_text().startswith("pt_autograd")
        if is_launching and len(cores) == 2:
            os.sched_setaffinity(int(task.name), cores)


def measure(driver: Driver, case: Case) -> Timing:
    """In a process in which no profiler has run yet."""
    warm_up(driver, case)
    synced = synced_steps(driver, case.steps)
    steps = free_steps(driver, case.steps)
    repeats = [
        statistics.fmean(step.step_ms for step in steps[i : i + case.steps]) for i in range(0, len(steps), case.steps)
    ]
    middle = statistics.median(repeats)
    return Timing(
        step_ms=middle,
        step_ms_sync=statistics.median(synced),
        spread=(max(repeats) - min(repeats)) / middle,
        steps=steps,
    )


def activities(device: str) -> list[ProfilerActivity]:
    gpu = [ProfilerActivity.CUDA] if device == "cuda" else []
    return [ProfilerActivity.CPU, *gpu]


def attach_profiler(driver: Driver, case: Case, device: str) -> float:
    """Starts the profiler once, which takes seconds and leaves CUPTI attached. Returns the step afterwards in ms: how much
    slower unprofiled steps are in a process that has been profiled, and the queue of a loader is drained again."""
    with profile(activities=activities(device)):
        torch.ones(8, device=device).sum().item()
    drain(driver)
    driver.clock.synchronize()
    begin = time.perf_counter()
    for done in range(1, case.steps + 1):
        driver.step()
        if done >= MIN_REPEATS and time.perf_counter() - begin > SYNCED_SECONDS:
            break
    driver.clock.synchronize()
    return (time.perf_counter() - begin) * 1e3 / done


def write_trace(
    driver: Driver, case: Case, device: str, path: Path, beside_ms: Callable[[], float | None]
) -> list[float | None]:
    """What `beside_ms` says right before and right after the recorded steps."""
    options = {
        "record_shapes": False,
        "with_stack": False,
        "profile_memory": False,
        "with_flops": False,
        **case.profiler,
    }
    around: list[float | None] = []

    def write(profiler: profile) -> None:
        driver.clock.synchronize()
        around.append(beside_ms())
        profiler.export_chrome_trace(str(path))

    driver.clock.synchronize()
    around.append(beside_ms())
    if around[0] is not None:
        drain(driver)  # our own workers have filled their queue meanwhile
    with profile(
        activities=activities(device),
        schedule=schedule(wait=1, warmup=case.profiler_warmup, active=case.active, repeat=1),
        on_trace_ready=write,
        **options,
    ) as profiler:
        for _ in range(1 + case.profiler_warmup + case.active):
            driver.step()
            profiler.step()
    driver.clock.synchronize()
    return around


def compress(path: Path) -> Path:
    packed = path.with_suffix(path.suffix + ".gz")
    with path.open("rb") as source, gzip.open(packed, "wb", 6) as target:
        shutil.copyfileobj(source, target)
    path.unlink()
    return packed


@contextmanager
def telemetry(path: Path) -> Iterator[None]:
    """nvidia-smi dmon during the block, as it prints it."""
    command = ["nvidia-smi", "dmon", "-s", "pucvmet", "-d", "1", "-c", "4"]
    with path.open("w") as target:
        monitor = subprocess.Popen(command, stdout=target, stderr=subprocess.STDOUT)
        try:
            yield
        finally:
            monitor.terminate()
            monitor.wait(5)


def soak(driver: Driver, path: Path) -> None:
    with telemetry(path):
        begin = time.perf_counter()
        while time.perf_counter() - begin < SOAK_SECONDS:
            driver.step()
        driver.clock.synchronize()
