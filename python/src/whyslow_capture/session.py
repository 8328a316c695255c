"""One capture in one process: ties steps, phases, profiler windows and files together."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from . import layout, manifest, process
from .config import CaptureConfig
from .events.budget import OverheadBudget
from .events.recorder import Recorder
from .files import RunFiles
from .phases import PhaseContext, PhaseContexts
from .problems import ProblemLog
from .run_name import run_id

if TYPE_CHECKING:
    from .trace.tier import TraceTier

Batch = TypeVar("Batch")

# What close() waits for traces that are being compressed.
TRACE_S = 120.0


class Capture:
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
        self.trace: TraceTier | None = None
        self.mesh: manifest.Mesh | None = None
        self._pid = os.getpid()
        self.files = RunFiles()
        contexts = PhaseContexts(self.recorder)
        self.phase: Callable[[str], PhaseContext] = contexts.__getitem__
        """`with cap.phase("rollout"):` times what is inside, in steps that are recorded."""
        self.lap: Callable[[str], None] = contexts.lap
        """`cap.lap("forward")`: that is what was done since the last lap of this step, or since the step began."""
        self._flushed_at = config.resume_step
        self._uninstall: Callable[[], None] | None = None
        self._closed = False
        self._steps_are_manual = True

    # -- life --------------------------------------------------------------------------------------------------------

    def open(self, steps: str = "manual") -> Capture:
        """`steps`: "manual" where step() is called by the job, "optimizer" where every optimizer step is one."""
        self._steps_are_manual = steps == "manual"
        with self.problems.guard("open", "starting"):
            if self.config.auto_phases:
                from .hooks import install

                self._uninstall = install(self, steps=steps)
            atexit.register(self.close)
            self.recorder.enabled = self._records_here()
            self.recorder.start_step()
            # The end of the first step is waited for in any case: then the job's rank is known.
            self.recorder.quiet_until = 0
        return self

    def __enter__(self) -> Capture:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Writes what there is and lets go of everything. May be called twice, and in a forked child does nothing."""
        if self._closed or os.getpid() != self._pid:
            return
        self._closed = True
        atexit.unregister(self.close)
        with self.problems.guard("close", "finishing"):
            if self._uninstall is not None:
                self._uninstall()
        with self.problems.guard("close", "finishing"):
            self.recorder.abandon_step()
            self.recorder.enabled = False
            if self.trace is not None:
                self.trace.close(TRACE_S)
        with self.problems.guard("close", "finishing"):
            self.files.finish(self.recorder, keep=self._records_here())

    def forget(self) -> None:
        """In a forked child: it is not the training process, and what is open belongs to the parent."""
        self._closed = True
        self.recorder.forget()
        if self.trace is not None:
            self.trace.after_fork_in_child()

    # -- steps and phases --------------------------------------------------------------------------------------------

    def manual_steps(self) -> None:
        """The job calls step() itself from now on: the optimizer no longer ends steps."""
        self._steps_are_manual = True

    def optimizer_step(self) -> None:
        """From the optimizer's hook, once an iteration."""
        if not self._steps_are_manual:
            self.step()

    def step(self, number: int | None = None) -> None:
        """The training step has ended (its number, if the job keeps count itself)."""
        recorder = self.recorder
        upcoming = (recorder.current_step if number is None else number) + 1
        if (
            upcoming < recorder.quiet_until
            and (self.trace is None or upcoming < self.trace.quiet_until)
            and (not recorder.is_sampling or recorder.next_in_row(upcoming - 1))
        ):
            recorder.current_step = upcoming
            return
        if self._closed:
            return
        try:
            self._step(number)
        except Exception as error:
            recorder.abandon_step()
            self.problems.warn("step", f"recording a step failed, training goes on: {error!r}")

    def _step(self, number: int | None) -> None:
        recorder = self.recorder
        upcoming = recorder.finish_step(number)
        if not self.files.begun:
            self._settle()
        elif upcoming - self._flushed_at >= self.config.flush_every_n_steps:
            self._flushed_at = upcoming
            self.files.flush(self.recorder, keep=self.recorder.enabled)
        trace = self.trace
        if trace is not None and upcoming >= trace.quiet_until:
            trace.begin_step(upcoming)
        recorder.start_step(
            undisturbed=trace is None or not trace.busy,
            flush_at=self._flushed_at + self.config.flush_every_n_steps,
        )

    def data(self, loader: Iterable[Batch]) -> Iterator[Batch]:
        """Times the wait for each batch of any iterable. A DataLoader is timed without this."""
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
        """The next micro-batch of the same step begins."""
        self.recorder.next_micro()

    def to_device(self, batch: Batch, device: object) -> Batch:
        from .copies import to_device

        return to_device(batch, device)  # type: ignore[arg-type]

    def step_callback(self, target: str) -> Callable[[], None] | None:
        """To be called at the end of each step of `target`; None when nobody wants to know."""
        if self._closed:
            return None
        if self.trace is None:
            with self.problems.guard("trace", "setting up profiler windows"):
                self.trace = self._make_trace()
        return None if self.trace is None else self.trace.step_callback(target)

    def set_mesh(self, mesh: object) -> None:
        """A DeviceMesh, or {axis: (size, this rank's coordinate)}: traces are named by it."""
        from .trace.mesh import mesh_of

        self.mesh = mesh_of(mesh)
        self.files.describe_again()

    # -- inside ------------------------------------------------------------------------------------------------------

    def _records_here(self) -> bool:
        ranks = self.config.ranks
        return ranks is None or self.rank in ranks

    def _settle(self) -> None:
        """After the first step the job has a rank for certain, and has shown that it trains."""
        self.rank = process.rank()
        self.recorder.enabled = self._records_here()
        if self.trace is None:
            with self.problems.guard("trace", "setting up profiler windows"):
                self.trace = self._make_trace()
        self.files.begin(self)

    def _make_trace(self) -> TraceTier:
        from .trace.tier import TraceTier

        return TraceTier(
            self.config,
            rank=process.rank(),
            world=process.world_size(),
            out=self.out,
            problems=self.problems,
            coordinates=lambda: tuple(c for _, c in (self.mesh or {}).values()),
            recorder_watch_setter=self.recorder.set_watch,
            current_step=lambda: self.recorder.current_step,
        )
