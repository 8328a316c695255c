"""What a case is. The cases themselves are listed in the cases_*.py files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from context import Context

Bottleneck = Literal["gpu", "data", "host", "compute"]


@dataclass(frozen=True)
class Loop:
    """One training loop: what a step does, and where its batches come from."""

    step: Callable[[Any], None]
    batches: Iterator[Any]
    move: Callable[[Any], Any] | None = None
    """Copies a batch to the device, where a case keeps that apart from the step."""


@dataclass(frozen=True)
class Settings:
    """Global switches of PyTorch while a case runs; all are put back after it."""

    tf32: bool = False
    cudnn_benchmark: bool = False
    detect_anomaly: bool = False
    automatic_dynamic_shapes: bool = True
    recompile_limit: int | None = None


@dataclass(frozen=True)
class Case:
    name: str
    build: Callable[[Context], Loop]
    bottleneck: Bottleneck | None
    """What the case was written to be. The label in truth.json is decided by measuring (labels.py)."""
    rules: tuple[str, ...] = ()
    """Rules whose fix helps here."""
    not_a_gain: tuple[str, ...] = ()
    """Rules whose fix must not be promised here."""
    gain_of: str | None = None
    """What prices the measured fix, where it is not the first of `rules`: a rule, or the id of a finding where a rule number has
    several; "none": no rule does."""
    fix: str | None = None
    twin: str | None = None
    """The case with the fix applied."""
    note: str = ""
    also_acceptable: tuple[Bottleneck, ...] = ()
    """Answers that are not wrong, if the evidence in the trace does not distinguish them."""
    settings: Settings = Settings()
    warm: int = 6
    steps: int = 20
    """Steps in one repeat of the unprofiled measurement."""
    active: int = 4
    """Profiled steps; fewer where a step holds many events, more where the fault is periodic."""
    profiler_warmup: int = 2
    """More where workers keep batches ready: they catch up while the profiler starts, and the wait would be gone."""
    profiler: dict[str, bool] = field(default_factory=dict)
    needs_cuda: bool = False
    on_cpu: bool = False
    """The case trains on the CPU although a GPU may be there."""
    needs_package: str | None = None


def all_cases() -> dict[str, tuple[Case, ...]]:
    """Cases by group, in the order they are run."""
    import cases_host
    import cases_input
    import cases_launch
    import cases_original
    import cases_precision
    import cases_transformers
    import cases_unseen_diffusion
    import cases_unseen_input
    import cases_unseen_other
    import cases_unseen_text
    import cases_unseen_vision

    return {
        "original": cases_original.CASES,
        "new": (
            *cases_precision.CASES,
            *cases_input.CASES,
            *cases_host.CASES,
            *cases_launch.CASES,
            *cases_transformers.CASES,
        ),
        "unseen": (
            *cases_unseen_text.CASES,
            *cases_unseen_input.CASES,
            *cases_unseen_vision.CASES,
            *cases_unseen_diffusion.CASES,
            *cases_unseen_other.CASES,
        ),
    }
