"""
Detaches CUPTI after our windows.

CUPTI, which records what the GPU does, stays attached after a profiler has stopped and slows every later CUDA call:
host-bound steps took 1.25 to 1.7 times as long for the rest of the job (H200, torch 2.11). Kineto detaches it if
TEARDOWN_CUPTI is 1. It reads the variable each time a profiler starts and stops, so we can set it at the first window.

Not before CUDA 12.6: there a job with CUDA graphs crashes after CUPTI was detached (pytorch#146604), and we cannot know
that a job will never capture one. docs/decisions/0021 has the details.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import MutableMapping
from dataclasses import dataclass

import torch

VARIABLE = "TEARDOWN_CUPTI"
SAFE_CUDA = (12, 6)
# Kineto detaches in two steps: a thread prepares it, and the next CUDA call completes it. These are calls of our own.
SETTLE_CALLS, SETTLE_S = 3, 0.002


@dataclass(frozen=True)
class Decision:
    detaches: bool
    why: str
    # Whether the user should know. Not if they decided it themselves.
    is_news: bool = False


def decide(cuda: str | None, given: str | None) -> Decision:
    """`cuda`: the CUDA version that torch was built with. `given`: the value of TEARDOWN_CUPTI if not set by us."""
    if given is not None:
        return Decision(given == "1", f"{VARIABLE}={given} is set")
    found = re.match(r"(\d+)\.(\d+)", cuda or "")
    if found is not None and (int(found[1]), int(found[2])) >= SAFE_CUDA:
        return Decision(True, f"CUDA {cuda}")
    return Decision(
        False,
        f"before CUDA 12.6 (this is {cuda or 'unknown'}) detaching it can crash a job that uses CUDA graphs; "
        f"set {VARIABLE}=1 if yours uses none",
        is_news=True,
    )


class CuptiTeardown:
    """One object per process, as there is one environment and one CUPTI."""

    def __init__(self, environ: MutableMapping[str, str] = os.environ) -> None:
        self._environ = environ
        # The value that we gave the variable. None: it is the job's.
        self._ours: str | None = None
        self._stream: torch.cuda.Stream | None = None
        self.decision: Decision | None = None

    def prepare(self) -> Decision:
        """Call before one of our windows with GPU activities is prepared."""
        self.decision = decide(torch.version.cuda, self._given())
        if self.decision.detaches and self._given() is None:
            self._set("1")
        return self.decision

    def skip_once(self) -> None:
        """
        Call before our profiler stops if another starts at once. CUPTI would be detached during that one, which then
        records no GPU activity or, with the Kineto of 2025 and before, crashes (kineto#1554, kineto#1169).
        """
        if self._ours is not None and self._given() is None:
            self._set("0")

    def give_back(self) -> None:
        """The job starts its own profiler, which must find the variable as the job left it."""
        if self._ours is not None and self._given() is None:
            self._environ.pop(VARIABLE, None)
        self._ours = None

    @property
    def is_in_force(self) -> bool:
        """Whether a profiler that stops now detaches CUPTI. torch may have changed the variable since `prepare`."""
        return self._environ.get(VARIABLE) == "1"

    def settle(self) -> None:
        """Completes the detaching now, and not in the job's next step or the next window."""
        if self._stream is None:
            self._stream = torch.cuda.Stream()
        for _ in range(SETTLE_CALLS):
            time.sleep(SETTLE_S)
            # A stream of our own, so that this neither waits for the job nor disturbs a graph that it captures.
            torch.cuda.Event().record(self._stream)

    def _given(self) -> str | None:
        """The value that the job or torch gave the variable."""
        value = self._environ.get(VARIABLE)
        return None if value == self._ours else value

    def _set(self, value: str) -> None:
        self._environ[VARIABLE] = self._ours = value


TEARDOWN = CuptiTeardown()
