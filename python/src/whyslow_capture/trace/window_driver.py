"""
Opens, advances and ends the one window that may be open.

torch's profiler belongs to a thread, so all of this happens in the thread that opened the window, where a step or a
phase begins or ends. How much it records is decided before it opens, from what the warm-up recorded.
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
from .profiler import boundary_is_safe, stop_recording_here
from .profiler_use import PROFILER_USE
from .report import WindowReport
from .schedule import WindowPlan
from .teardown import TEARDOWN
from .window import State, Window

# How long another thread of the job has to wait if it wants the profiler.
GIVE_WAY_S = 10.0
# How long the end of the job waits for the window's thread to reach the end of a step or phase.
CLOSE_S = 5.0


class Boundaries:
    """
    Boundaries of phases in a step, and the longest time between them, by the clock of the training thread (see
    `budget.py`). A watch for the recorder.
    """

    def __init__(self, step: int) -> None:
        self.step = step
        self.longest_s = 0.0
        self.phases = 0
        self._began = self._last = time.thread_time()

    def __call__(self) -> None:
        now = time.thread_time()
        self.phases += 1
        self.longest_s = max(self.longest_s, now - self._last)
        self._last = now

    @property
    def seconds(self) -> float:
        return time.thread_time() - self._began


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
        # Of the step that the window's thread is in, while a window is open or about to open.
        self._boundaries = Boundaries(-1)
        # The window's thread is inside one of these methods: a signal handler of the job may call another.
        self._is_inside = False
        # Another thread of the job took over the profiler, so we must not touch it any more.
        self.is_broken = False
        self._lost_in: int | None = None

    @property
    def plan(self) -> WindowPlan | None:
        window = self.window
        return None if window is None else window.plan

    # -- steps -------------------------------------------------------------------------------------------------------

    def observe(self, step: int, *, is_last: bool) -> None:
        """No window is open. `is_last`: one may open after this step, so its phases are timed."""
        if is_last:
            self._boundaries = Boundaries(step)
            self._set_watch(self._boundaries)
        elif self._boundaries.step >= 0:
            self._forget_step()

    def _forget_step(self) -> None:
        self._boundaries = Boundaries(-1)
        self._set_watch(None)

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
            self._boundaries()
            before = self._boundaries
            self._forget_step()
            target = self._delivery.prepare(plan, before.longest_s if before.step == step - 1 else 0.0)
            if target is not None:
                self._start(plan, target, step)
        finally:
            self._is_inside = False
        return True

    def proceed(self, step: int, another_follows: bool = False) -> None:
        """Step `step` of the window's target begins. `another_follows`: the next window opens now or soon."""
        window = self._own_window()
        if window is None or self._is_inside:
            return
        window.another_follows = another_follows
        self._is_inside = True
        try:
            self._proceed(window, step)
        except Exception as error:
            self._give_up(window, error)
        finally:
            self._is_inside = False

    def boundary(self) -> None:
        """A phase begins or ends: the window may have to end here."""
        window = self._own_window()
        if window is None or self._is_inside:
            return
        self._is_inside = True
        try:
            self._boundaries()
            self._look(window)
            if window.is_over and boundary_is_safe():
                self._finish(window)
        except Exception as error:
            self._give_up(window, error)
        finally:
            self._is_inside = False

    def _look(self, window: Window) -> None:
        """In the middle of a step."""
        budget = self._budget
        if budget is None or window.is_over or not boundary_is_safe():
            return
        if window.state is State.COUNTING and self._boundaries.seconds > budget.warm_up_s:
            budget.learn(*window.count(), is_whole_step=False)
        elif window.state is State.RECORDING:
            self._end_if(window, budget.look())

    def _proceed(self, window: Window, step: int) -> None:
        budget, last_s, phases = self._budget, self._boundaries.seconds, self._boundaries.phases
        if budget is not None and window.state is State.RECORDING and step < window.end:
            self._end_if(window, budget.look(last_s))
        if step >= window.end or window.is_over:
            if boundary_is_safe():
                self._finish(window)
        elif window.state is State.RECORDING:
            window.next_step(step)
        elif budget is not None and boundary_is_safe():
            if window.state is State.COUNTING:
                budget.learn(*window.count(), is_whole_step=True)
            if step >= window.plan.first:
                self._record(window, budget, step, int(budget.limit_s // max(last_s, 1e-6)), has_phases=phases > 0)
        # Now, so that our own work does not count.
        self._boundaries = Boundaries(step)

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
        budget = self._budget = self._new_budget(target.parent, plan)
        self._set_watch(self.boundary)
        try:
            window.warm_up(counts=step < plan.first)
            self._say_if_attached(window)
            if step >= plan.first:
                self._record(window, budget, step, plan.steps)
            self._boundaries = Boundaries(step)
        except Exception as error:
            self._give_up(window, error)

    def _say_if_attached(self, window: Window) -> None:
        decision = TEARDOWN.decision
        if window.records_gpu and decision is not None and decision.is_news:
            self._problems.warn(
                "trace_attached",
                f"the GPU profiler stays attached after profiler windows and may slow later steps: {decision.why}",
            )

    def _record(
        self, window: Window, budget: WindowBudget, step: int, fitting: int, *, has_phases: bool = True
    ) -> None:
        """`fitting`: how many steps may be recorded. If not even one, the window ends at one of its phases."""
        refusal = budget.refuse()
        if refusal is None and fitting == 0 and not has_phases:
            refusal = f"one step is too much and has no phases at which it could end: {budget.describe()}"
        if refusal is not None:
            self._cut_short(window, refusal)
            self._finish(window)
            return
        if fitting < window.plan.steps:
            self._cut_short(window, budget.describe())
            window.end = min(window.end, step + max(1, fitting))
        window.record(step, self._about(window.plan))
        budget.begin()

    def _finish(self, window: Window) -> None:
        try:
            self._set_watch(None)
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
        self._set_watch(None)
        self.window = None
        PROFILER_USE.release()
        self._delivery.fail(WindowReport(window.plan, last_step=window.last_step), why)

    # -- early ends --------------------------------------------------------------------------------------------------

    def _end_if(self, window: Window, reason: str | None) -> None:
        if reason is not None:
            self._cut_short(window, reason)
            window.is_over = True

    def _cut_short(self, window: Window, reason: str) -> None:
        if window.cut is None:
            window.cut = reason
            steps = f"steps {window.plan.first} to {window.plan.end - 1}"
            self._problems.warn("trace_cut", f"the profiler window for {steps} is cut short: {reason}")

    def _give_way(self) -> None:
        """Ends our window, because the job starts its own profiler, in this thread or another."""
        window = self.window
        if window is not None:
            window.cut, window.is_over = "the job started its own profiler", True
            window.another_follows = True
            self._problems.warn("trace_rival", "the job started its own profiler, so our window ends here")
            self._end_by(window, GIVE_WAY_S, "the job started its own profiler, and ours could not be stopped in time")

    def close(self) -> None:
        """Ends an open window: a profiler that still runs at exit crashes the process (torch 2.13, exit code 139)."""
        window = self.window
        if window is None:
            self._forget_step()
            return
        window.cut, window.is_over = window.cut or "the job ended", True
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
            stop_recording_here()
