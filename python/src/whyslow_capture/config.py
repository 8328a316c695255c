"""The settings, under the same names as Python keywords, in JSON and in the environment (``WHYSLOW_*``)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypedDict

from .config_values import Parser, boolean, names, one_of, optional_text, ranks, share, some_of, text, whole
from .touched import CHOICES, groups_of

# With tracing on but no period there is one window: after compilation and cache warm-up, but within a short trial. Jobs
# save, evaluate and log every 10, 20, 50 or 100 steps, so not in steps 21 to 26. It comes sooner where steps are slow,
# and is shorter (trace/early_start.py).
ONE_WINDOW_ENDS_AT = 27
ONE_WINDOW_STEPS = 6

LOGGERS = ("wandb", "mlflow", "tensorboard")

# None means every rank.
Ranks = tuple[int, ...] | None


def _setting(parse: Parser, default: Any) -> Any:
    return field(default=default, metadata={"parse": parse})


@dataclass(frozen=True)
class TraceConfig:
    """torch.profiler windows. Off unless ``period`` is set or ``whyslow capture`` requests a window."""

    enabled: bool = _setting(boolean, False)
    # Steps from one window to the next. 0: no schedule, only windows on demand.
    period: int = _setting(whole(0), 0)
    warmup: int = _setting(whole(0), 1)
    active: int = _setting(whole(1), 3)
    # Number of windows. 0: no limit.
    repeat: int = _setting(whole(0), 0)
    ranks: tuple[int, ...] | None = _setting(ranks, (0,))
    # Whose steps a window counts: "train_overall" is the training steps, any other name belongs to a step_callback.
    target: tuple[str, ...] = _setting(names, ("train_overall",))
    record_shapes: bool = _setting(boolean, False)
    with_flops: bool = _setting(boolean, False)
    with_stack: bool = _setting(boolean, False)
    profile_memory: bool = _setting(boolean, False)
    # Limit on the host memory that a window adds, and on the uncompressed trace it writes.
    budget_mb: int = _setting(whole(1), 2048)
    # As d9d has it: "tar.gz".
    format: str = _setting(one_of("json.gz", "tar.gz"), "json.gz")

    @property
    def is_single_window(self) -> bool:
        """The one window that tracing without a period records."""
        return self.repeat == 1 and self.period == ONE_WINDOW_ENDS_AT


@dataclass(frozen=True)
class CaptureConfig:
    enabled: bool = _setting(boolean, True)
    out: str = _setting(text, "whyslow-run")
    ranks: tuple[int, ...] | None = _setting(ranks, None)
    start_step: int = _setting(whole(0), 0)
    end_step: int | None = _setting(whole(0, optional=True), None)
    record_every_n_steps: int = _setting(whole(1), 10)
    # Vary which step of each stride is recorded, so that work done every 10 or 100 steps is sampled fairly. `whyslow
    # run` turns this on unless the user sets record_every_n_steps.
    spread_steps: bool = _setting(boolean, False)
    flush_every_n_steps: int = _setting(whole(1), 10)
    max_overhead: float = _setting(share, 0.005)
    # Number of this process's first step, for a resumed job.
    resume_step: int = _setting(whole(0), 0)
    # Find DataLoader waits, copies, forward, backward, optimizer and collectives automatically.
    auto_phases: bool = _setting(boolean, True)
    # Which of them: "public" (torch's own hooks and the DataLoader), "all", or groups of touched.py.
    hooks: tuple[str, ...] = _setting(some_of(*CHOICES), ("public",))
    # Look once per second whether `whyslow capture` asks for a window.
    control: bool = _setting(boolean, True)
    # Look at the Python stack of the training thread a few times per second: which lines of the job hold the host.
    stacks: bool = _setting(boolean, True)
    # After so many seconds without the end of a step, write down once where the rank is. 0: never.
    stuck_after: int = _setting(whole(0), 180)
    # Let the CUDA allocator record its events with stacks, and take a snapshot at the peak.
    memory: bool = _setting(boolean, False)
    # When a framework's callback closes the capture: print the verdict, and log it where the job logs.
    verdict: bool = _setting(boolean, True)
    log_to: tuple[str, ...] = _setting(some_of("all", "none", *LOGGERS), ("all",))
    run: str | None = _setting(optional_text, None)
    trace: TraceConfig = field(default_factory=TraceConfig)

    @property
    def hook_groups(self) -> frozenset[str]:
        return groups_of(self.hooks) if self.auto_phases else frozenset()

    @property
    def loggers(self) -> tuple[str, ...]:
        return LOGGERS if "all" in self.log_to else tuple(name for name in LOGGERS if name in self.log_to)


class TraceSettings(TypedDict, total=False):
    enabled: bool
    period: int
    warmup: int
    active: int
    repeat: int
    ranks: int | str | Iterable[int] | None
    target: str | Iterable[str]
    record_shapes: bool
    with_flops: bool
    with_stack: bool
    profile_memory: bool
    budget_mb: int
    format: str


class Settings(TypedDict, total=False):
    """The keywords of `capture()`."""

    enabled: bool
    ranks: int | str | Iterable[int] | None
    start_step: int
    end_step: int | None
    record_every_n_steps: int
    spread_steps: bool
    flush_every_n_steps: int
    max_overhead: float | str
    resume_step: int
    auto_phases: bool
    hooks: str | Iterable[str]
    control: bool
    stacks: bool
    stuck_after: int
    memory: bool
    verdict: bool
    log_to: str | Iterable[str]
    run: str | None
    trace: bool | TraceConfig | TraceSettings
    trace_enabled: bool
    trace_period: int
    trace_warmup: int
    trace_active: int
    trace_repeat: int
    trace_ranks: int | str | Iterable[int] | None
    trace_target: str | Iterable[str]
    trace_record_shapes: bool
    trace_with_flops: bool
    trace_with_stack: bool
    trace_profile_memory: bool
    trace_budget_mb: int
    trace_format: str
    # A JSON file, or its content.
    config: str | os.PathLike[str] | Mapping[str, object] | CaptureConfig
    # Settings that all other sources override.
    defaults: Mapping[str, object]


PARSERS: dict[str, Parser] = {
    prefix + each.name: each.metadata["parse"]
    for kind, prefix in ((CaptureConfig, ""), (TraceConfig, "trace."))
    for each in fields(kind)
    if each.metadata
}
