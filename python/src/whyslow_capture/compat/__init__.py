"""
Names that lmms-engine, slime and d9d use for the same settings, so that their users can switch without rewriting.
Nobody else needs them, so they have a folder of their own. The modules for these frameworks are in integrations/.

Each function translates such a setting to ours. Our name wins if both are given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..config_values import BadValueError, boolean, whole

Settings = dict[str, object]

# Megatron's defaults, which slime uses.
SLIME_STEP_START, SLIME_STEP_END = 10, 12

# Other names for the same value.
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

# Names that slime reads from the environment.
ENVIRONMENT = (
    "SLIME_PROFILE_ALL_RANKS",
    "SLIME_PROFILE_RECORD_SHAPES",
    "SLIME_PROFILE_WITH_FLOPS",
    "SLIME_PROFILE_WITH_STACK",
    "SLIME_PROFILE_MEMORY",
)


def translate(name: str, value: object, given: Mapping[str, object]) -> Settings | None:
    """Our settings for `name`, or None if no project uses that name. `given`: all settings of the same source."""
    if name in RENAMED:
        # In those projects None means not set.
        return {} if value is None else {RENAMED[name]: value}
    special = _SPECIAL.get(name)
    return None if special is None else special(value, given)


def all_names() -> list[str]:
    return [*RENAMED, *_SPECIAL]


def _lmms_config(value: object, _: Mapping[str, object]) -> Settings:
    if value is None:
        return {}
    if not isinstance(value, Mapping) or set(value) - set(LMMS_KEYS):
        raise BadValueError(f"a mapping with {', '.join(LMMS_KEYS)}")
    found: Settings = dict(value)
    for name in ("record_every_n_steps", "flush_every_n_steps"):
        # lmms-engine treats 0 like 1.
        if name in found and str(found[name]).strip() in ("0", "0.0"):
            found[name] = 1
    return found


def _slime_all_ranks(value: object, _: Mapping[str, object]) -> Settings:
    # Off means rank 0 only, which is also our default.
    return {"trace.ranks": None} if value is not None and boolean(value) else {}


def _slime_steps(value: object, given: Mapping[str, object]) -> Settings:
    """One window from start to end (exclusive), after one step of warm-up."""
    count = whole(0)
    start = count(given.get("profile_step_start", SLIME_STEP_START))
    end = count(given.get("profile_step_end", max(SLIME_STEP_END, _as_int(start) + 1)))
    first, stop = _as_int(start), _as_int(end)
    if stop <= first:
        raise BadValueError("chosen so that profile_step_start is below profile_step_end")
    return {
        "trace.period": stop,
        "trace.warmup": min(1, first),
        "trace.active": stop - first,
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
