"""
Names that lmms-engine, slime and d9d use for the same things, so that their users can switch without rewriting.

Each function turns what those projects call a setting into ours. Ours win where both are given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .config_values import BadValueError, boolean, whole

Settings = dict[str, object]

# Megatron's defaults, which slime takes over.
SLIME_STEP_START, SLIME_STEP_END = 10, 12

# The same value under another name.
RENAMED = {
    # lmms-engine
    "enable_cuda_event_profiler": "enabled",
    "output_dir": "out",
    # slime
    "use_pytorch_profiler": "trace.enabled",
    "profile_target": "trace.target",
    "tensorboard_dir": "out",
    "SLIME_PROFILE_RECORD_SHAPES": "trace.record_shapes",
    "SLIME_PROFILE_WITH_FLOPS": "trace.with_flops",
    "SLIME_PROFILE_WITH_STACK": "trace.with_stack",
    "SLIME_PROFILE_MEMORY": "trace.profile_memory",
    # d9d
    "save_dir": "out",
    "period_steps": "trace.period",
    "warmup_steps": "trace.warmup",
    "active_steps": "trace.active",
}

LMMS_KEYS = ("start_step", "end_step", "record_every_n_steps", "flush_every_n_steps", "ranks", "max_overhead")

# Those that are read from the environment there.
ENVIRONMENT = (
    "SLIME_PROFILE_ALL_RANKS",
    "SLIME_PROFILE_RECORD_SHAPES",
    "SLIME_PROFILE_WITH_FLOPS",
    "SLIME_PROFILE_WITH_STACK",
    "SLIME_PROFILE_MEMORY",
)


def translate(name: str, value: object, beside: Mapping[str, object]) -> Settings | None:
    """Our settings for a name of theirs; None for a name of nobody. `beside`: what is given together with it."""
    if name in RENAMED:
        # None there means that nothing was set.
        return {} if value is None else {RENAMED[name]: value}
    special = _SPECIAL.get(name)
    return None if special is None else special(value, beside)


def all_names() -> list[str]:
    return [*RENAMED, *_SPECIAL]


def _lmms_config(value: object, _: Mapping[str, object]) -> Settings:
    if value is None:
        return {}
    if not isinstance(value, Mapping) or set(value) - set(LMMS_KEYS):
        raise BadValueError(f"a mapping with {', '.join(LMMS_KEYS)}")
    found: Settings = dict(value)
    for name in ("record_every_n_steps", "flush_every_n_steps"):
        # 0 is as good as 1 there.
        if name in found and str(found[name]).strip() in ("0", "0.0"):
            found[name] = 1
    return found


def _slime_all_ranks(value: object, _: Mapping[str, object]) -> Settings:
    # Off is the default there and here: the first rank only.
    return {"trace.ranks": None} if value is not None and boolean(value) else {}


def _slime_steps(value: object, beside: Mapping[str, object]) -> Settings:
    """One window over the steps from start up to end, end not included, with one step of warm-up before it."""
    count = whole(0)
    start = count(beside.get("profile_step_start", SLIME_STEP_START))
    end = count(beside.get("profile_step_end", max(SLIME_STEP_END, _as_int(start) + 1)))
    first, behind = _as_int(start), _as_int(end)
    if behind <= first:
        raise BadValueError("profile_step_end above profile_step_start")
    return {
        "trace.period": behind,
        "trace.warmup": min(1, first),
        "trace.active": behind - first,
        "trace.repeat": 1,
    }


def _as_int(value: object) -> int:
    return value if isinstance(value, int) else 0


_SPECIAL: dict[str, Callable[[object, Mapping[str, object]], Settings]] = {
    "cuda_event_profiler_config": _lmms_config,
    "SLIME_PROFILE_ALL_RANKS": _slime_all_ranks,
    "profile_step_start": _slime_steps,
    "profile_step_end": _slime_steps,
}
