"""Checks an open window's budget on a thread of its own, since a step may take an hour."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ..problems import ProblemLog
from .budget import Verdict, WindowBudget

POLL_S = 0.2
# During warm-up, often a single step, poll this much faster to see its peak memory.
LEARN_FASTER = 10
# How long to wait for the next boundary of a step or phase, where stopping is cheaper than in between.
PATIENCE_S = 1.0


class Watchdog:
    """
    Calls `on_verdict` once when the window must end. If no boundary follows, calls `interrupt` again and again until
    `stop`. Before `judge` it only learns how much memory the job uses without a recording.
    """

    def __init__(
        self,
        budget: WindowBudget,
        problems: ProblemLog,
        on_verdict: Callable[[str], None],
        interrupt: Callable[[], None],
        poll_s: float = POLL_S,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._budget, self._problems = budget, problems
        self._on_verdict, self._interrupt = on_verdict, interrupt
        self._poll_s, self._patience_s = poll_s, patience_s
        self._is_over = threading.Event()
        self._judges = False
        self._thread = threading.Thread(target=self._run, name="whyslow-watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def judge(self) -> None:
        """Recording has begun: check the budget from now on."""
        self._judges = True

    def stop(self) -> None:
        self._is_over.set()

    def _run(self) -> None:
        with self._problems.guard("trace_watch", "watching a profiler window"):
            verdict = self._wait_for_verdict()
            if verdict is None:
                return
            self._on_verdict(verdict.reason)
            patience = 0.0 if verdict.is_critical else self._patience_s
            until = time.monotonic() + patience
            while not self._is_over.wait(min(self._poll_s, max(0.0, until - time.monotonic()) or self._poll_s)):
                if time.monotonic() >= until:
                    self._interrupt()

    def _wait_for_verdict(self) -> Verdict | None:
        while not self._is_over.wait(self._poll_s if self._judges else self._poll_s / LEARN_FASTER):
            if not self._judges:
                self._budget.learn()
                continue
            verdict = self._budget.look()
            if verdict is not None:
                return verdict
        return None
