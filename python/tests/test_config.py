"""Settings from keywords, environment and JSON."""

from __future__ import annotations

import json
import os
import re
from dataclasses import fields
from pathlib import Path

import pytest

from whyslow_capture.config import PARSERS, CaptureConfig, Settings, TraceConfig, TraceSettings
from whyslow_capture.config_sources import load_config
from whyslow_capture.problems import ProblemLog


def load(
    given: dict[str, object] | None = None, environ: dict[str, str] | None = None, problems: ProblemLog | None = None
):
    return load_config(given, environ=environ or {}, problems=problems)


def test_defaults_are_those_of_the_contract():
    config = load()
    assert config == CaptureConfig()
    assert (config.enabled, config.ranks, config.start_step, config.end_step) == (True, None, 0, None)
    assert (config.record_every_n_steps, config.flush_every_n_steps, config.max_overhead) == (10, 10, 0.005)
    trace = config.trace
    assert (trace.enabled, trace.period, trace.ranks) == (False, 0, (0,))
    assert not (trace.record_shapes or trace.with_flops or trace.with_stack or trace.profile_memory)


def test_every_field_can_be_set():
    ours = {f.name for f in fields(CaptureConfig)} - {"trace"} | {f"trace.{f.name}" for f in fields(TraceConfig)}
    assert set(PARSERS) == ours


def test_the_readme_lists_every_setting():
    # Table columns are padded.
    readme = re.sub(" +", " ", (Path(__file__).parents[1] / "README.md").read_text())
    table = readme[readme.index("| name | default |") : readme.index("As a keyword")]
    assert [name for name in PARSERS if f"`{name}`" not in table] == []
    keywords = Settings.__annotations__.keys() | {"out"}
    assert {name.replace(".", "_") for name in PARSERS} | {"trace", "config", "defaults"} == keywords
    assert {f"trace.{name}" for name in TraceSettings.__annotations__} == {n for n in PARSERS if n.startswith("trace.")}


def test_settings_come_from_this_process_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WHYSLOW_RECORD_EVERY_N_STEPS", "7")
    assert load_config().record_every_n_steps == 7


EVERYTHING = {
    "enabled": ("yes", True),
    "out": ("/tmp/x y", "/tmp/x y"),
    "ranks": ("0,2-4", (0, 2, 3, 4)),
    "start_step": ("5", 5),
    "end_step": ("90", 90),
    "record_every_n_steps": ("3", 3),
    "spread_steps": ("yes", True),
    "flush_every_n_steps": ("4", 4),
    "max_overhead": ("1%", 0.01),
    "resume_step": ("100", 100),
    "auto_phases": ("FALSE", False),
    "hooks": ("all", ("all",)),
    "control": ("no", False),
    "stacks": ("no", False),
    "stuck_after": ("60", 60),
    "memory": ("yes", True),
    "verdict": ("no", False),
    "log_to": ("wandb,mlflow", ("wandb", "mlflow")),
    "run": ("night", "night"),
    "trace.enabled": ("True", True),
    "trace.period": ("50", 50),
    "trace.warmup": ("2", 2),
    "trace.active": ("4", 4),
    "trace.repeat": ("6", 6),
    "trace.ranks": ("all", None),
    "trace.target": ("train_actor, train_log_probs", ("train_actor", "train_log_probs")),
    "trace.record_shapes": ("1", True),
    "trace.with_flops": ("YES", True),
    "trace.with_stack": ("true", True),
    "trace.profile_memory": ("1", True),
    "trace.budget_mb": ("512", 512),
    "trace.format": (".tar.gz", "tar.gz"),
}


def value_of(config: CaptureConfig, name: str) -> object:
    section, _, rest = name.rpartition(".")
    return getattr(config.trace if section else config, rest)


def test_every_setting_is_tested_below():
    assert set(EVERYTHING) == set(PARSERS)


@pytest.mark.parametrize("name", EVERYTHING)
def test_every_setting_works_in_environment_json_and_keywords(name: str, tmp_path: Path):
    written, wanted = EVERYTHING[name]
    assert wanted != value_of(CaptureConfig(), name) or name == "enabled"
    variable = "WHYSLOW_" + name.replace(".", "_").upper()
    problems = ProblemLog()
    assert value_of(load({}, {variable: written}, problems), name) == wanted
    assert problems.counts == {}
    assert value_of(load({name: written}), name) == wanted
    assert value_of(load({name.replace(".", "_"): written}), name) == wanted
    file = tmp_path / "config.json"
    file.write_text(json.dumps({name: written}))
    assert value_of(load({"config": file}), name) == wanted
    assert value_of(load({}, {"WHYSLOW_CONFIG": str(file)}), name) == wanted
    if name.startswith("trace."):
        file.write_text(json.dumps({"trace": {name[6:]: written}}))
        assert value_of(load({"config": str(file)}), name) == wanted
        assert value_of(load({"trace": {name[6:]: written}}), name) == wanted


def test_keyword_over_environment_over_json_over_callback_over_default(tmp_path: Path):
    file = tmp_path / "c.json"
    file.write_text(json.dumps({"start_step": 2, "flush_every_n_steps": 2, "out": "json"}))
    environ = {"WHYSLOW_START_STEP": "3", "WHYSLOW_FLUSH_EVERY_N_STEPS": "3", "WHYSLOW_CONFIG": str(file)}
    defaults = {"start_step": 1, "out": "callback", "run": "callback"}
    config = load({"start_step": 4, "defaults": defaults}, environ)
    assert (config.start_step, config.flush_every_n_steps, config.out) == (4, 3, "json")
    assert (config.run, config.record_every_n_steps) == ("callback", 10)
    assert load({"config": {"out": "given"}}, environ).out == "given", "config= is used in place of WHYSLOW_CONFIG"


def test_setting_the_stride_turns_spreading_off():
    ours = {"defaults": {"spread_steps": True}}
    assert load(ours).spread_steps
    assert not load({"record_every_n_steps": 10, **ours}).spread_steps
    assert not load(ours, {"WHYSLOW_RECORD_EVERY_N_STEPS": "10"}).spread_steps
    assert load({"record_every_n_steps": 20, "spread_steps": True}).spread_steps


def test_none_means_not_given_except_where_it_is_a_value():
    environ = {"WHYSLOW_OUT": "there", "WHYSLOW_RANKS": "1", "WHYSLOW_END_STEP": "9", "WHYSLOW_TRACE_RANKS": "3"}
    config = load({"out": None, "run": None, "record_every_n_steps": None}, environ)
    assert (config.out, config.ranks, config.end_step, config.trace.ranks) == ("there", (1,), 9, (3,))
    config = load({"ranks": None, "end_step": None, "trace.ranks": None}, environ)
    assert (config.ranks, config.end_step, config.trace.ranks) == (None, None, None)


@pytest.mark.parametrize(
    ("given", "ranks"),
    [("all", None), ("0", (0,)), ("0, 2-5", (0, 2, 3, 4, 5)), (3, (3,)), ([5, 1, 1], (1, 5)), (range(2), (0, 1))],
)
def test_ranks(given: object, ranks: object):
    assert load({"ranks": given}).ranks == ranks


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("ranks", "a", '"0,2-5"'),
        ("ranks", "5-2", '"0,2-5"'),
        ("ranks", [], '"0,2-5"'),
        ("ranks", -1, '"0,2-5"'),
        ("ranks", "0-999999999", '"0,2-5"'),
        ("enabled", "on", "1, true or yes"),
        ("enabled", 2, "1, true or yes"),
        ("record_every_n_steps", 0, "at least 1"),
        ("record_every_n_steps", True, "at least 1"),
        ("start_step", 1.5, "at least 0"),
        ("start_step", "soon", "at least 0"),
        ("max_overhead", 0, "0.5%"),
        ("max_overhead", "200%", "0.5%"),
        ("max_overhead", "nan", "0.5%"),
        ("out", "", "not empty"),
        ("trace.format", "zip", "json.gz or tar.gz"),
        ("trace.target", [], "train_actor"),
        ("trace.budget_mb", 0, "at least 1"),
    ],
)
def test_a_bad_value_raises_in_code_and_warns_in_the_environment(
    name: str, value: object, allowed: str, capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(ValueError, match=" must be ") as raised:
        load({name: value})
    assert name in str(raised.value) and repr(value) in str(raised.value) and allowed in str(raised.value)
    if isinstance(value, str) and value:
        variable = "WHYSLOW_" + name.replace(".", "_").upper()
        problems = ProblemLog()
        assert load({}, {variable: value}, problems) == CaptureConfig()
        assert load({}, {variable: value}, problems) == CaptureConfig()
        printed = capsys.readouterr().err
        assert printed.count("\n") == 1 and variable in printed and allowed in printed and "ignored" in printed


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("record_every_n_step", "record_every_n_steps"),
        ("record-every-n-steps", "record_every_n_steps"),
        ("trace_priod", "trace.period"),
        ("period", "trace.period"),
        ("with_stack", "trace.with_stack"),
    ],
)
def test_an_unknown_name_suggests_the_right_one(slip: str, meant: str):
    with pytest.raises(ValueError, match=f"unknown setting '{slip}'.*did you mean.*{meant}"):
        load({slip: 1})
    with pytest.raises(ValueError, match="unknown setting"):
        load({"config": {slip: 1}})


def test_an_unknown_name_without_a_match_lists_all_settings():
    with pytest.raises(ValueError, match="the settings are enabled, out"):
        load({"qqqq": 1})
    with pytest.raises(ValueError, match=r"unknown setting 'trace.activ' \(did you mean trace.active"):
        load({"trace": {"activ": 1}})


def test_typos_in_the_environment_warn_and_other_names_do_not(capsys: pytest.CaptureFixture[str]):
    problems = ProblemLog()
    environ = {"WHYSLOW_RECORD_EVERY_N_STEP": "5", "WHYSLOW_SOMETHING_ELSE": "x", "WHYSLOW_CONFIG": ""}
    assert load({}, environ, problems) == CaptureConfig()
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1 and "did you mean WHYSLOW_RECORD_EVERY_N_STEPS?" in printed


@pytest.mark.parametrize("content", [None, "{", "[1]", '{"recordd": 1, "start_step": 3}'])
def test_a_bad_file_raises_in_code_and_warns_in_the_environment(
    content: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "c.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ValueError, match=r"c\.json|recordd"):
        load({"config": str(file)})
    config = load({}, {"WHYSLOW_CONFIG": str(file)})
    assert config.start_step == (3 if content and "start_step" in content else 0), "what is right in it counts"
    assert capsys.readouterr().err.count("\n") == 1


def test_the_same_setting_twice_in_one_source():
    with pytest.raises(ValueError, match=r"trace.period is given twice"):
        load({"trace.period": 10, "trace": {"period": 20}})
    assert load({"trace.period": 10, "trace": {"period": 10}}).trace.period == 10


# -- windows ---------------------------------------------------------------------------------------------------------


def test_a_period_switches_windows_on():
    assert load({"trace_period": 100}).trace == TraceConfig(enabled=True, period=100)
    assert load({}, {"WHYSLOW_TRACE_PERIOD": "100"}).trace.enabled
    assert not load({"trace_period": 100, "trace.enabled": False}).trace.enabled
    assert load({"trace": TraceConfig(period=100, active=5)}).trace == TraceConfig(enabled=True, period=100, active=5)


@pytest.mark.parametrize(
    "given", [{"trace": True}, {"trace": "yes"}, {"trace": {"enabled": True}}, {"trace.enabled": 1}]
)
def test_tracing_without_a_period_is_one_window(given: dict[str, object]):
    for trace in (load(given).trace, load({}, {"WHYSLOW_TRACE": "1"}).trace):
        assert (trace.enabled, trace.period, trace.warmup, trace.active, trace.repeat) == (True, 27, 1, 6, 1)
    assert load(given | {"trace_active": 30}).trace.period == 31


def test_the_default_window_shrinks_to_a_short_period():
    assert (load({"trace_period": 2}).trace.warmup, load({"trace_period": 2}).trace.active) == (1, 1)
    assert (load({"trace_period": 1}).trace.warmup, load({"trace_period": 1}).trace.active) == (0, 1)
    assert (load({"trace_period": 3, "trace_active": 3}).trace.warmup) == 0


def test_a_window_longer_than_its_period_raises(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(ValueError, match=r"trace.warmup=2 and trace.active=9 do not fit in trace.period=10"):
        load({"trace": {"period": 10, "warmup": 2, "active": 9}})
    config = load({"trace_period": 10}, {"WHYSLOW_TRACE_ACTIVE": "12"})
    assert (config.trace.period, config.trace.active) == (10, 3)
    assert "WHYSLOW_TRACE_ACTIVE" in capsys.readouterr().err
    with pytest.raises(ValueError, match="end_step=4 is before start_step=5"):
        load({"start_step": 5, "end_step": 4})
    assert load({"start_step": 5}, {"WHYSLOW_END_STEP": "4"}).end_step is None


def test_a_config_object_round_trips():
    config = load({"out": "x", "ranks": "1-2", "trace": True, "max_overhead": "2%"})
    assert load({"config": config}) == config
    assert load({"config": config, "out": "y"}).out == "y"


@pytest.mark.parametrize("name", ["pipe", "zero", "large", "deep"])
def test_a_config_file_that_is_no_small_file_is_reported_and_not_read(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / name
    if name == "pipe":
        os.mkfifo(file)
    elif name == "zero":
        file.symlink_to("/dev/zero")
    else:
        file.write_text(" " * (2 << 20) if name == "large" else "[" * 100_000)
    assert load({}, {"WHYSLOW_CONFIG": str(file), "WHYSLOW_START_STEP": "3"}).start_step == 3
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1 and "cannot be read as JSON" in printed
