"""The outcome of each window, for the rank's manifest and for whoever requested it."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from .schedule import WindowPlan

# A long job has many windows. The manifest shows the newest.
KEPT = 50


@dataclass(eq=False)
class WindowReport:
    plan: WindowPlan
    path: str | None = None
    last_step: int | None = None
    cut: str | None = None
    status: str = "pending"
    message: str = ""
    raw_bytes: int = 0
    bytes: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    # Whether nothing of the profiler stays attached to the GPU. None: it did not record the GPU, or never stopped.
    detached: bool | None = None
    # What the steps after it show (see slowdown.py).
    afterwards: dict[str, object] = field(default_factory=dict)

    def end(self, status: str, why: str) -> None:
        """It has no trace: "failed" or "missed"."""
        self.status, self.message, self.path = status, why, None

    def as_json(self) -> dict[str, object]:
        return {
            "target": self.plan.target,
            "first_step": self.plan.first,
            "last_step": self.last_step,
            "status": self.status,
            "path": self.path,
            "message": self.message,
            "raw_bytes": self.raw_bytes,
            "bytes": self.bytes,
            "seconds_blocked": {doing: round(seconds, 4) for doing, seconds in self.seconds.items()},
            "detached": self.detached,
            "afterwards": dict(self.afterwards),
        }


class WindowReports:
    def __init__(self, on_end: Callable[[WindowReport], None]) -> None:
        self._on_end = on_end
        # Reentrant: the end of a window may interrupt the thread that holds it, and reports too.
        self._lock = threading.RLock()
        self._newest: deque[WindowReport] = deque(maxlen=KEPT)
        self._counts: Counter[str] = Counter()
        self._seconds = 0.0

    def __len__(self) -> int:
        return len(self._newest)

    def add(self, report: WindowReport) -> None:
        with self._lock:
            self._newest.append(report)

    def end(self, report: WindowReport) -> None:
        with self._lock:
            if report not in self._newest:
                self._newest.append(report)
            self._counts[report.status] += 1
            self._seconds += sum(report.seconds.values())
        self._on_end(report)

    def summary(self) -> dict[str, object]:
        with self._lock:
            return {
                "counts": dict(self._counts),
                "seconds_blocked": round(self._seconds, 4),
                "windows": [report.as_json() for report in self._newest],
            }
