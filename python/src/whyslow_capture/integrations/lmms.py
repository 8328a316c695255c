"""
lmms-engine's `CudaEventProfiler`, with our recorder behind it. To switch, change the import:

    from whyslow_capture.integrations.lmms import CudaEventProfiler

Same arguments, same calls, same file (``<directory>/cuda_events_rank_<rank>.jsonl`` for a directory of the name
``cuda_event_profiler``), same records with more in them. Unlike there: phases are timed by the host where there is no
CUDA; events are used again; writing is done by a thread, so that `maybe_flush` has nothing to do; and sampling is
stretched where it would cost more than `max_overhead` (0.5 %).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from .. import layout, process
from ..problems import ProblemLog
from ..session import Capture
from .framework_steps import FrameworkSteps


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
        extra = {name: value for name, value in self.profiler_config.items() if name not in _THEIRS}
        theirs = {name: value for name, value in self.profiler_config.items() if name in _THEIRS}
        self._steps = FrameworkSteps(
            # Only what the trainer records, as there; "auto_phases": True in the config adds the others.
            {"out": str(out), "auto_phases": False, "cuda_event_profiler_config": theirs, **extra}
        )
        ranks = self._steps.config.ranks
        self.enable = bool(enable) and (ranks is None or rank in ranks)
        self._step: int | None = None
        self._seen: set[str] = set()

    def should_record(self, step: int) -> bool:
        """Whether what is recorded in this step is kept. Known for certain once the step has begun."""
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
        """Capture writes every `flush_every_n_steps` by itself."""

    def flush(self, blocking: bool = False) -> None:
        """As `maybe_flush`; what is not written yet is written by `close`."""

    def close(self) -> None:
        if self.enable and self._step is not None and self._steps.capture is not None:
            self._steps.capture.step(self._step)
        self._step = None
        self._steps.close()

    # -- inside ------------------------------------------------------------------------------------------------------

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
        """A call with another step number is how the trainer says that a step is over."""
        if step == self._step:
            return
        if self._step is None:
            if self.rank != process.rank():
                self._problems.warn(
                    "rank", f"told rank {self.rank}, but the job says {process.rank()}; that one counts"
                )
            self._steps.open(None, step - 1)
            self._leave_training_step_to_the_trainer()
        capture = self._steps.capture
        if capture is not None:
            if self._step is not None:
                capture.step(self._step)
            if capture.recorder.current_step != step:
                # Steps were left out, or it starts again: not the next number.
                capture.recorder.abandon_step()
                capture.step(step - 1)
        self._step = step
        self._seen.clear()

    def _leave_training_step_to_the_trainer(self) -> None:
        """There it is the call of that name, without what goes on before and after it."""
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
            # The same phase of the same step again: gradients are accumulated.
            capture.micro_step()
            self._seen.clear()
        self._seen.add(name)
        if set(metadata) - {"micro_step", "micro"}:
            self._problems.warn("metadata", f"of {', '.join(sorted(metadata))} only micro_step is kept in records")


_THEIRS = ("start_step", "end_step", "record_every_n_steps", "flush_every_n_steps", "ranks")
