"""
Windows on demand: `whyslow capture OUT` writes a request, rank 0 plans a step that no rank has reached yet, and every
rank opens its window at exactly that step. Ranks do not communicate; they only read OUT/control.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from .. import process
from ..alerts import Alert
from ..problems import ProblemLog, describe
from .control import Answer, ControlFolder, Plan, WindowRequest
from .schedule import TRAIN_OVERALL, WindowPlan

LEADER = 0
# Each rank polls once a second. Very large jobs poll less often, to spare the file system.
POLL_S, RANKS_PER_POLL_S = 1.0, 512
# NFS clients see a new file in a folder up to this much later (acdirmin).
NFS_DELAY_S = 35.0
# A request expires after this time, unless its sender waits longer. A job that is still loading may need a few minutes.
EXPIRE_S = 600.0
# Anybody may leave files in the folder. Reading many at once would hold up the training thread.
MAX_PER_POLL = 64
# What the step time is estimated from.
KEPT_S = 120.0
KEPT_CHANGES = 64
# The most recent changes are also looked at on their own, since the job may have become faster.
RECENT_CHANGES = 4


class Requests:
    def __init__(
        self,
        folder: Path,
        rank: int,
        world: int,
        default_ranks: tuple[int, ...] | None,
        warmup: int,
        current_step: Callable[[], int | None],
        accept: Callable[[WindowPlan], None],
        free_from: Callable[[WindowPlan, tuple[WindowPlan, ...]], int],
        problems: ProblemLog,
        is_second: Callable[[], bool] = lambda: False,
        at_start: Callable[[], None] | None = None,
        poll_s: float | None = None,
        pass_on: Callable[[Alert], None] | None = None,
    ) -> None:
        """
        `accept` receives the plans for this rank. `free_from(plan, others)` returns the first step at which a window
        like `plan` overlaps neither `others` nor a scheduled window. `is_second` tells whether another process has the
        same rank and answers requests. `pass_on` receives incidents for the job's trackers.
        """
        self._folder, self._control = folder, ControlFolder(folder)
        self._rank, self._world, self._default_ranks, self._warmup = rank, world, default_ranks, warmup
        self._current_step, self._accept, self._free_from = current_step, accept, free_from
        self._is_second, self._pass_on = is_second, pass_on
        self._problems, self._at_start = problems, at_start
        self._poll_s = poll_s if poll_s is not None else max(POLL_S, world / RANKS_PER_POLL_S)
        self._delay_s = 3 * self._poll_s + (NFS_DELAY_S if _is_nfs(folder) else 0.0)
        self._rate = StepRate()
        self._seen_plans: set[str] = set()
        # Not when this object was made: ranks start one by one, so a valid plan may be older than it.
        self._process_began_ns = time.time_ns() - process.age_ns()
        self._settled: set[str] = set()
        # Windows planned here that are not over yet, for any rank.
        self._ahead: tuple[WindowPlan, ...] = ()
        self._outbox: deque[Answer] = deque()
        self._wake = threading.Event()
        self._is_closing = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="whyslow-control", daemon=True)
        self._thread.start()

    def stop(self, timeout: float) -> None:
        """Stops polling. Plans that were not accepted by now never will be."""
        self._is_closing = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout)

    def close(self) -> None:
        """Call after `stop`: writes the answers that are still due."""
        with self._problems.guard("trace_control", "answering a request"):
            self._send()
            self._decline_rest()

    def _decline_rest(self) -> None:
        """Answers requests of the last second, whose senders would otherwise wait for a job that has ended."""
        requests, plans, _ = self._control.look()
        for plan_id in plans - self._seen_plans:
            # An unreadable plan must not keep the others from being answered.
            with self._problems.guard("trace_control", "reading a plan"):
                if self._is_ours(self._control.read_plan(plan_id)):
                    self._refuse(plan_id, "missed", "the job ended before that step")
        for request_id in requests - plans - self._settled if self._leads() else ():
            self._refuse(request_id, "missed", "the job ended")

    def answer(self, answer: Answer) -> None:
        """The thread writes it at its next poll. Takes no lock: the caller may have been interrupted anywhere."""
        self._outbox.append(answer)

    def _run(self) -> None:
        if self._at_start is not None:
            with self._problems.guard("trace_start", "removing files of earlier runs"):
                self._at_start()
        while not self._is_closing:
            with self._problems.guard("trace_control", "reading requests"):
                self.poll()
            self._wake.wait(self._poll_s)
            self._wake.clear()

    def poll(self) -> None:
        self._send()
        step = self._current_step()
        if step is not None:
            self._rate.observe(time.monotonic(), step)
        requests, plans, alerts = self._control.look()
        for plan_id in sorted(plans - self._seen_plans)[:MAX_PER_POLL]:
            self._seen_plans.add(plan_id)
            with self._problems.guard("trace_control", "reading a plan"):
                self._follow(self._control.read_plan(plan_id))
        if self._leads():
            self._pass_on_all(alerts)
            self._lead(sorted(requests - plans - self._settled)[:MAX_PER_POLL], step)

    def _pass_on_all(self, alerts: set[str]) -> None:
        if self._pass_on is None:
            return
        for alert_id in sorted(alerts)[:MAX_PER_POLL]:
            with self._problems.guard("trace_control", "reading an incident"):
                self._pass_on(self._control.take_alert(alert_id))

    def _leads(self) -> bool:
        return self._rank == LEADER and not self._is_second()

    def _is_ours(self, plan: Plan) -> bool:
        return plan.includes(self._rank) and not self._is_second()

    def _follow(self, plan: Plan) -> None:
        if not self._is_ours(plan):
            return
        if plan.planned_ns < self._process_began_ns:
            # A plan of an earlier run, whose steps are not ours.
            self._refuse(plan.id, "missed", "the job was restarted")
            return
        recording = len(plan.ranks) if isinstance(plan.ranks, tuple) else self._world
        self._accept(WindowPlan(TRAIN_OVERALL, plan.first_step, plan.steps, self._warmup, plan.id, recording))

    def _lead(self, waiting: list[str], step: int | None) -> None:
        for request_id in waiting:
            try:
                request = self._control.read_request(request_id)
            except FileNotFoundError:
                continue  # the request was withdrawn
            except Exception as error:
                self._refuse(request_id, "failed", f"the request cannot be read: {describe(error)}")
                continue
            age_s = (time.time_ns() - request.asked_ns) / 1e9
            if age_s > max(EXPIRE_S, request.wait_s):
                self._refuse(request_id, "missed", f"the request expired: it is {age_s / 60:.0f} minutes old")
            elif step is not None:
                self._plan(request, step)

    def _plan(self, request: WindowRequest, step: int) -> None:
        ranks = self._default_ranks if request.ranks is None else request.ranks
        ranks = "all" if ranks is None else ranks
        missing = [rank for rank in ranks if rank >= self._world] if isinstance(ranks, tuple) else []
        if missing:
            self._refuse(request.id, "missed", _no_such_ranks(missing, self._world))
            return
        first = step + self._warmup + self._rate.steps_ahead(time.monotonic(), self._delay_s)
        wanted = WindowPlan(TRAIN_OVERALL, first, request.steps, self._warmup, request.id)
        self._ahead = tuple(plan for plan in self._ahead if plan.end > step)
        window = replace(wanted, first=max(first, self._free_from(wanted, self._ahead)))
        self._ahead = (*self._ahead, window)
        plan = Plan(request.id, window.first, request.steps, ranks, time.time_ns())
        self._control.write_plan(plan)
        self._settled.add(request.id)
        self._seen_plans.add(request.id)
        self._follow(plan)

    def _refuse(self, request_id: str, status: str, message: str) -> None:
        self._settled.add(request_id)
        if not self._control.is_answered(request_id, self._rank):
            self._control.write_answer(Answer(request_id, status, message), self._rank)

    def _send(self) -> None:
        while self._outbox:
            self._control.write_answer(self._outbox.popleft(), self._rank)


class StepRate:
    """Estimates the step time from step numbers that a thread reads once a second."""

    def __init__(self) -> None:
        # (time first seen, step), oldest first.
        self._changes: deque[tuple[float, int]] = deque(maxlen=KEPT_CHANGES)

    def observe(self, now: float, step: int) -> None:
        changes = self._changes
        if changes and step < changes[-1][1]:
            changes.clear()  # the job started counting again
        if not changes or step > changes[-1][1]:
            changes.append((now, step))
        while len(changes) > 2 and now - changes[0][0] > KEPT_S:
            changes.popleft()

    def seconds_per_step(self, now: float) -> float:
        """Ignores a pause (checkpoint, evaluation) since the last step: afterwards the job continues as before."""
        if not self._changes:
            return 1.0
        last = self._changes[-1]
        if last[1] == self._changes[0][1]:
            return max(0.001, now - last[0])
        since = (self._changes[0], self._changes[max(0, len(self._changes) - 1 - RECENT_CHANGES)])
        return min((last[0] - first[0]) / (last[1] - first[1]) for first in since)

    def steps_ahead(self, now: float, seconds: float) -> int:
        """A number of steps that no rank will complete within `seconds`. At least 3, or 5 if steps are short."""
        per_step = self.seconds_per_step(now)
        return max(5 if per_step < 1 else 3, math.ceil(seconds / per_step) + 2)


def _no_such_ranks(missing: list[int], world: int) -> str:
    which = f"rank {missing[0]}" if len(missing) == 1 else f"ranks {missing[0]} to {missing[-1]}"
    has = "only rank 0" if world == 1 else f"ranks 0 to {world - 1}"
    return f"the job has no {which}; it has {has}"


def _is_nfs(folder: Path) -> bool:
    """Whether the folder is on NFS. The longest mount point above it counts."""
    try:
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    except OSError:
        return False
    path = os.path.realpath(folder)
    above = [m for m in mounts if len(m) > 2 and (path + "/").startswith(m[1].rstrip("/") + "/")]
    return bool(above) and max(above, key=lambda m: len(m[1]))[2].startswith("nfs")
