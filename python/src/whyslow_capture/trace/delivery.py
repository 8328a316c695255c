"""Turns a window into a trace file: stops it and saves its JSON while the job waits, then queues the compression."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ..own_files import make_folders, partial_path
from ..problems import ProblemLog, describe
from .budget import MB, WindowBudget
from .export import Exporter, clean_after_save
from .profiler_use import PROFILER_USE
from .report import WindowReport, WindowReports
from .schedule import WindowPlan
from .window import State, Window


class Delivery:
    def __init__(
        self,
        problems: ProblemLog,
        path_of: Callable[[WindowPlan], Path],
        new_budget: Callable[[Path, WindowPlan], WindowBudget],
        max_pending: int,
        on_end: Callable[[WindowReport], None],
    ) -> None:
        """`max_pending`: a window only opens if at most this many MB of raw traces wait for compression."""
        self._problems, self._path_of, self._new_budget = problems, path_of, new_budget
        self._max_pending = max_pending
        self.reports = WindowReports(on_end)
        self.exporter = Exporter(problems, self.reports)
        # Of the last window that ended.
        self.last_report: WindowReport | None = None

    def prepare(self, plan: WindowPlan, longest_gap_s: float) -> Path | None:
        """
        Returns the path of the trace. If no window can open now, reports why and returns None. `longest_gap_s`: see
        `WindowBudget.refuse`.
        """
        target = self._path_of(plan)
        refusal = self._refusal(plan, target, longest_gap_s)
        if refusal is None:
            return target
        self.refuse(plan, *refusal)
        return None

    def refuse(self, plan: WindowPlan, code: str, reason: str) -> None:
        self._problems.warn(code, f"no profiler window for steps {plan.first} to {plan.end - 1}: {reason}")
        self.fail(WindowReport(plan), reason)

    def fail(self, report: WindowReport, reason: str) -> None:
        report.end("failed", reason)
        self.reports.end(report)

    def finish(self, window: Window, target: Path, budget: WindowBudget | None) -> None:
        """
        Stops the window and writes its JSON while the job waits. Only lets through what ends the job, such as Ctrl-C.
        """
        raw = partial_path(target, ".json")
        report = self.last_report = WindowReport(window.plan, str(target), window.last_step, window.cut)
        is_saved = False
        try:
            is_saved = self._save(window, raw, budget, report)
        except Exception as error:
            self._problems.warn("trace_export", f"writing a trace to {target} failed: {describe(error)}")
            report.end("failed", describe(error))
        finally:
            report.detached, report.seconds = window.detached, dict(window.seconds)
            if is_saved:
                self.reports.add(report)
                self.exporter.submit(raw, target, report)
            else:
                clean_after_save(raw)
                with suppress(OSError):
                    target.parent.rmdir()  # fails unless it is empty
            try:
                window.release()
                with self._problems.guard("trace_detach", "detaching the profiler from the GPU"):
                    window.detach()
            finally:
                report.seconds = dict(window.seconds)
                if not is_saved:
                    self.reports.end(report)

    def _save(self, window: Window, raw: Path, budget: WindowBudget | None, report: WindowReport) -> bool:
        was_recording = window.state is State.RECORDING
        window.stop()
        if not was_recording:
            report.end("missed", window.cut or "the job did not reach its steps")
            return False
        refusal = None if budget is None else budget.refuse_export()
        if refusal is not None:
            self._problems.warn("trace_disk", f"a trace was not written: {refusal}")
            report.end("failed", refusal)
            return False
        make_folders(raw.parent)
        report.raw_bytes = window.save(str(raw))
        window.release()
        return True

    def _refusal(self, plan: WindowPlan, target: Path, longest_gap_s: float) -> tuple[str, str] | None:
        """(code, reason) if no window can open now."""
        if PROFILER_USE.is_taken:
            return "trace_rival", "the job itself is using torch's profiler, and only one can run at a time"
        pending = self.exporter.pending_bytes // MB
        if pending > self._max_pending:
            return "trace_pending", f"{pending} MB of earlier traces still wait for compression"
        refusal = self._new_budget(target.parent, plan).refuse(longest_gap_s)
        if refusal is not None:
            return "trace_budget", refusal
        try:
            make_folders(target.parent)
        except OSError as error:
            return "trace_folder", describe(error)
        if not os.access(target.parent, os.W_OK):
            return "trace_folder", f"{target.parent} is not writable"
        return None
