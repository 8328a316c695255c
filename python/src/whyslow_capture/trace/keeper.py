"""The one window that may be open: opens it, drives it, ends it, also early, and hands its trace over."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from .. import process
from ..config import TraceConfig
from ..trouble import Trouble, describe
from .budget import MB, WindowBudget
from .export import Compression, Exporter, partial_path
from .main_thread import MainThreadCall
from .profiler import boundary_is_safe, clean_after_save, stop_recording_here
from .report import WindowReport, WindowReports
from .rivals import PROFILER_USE
from .schedule import WindowPlan
from .watchdog import Watchdog
from .window import State, Window

# So long another thread of the job that wants the profiler for itself is kept waiting.
GIVE_WAY_S = 10.0
# So long the end of the job waits for the thread of an open window to reach the end of a step or phase.
CLOSE_S = 5.0


class WindowKeeper:
    def __init__(
        self,
        options: TraceConfig,
        trouble: Trouble,
        place: Callable[[WindowPlan], Path],
        about: Callable[[WindowPlan], dict[str, object]],
        set_watch: Callable[[Callable[[], None] | None], None],
        new_budget: Callable[[Path], WindowBudget],
        on_end: Callable[[WindowReport], None],
    ) -> None:
        self._options, self._trouble = options, trouble
        self._place, self._about = place, about
        self._set_watch, self._new_budget = set_watch, new_budget
        self.reports = WindowReports(on_end)
        self.exporter = Exporter(trouble)
        self._window: Window | None = None
        self._target = Path()
        self._budget: WindowBudget | None = None
        self._watchdog: Watchdog | None = None
        # This thread is within the keeper: what interrupts it must leave it alone.
        self._is_inside = False
        self._stop_between_instructions = MainThreadCall(self.boundary)
        # The profiler was lost to another thread of the job; nothing may touch it any more.
        self.is_broken = False
        self._lost_in: int | None = None

    @property
    def plan(self) -> WindowPlan | None:
        window = self._window
        return None if window is None else window.plan

    # -- from begin to end -------------------------------------------------------------------------------------------

    def open(self, plan: WindowPlan, step: int) -> bool:
        """False: try again at the next step. Otherwise it is open, or reported as not taken."""
        if not boundary_is_safe():
            if step >= plan.first:
                self._refuse(plan, "trace_unsafe", "its first step begins within a backward pass or a CUDA graph")
            return step >= plan.first
        target = self._place(plan)
        refusal = self._refusal(target)
        if refusal is not None:
            self._refuse(plan, *refusal)
            return True
        self._is_inside = True
        try:
            self._start(plan, target, step)
        finally:
            self._is_inside = False
        return True

    def proceed(self, step: int) -> None:
        """The step `step` of the window's target begins."""
        self._is_inside = True
        window = self._window
        try:
            if window is None or threading.get_ident() != window.thread:
                return
            is_over = step >= window.plan.end or window.cut is not None
            if is_over:
                if boundary_is_safe():
                    self._finish(window)
            elif window.state is State.RECORDING:
                window.next_step(step)
            elif step >= window.plan.first:
                self._record(window, step)
        except Exception as error:
            if window is not None:
                self._give_up(window, error)
        finally:
            self._is_inside = False

    def boundary(self) -> None:
        """Between steps: at the begin or end of a phase, or between any two instructions of the main thread."""
        if self._is_inside:
            return
        # Before the window is looked at: this itself may be interrupted by another call of it.
        self._is_inside = True
        try:
            window = self._window
            if window is None or window.cut is None or threading.get_ident() != window.thread:
                return
            if boundary_is_safe():
                self._finish(window)
        finally:
            self._is_inside = False

    def close(self, timeout: float | None) -> None:
        window = self._window
        if window is not None:
            window.cut = window.cut or "the job ended"
            self._end_now(window)
        self.exporter.close(timeout)

    def _end_now(self, window: Window) -> None:
        """A profiler that is still on when the process ends crashes it (torch 2.13): exit code 139."""
        if window.thread not in {thread.ident for thread in threading.enumerate()}:
            # Its thread is gone, and the recording with it; from here it may be stopped.
            self._finish(window)
            return
        until = time.monotonic() + (0 if window.thread == threading.get_ident() else CLOSE_S)
        while True:
            self.boundary()
            if self._window is not window:
                return
            if time.monotonic() >= until and window.abandon():
                self._lose(window, "it could not be stopped when the job ended")
                return
            time.sleep(0.01)

    def forget_in_child(self) -> None:
        """A fork copies the profiler as well: in a DataLoader worker it would record on and fill the memory."""
        window, self._window = self._window, None
        PROFILER_USE.release()
        if window is not None and window.is_open and window.thread == threading.get_ident():
            stop_recording_here()

    def silence(self) -> bool:
        """After a loss: torch records on in that thread, for nobody. True once that is ended."""
        if self._lost_in == threading.get_ident():
            self._lost_in = None
            stop_recording_here()
        return self._lost_in is None

    # -- inside ------------------------------------------------------------------------------------------------------

    def _start(self, plan: WindowPlan, target: Path, step: int) -> None:
        window = Window(plan, self._options, process.uses_cuda())
        if not PROFILER_USE.claim(self._give_way):
            self._refuse(plan, "trace_rival", "another profiler is in use")
            return
        self._window, self._target = window, target
        try:
            window.warm_up()
            if step >= plan.first:
                self._record(window, step)
        except Exception as error:
            self._give_up(window, error)

    def _record(self, window: Window, step: int) -> None:
        self._budget = self._new_budget(self._target.parent)
        refusal = self._budget.refuse()
        if refusal is not None:
            window.cut = refusal
            self._finish(window)
            return
        window.record(step, self._about(window.plan))
        self._budget.begin()
        self._watchdog = Watchdog(self._budget, self._trouble, self._cut_short, self._interrupt)
        self._watchdog.start()
        self._set_watch(self.boundary)

    def _finish(self, window: Window) -> None:
        """Stops it, writes the JSON, leaves the rest to the exporter. The job waits meanwhile."""
        raw = partial_path(self._target, ".json")
        was_recording = window.state is State.RECORDING
        report = WindowReport(window.plan, str(self._target), window.last_step, window.cut)
        handed_over = False
        try:
            self._unwatch()
            window.stop()
            if not was_recording:
                report.miss(window.cut or "its steps never came")
                return
            refusal = self._budget.refuse_export() if self._budget is not None else None
            if refusal is not None:
                self._trouble.warn("trace_disk", f"a trace was given up: {refusal}")
                report.fail(refusal)
                return
            raw.parent.mkdir(parents=True, exist_ok=True)
            report.raw_bytes = window.save(str(raw))
            window.release()
            report.seconds = dict(window.seconds)
            self._hand_over(raw, report)
            handed_over = True
        except Exception as error:
            self._trouble.warn("trace_export", f"writing a trace to {self._target} failed: {describe(error)}")
            report.fail(describe(error))
        finally:
            # Whatever came up, be it Ctrl-C: this window is over, and must not be stopped again.
            self._window = None
            PROFILER_USE.release()
            if not handed_over:
                window.release()
                report.seconds = dict(window.seconds)
                self._clean(raw)
                self.reports.add(report)
                self.reports.end(report)

    def _hand_over(self, raw: Path, report: WindowReport) -> None:
        def on_end(size: int, problem: str | None) -> None:
            report.bytes = size
            if problem is None:
                report.succeed()
            else:
                report.fail(problem)
            self.reports.end(report)

        self.reports.add(report)
        name = self._target.name
        archived_as = name.removesuffix(".tar.gz") + ".json" if name.endswith(".tar.gz") else None
        self.exporter.submit(Compression(raw, report.raw_bytes, self._target, archived_as, on_end))

    def _give_up(self, window: Window, error: Exception) -> None:
        self._trouble.warn("trace_window", f"a profiler window failed, training goes on: {describe(error)}")
        with self._trouble.guard("trace_window", "stopping a profiler window"):
            window.stop()
        self._drop(window, describe(error))

    def _lose(self, window: Window, why: str) -> None:
        """It is half open for ever: no other is opened, and its thread must be told to record nothing further."""
        self.is_broken, self._lost_in = True, window.thread
        self._drop(window, why)

    def _drop(self, window: Window, why: str) -> None:
        self._unwatch()
        self._window = None
        PROFILER_USE.release()
        report = WindowReport(window.plan, str(self._target), window.last_step, why)
        report.fail(why)
        self.reports.add(report)
        self.reports.end(report)

    # -- early ends --------------------------------------------------------------------------------------------------

    def _cut_short(self, reason: str) -> None:
        """From the watchdog."""
        window = self._window
        if window is not None and window.cut is None:
            window.cut = reason
            steps = f"steps {window.plan.first} to {window.plan.end - 1}"
            self._trouble.warn("trace_cut", f"the profiler window over {steps} is cut short: {reason}")

    def _interrupt(self) -> None:
        """From the watchdog, when neither a step nor a phase ended."""
        window = self._window
        if window is not None and window.thread == threading.main_thread().ident:
            self._stop_between_instructions.ask()

    def _give_way(self) -> None:
        """The job starts a profiler of its own, in this thread or another. It must find none running."""
        window = self._window
        if window is None:
            return
        window.cut = "the job started a profiler of its own"
        self._trouble.warn("trace_rival", "the job started a profiler of its own; our window ends here")
        self.boundary()
        until = time.monotonic() + (0 if threading.get_ident() == window.thread else GIVE_WAY_S)
        while self._window is window:
            if time.monotonic() >= until and window.abandon():
                self._lose(window, "the job started a profiler of its own and ours could not be stopped")
                return
            self._interrupt()
            time.sleep(0.01)

    # -- small things ------------------------------------------------------------------------------------------------

    def _refusal(self, target: Path) -> tuple[str, str] | None:
        """(code, reason) why no window can be opened now."""
        if PROFILER_USE.is_taken:
            return "trace_rival", "the job uses torch's profiler itself, and there is only one"
        pending = self.exporter.pending_bytes
        if pending > self._options.budget_mb * MB // 2:
            return "trace_pending", f"{pending // MB} MB of earlier traces are still being compressed"
        refusal = self._new_budget(target.parent).refuse()
        if refusal is not None:
            return "trace_budget", refusal
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            return "trace_folder", describe(error)
        if not os.access(target.parent, os.W_OK):
            return "trace_folder", f"{target.parent} cannot be written to"
        return None

    def _refuse(self, plan: WindowPlan, code: str, reason: str) -> None:
        self._trouble.warn(code, f"no profiler window over steps {plan.first} to {plan.end - 1}: {reason}")
        report = WindowReport(plan, None, None, None)
        report.fail(reason)
        self.reports.add(report)
        self.reports.end(report)

    def _unwatch(self) -> None:
        self._set_watch(None)
        watchdog, self._watchdog = self._watchdog, None
        if watchdog is not None:
            watchdog.stop()

    def _clean(self, raw: Path) -> None:
        clean_after_save(str(raw))
        with suppress(OSError):
            raw.parent.rmdir()  # goes only if it is empty: then this window made it
