"""
A drop-in for slime's `TrainProfiler`: same arguments and variables (`--profile-target`, `--profile-step-start`,
`SLIME_PROFILE_*`), same file names for TensorBoard. By default only rank 0 is profiled, without shapes, flops, stacks
and memory.
"""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from whyslow_capture import process
from whyslow_capture.config import CaptureConfig, TraceConfig
from whyslow_capture.config_values import boolean, names
from whyslow_capture.problems import ProblemLog, needs_torch
from whyslow_capture.trace.schedule import WindowPlan
from whyslow_capture.trace.trace_paths import TracePaths

if TYPE_CHECKING:
    from whyslow_capture.trace.tier import TraceTier

TRAIN_ACTOR, TRAIN_LOG_PROBS = "train_actor", "train_log_probs"
# Megatron's defaults, which slime uses.
STEP_START, STEP_END = 10, 12
# How long the end of the job waits for a trace that is being compressed.
CLOSE_S = 120.0

Item = TypeVar("Item")


class TrainProfiler:
    def __init__(self, args: Any) -> None:
        """`args`: slime's parsed arguments. Missing ones get slime's defaults."""
        self._problems = ProblemLog()
        self._tier: TraceTier | None = None
        self._steps = 0
        if getattr(args, "record_memory_history", False):
            self._problems.warn(
                "slime_memory", "--record-memory-history is not supported here, use slime's own TrainProfiler for it"
            )
        if getattr(args, "use_pytorch_profiler", False):
            with self._problems.guard("slime", "setting up profiler windows"):
                self._tier = self._new_tier(args)
                atexit.register(self.close)

    def on_init_end(self) -> None:
        """Setup is over and the first step begins."""
        if self._tier is not None:
            self._tier.begin_step(0)

    def step(self, rollout_id: int) -> None:
        """A rollout ended. Steps count from the start of the process, also in a resumed job."""
        if self._tier is not None:
            self._steps += 1
            self._tier.begin_step(self._steps)

    @property
    def step_train_actor(self) -> Callable[[], None] | None:
        """For `train(step_callback=...)`. None if that target is off."""
        return self._callback(TRAIN_ACTOR)

    @property
    def step_train_log_probs(self) -> Callable[[], None] | None:
        """For `forward_only(step_callback=...)`. None if that target is off."""
        return self._callback(TRAIN_LOG_PROBS)

    def iterate_train_actor(self, iterator: Iterable[Item]) -> Iterator[Item]:
        return _counted(iterator, self.step_train_actor)

    def iterate_train_log_probs(self, iterator: Iterable[Item]) -> Iterator[Item]:
        return _counted(iterator, self.step_train_log_probs)

    def close(self) -> None:
        """slime never calls this; it runs when the interpreter exits."""
        atexit.unregister(self.close)
        if self._tier is not None:
            self._tier.close(CLOSE_S)

    def _callback(self, target: str) -> Callable[[], None] | None:
        return None if self._tier is None else self._tier.step_callback(target)

    def _new_tier(self, args: Any) -> TraceTier:
        with needs_torch("slime's TrainProfiler"):
            from whyslow_capture.trace.tier import TraceTier

        folder = Path(getattr(args, "tensorboard_dir", None) or CaptureConfig.out).expanduser().absolute()
        rank = process.rank()
        return TraceTier(
            CaptureConfig(out=str(folder), trace=self._trace_config(args)),
            rank=rank,
            world=process.world_size(),
            out=folder,
            problems=self._problems,
            paths=TensorBoardPaths(folder, rank),
            on_demand=False,
        )

    def _trace_config(self, args: Any) -> TraceConfig:
        """One window from start to end (exclusive), after one step of warm-up."""
        start = int(getattr(args, "profile_step_start", STEP_START))
        end = int(getattr(args, "profile_step_end", max(STEP_END, start + 1)))
        if not 0 <= start < end:
            raise ValueError(f"profile_step_start={start} must be below profile_step_end={end}")
        return TraceConfig(
            enabled=True,
            period=end,
            warmup=min(1, start),
            active=end - start,
            repeat=1,
            ranks=None if self._is_on("SLIME_PROFILE_ALL_RANKS") else (0,),
            target=names(getattr(args, "profile_target", None) or TraceConfig.target),
            record_shapes=self._is_on("SLIME_PROFILE_RECORD_SHAPES"),
            with_flops=self._is_on("SLIME_PROFILE_WITH_FLOPS"),
            with_stack=self._is_on("SLIME_PROFILE_WITH_STACK"),
            profile_memory=self._is_on("SLIME_PROFILE_MEMORY"),
        )

    def _is_on(self, variable: str) -> bool:
        value = os.environ.get(variable, "")
        try:
            return boolean(value)
        except ValueError as error:
            self._problems.warn(variable, f"{variable}={value!r} must be {error}; ignored")
            return False


class TensorBoardPaths(TracePaths):
    """<tensorboard_dir>/<target>_rank_<r>.<ns>.pt.trace.json.gz, where TensorBoard's profiler plugin finds it."""

    def __init__(self, folder: Path, rank: int) -> None:
        self._folder, self._rank = folder, rank

    def path(self, plan: WindowPlan) -> Path:
        return self._folder / f"{plan.target}_rank_{self._rank}.{time.time_ns()}.pt.trace.json.gz"

    def folders(self) -> Iterable[Path]:
        return [self._folder]

    def is_own(self, name: str) -> bool:
        return f"_rank_{self._rank}." in name


def _counted(iterator: Iterable[Item], callback: Callable[[], None] | None) -> Iterator[Item]:
    for item in iterator:
        yield item
        if callback is not None:
            callback()
