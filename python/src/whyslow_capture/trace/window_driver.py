"""
Opens, advances and ends the one window that may be open, early if necessary.

torch's profiler belongs to a thread, so all of this happens in the thread that opened the window, at one of three
points: the end of a step, the begin or end of a phase, or, in a step that does not end, between two bytecode
instructions. The last is only possible in the main thread. A training loop in another thread is only cut at its phases
and steps.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from .. import process
from ..config import TraceConfig
from ..problems import ProblemLog, describe
from .budget import WindowBudget
from .delivery import Delivery
from .main_thread import MainThreadCall
from .profiler import boundary_is_safe, stop_recording_here
from .profiler_use import PROFILER_USE
from .schedule import WindowPlan
from .teardown import TEARDOWN
from .watchdog import Watchdog
from .window import State, Window

# How long another thread of the job has to wait if it wants the profiler.
GIVE_WAY_S = 10.0
# How long the end of the job waits for the window's thread to reach the end of a step or phase.
CLOSE_S = 5.0


class WindowDriver:
    def __init__(
        self,
        options: TraceConfig,
        problems: ProblemLog,
        delivery: Delivery,
        about: Callable[[WindowPlan], dict[str, object]],
        set_watch: Callable[[Callable[[], None] | None], None],
        new_budget: Callable[[Path, WindowPlan], WindowBudget],
    ) -> None:
        self._options, self._problems, self._delivery = options, problems, delivery
        self._about, self._set_watch, self._new_budget = about, set_watch, new_budget
        self.window: Window | None = None
        self._target = Path()
        self._budget: WindowBudget | None = None
        self._watchdog: Watchdog | None = None
        # The window's thread is inside one of these methods, so an interrupting call must do nothing.
        self._is_inside = False
        self._main_thread_call: MainThreadCall | None = None
        # Another thread of the job took over the profiler, so we must not touch it any more.
        self.is_broken = False
        self._lost_in: int | None = None

    @property
    def plan(self) -> WindowPlan | None:
        window = self.window
        return None if window is None else window.plan

    # -- steps -------------------------------------------------------------------------------------------------------

    def open(self, plan: WindowPlan, step: int) -> bool:
        """False: try again at the next step. True: the window is open, or was refused and reported."""
        if not boundary_is_safe():
            if step >= plan.first:
                self._delivery.refuse(
                    plan, "trace_unsafe", "it would start inside a backward pass, a CUDA graph or a compiled region"
                )
            return step >= plan.first
        self._is_inside = True
        try:
            target = self._delivery.prepare(plan)
            if target is not None:
                self._start(plan, target, step)
        finally:
            self._is_inside = False
        return True

    def proceed(self, step: int, another_follows: bool = False) -> None:
        """Step `step` of the window's target begins. `another_follows`: the next window opens now or soon."""
        window = self._own_window()
        if window is None:
            return
        window.another_follows = another_follows
        self._is_inside = True
        try:
            if self.window is window:  # an interrupt has not ended it meanwhile
                self._proceed(window, step)
        except Exception as error:
            self._give_up(window, error)
        finally:
            self._is_inside = False

    def boundary(self) -> None:
        """Ends a window that was cut, if that is safe here. May interrupt anything, including itself."""
        window = self._own_window()
        if window is None or window.cut is None or self._is_inside:
            return
        self._is_inside = True
        try:
            if self.window is window and window.may_stop_here and boundary_is_safe():
                self._finish(window)
        finally:
            self._is_inside = False

    def _proceed(self, window: Window, step: int) -> None:
        if step >= window.plan.end or window.cut is not None:
            if boundary_is_safe():
                self._finish(window)
        elif window.state is State.RECORDING:
            window.next_step(step)
            if self._budget is not None:
                self._budget.next_step()
        elif step >= window.plan.first:
            self._record(window, step)

    def _own_window(self) -> Window | None:
        window = self.window
        return window if window is not None and window.thread == threading.get_ident() else None

    # -- begin and end -----------------------------------------------------------------------------------------------

    def _start(self, plan: WindowPlan, target: Path, step: int) -> None:
        window = Window(plan, self._options, process.uses_cuda())
        if not PROFILER_USE.claim(self._give_way):
            self._delivery.refuse(plan, "trace_rival", "another profiler is running")
            return
        self.window, self._target = window, target
        self._budget = self._new_budget(target.parent, plan)
        self._watchdog = Watchdog(
            self._budget,
            self._problems,
            on_verdict=lambda reason: self._cut_short(window, reason),
            interrupt=lambda: self._interrupt(window),
        )
        try:
            window.warm_up()
            self._say_if_attached(window)
            self._watchdog.start()
            if step >= plan.first:
                self._record(window, step)
        except Exception as error:
            self._give_up(window, error)

    def _say_if_attached(self, window: Window) -> None:
        decision = TEARDOWN.decision
        if window.records_gpu and decision is not None and decision.is_news:
            self._problems.warn(
                "trace_attached",
                f"the GPU profiler stays attached after profiler windows and may slow later steps: {decision.why}",
            )

    def _record(self, window: Window, step: int) -> None:
        budget, watchdog = self._budget, self._watchdog
        if budget is None or watchdog is None:
            return
        refusal = budget.refuse()
        if refusal is not None:
            self._cut_short(window, refusal)
            self._finish(window)
            return
        window.record(step, self._about(window.plan))
        budget.begin()
        watchdog.judge()
        self._set_watch(self.boundary)

    def _finish(self, window: Window) -> None:
        try:
            self._unwatch()
            self._delivery.finish(window, self._target, self._budget)
        finally:
            # Whatever happened, even Ctrl-C: this window is over and must not be stopped again.
            self.window = None
            PROFILER_USE.release()

    def _give_up(self, window: Window, error: Exception) -> None:
        self._problems.warn("trace_window", f"a profiler window failed, training goes on: {describe(error)}")
        with self._problems.guard("trace_window", "stopping a profiler window"):
            window.stop()
        self._drop(window, describe(error))

    def _drop(self, window: Window, why: str) -> None:
        self._unwatch()
        self.window = None
        PROFILER_USE.release()
        self._delivery.report_failure(window.plan, window.last_step, why)

    def _unwatch(self) -> None:
        self._set_watch(None)
        watchdog, self._watchdog = self._watchdog, None
        if watchdog is not None:
            watchdog.stop()

    # -- early ends --------------------------------------------------------------------------------------------------

    def _cut_short(self, window: Window, reason: str) -> None:
        """Also called by the watchdog thread."""
        if window.cut is None:
            window.cut = reason
            steps = f"steps {window.plan.first} to {window.plan.end - 1}"
            self._problems.warn("trace_cut", f"the profiler window for {steps} is cut short: {reason}")

    def _interrupt(self, window: Window) -> None:
        """Called by other threads if neither a step nor a phase has ended."""
        if self.window is window and window.thread == threading.main_thread().ident:
            if self._main_thread_call is None:
                self._main_thread_call = MainThreadCall(self.boundary)
            self._main_thread_call.request()

    def _give_way(self) -> None:
        """Ends our window, because the job starts its own profiler, in this thread or another."""
        window = self.window
        if window is not None:
            window.cut = "the job started its own profiler"
            window.another_follows = True
            self._problems.warn("trace_rival", "the job started its own profiler, so our window ends here")
            self._end_by(window, GIVE_WAY_S, "the job started its own profiler, and ours could not be stopped in time")

    def close(self) -> None:
        """Ends an open window: a profiler that still runs at exit crashes the process (torch 2.13, exit code 139)."""
        window = self.window
        if window is None:
            return
        window.cut = window.cut or "the job ended"
        if window.thread not in {thread.ident for thread in threading.enumerate()}:
            self._finish(window)  # its thread has ended and the recording is lost, so it is safe to stop it here
        else:
            self._end_by(window, CLOSE_S, "the window could not be stopped when the job ended")

    def _end_by(self, window: Window, patience_s: float, otherwise: str) -> None:
        """Ends the window, or waits for its thread to end it. Abandons it after `patience_s`."""
        until = time.monotonic() + (0 if window.thread == threading.get_ident() else patience_s)
        while True:
            self.boundary()
            if self.window is not window:
                return
            if time.monotonic() >= until and window.abandon():
                # The profiler is left half open. No other window opens, and its thread must stop recording.
                self.is_broken, self._lost_in = True, window.thread
                self._drop(window, otherwise)
                return
            self._interrupt(window)
            time.sleep(0.01)

    def silence(self) -> bool:
        """Stops the useless recording in the thread of an abandoned window. True once that is done."""
        if self._lost_in == threading.get_ident():
            self._lost_in = None
            stop_recording_here()
        return self._lost_in is None

    def forget_in_child(self) -> None:
        """A fork copies the profiler too. In a DataLoader worker it would go on recording and fill the memory."""
        window, self.window = self.window, None
        PROFILER_USE.release()
        if window is not None and window.is_open and window.thread == threading.get_ident():
            window.forget_ranges()
            stop_recording_here()
