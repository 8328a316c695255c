"""What is known about the running trial, gathered by all its parts for the result."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable

from whyslow_capture.job.where import code_place

from .spec import TrialSpec

# Longer lists help nobody.
MAX_NOTES = 20


class Trial:
    def __init__(self, spec: TrialSpec) -> None:
        self.spec = spec
        self.applied: dict[str, Counter[str]] = {}
        self.refused: dict[str, str] = {}
        self.places: dict[str, Counter[str]] = {}
        """By fix: `/path/train.py:12`, the lines of the job's own code that it changed the effect of."""
        self.had: dict[str, int] = {}
        """By fix: the number that a search begins with: what the job itself uses, or what the machine has."""
        self.most: dict[str, int] = {}
        """By fix: larger numbers cannot gain anything."""
        self.reached: Counter[str] = Counter()
        """Hosts that the job looked up or connected to."""
        self.denied: Counter[str] = Counter()
        """Paths that the job wanted to write, but may not."""
        self.seeded_by_job = False
        self.queue = 0
        """Batches that the workers of the largest DataLoader hold ready."""
        self.at_backward: list[Callable[[], None]] = []
        self.at_step_end: list[Callable[[int], None]] = []
        """Called with the number of steps done."""
        self.in_backward = False

    def apply(self, fix: str, what: str) -> None:
        """The fix has found something to change."""
        self.applied.setdefault(fix, Counter())[what] += 1
        place = code_place(sys._getframe(1))
        if place is not None:
            self.note(self.places.setdefault(fix, Counter()), "{}:{}".format(*place))

    def refuse(self, fix: str, why: str) -> None:
        """The fix cannot be applied here. Where it is applied elsewhere, this is not shown."""
        self.refused.setdefault(fix, why)

    def have(self, fix: str, number: int) -> None:
        self.had[fix] = max(self.had.get(fix, 0), number)

    def note(self, notes: Counter[str], what: str) -> None:
        if what in notes or len(notes) < MAX_NOTES:
            notes[what] += 1
