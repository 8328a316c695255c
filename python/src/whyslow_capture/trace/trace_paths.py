"""Where traces are written, and which leftover files belong to this rank."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from .. import layout
from .schedule import TRAIN_OVERALL, WindowPlan


class TracePaths:
    """OUT/traces/step_<n>/rank-<r>-coord-<a-b-c>-trace.json.gz. Drop-ins for other profilers have their own."""

    def __init__(
        self,
        out: Path,
        rank: int,
        coordinates: Callable[[], tuple[int, ...]],
        suffix: str,
        process: Callable[[], str] = lambda: "",
    ) -> None:
        """`process` returns a name that tells processes of the same rank apart, or nothing."""
        self._out, self._rank, self._coordinates, self._suffix = out, rank, coordinates, suffix
        self._process = process

    def path(self, plan: WindowPlan) -> Path:
        """Of the finished trace. Its suffix, `.json.gz` or `.tar.gz`, selects the compression."""
        folder = layout.trace_dir(self._out, plan.first)
        if plan.target != TRAIN_OVERALL:
            # Targets count their own steps, so each needs its own folder, or two traces could have the same name.
            folder = folder.parent / re.sub(r"[^\w.-]+", "_", plan.target) / folder.name
        if self._process():
            folder = folder.parent / self._process() / folder.name
        return folder / layout.trace_name(self._rank, self._coordinates(), self._suffix)

    def folders(self) -> Iterable[Path]:
        """Those that may hold leftovers of a killed process."""
        traces = layout.trace_dir(self._out, 0).parent
        below = (*traces.glob("*"), *traces.glob("*/*"), *traces.glob("*/*/*"))
        return [folder for folder in below if folder.is_dir()]

    def is_own(self, name: str) -> bool:
        """Whether a file with this name belongs to this rank."""
        return f"rank-{self._rank}-" in name
