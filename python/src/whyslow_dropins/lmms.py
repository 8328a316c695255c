"""
A drop-in for lmms-engine's `CudaEventProfiler`, backed by our recorder. To switch, change the import:

    from whyslow_capture.integrations.lmms import CudaEventProfiler

Same arguments, same calls, same file (``<directory>/cuda_events_rank_<rank>.jsonl`` if the directory is named
``cuda_event_profiler``), same records with more fields. What differs: without CUDA the host's clock times phases, CUDA
events are reused, a thread writes (so `maybe_flush` has nothing to do), and fewer steps are sampled if sampling would
cost more than `max_overhead` (0.5%).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

from whyslow_capture import layout, process
from whyslow_capture.config import Settings
from whyslow_capture.integrations.framework_steps import FrameworkSteps
from whyslow_capture.problems import ProblemLog

if TYPE_CHECKING:
    from whyslow_capture.session import Capture


class CudaEventProfiler:
    def __init__(
        self,
        enable: bool,
        directory: str | os.PathLike[str],
        rank: int = 0,
        profiler_config: Mapping[str, object] | None = None,
    ) -> None:
        self.rank = rank
        self.directory = directory
        self.profiler_config = dict(profiler_config or {})
        out = Path(directory)
        if out.name == layout.events_file(out, 0).parent.name:
            out = out.parent
        self.path = str(layout.events_file(out, rank))
        self._problems = ProblemLog()
        # As in lmms-engine, only the phases that the trainer records, and 0 counts as 1. Its settings have the names of
        # ours, which may be given too.
        given: dict[str, object] = {"out": str(out), "auto_phases": False, **self.profiler_config}
        for name in ("record_every_n_steps", "flush_every_n_steps"):
            if name in given and str(given[name]).strip() in ("0", "0.0"):
                given[name] = 1
        self._steps = FrameworkSteps(cast(Settings, given))
        ranks = self._steps.config.ranks
        self.enable = bool(enable) and (ranks is None or rank in ranks)
        self._step: int | None = None
        self._seen: set[str] = set()

    def should_record(self, step: int) -> bool:
        """Whether this step is recorded. Only certain once the step has begun."""
        if not self.enable:
            return False
        self._go_to(step)
        capture = self._steps.capture
        return capture is not None and capture.recorder.recording

    @contextmanager
    def record(self, name: str, step: int, **metadata: object) -> Iterator[None]:
        capture = self._begin(name, step, metadata) if self.enable else None
        if capture is None:
            yield
            return
        try:
            yield
        finally:
            capture.recorder.end(name)

    def maybe_flush(self, step: int) -> None:
        """Does nothing: a thread writes every `flush_every_n_steps`."""

    def flush(self, blocking: bool = False) -> None:
        """Does nothing: `close` writes what is left."""

    def close(self) -> None:
        if self.enable and self._step is not None and self._steps.capture is not None:
            self._steps.capture.step(self._step)
        self._step = None
        self._steps.close()

    # -- internal ----------------------------------------------------------------------------------------------------

    def _begin(self, name: str, step: int, metadata: Mapping[str, object]) -> Capture | None:
        with self._problems.guard("record", "recording a phase"):
            self._go_to(step)
            capture = self._steps.capture
            if capture is None:
                return None
            recorder = capture.recorder
            if recorder.recording:
                self._set_micro(capture, name, metadata)
            recorder.begin(name)
            return capture
        return None

    def _go_to(self, step: int) -> None:
        """The trainer ends a step by calling with another step number."""
        if step == self._step:
            return
        if self._step is None:
            if self.rank != process.rank():
                self._problems.warn(
                    "rank",
                    f"the profiler was given rank {self.rank}, but the job is rank {process.rank()}",
                )
            self._steps.open(None, step - 1)
            self._leave_training_step_to_the_trainer()
        capture = self._steps.capture
        if capture is not None:
            if self._step is not None:
                capture.step(self._step)
            if capture.recorder.current_step != step:
                # The trainer skipped steps or started over.
                capture.recorder.abandon_step()
                capture.step(step - 1)
        self._step = step
        self._seen.clear()

    def _leave_training_step_to_the_trainer(self) -> None:
        """In lmms-engine `training_step` is a phase that the trainer records, not the whole iteration."""
        capture = self._steps.capture
        if capture is not None:
            recorder = capture.recorder
            recorder.buffer.times_whole_steps = False
            recorder.abandon_step()
            recorder.start_step()
            recorder.quiet_until = 0

    def _set_micro(self, capture: Capture, name: str, metadata: Mapping[str, object]) -> None:
        given = metadata.get("micro_step", metadata.get("micro"))
        if isinstance(given, int):
            capture.recorder.micro = given
        elif name in self._seen:
            # The same phase again in the same step: gradients accumulate over micro-batches.
            capture.micro_step()
            self._seen.clear()
        self._seen.add(name)
        if set(metadata) - {"micro_step", "micro"}:
            self._problems.warn(
                "metadata", f"records keep only micro_step of the metadata {', '.join(sorted(metadata))}"
            )
