"""Where traces go, and which leftovers there are one's own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from .. import layout
from .schedule import TRAIN_OVERALL, WindowPlan


class TracePaths(Protocol):
    def path(self, plan: WindowPlan) -> Path:
        """Of the finished trace; its suffix, `.json.gz` or `.tar.gz`, says how it is compressed."""
        ...

    def folders(self) -> Iterable[Path]:
        """That may hold what a killed process left."""
        ...

    def is_own(self, name: str) -> bool:
        """Whether a file of that name is this rank's."""
        ...


class CapturePaths:
    """As contract.md has it: OUT/traces/step_<n>/rank-<r>-coord-<a-b-c>-trace.json.gz"""

    def __init__(self, out: Path, rank: int, coordinates: Callable[[], tuple[int, ...]], suffix: str) -> None:
        self._out, self._rank, self._coordinates, self._suffix = out, rank, coordinates, suffix

    def path(self, plan: WindowPlan) -> Path:
        folder = layout.trace_dir(self._out, plan.first)
        if plan.target != TRAIN_OVERALL:
            # Its steps are numbered by themselves: another folder, or two traces would have one name.
            folder = folder.parent / re.sub(r"[^\w.-]+", "_", plan.target) / folder.name
        return folder / layout.trace_name(self._rank, self._coordinates(), self._suffix)

    def folders(self) -> Iterable[Path]:
        traces = layout.trace_dir(self._out, 0).parent
        return [place for place in (*traces.glob("*"), *traces.glob("*/*")) if place.is_dir()]

    def is_own(self, name: str) -> bool:
        return f"rank-{self._rank}-" in name
