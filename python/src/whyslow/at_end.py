"""When training ends, callbacks print the verdict and log it where the job logs. Nothing here can end the job."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from whyslow_capture import layout, process
from whyslow_capture.problems import ProblemLog

from . import loggers

if TYPE_CHECKING:
    from whyslow_capture.session import Capture

    from .reports import Report

# What a framework has opened: a name of config.LOGGERS, and the object.
Opened = Iterable[tuple[str, Any]]

# How long rank 0 waits for the last records of others, and for the command line.
RANKS_S, DIAGNOSE_S = 5.0, 60.0
POLL_S = 0.05


class AtEnd:
    """Made when training begins: some frameworks have closed their loggers when it ends."""

    def __init__(self, capture: Capture, problems: ProblemLog, opened: Opened) -> None:
        self._capture, self._problems = capture, problems
        self._found: dict[str, Any] = {}
        if self._is_wanted:
            self._find(opened)

    def report(self, step: int, opened: Opened) -> None:
        """The capture is closed. `step`: the last one."""
        if not self._is_wanted or not self._capture.files.begun:
            return
        self._find(opened)
        with self._problems.guard("verdict", "the verdict"):
            wait_for_ranks(self._capture)
            report = self._diagnose()
            if report is None:
                return
            # At once, so that it stays together in the job's log.
            sys.stderr.write(f"\n{report}\n")
            sys.stderr.flush()
            self._log(report, step)

    @property
    def _is_wanted(self) -> bool:
        return self._capture.config.verdict and process.rank() == 0

    def _find(self, opened: Opened) -> None:
        names = self._capture.config.loggers
        if names:
            with self._problems.guard("loggers", "looking for the job's loggers"):
                self._found = loggers.find(names, opened, self._found)

    def _diagnose(self) -> Report | None:
        from whyslow import WhyslowError, diagnose

        needs_page = any(name in loggers.TAKES_PAGE for name in self._found)
        try:
            return diagnose(self._capture.out, run=self._capture.run, with_page=needs_page, timeout=DIAGNOSE_S)
        except WhyslowError as error:
            self._problems.warn("verdict", f"no verdict: {error}")
            return None

    def _log(self, report: Report, step: int) -> None:
        with TemporaryDirectory(prefix="whyslow-") as folder:
            page = Path(folder) / "whyslow.html"
            for name, logger in self._found.items():
                with self._problems.guard(f"log-{name}", f"logging the verdict to {name}"):
                    if name in loggers.TAKES_PAGE and not page.exists():
                        page.write_text(report.html(), "utf-8")
                    loggers.WRITE[name](logger, report, page, step)


def wait_for_ranks(capture: Capture) -> None:
    """Until all whose files are in this folder have written their last records. Other machines may write elsewhere."""
    until = time.monotonic() + RANKS_S
    for rank in range(process.world_size()):
        path = layout.rank_file(capture.out, rank)
        while path.exists() and not _has_ended(path, capture.run) and time.monotonic() < until:
            time.sleep(POLL_S)


def _has_ended(path: Path, run: str) -> bool:
    """True also for a file of another run."""
    try:
        state: Mapping[str, Any] = json.loads(path.read_text("utf-8"))
        return bool(state["run"] != run or state["anchors"][-1]["at"] == "end")
    except (OSError, ValueError, KeyError, IndexError, TypeError):
        return False
