"""
Windows on demand: `whyslow capture OUT` leaves a request, the first rank plans a step that no rank has reached yet, and
every rank opens its window at exactly that step. Ranks never talk to each other, they only read OUT/control.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ..problems import ProblemLog, describe
from .control import Ask, ControlFolder, Plan
from .schedule import TRAIN_OVERALL, WindowPlan
from .step_rate import StepRate

LEADER = 0
# One look a second and rank; very large jobs look less often, for the file system's sake.
POLL_S, RANKS_PER_POLL_S = 1.0, 512
# NFS clients know of a new file in a folder up to this much later (acdirmin).
NFS_DELAY_S = 35.0
# Who does not say how long an answer is waited for waits no longer than this; a job that is still loading may take some
# minutes to begin.
EXPIRE_S = 600.0

Answer = tuple[str, str, str, str | None, tuple[int, int] | None]


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
        at_start: Callable[[], None] | None = None,
        want_steps: Callable[[bool], None] | None = None,
        poll_s: float | None = None,
    ) -> None:
        """
        `accept` gets plans for this rank; `free_from(plan, others)` is the first step from which a window such as
        `plan` would not be in the way of `others` or of the job's own; `want_steps(True)` asks that `current_step` be
        kept up to date.
        """
        self._folder, self._control = folder, ControlFolder(folder)
        self._rank, self._world, self._default_ranks, self._warmup = rank, world, default_ranks, warmup
        self._current_step, self._accept, self._free_from = current_step, accept, free_from
        self._problems, self._at_start, self._want_steps = problems, at_start, want_steps
        self._poll_s = poll_s if poll_s is not None else max(POLL_S, world / RANKS_PER_POLL_S)
        self._delay_s = 3 * self._poll_s + (NFS_DELAY_S if _is_nfs(folder) else 0.0)
        self._rate = StepRate()
        self._seen_plans: set[str] = set()
        self._process_began_ns = _process_began_ns()
        self._settled: set[str] = set()
        # Windows planned here and not yet over, for whichever ranks.
        self._ahead: tuple[WindowPlan, ...] = ()
        self._outbox: deque[Answer] = deque()
        self._wake = threading.Event()
        self._is_closing = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="whyslow-control", daemon=True)
        self._thread.start()

    def stop(self, timeout: float) -> None:
        """Looks no more: what was not accepted by now never is."""
        self._is_closing = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout)

    def close(self) -> None:
        """After `stop`: sends what is to be answered yet."""
        with self._problems.guard("trace_control", "answering a request"):
            self._send()
            self._decline_rest()

    def _decline_rest(self) -> None:
        """Whoever asked in the last second must not wait for a job that has ended."""
        requests, plans = self._control.look()
        for plan_id in plans - self._seen_plans:
            # One that cannot be read must not keep the others from an answer.
            with self._problems.guard("trace_control", "reading a plan"):
                if self._control.read_plan(plan_id).includes(self._rank):
                    self._refuse(plan_id, "missed", "the job ended before that step")
        for ask_id in requests - plans - self._settled if self._rank == LEADER else ():
            self._refuse(ask_id, "missed", "the job ended")

    def answer(
        self, ask_id: str, status: str, message: str, path: str | None = None, steps: tuple[int, int] | None = None
    ) -> None:
        """
        `status`: done, cut, missed or failed. Written when the thread next looks: the caller may have been interrupted
        anywhere, so there is no lock in here.
        """
        self._outbox.append((ask_id, status, message, path, steps))

    def _run(self) -> None:
        if self._at_start is not None:
            with self._problems.guard("trace_start", "cleaning up"):
                self._at_start()
        while not self._is_closing:
            with self._problems.guard("trace_control", "looking for requests"):
                self.poll()
            self._wake.wait(self._poll_s)
            self._wake.clear()

    def poll(self) -> None:
        self._send()
        step = self._current_step()
        if step is not None:
            self._rate.see(time.monotonic(), step)
        requests, plans = self._control.look()
        for plan_id in sorted(plans - self._seen_plans):
            self._seen_plans.add(plan_id)
            with self._problems.guard("trace_control", "reading a plan"):
                self._follow(self._control.read_plan(plan_id))
        if self._rank == LEADER:
            self._lead(sorted(requests - plans - self._settled), step)

    def _follow(self, plan: Plan) -> None:
        if not plan.includes(self._rank):
            return
        if plan.planned_ns < self._process_began_ns:
            # Of a run that ended: its steps are not ours.
            self._refuse(plan.id, "missed", "the job was started anew")
            return
        recording = len(plan.ranks) if isinstance(plan.ranks, tuple) else self._world
        self._accept(WindowPlan(TRAIN_OVERALL, plan.first_step, plan.steps, self._warmup, plan.id, recording))

    def _lead(self, waiting: list[str], step: int | None) -> None:
        if self._want_steps is not None:
            self._want_steps(bool(waiting))
        for ask_id in waiting:
            try:
                ask = self._control.read_ask(ask_id)
            except FileNotFoundError:
                continue  # withdrawn
            except Exception as error:
                self._refuse(ask_id, "failed", f"the request cannot be read: {describe(error)}")
                continue
            age_s = (time.time_ns() - ask.asked_ns) / 1e9
            if age_s > max(EXPIRE_S, ask.wait_s):
                self._refuse(ask_id, "missed", f"asked {age_s / 60:.0f} minutes ago, nobody waits for it any more")
            elif step is not None:
                self._plan(ask, step)

    def _plan(self, ask: Ask, step: int) -> None:
        ranks = self._default_ranks if ask.ranks is None else ask.ranks
        ranks = "all" if ranks is None else ranks
        first = step + self._warmup + self._rate.steps_ahead(time.monotonic(), self._delay_s)
        wish = WindowPlan(TRAIN_OVERALL, first, ask.steps, self._warmup, ask.id)
        self._ahead = tuple(plan for plan in self._ahead if plan.end > step)
        window = replace(wish, first=max(first, self._free_from(wish, self._ahead)))
        self._ahead = (*self._ahead, window)
        for rank in ranks if isinstance(ranks, tuple) else ():
            if rank >= self._world:
                text = f"there is no such rank, the job has {self._world}"
                self._control.write_answer(ask.id, rank, "missed", text, None, None)
        plan = Plan(ask.id, window.first, ask.steps, ranks, time.time_ns())
        self._control.write_plan(plan)
        self._settled.add(ask.id)
        self._seen_plans.add(ask.id)
        self._follow(plan)

    def _refuse(self, ask_id: str, status: str, message: str) -> None:
        self._settled.add(ask_id)
        if not self._control.is_answered(ask_id, self._rank):
            self._control.write_answer(ask_id, self._rank, status, message, None, None)

    def _send(self) -> None:
        while self._outbox:
            ask_id, status, message, path, steps = self._outbox.popleft()
            self._control.write_answer(ask_id, self._rank, status, message, path, steps)


def _is_nfs(folder: Path) -> bool:
    """Whether the folder is on NFS: of all mounts above it the longest counts."""
    try:
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    except OSError:
        return False
    place = os.path.realpath(folder)
    above = [m for m in mounts if len(m) > 2 and (place + "/").startswith(m[1].rstrip("/") + "/")]
    return bool(above) and max(above, key=lambda m: len(m[1]))[2].startswith("nfs")


def _process_began_ns() -> int:
    """By the wall clock. A plan may be older than this object and yet the job's own: ranks are set up one by one."""
    now = time.time_ns()
    try:
        # Field 22, counted behind the name, which may hold anything: clock ticks from boot to start.
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        uptime_s = float(Path("/proc/uptime").read_text().split()[0])
        return now - int((uptime_s - ticks / os.sysconf("SC_CLK_TCK")) * 1e9)
    except (OSError, ValueError, IndexError):
        return now
