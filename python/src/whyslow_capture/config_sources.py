"""Reads settings from all sources, and reports mistakes in them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path

from .config import PARSERS, CaptureConfig, TraceConfig
from .own_files import read_json
from .problems import ProblemLog

PREFIX = "WHYSLOW_"
# For these settings None is a value; for all others it means "not given".
_NONE_IS_A_VALUE = {"ranks", "end_step", "trace.ranks"}
_ENVIRONMENT = {PREFIX + name.replace(".", "_").upper(): name for name in PARSERS} | {"WHYSLOW_TRACE": "trace.enabled"}
# Similarity from which an unknown WHYSLOW_ variable counts as a typo. Others may use such names for themselves.
_TYPO = 0.85


@dataclass(frozen=True)
class Setting:
    value: object
    source: str
    given_as: str
    # Given in the caller's code, so mistakes raise an error instead of a warning.
    is_code: bool


NOT_GIVEN = Setting(None, "", "", False)
Settings = dict[str, Setting]
# Takes a setting's name and a message.
Report = Callable[[str, str], None]


def gather_settings(given: Mapping[str, object], environ: Mapping[str, str], problems: ProblemLog) -> Settings:
    given = dict(given)
    file, framework = given.pop("config", None), given.pop("defaults", None)
    settings: Settings = {}
    if isinstance(framework, Mapping):
        settings |= _layer(framework, "defaults", _raise)

    def warn(name: str, message: str) -> None:
        problems.warn(f"config:{name}", f"{message}; ignored")

    named_file = environ.get(PREFIX + "CONFIG", "").strip()
    if file is not None:
        settings |= _layer(_read(file, "config", _raise), "config", _raise)
    elif named_file:
        settings |= _layer(_read(named_file, PREFIX + "CONFIG", warn), named_file, warn)
    settings |= _environment_layer(environ, warn)
    settings |= _layer(given, "keyword", _raise)
    _check_together(settings, warn)
    return settings


def _raise(name: str, message: str) -> None:
    raise ValueError(message)


# -- one source ------------------------------------------------------------------------------------------------------


def _layer(source: Mapping[str, object], where: str, report: Report) -> Settings:
    """The settings of one source."""
    settings: Settings = {}
    for name, value in source.items():
        found = _own_settings(str(name), value, report)
        if found is None:
            report(name, f"unknown setting {name!r}{_did_you_mean(str(name))}")
        else:
            _add(settings, found, where, name, report)
    return settings


def _own_settings(name: str, value: object, report: Report) -> Mapping[str, object] | None:
    if name in PARSERS:
        return {name: value}
    if name == "trace":
        return _trace_settings(value, report)
    prefix, _, rest = name.partition("_")
    return {f"trace.{rest}": value} if prefix == "trace" and f"trace.{rest}" in PARSERS else None


def _trace_settings(value: object, report: Report) -> Mapping[str, object]:
    if isinstance(value, TraceConfig):
        return _differing(value, TraceConfig(), "trace.")
    if isinstance(value, Mapping):
        unknown = [key for key in value if f"trace.{key}" not in PARSERS]
        for key in unknown:
            report(f"trace.{key}", f"unknown setting 'trace.{key}'{_did_you_mean(f'trace.{key}')}")
        return {f"trace.{key}": item for key, item in value.items() if key not in unknown}
    return {"trace.enabled": value}


def _add(settings: Settings, found: Mapping[str, object], where: str, given_as: str, report: Report) -> None:
    for name, value in found.items():
        if value is None and name not in _NONE_IS_A_VALUE:
            continue
        try:
            parsed = PARSERS[name](value)
        except ValueError as error:
            written = given_as if len(found) == 1 and given_as != "trace" else name
            report(name, _not_allowed(written, value, error))
            continue
        before = settings.get(name)
        if before is not None and before.value != parsed:
            report(name, f"{name} is given twice: {before.given_as} and {given_as}")
            continue
        settings[name] = Setting(parsed, where, given_as, report is _raise)


def _environment_layer(environ: Mapping[str, str], report: Report) -> Settings:
    settings: Settings = {}
    for variable, value in environ.items():
        if variable in _ENVIRONMENT:
            _add_variable(settings, _ENVIRONMENT[variable], value, variable, report)
        elif variable.startswith(PREFIX) and variable != PREFIX + "CONFIG":
            meant = get_close_matches(variable, _ENVIRONMENT, 1, _TYPO)
            if meant:
                report(variable, f"{variable} is not a setting (did you mean {meant[0]}?)")
    return settings


def _add_variable(settings: Settings, name: str, value: str, variable: str, report: Report) -> None:
    # An empty variable counts as not set, except for switches, where it means off.
    if not value.strip() and PARSERS[name] is not PARSERS["enabled"]:
        return
    try:
        settings[name] = Setting(PARSERS[name](value), "environment", variable, False)
    except ValueError as error:
        report(variable, _not_allowed(variable, value, error))


def _read(file: object, named_by: str, report: Report) -> Mapping[str, object]:
    if isinstance(file, CaptureConfig):
        return _differing(file, CaptureConfig(), "")
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


def _differing(value: object, default: object, prefix: str) -> dict[str, object]:
    """The fields of a config object that differ from the default, which counts as "was set"."""
    found = {f.name: getattr(value, f.name) for f in fields(default)}  # type: ignore[arg-type]
    return {prefix + name: item for name, item in found.items() if item != getattr(default, name)}


# -- all sources together --------------------------------------------------------------------------------------------


def _check_together(settings: Settings, warn: Report) -> None:
    for involved, find_conflict in ((("start_step", "end_step"), _end_conflict), (_SCHEDULE, _schedule_conflict)):
        message = find_conflict(settings)
        if message is None:
            continue
        doubtful = [name for name in involved if name in settings and not settings[name].is_code]
        if not doubtful:
            raise ValueError(message)
        warn("+".join(doubtful), f"{message} ({', '.join(settings[name].given_as for name in doubtful)})")
        for name in doubtful:
            del settings[name]
        again = find_conflict(settings)
        if again is not None:
            raise ValueError(again)


_SCHEDULE = ("trace.period", "trace.warmup", "trace.active")


def _end_conflict(settings: Settings) -> str | None:
    start, end = _value(settings, "start_step", 0), _value(settings, "end_step", None)
    if start is None or end is None or end >= start:
        return None
    return f"end_step={end} is before start_step={start}"


def _schedule_conflict(settings: Settings) -> str | None:
    period = _value(settings, "trace.period", 0)
    # Settings that were not given adapt to the period.
    warmup, active = _value(settings, "trace.warmup", 0), _value(settings, "trace.active", 1)
    if not period or warmup is None or active is None or warmup + active <= period:
        return None
    return f"trace.warmup={warmup} and trace.active={active} do not fit in trace.period={period}"


def _value(settings: Settings, name: str, default: int | None) -> int | None:
    setting = settings.get(name)
    value = default if setting is None else setting.value
    return value if isinstance(value, int) else None


def _not_allowed(name: str, value: object, error: ValueError) -> str:
    return f"{name}={value!r} must be {error}"


def _did_you_mean(name: str) -> str:
    known: Iterable[str] = [*PARSERS, "trace", "config"]
    # The most likely mistake is a trace setting without its prefix.
    if f"trace.{name}" in PARSERS:
        return f" (did you mean trace.{name}?)"
    spelled = name.replace("-", "_")
    near = get_close_matches(spelled if not spelled.startswith("trace_") else "trace." + spelled[6:], known, 2, 0.6)
    return f" (did you mean {' or '.join(near)}?)" if near else f"; the settings are {', '.join(PARSERS)}"
