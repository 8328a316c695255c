"""The loop of a case, and that of its twin, in processes of their own that are never profiled and take turns.

A shared host changes its speed by 20 to 40% for seconds at a time. A step timed ten seconds before the trace, or a twin
timed a minute later, then tells more about the host than about the loop. So the step is also timed right before and
right after the recorded steps, and a case and its twin take turns, all on the same cores. While one runs, the others
wait and cost nothing.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from context import Context
from harness import Clock, Driver, drain, warm_up
from registry import Case
from state import clean_state

TURNS = 6
TURN_SECONDS, SMOKE_TURN_SECONDS = 0.4, 0.01
LEAST_STEPS = 3
MOST_DRAIN_S = 1.5
READY_WITHIN_S = 60.0


@dataclass(frozen=True)
class Neighbor:
    """A loop that waits in its own process. It has none of our marks, and no profiler ever runs there."""

    pipe: Connection
    process: BaseProcess

    def is_ready(self) -> bool:
        """False where it cannot take turns: it failed, or its loader's queue, full after a wait, takes long to drain."""
        try:
            return self.pipe.poll(READY_WITHIN_S) and self.pipe.recv()
        except (EOFError, OSError):
            return False

    def step_ms(self) -> float:
        """One turn."""
        self.pipe.send("go")
        return self.pipe.recv()


@dataclass(frozen=True)
class Beside:
    same: Neighbor | None = None
    twin: Neighbor | None = None

    def step_ms(self) -> float | None:
        return self.same.step_ms() if self.same else None

    def speedups(self) -> list[float]:
        """Of the twin, in turns."""
        if not self.same or not self.twin:
            return []
        return [self.same.step_ms() / self.twin.step_ms() for _ in range(TURNS)]


@contextmanager
def beside(case: Case, twin: Case | None, ctx: Context) -> Iterator[Beside]:
    """Must be entered before this process touches CUDA, and waits until all of them can take their turn."""
    cases = [case] if twin is None else [case, twin]
    neighbors = [_start(own, replace(ctx, scratch=ctx.scratch / f"{own.name}-beside")) for own in cases]
    ready = [(one if one.is_ready() else None) for one in neighbors]
    try:
        yield Beside(*ready)
    finally:
        for one in neighbors:
            one.process.kill()


def _start(case: Case, ctx: Context) -> Neighbor:
    ours, theirs = multiprocessing.Pipe()
    # Not a daemon: those may not have DataLoader workers.
    process = multiprocessing.get_context("fork").Process(target=_take_turns, args=(case, ctx, theirs), daemon=False)
    process.start()
    theirs.close()
    return Neighbor(ours, process)


def _take_turns(case: Case, ctx: Context, pipe: Connection) -> None:
    ctx.scratch.mkdir(parents=True, exist_ok=True)
    with clean_state(case.settings, ctx.device):
        driver = Driver(case.build(ctx), Clock(ctx.device))
        warm_up(driver, case)
        begin = time.perf_counter()
        drain(driver)
        pipe.send(time.perf_counter() - begin < MOST_DRAIN_S)
        while pipe.recv():
            pipe.send(_turn(driver, SMOKE_TURN_SECONDS if ctx.smoke else TURN_SECONDS))


def _turn(driver: Driver, seconds: float) -> float:
    # The first one after a pause finds cold caches, and workers have filled their queue.
    driver.step()
    drain(driver)
    begin, done = time.perf_counter(), 0
    while done < LEAST_STEPS or time.perf_counter() - begin < seconds:
        driver.step()
        done += 1
    driver.clock.synchronize()
    return (time.perf_counter() - begin) * 1e3 / done

