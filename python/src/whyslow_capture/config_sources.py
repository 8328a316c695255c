"""Reads settings from all sources, and reports mistakes in them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from .config import ONE_WINDOW_ENDS_AT, ONE_WINDOW_STEPS, PARSERS, CaptureConfig, TraceConfig
from .config_values import boolean
from .own_files import read_json
from .problems import ProblemLog

VARIABLES = {f"WHYSLOW_{name.replace('.', '_').upper()}": name for name in PARSERS} | {"WHYSLOW_TRACE": "trace.enabled"}
# Similarity from which an unknown WHYSLOW_ variable counts as a typo. Others may use such names for themselves.
TYPO = 0.85
# For these settings None is a value; for all others it means "not given".
_NONE_IS_A_VALUE = {"ranks", "end_step", "trace.ranks"}


class _Given(NamedTuple):
    value: Any
    given_as: str
    # Given in the caller's code, so mistakes raise an error instead of a warning.
    is_code: bool


_Found = dict[str, _Given]
# Takes a setting's name and a message.
_Report = Callable[[str, str], None]


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
    keywords, variables, log = dict(given or {}), os.environ if environ is None else environ, problems or ProblemLog()
    file, defaults = keywords.pop("config", None), keywords.pop("defaults", None)
    named_file = variables.get("WHYSLOW_CONFIG", "").strip()

    def warn(name: str, message: str) -> None:
        log.warn(f"config:{name}", f"{message}; ignored")

    least = _settings(defaults if isinstance(defaults, Mapping) else {}, _raise)
    found = dict(least)
    if file is not None:
        found |= _settings(_read(file, "config", _raise), _raise)
    elif named_file:
        found |= _settings(_read(named_file, "WHYSLOW_CONFIG", warn), warn)
    found |= _from_environment(variables, warn)
    found |= _settings(keywords, _raise)
    _check_together(found, warn)
    if "record_every_n_steps" in found and found.get("spread_steps") is least.get("spread_steps"):
        found.pop("spread_steps", None)  # the user chose which steps to record
    trace = {name[len("trace.") :]: each.value for name, each in found.items() if name.startswith("trace.")}
    _complete_schedule(trace)
    return CaptureConfig(
        **{name: each.value for name, each in found.items() if "." not in name}, trace=TraceConfig(**trace)
    )


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


def _raise(name: str, message: str) -> None:
    raise ValueError(message)


# -- one source ------------------------------------------------------------------------------------------------------


def _settings(source: Mapping[str, object], report: _Report) -> _Found:
    found: _Found = {}
    for given_as, value in source.items():
        for name, each in _named(str(given_as), value).items():
            if name not in PARSERS:
                report(name, f"unknown setting {name!r}{_did_you_mean(name)}")
            elif each is not None or name in _NONE_IS_A_VALUE:
                _add(found, name, each, name if given_as == "trace" else str(given_as), report)
    return found


def _named(name: str, value: object) -> Mapping[str, object]:
    """By their own names. `trace` may hold several, and is a switch otherwise."""
    if name == "trace":
        if isinstance(value, TraceConfig):
            value = _changed(value)
        return (
            {f"trace.{key}": each for key, each in value.items()}
            if isinstance(value, Mapping)
            else {"trace.enabled": value}
        )
    dotted = name.replace("_", ".", 1)
    return {dotted if name not in PARSERS and dotted in PARSERS else name: value}


def _from_environment(environ: Mapping[str, str], report: _Report) -> _Found:
    found: _Found = {}
    for variable, value in environ.items():
        name = VARIABLES.get(variable)
        if name is not None:
            # An empty variable counts as not set, except for switches, where it means off.
            if value.strip() or PARSERS[name] is boolean:
                found.pop(name, None)
                _add(found, name, value, variable, report)
        elif variable.startswith("WHYSLOW_") and variable != "WHYSLOW_CONFIG":
            meant = _alike(variable, VARIABLES, 1, TYPO)
            if meant:
                report(variable, f"{variable} is not a setting (did you mean {meant[0]}?)")
    return found


def _add(found: _Found, name: str, value: object, given_as: str, report: _Report) -> None:
    try:
        new = _Given(PARSERS[name](value), given_as, report is _raise)
    except ValueError as error:
        report(given_as, f"{given_as}={value!r} must be {error}")
        return
    before = found.setdefault(name, new)
    if before.value != new.value:
        report(name, f"{name} is given twice: {before.given_as} and {given_as}")


def _read(file: object, named_by: str, report: _Report) -> Mapping[str, object]:
    if isinstance(file, CaptureConfig):
        return _changed(file)
    if isinstance(file, Mapping):
        return file
    if not isinstance(file, (str, os.PathLike)):
        report(named_by, f"{named_by}={file!r} must be a JSON file or a mapping")
        return {}
    try:
        # It may name a pipe or a device: then the job must not wait for it, or fill its memory with it.
        return read_json(Path(file).resolve())
    except (OSError, ValueError) as error:
        report(named_by, f"{named_by}={os.fspath(file)!r} cannot be read as JSON: {error}")
        return {}


def _changed(config: CaptureConfig | TraceConfig) -> dict[str, object]:
    """The fields that differ from the default, which counts as "was set"."""
    usual = type(config)()
    return {
        each.name: value
        for each in fields(config)
        if (value := getattr(config, each.name)) != getattr(usual, each.name)
    }


def _did_you_mean(name: str) -> str:
    # The most likely mistake is a trace setting without its prefix.
    if f"trace.{name}" in PARSERS:
        return f" (did you mean trace.{name}?)"
    near = _alike(name.replace("-", "_").replace("trace_", "trace.", 1), (*PARSERS, "trace", "config"), 2, 0.6)
    return f" (did you mean {' or '.join(near)}?)" if near else f"; the settings are {', '.join(PARSERS)}"


def _alike(name: str, known: Iterable[str], most: int, similarity: float) -> list[str]:
    from difflib import get_close_matches  # slow to import, and seldom needed

    return get_close_matches(name, list(known), most, similarity)


# -- all sources together --------------------------------------------------------------------------------------------


def _check_together(found: _Found, warn: _Report) -> None:
    """Settings of the environment give way to those in code."""
    for involved, conflict in (
        (("start_step", "end_step"), _end_conflict),
        (("trace.period", "trace.warmup", "trace.active"), _schedule_conflict),
    ):
        while (message := conflict({name: found[name].value for name in involved if name in found})) is not None:
            doubtful = [name for name in involved if name in found and not found[name].is_code]
            if not doubtful:
                raise ValueError(message)
            warn("+".join(doubtful), f"{message} ({', '.join(found.pop(name).given_as for name in doubtful)})")


def _end_conflict(given: Mapping[str, Any]) -> str | None:
    start, end = given.get("start_step", 0), given.get("end_step")
    return f"end_step={end} is before start_step={start}" if end is not None and end < start else None


def _schedule_conflict(given: Mapping[str, Any]) -> str | None:
    # Settings that were not given adapt to the period.
    period, warmup, active = given.get("trace.period", 0), given.get("trace.warmup", 0), given.get("trace.active", 1)
    if not period or warmup + active <= period:
        return None
    return f"trace.warmup={warmup} and trace.active={active} do not fit in trace.period={period}"
