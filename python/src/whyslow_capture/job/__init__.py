"""
Where the job's time goes outside its training steps: checkpoints, evaluation, logging, compilation, garbage collection.
"""

from __future__ import annotations

import os
from contextlib import ExitStack

from ..patching import Patches
from ..problems import ProblemLog
from . import calls, evaluation, interruptions
from .clock import JobClock

__all__ = ["JobClock", "JobTimers", "timers_of_process"]


class JobTimers:
    """All that finds phases of the job, and the clock that adds them up."""

    def __init__(self, problems: ProblemLog) -> None:
        self.clock = JobClock(problems)
        self._undo = ExitStack()
        self._groups: frozenset[str] | None = None

    def install(self, groups: frozenset[str]) -> None:
        """Again with other groups if the job's own capture has others than `whyslow run`."""
        if groups == self._groups:
            return
        self._undo.close()
        self._groups = groups
        patches = Patches(self.clock.problems)
        self._undo.callback(patches.remove)
        for part in (calls, evaluation, interruptions):
            # If a version of torch does not allow one of them, the others still work.
            with self.clock.problems.guard("job-hooks", "timing the job between steps"):
                part.install(self.clock, patches, groups, self._undo)

    def remove(self) -> None:
        """Wrappers that someone else has wrapped must stay. With the clock off they only pass calls on."""
        if self._groups is None:
            return
        self._groups = None
        if not self.clock.is_stopped:
            self.clock.stop()
        self._undo.close()


class _Process:
    timers: JobTimers | None = None


def timers_of_process(problems: ProblemLog) -> JobTimers:
    """
    `whyslow run` installs them as soon as torch is imported: later, `from torch import save` would escape them. The
    capture takes them over. After it was closed, the next capture gets new ones.
    """
    timers = _Process.timers
    if timers is None or timers.clock.is_stopped:
        timers = _Process.timers = JobTimers(problems)
    return timers


def _in_forked_child() -> None:
    """A child of a process that trains does not train itself, and gets the original torch back."""
    timers = _Process.timers
    if timers is None:
        return
    if timers.clock.has_started:
        timers.clock.abandon()
        timers.remove()
    else:
        timers.clock.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_forked_child)
