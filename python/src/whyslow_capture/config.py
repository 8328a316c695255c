"""One set of names everywhere: Python keywords, JSON, environment (``WHYSLOW_*``)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .config_values import boolean, names, one_of, optional_text, ranks, share, text, whole
from .problems import ProblemLog

# None: every rank.
Ranks = tuple[int, ...] | None


@dataclass(frozen=True)
class TraceConfig:
    """torch.profiler windows. Off unless ``period`` is given or a window is asked for (``whyslow capture``)."""

    enabled: bool = False
    # Steps from one window to the next; 0: no schedule, windows on demand only.
    period: int = 0
    warmup: int = 1
    active: int = 3
    # How often the schedule repeats; 0: for ever.
    repeat: int = 0
    ranks: Ranks = (0,)
    # Which steps a window counts: "train_overall" the training steps, any other name those of its step_callback.
    target: tuple[str, ...] = ("train_overall",)
    record_shapes: bool = False
    with_flops: bool = False
    with_stack: bool = False
    profile_memory: bool = False
    # What a window may add to the host's memory and write to disk, raw.
    budget_mb: int = 2048
    format: str = "json.gz"  # or "tar.gz", as d9d writes it


@dataclass(frozen=True)
class CaptureConfig:
    enabled: bool = True
    out: str = "whyslow-run"
    ranks: Ranks = None
    start_step: int = 0
    end_step: int | None = None
    record_every_n_steps: int = 10
    # Of every so many steps any one is recorded, not always the first: what a job does every 10 or 100 steps is then in
    # as many of the recorded ones as of all. `whyslow run` turns it on where nobody says how often to record.
    spread_steps: bool = False
    flush_every_n_steps: int = 10
    max_overhead: float = 0.005
    # The number of the first step of this process: a resumed job goes on counting.
    resume_step: int = 0
    # Time DataLoader, forward, backward, optimizer, copies and collectives without being told where they are.
    auto_phases: bool = True
    run: str | None = None
    trace: TraceConfig = field(default_factory=TraceConfig)


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

# Tracing asked for without saying when: one window, late enough for compilation and caches, early enough for a trial.
ONE_WINDOW_ENDS_AT = 20


def load_config(
    given: Mapping[str, object] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    problems: ProblemLog | None = None,
) -> CaptureConfig:
    """
    Keywords, then the environment, then JSON, then defaults: the first that says something about a setting decides.

    ``given`` may also hold ``config`` (a JSON file, a mapping or a `CaptureConfig`; else ``WHYSLOW_CONFIG`` names the
    file) and ``defaults`` (a mapping that is weaker than JSON: what a framework's callback would choose).

    What is wrong in ``given`` raises ValueError; what is wrong in the environment is said once and left out.
    """
    from .config_sources import NOT_GIVEN, gather_settings  # which needs the classes above

    settings = gather_settings(given or {}, os.environ if environ is None else environ, problems or ProblemLog())
    plain: dict[str, Any] = {name: setting.value for name, setting in settings.items()}
    trace = {name.partition(".")[2]: value for name, value in plain.items() if name.startswith("trace.")}
    _complete_schedule(trace)
    rest = {name: value for name, value in plain.items() if "." not in name}
    if "record_every_n_steps" in settings and settings.get("spread_steps", NOT_GIVEN).source == "defaults":
        del rest["spread_steps"]  # whoever says how often means these steps
    return CaptureConfig(**rest, trace=TraceConfig(**trace))


def _complete_schedule(trace: dict[str, Any]) -> None:
    """What was not said about windows follows from what was."""
    if trace.get("enabled") and not trace.get("period"):
        length = trace.get("warmup", TraceConfig.warmup) + trace.get("active", TraceConfig.active)
        trace["period"] = max(ONE_WINDOW_ENDS_AT, length)
        trace.setdefault("repeat", 1)
    period = trace.get("period", 0)
    trace.setdefault("enabled", period > 0)
    if period:
        # A short period with the usual window: the window gives way.
        trace.setdefault("active", max(1, min(TraceConfig.active, period - trace.get("warmup", TraceConfig.warmup))))
        trace.setdefault("warmup", max(0, min(TraceConfig.warmup, period - trace["active"])))
