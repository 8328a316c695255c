"""The trace tier of one process: scheduled and requested windows over training steps and other targets."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from .. import layout
from ..alerts import Alerts
from ..config import CaptureConfig
from ..problems import ProblemLog, describe
from .budget import WindowBudget, ranks_sharing_host
from .control import Answer
from .delivery import Delivery
from .early_start import EarlyStart, may_start_early, no_window
from .export import clean_stale
from .profiler_use import PROFILER_USE
from .report import WindowReport
from .requests import Requests
from .schedule import NEVER, TRAIN_OVERALL, Schedule, WindowPlan, WindowQueue
from .slowdown import SlowdownCheck
from .teardown import TEARDOWN
from .trace_paths import TracePaths
from .window_driver import WindowDriver

# If the next window warms up within this many steps, the profiler stays attached in between.
SOON = 10
# Iterations to wait before a window, so that its steps are usual ones.
SETTLED = 2
# With more optimizer steps than this, one iteration is enough for a window.
LONG_ITERATION = 16

SetWatch = Callable[[Callable[[], None] | None], None]


class TraceTier:
    """
    Call `begin_step` when a training step begins; steps before `quiet_until` may be skipped. No exception in here
    reaches the caller.
    """

    def __init__(
        self,
        config: CaptureConfig,
        rank: int,
        world: int,
        out: Path,
        problems: ProblemLog,
        *,
        coordinates: Callable[[], tuple[int, ...]] = tuple,
        recorder_watch_setter: SetWatch = lambda _: None,
        current_step: Callable[[], int | None] | None = None,
        process_name: Callable[[], str] = lambda: "",
        is_second: Callable[[], bool] = lambda: False,
        run: Callable[[], str | None] = lambda: None,
        paths: TracePaths | None = None,
        on_demand: bool = True,
        new_budget: Callable[[Path, WindowPlan], WindowBudget] | None = None,
        poll_s: float | None = None,
    ) -> None:
        """
        `current_step` returns the current step, on any thread; without it, the last that began here. `process_name` is
        not empty if another training of the same rank writes or wrote to `out`; `is_second` if it still does. `run` is
        the name of the run.
        """
        self._run = run
        self._config, self._options = config, config.trace
        self._rank, self._world, self._out, self._problems = rank, world, out, problems
        self._coordinates = coordinates
        self._began = time.time()
        # No more windows: the tier is closed, this is a forked child, or the profiler was lost.
        self._is_off = False
        self._is_closed = False
        self._has_schedule = self._options.period > 0 and (self._options.ranks is None or rank in self._options.ranks)
        self._step: int | None = None
        self._current_step = current_step or (lambda: self._step)
        # Before this step begin_step has nothing to do. The session checks it before calling.
        self.quiet_until = 0
        self._overall = WindowQueue(self._schedule_of(TRAIN_OVERALL))
        self._early = EarlyStart() if self._has_schedule and may_start_early(config, world) else None
        self._queues: dict[str, WindowQueue] = {}
        self._callbacks: dict[str, Callable[[], None]] = {}
        self._inbox: deque[WindowPlan] = deque()
        self._paths = paths or TracePaths(out, rank, coordinates, f".{self._options.format}", process_name)
        budget_for = new_budget or self._new_budget
        self._delivery = Delivery(problems, self._paths.path, budget_for, self._options.budget_mb // 2, self._on_end)
        self._driver = WindowDriver(
            self._options, problems, self._delivery, self._about, recorder_watch_setter, budget_for
        )
        self._slowdown = SlowdownCheck(problems, lambda: self._delivery.exporter.pending_bytes > 0)
        if self._has_schedule:
            PROFILER_USE.install(problems)
        self._requests: Requests | None = None
        if on_demand:
            self._requests = Requests(
                layout.control_dir(out),
                rank,
                world,
                self._options.ranks,
                self._options.warmup,
                current_step=self._current_step,
                accept=self._accept,
                free_from=self._free_from,
                problems=problems,
                is_second=is_second,
                at_start=self._clean_up,
                poll_s=poll_s,
                pass_on=Alerts(problems).send,
            )
            self._requests.start()
        elif self._has_schedule:
            self._clean_up()

    # -- for the session ---------------------------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """A profiler is running, so steps take longer than usual."""
        return self._driver.window is not None

    def begin_step(self, step: int) -> None:
        self._step = step
        if step >= self.quiet_until:
            self._start_early(step)
            with self._problems.guard("trace_check", "comparing steps before and after a window"):
                self._slowdown.begin_step(step)
            self._advance(self._overall, step)
            self._slowdown.step_begun(step)

    def iteration_changed(self, step: int, rounds: int) -> None:
        """
        From `step` on, a step is an iteration of `rounds` optimizer steps. A single window shall cover whole ones, even
        if one was recorded before.
        """
        if not (self._has_schedule and self._options.is_single_window) or self._driver.is_broken:
            return
        with self._problems.guard("trace", "planning a window again"):
            open_plan = self._driver.plan
            first = max(step + SETTLED, 0 if open_plan is None else open_plan.end + 1)
            self._overall.begin_again_at(first, active=1 if rounds > LONG_ITERATION else self._options.active)
            self._early = None
            self.quiet_until = 0

    def step_callback(self, target: str) -> Callable[[], None] | None:
        """A function to call at the end of each step of `target`, counted from 0. None if it is not traced here."""
        if self._is_off or not self._has_schedule or target == TRAIN_OVERALL or target not in self._options.target:
            return None
        callback = self._callbacks.get(target)
        if callback is None:
            callback = self._callbacks[target] = self._new_callback(target)
        return callback

    def close(self, timeout: float | None = 60.0) -> None:
        """Ends an open window, waits for the compression of traces, answers open requests. May be called twice."""
        if self._is_closed:
            return
        self._is_closed = True
        self._turn_off()
        with self._problems.guard("trace_close", "closing the trace tier"):
            self._driver.close()
            self._say_if_none()
            self._delivery.exporter.close(timeout)
            self._slowdown.close()
        PROFILER_USE.remove()
        TEARDOWN.give_back()
        if self._requests is not None:
            with self._problems.guard("trace_close", "closing the trace tier"):
                # First, because a plan that arrives later would never be answered.
                self._requests.stop(2.0)
                for plan in (*self._overall.drop_all(), *self._inbox):
                    self._answer_missed(plan, "the job ended before that step")
                self._requests.close()

    def summary(self) -> dict[str, object]:
        decision = TEARDOWN.decision
        teardown = None if decision is None else {"detaches": decision.detaches, "why": decision.why}
        return {"teardown": teardown, **self._delivery.reports.summary()}

    def after_fork_in_child(self) -> None:
        self._is_closed = True
        PROFILER_USE.remove()
        self._driver.forget_in_child()
        self._turn_off()

    # -- steps -------------------------------------------------------------------------------------------------------

    def _advance(self, queue: WindowQueue, step: int) -> None:
        try:
            if self._is_off:
                self._driver.boundary()  # close() may be waiting in another thread
            else:
                self._take_inbox()
                self._drive(queue, step)
        except Exception as error:
            self._problems.warn("trace", f"the trace tier failed, training goes on: {describe(error)}")
        finally:
            self._set_quiet(queue, step)

    def _drive(self, queue: WindowQueue, step: int) -> None:
        driver = self._driver
        if driver.is_broken:
            if driver.silence():
                self._turn_off()
            return
        open_plan = driver.plan
        if open_plan is not None and open_plan.target == queue.target:
            driver.proceed(step, another_follows=queue.warms_up_within(step, SOON))
        for late in queue.drop_late(step):
            self._answer_missed(late, f"step {late.first} had already begun when this rank saw the plan")
        if driver.plan is None and self._slowdown.is_open:
            self._slowdown.window_ended(self._delivery.last_report)
        due = queue.due(step)
        if due is None:
            if driver.plan is None:
                is_early = queue is self._overall and self._early is not None
                driver.observe(step, is_last=is_early or queue.due(step + 1) is not None)
            return
        if driver.plan is None:
            if driver.open(due, step):
                queue.drop(due)
            if driver.plan is not None:
                self._slowdown.window_opens()
        elif step >= due.first:
            # torch has only one profiler. The open window wins, and this one waits for its next period.
            queue.drop(due)
            self._problems.count("trace_collision")
            self._answer_missed(due, f"a window for {driver.plan.target} was open")

    def _set_quiet(self, queue: WindowQueue, step: int) -> None:
        open_plan = self._driver.plan
        is_open = open_plan is not None and open_plan.target == queue.target
        if self._is_off:
            queue.quiet_until = 0 if is_open else NEVER
        elif is_open or self._driver.is_broken:
            queue.quiet_until = 0
        else:
            queue.quiet_until = queue.next_event(step)
            if queue is self._overall:
                queue.quiet_until = self._slowdown.wanted_at(step, queue.quiet_until)
        if queue is self._overall:
            self.quiet_until = 0 if self._early is not None and not self._is_off else queue.quiet_until
            if self._inbox and not self._is_off:  # arrived meanwhile
                self.quiet_until = 0
        elif open_plan is not None:
            self.quiet_until = 0  # the session must notice that steps are disturbed

    def _new_callback(self, target: str) -> Callable[[], None]:
        queue = self._queues[target] = WindowQueue(self._schedule_of(target))
        self._advance(queue, 0)

        def end_of_step() -> None:
            queue.step += 1
            if queue.step >= queue.quiet_until:
                self._advance(queue, queue.step)

        return end_of_step

    def _schedule_of(self, target: str) -> Schedule:
        options, config = self._options, self._config
        period = options.period if self._has_schedule and target in options.target else 0
        is_overall = target == TRAIN_OVERALL
        return Schedule(
            target,
            period,
            options.warmup,
            options.active,
            options.repeat,
            # start_step and end_step count training steps.
            start=config.start_step if is_overall else 0,
            last=config.end_step if is_overall else None,
        )

    def _start_early(self, step: int) -> None:
        if self._early is None or self._driver.plan is not None:
            return
        is_early = self._early.is_due(step)
        planned = self._overall.due(step)
        if planned is None and (self._overall.has_requests or not is_early):
            return
        if planned is None or planned.request is None:
            self._overall.begin_schedule_at(step, self._early.window_steps(self._options.active))
        self._early = None

    def _say_if_none(self) -> None:
        """The user asked for a trace, and should not have to look for it."""
        steps = self._current_step()
        if steps and self._has_schedule and TRAIN_OVERALL in self._options.target and not self._delivery.reports:
            self._problems.say(no_window(self._options, steps))

    def _turn_off(self) -> None:
        self._is_off = True
        for queue in (self._overall, *self._queues.values()):
            self._set_quiet(queue, 0)

    def _new_budget(self, folder: Path, plan: WindowPlan) -> WindowBudget:
        configured = self._world if self._options.ranks is None else len(self._options.ranks)
        return WindowBudget(self._options, folder, ranks_sharing_host(plan.recording_ranks or configured))

    # -- on demand ---------------------------------------------------------------------------------------------------

    def _accept(self, plan: WindowPlan) -> None:
        """Called by the thread that reads requests."""
        self._inbox.append(plan)
        self.quiet_until = 0

    def _take_inbox(self) -> None:
        if self._inbox:
            PROFILER_USE.install(self._problems)
        while self._inbox:
            self._overall.add(self._inbox.popleft())

    def _free_from(self, wanted: WindowPlan, others: tuple[WindowPlan, ...]) -> int:
        now = self._driver.plan
        open_plans = (now,) if now is not None and now.target == TRAIN_OVERALL else ()
        return self._overall.free_from(wanted, (*others, *open_plans))

    def _answer_missed(self, plan: WindowPlan, why: str) -> None:
        if plan.request is not None and self._requests is not None:
            self._requests.answer(Answer(plan.request, "missed", why))

    def _on_end(self, report: WindowReport) -> None:
        request = report.plan.request
        if request is not None and self._requests is not None:
            first, last = report.plan.first, report.last_step
            steps = (None, None) if last is None else (first, last)
            self._requests.answer(Answer(request, report.status, report.message, report.path, *steps))

    def _about(self, plan: WindowPlan) -> dict[str, object]:
        return {
            "run": self._run(),
            "rank": self._rank,
            "world_size": self._world,
            "coordinates": list(self._coordinates()),
            "target": plan.target,
            "first_step": plan.first,
            "steps": plan.steps,
        }

    def _clean_up(self) -> None:
        removed = clean_stale(self._paths.folders(), self._paths.is_own, self._began)
        if removed:
            self._problems.count("trace_stale_files", removed)
