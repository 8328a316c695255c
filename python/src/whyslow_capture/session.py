"""One capture in one process: connects steps, phases, profiler windows and files."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from time import perf_counter_ns
from typing import TYPE_CHECKING

from . import layout, process
from .config import CaptureConfig
from .counts import ParameterTypes, SmallCollectives
from .cpu_use import CpuUse
from .events.budget import DENSE_STEPS, OverheadBudget
from .events.recorder import Recorder
from .files import RunFiles
from .handle import Batch, CaptureHandle
from .job import JobTimers, timers_of_process
from .loader_watch import LoaderWatch
from .memory import watch_of_process
from .messages import Messages
from .phases import phase_and_lap
from .problems import ProblemLog, describe
from .run_name import run_id
from .stacks import StackSampler
from .stuck import StuckWatch
from .trace.mesh import Mesh, coordinates_of, mesh_of

if TYPE_CHECKING:
    from .hooks import InstalledHooks
    from .trace.tier import TraceTier

# How long close() waits for traces that are being compressed.
TRACE_S = 120.0


class Capture(CaptureHandle):
    """A capture that measures. `CaptureHandle` documents the public methods."""

    def __init__(self, config: CaptureConfig, problems: ProblemLog | None = None) -> None:
        self.config = config
        self.out = Path(config.out).expanduser().absolute()
        self.run = run_id(config)
        self.rank = process.rank()
        self.problems = problems or ProblemLog()
        self.budget = OverheadBudget(config.record_every_n_steps, config.max_overhead, spread=config.spread_steps)
        self.recorder = Recorder(
            self.budget,
            self.problems,
            first_step=config.resume_step,
            start=config.start_step,
            end=config.end_step,
        )
        self.loaders = LoaderWatch()
        self.parameters = ParameterTypes()
        self.collectives = SmallCollectives()
        self.messages = Messages()
        self.job: JobTimers = timers_of_process(self.problems)
        self.job_clock = self.job.clock
        self.cpu = CpuUse()
        self.trace: TraceTier | None = None
        self.stacks = StackSampler(
            config.max_overhead,
            is_disturbed=self._is_disturbed,
            is_between=lambda: self.job_clock.is_in_phase,
        )
        self.stuck = StuckWatch(
            config.stuck_after,
            lambda: self.job_clock.last_step_at,
            self.problems,
            is_disturbed=self._is_disturbed,
            messages=self.messages.as_dump,
        )
        self.memory = watch_of_process(config.memory, self.problems)
        self.mesh: Mesh | None = None
        self._pid = os.getpid()
        self.files = RunFiles(self)
        # In place of the methods, so that a call from the job runs no Python code of ours.
        vars(self)["phase"], vars(self)["lap"] = phase_and_lap(self.recorder)
        self._flushed_at = config.resume_step
        self.hooks: InstalledHooks | None = None
        # A step is this many rounds of the optimizers, from this step on.
        self.rounds_per_step = 1
        self.iterations_from = config.resume_step
        self.is_started = self.is_closed = False
        self._steps_are_manual = True

    # -- open and close ----------------------------------------------------------------------------------------------

    def start(self) -> Capture:
        if not (self.is_started or self.is_closed):
            from .api import start  # it imports this module, when it needs it

            start(self)
        return self

    def open(self, steps: str = "manual") -> Capture:
        """`steps`: "manual" if the job calls step(), "optimizer" if each optimizer step ends a training step."""
        self.is_started = True
        self._steps_are_manual = steps == "manual"
        with self.problems.guard("open", "starting the capture"):
            groups = self.config.hook_groups
            self.job.install(groups)
            if groups:
                from .hooks import install

                self.hooks = install(self, steps=steps, groups=groups)
            self.job_clock.start(self.recorder)
            self.recorder.buffer.outside = self.job_clock.totals
            atexit.register(self.close)
            self.recorder.enabled = self._records_here()
            if self.recorder.enabled:
                self.memory.trains(self.out)
            else:
                self.memory.stop()
            self.recorder.start_step()
            # The end of the first step always needs attention: only then is the job's rank known.
            self.recorder.quiet_until = 0
        return self

    def join(self, outer: Capture) -> None:
        """Another capture is on in this process: from now on all calls go there, and only its owner closes it."""
        self.is_started = self.is_closed = True
        calls = ("step", "phase", "lap", "data", "micro_step", "to_device", "step_callback", "set_mesh")
        vars(self).update({name: getattr(outer, name) for name in calls})

    def close(self) -> None:
        """Does nothing in a forked child."""
        if self.is_closed or os.getpid() != self._pid:
            return
        self.is_closed = True
        if not self.is_started:
            return
        self.stacks.stop()
        self.stuck.stop()
        self.memory.stop()
        atexit.unregister(self.close)
        with self.problems.guard("close", "closing the capture"):
            if self.hooks is not None:
                self.hooks()
            self.job_clock.stop()
            self.job.remove()
        with self.problems.guard("close", "closing the capture"):
            self.recorder.abandon_step()
            self.recorder.enabled = False
            if self.trace is not None:
                self.trace.close(TRACE_S)
        with self.problems.guard("close", "closing the capture"):
            self.files.finish(keep=self._records_here())

    def forget(self) -> None:
        """
        For a forked child, which does not train and gets the original torch back: open files and events belong to the
        parent.
        """
        self.is_closed = True
        if self.hooks is not None:
            with suppress(Exception):  # a child has no one to report to
                self.hooks()
        self.recorder.forget()
        self.files.forget()
        if self.trace is not None:
            self.trace.after_fork_in_child()

    # -- steps and phases --------------------------------------------------------------------------------------------

    def manual_steps(self) -> None:
        """From now on the job calls step() itself, and the optimizer no longer ends steps."""
        self._steps_are_manual = True

    def optimizer_step(self) -> None:
        """Called by the optimizer hook, once per iteration."""
        if not self._steps_are_manual:
            self.step()

    def end_quiet_step(self) -> bool:
        """
        Ends a step at whose end there is nothing to do. False if there is, or if the job ends its steps itself. Nearly
        every step of a job ends here, so this makes no further calls.
        """
        recorder, job_clock, trace = self.recorder, self.job_clock, self.trace
        upcoming = recorder.current_step + 1
        if (
            recorder.is_sampling
            or upcoming >= recorder.quiet_until
            or (trace is not None and upcoming >= trace.quiet_until)
            or job_clock.is_evaluating
            or self._steps_are_manual
        ):
            return False
        job_clock.last_step_at = perf_counter_ns()
        recorder.current_step = upcoming
        return True

    def iteration_changed(self, rounds: int) -> None:
        """From the next step on, a step is an iteration of `rounds` steps as they were counted until now."""
        before, self.rounds_per_step = self.rounds_per_step, rounds
        if self._steps_are_manual:
            return
        recorder = self.recorder
        self.iterations_from = upcoming = recorder.current_step + 1
        self.job_clock.count_in(rounds / before)
        self.budget.dense_until = upcoming - self.config.start_step + DENSE_STEPS
        recorder.quiet_until = 0
        if self.trace is not None:
            self.trace.iteration_changed(upcoming, rounds)
        self.files.refresh_header()

    def iteration(self) -> dict[str, object] | None:
        """What one step is, as far as hooks have seen it. None: one step of one optimizer."""
        described = None if self.hooks is None or self._steps_are_manual else self.hooks.describe_iteration()
        return None if described is None else {"from_step": self.iterations_from, **described}

    def step(self, number: int | None = None) -> None:
        recorder, job_clock = self.recorder, self.job_clock
        if job_clock.is_evaluating:
            job_clock.end_evaluation(False)
        job_clock.last_step_at = perf_counter_ns()
        upcoming = (recorder.current_step if number is None else number) + 1
        if (
            upcoming < recorder.quiet_until
            and (self.trace is None or upcoming < self.trace.quiet_until)
            and (not recorder.is_sampling or recorder.next_in_row(upcoming - 1))
        ):
            recorder.current_step = upcoming
            return
        if not self.is_started:
            self.problems.warn(
                "not-started", "step() starts the capture: use `with capture(…)`, or call start() before"
            )
            self.start()
        if self.is_closed:
            return
        try:
            self._step(number)
        except Exception as error:
            recorder.abandon_step()
            self.problems.warn("step", f"recording a step failed, training goes on: {describe(error)}")

    def _step(self, number: int | None) -> None:
        recorder = self.recorder
        upcoming = recorder.finish_step(number)
        self.memory.step()
        if not self.files.begun:
            self._settle()
        elif upcoming - self._flushed_at >= self.config.flush_every_n_steps:
            self._flushed_at = upcoming
            self.files.flush(keep=self.recorder.enabled)
        trace = self.trace
        if trace is not None and upcoming >= trace.quiet_until:
            trace.begin_step(upcoming)
        recorder.start_step(
            undisturbed=trace is None or not trace.busy,
            flush_at=self._flushed_at + self.config.flush_every_n_steps,
        )

    def data(self, loader: Iterable[Batch]) -> Iterator[Batch]:
        recorder = self.recorder
        iterator = iter(loader)
        while True:
            recorder.begin(layout.DATA_WAIT)
            try:
                batch = next(iterator)
            except StopIteration:
                return
            finally:
                recorder.end(layout.DATA_WAIT)
            yield batch

    def micro_step(self) -> None:
        self.recorder.next_micro()

    def step_callback(self, target: str) -> Callable[[], None] | None:
        if self.start().is_closed:
            return None
        self._set_up_trace()
        return None if self.trace is None else self.trace.step_callback(target)

    def set_mesh(self, mesh: object) -> None:
        self.mesh = mesh_of(mesh)
        self.files.describe_again()

    # -- internal ----------------------------------------------------------------------------------------------------

    def _is_disturbed(self) -> bool:
        """By a profiler window."""
        return self.trace is not None and self.trace.busy

    def _records_here(self) -> bool:
        ranks = self.config.ranks
        return ranks is None or self.rank in ranks

    def _settle(self) -> None:
        """After the first step the rank is certain, and the job has shown that it trains: files may be created."""
        self.rank = process.rank()
        self.recorder.enabled = self._records_here()
        self.files.begin()
        self._set_up_trace()
        if self.config.stacks and self.recorder.enabled:
            with self.problems.guard("stacks", "sampling stacks"):
                self.stacks.start(threading.get_ident())
        if self.recorder.enabled:
            with self.problems.guard("stuck", "watching for steps that do not end"):
                self.stuck.start(self.out, self.rank, threading.get_ident())

    def _set_up_trace(self) -> None:
        if self.trace is not None:
            return
        with self.problems.guard("trace", "setting up profiler windows"):
            from .trace.profiler_use import PROFILER_USE
            from .trace.tier import TraceTier

            self.trace = TraceTier(
                self.config,
                rank=process.rank(),
                world=process.world_size(),
                out=self.out,
                problems=self.problems,
                coordinates=lambda: coordinates_of(self.mesh),
                run=lambda: self.run,
                process_name=lambda: self.files.suffix,
                is_second=lambda: self.files.is_second,
                recorder_watch_setter=self.recorder.set_watch,
                current_step=lambda: self.recorder.current_step,
                on_demand=self.config.control,
            )
            self.recorder.disturbance = lambda: PROFILER_USE.disturbance
            if not self.is_closed:
                PROFILER_USE.on_change = self.recorder.profiler_changed
