"""The settings, under the same names as Python keywords, in JSON and in the environment (``WHYSLOW_*``)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict

from .config_values import boolean, names, one_of, optional_text, ranks, share, some_of, text, whole
from .problems import ProblemLog
from .touched import CHOICES, groups_of

# With tracing on but no period there is one window: after compilation and cache warm-up, but within a short trial. Jobs
# save, evaluate and log every 10, 20, 50 or 100 steps, so not in steps 21 to 26. It comes sooner where steps are slow,
# and is shorter (trace/early_start.py).
ONE_WINDOW_ENDS_AT = 27
ONE_WINDOW_STEPS = 6

LOGGERS = ("wandb", "mlflow", "tensorboard")

# None means every rank.
Ranks = tuple[int, ...] | None


@dataclass(frozen=True)
class TraceConfig:
    """torch.profiler windows. Off unless ``period`` is set or ``whyslow capture`` requests a window."""

    enabled: bool = False
    # Steps from one window to the next. 0: no schedule, only windows on demand.
    period: int = 0
    warmup: int = 1
    active: int = 3
    # Number of windows. 0: no limit.
    repeat: int = 0
    ranks: Ranks = (0,)
    # Whose steps a window counts: "train_overall" is the training steps, any other name belongs to a step_callback.
    target: tuple[str, ...] = ("train_overall",)
    record_shapes: bool = False
    with_flops: bool = False
    with_stack: bool = False
    profile_memory: bool = False
    # Limit on the host memory that a window adds, and on the uncompressed trace it writes.
    budget_mb: int = 2048
    format: str = "json.gz"  # or "tar.gz", like d9d

    @property
    def is_single_window(self) -> bool:
        """The one window that tracing without a period records."""
        return self.repeat == 1 and self.period == ONE_WINDOW_ENDS_AT


@dataclass(frozen=True)
class CaptureConfig:
    enabled: bool = True
    out: str = "whyslow-run"
    ranks: Ranks = None
    start_step: int = 0
    end_step: int | None = None
    record_every_n_steps: int = 10
    # Vary which step of each stride is recorded, so that work done every 10 or 100 steps is sampled fairly. `whyslow
    # run` turns this on unless the user sets record_every_n_steps.
    spread_steps: bool = False
    flush_every_n_steps: int = 10
    max_overhead: float = 0.005
    # Number of this process's first step, for a resumed job.
    resume_step: int = 0
    # Find DataLoader waits, copies, forward, backward, optimizer and collectives automatically.
    auto_phases: bool = True
    # Which of them: "public" (torch's own hooks and the DataLoader), "all", or groups of touched.py.
    hooks: tuple[str, ...] = ("public",)
    # Look once per second whether `whyslow capture` asks for a window.
    control: bool = True
    # Look at the Python stack of the training thread a few times per second: which lines of the job hold the host.
    stacks: bool = True
    # After so many seconds without the end of a step, write down once where the rank is. 0: never.
    stuck_after: int = 180
    # Let the CUDA allocator record its events with stacks, and take a snapshot at the peak.
    memory: bool = False
    # When a framework's callback closes the capture: print the verdict, and log it where the job logs.
    verdict: bool = True
    log_to: tuple[str, ...] = ("all",)
    run: str | None = None
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


PARSERS = {
    "enabled": boolean,
    "out": text,
    "ranks": ranks,
    "start_step": whole(0),
    "end_step": whole(0, optional=True),
    "record_every_n_steps": whole(1),
    "spread_steps": boolean,
    "flush_every_n_steps": whole(1),
    "max_overhead": share,
    "resume_step": whole(0),
    "auto_phases": boolean,
    "hooks": some_of(*CHOICES),
    "control": boolean,
    "stacks": boolean,
    "stuck_after": whole(0),
    "memory": boolean,
    "verdict": boolean,
    "log_to": some_of("all", "none", *LOGGERS),
    "run": optional_text,
    "trace.enabled": boolean,
    "trace.period": whole(0),
    "trace.warmup": whole(0),
    "trace.active": whole(1),
    "trace.repeat": whole(0),
    "trace.ranks": ranks,
    "trace.target": names,
    "trace.record_shapes": boolean,
    "trace.with_flops": boolean,
    "trace.with_stack": boolean,
    "trace.profile_memory": boolean,
    "trace.budget_mb": whole(1),
    "trace.format": one_of("json.gz", "tar.gz"),
}


def load_config(
    given: Mapping[str, object] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    problems: ProblemLog | None = None,
) -> CaptureConfig:
    """
    Settings come from keywords, then the environment, then JSON, then defaults; the first source that has one wins.

    ``given`` may also hold ``config`` (a JSON file, a mapping or a `CaptureConfig`; otherwise ``WHYSLOW_CONFIG`` names
    the file) and ``defaults`` (a mapping that JSON overrides, used by framework callbacks).

    Mistakes in ``given`` raise ValueError. Mistakes in the environment cause one warning and are ignored.
    """
    from .config_sources import NOT_GIVEN, gather_settings  # it imports the classes above

    settings = gather_settings(given or {}, os.environ if environ is None else environ, problems or ProblemLog())
    plain: dict[str, Any] = {name: setting.value for name, setting in settings.items()}
    trace = {name.partition(".")[2]: value for name, value in plain.items() if name.startswith("trace.")}
    _complete_schedule(trace)
    rest = {name: value for name, value in plain.items() if "." not in name}
    if "record_every_n_steps" in settings and settings.get("spread_steps", NOT_GIVEN).source == "defaults":
        del rest["spread_steps"]  # the user chose which steps to record
    return CaptureConfig(**rest, trace=TraceConfig(**trace))


def _complete_schedule(trace: dict[str, Any]) -> None:
    """Derives the window settings that were not given from those that were."""
    if trace.get("enabled") and not trace.get("period"):
        trace.setdefault("active", ONE_WINDOW_STEPS)
        length = trace.get("warmup", TraceConfig.warmup) + trace["active"]
        trace["period"] = max(ONE_WINDOW_ENDS_AT, length)
        trace.setdefault("repeat", 1)
    period = trace.get("period", 0)
    trace.setdefault("enabled", period > 0)
    if period:
        # If the default window does not fit into the period, shorten the window.
        trace.setdefault("active", max(1, min(TraceConfig.active, period - trace.get("warmup", TraceConfig.warmup))))
        trace.setdefault("warmup", max(0, min(TraceConfig.warmup, period - trace["active"])))
