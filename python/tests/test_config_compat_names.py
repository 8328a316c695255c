"""lmms-engine, slime and d9d: their names for the same settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from whyslow_capture.compat import ENVIRONMENT, RENAMED, all_names
from whyslow_capture.config import CaptureConfig, load_config


def load(given: dict[str, object], environ: dict[str, str] | None = None) -> CaptureConfig:
    return load_config(given, environ=environ or {})


LMMS = {
    "enable_cuda_event_profiler": True,
    "cuda_event_profiler_config": {
        "start_step": 100,
        "end_step": 1000,
        "record_every_n_steps": 20,
        "flush_every_n_steps": 5,
        "ranks": [0, 8],
    },
    "output_dir": "runs/sft",
}


@pytest.mark.parametrize("by_json", [False, True])
def test_lmms_engine(by_json: bool, tmp_path: Path):
    file = tmp_path / "lmms.json"
    file.write_text(json.dumps(LMMS))
    config = load({"config": file} if by_json else LMMS)
    assert (config.enabled, config.out) == (True, "runs/sft")
    assert (config.start_step, config.end_step, config.ranks) == (100, 1000, (0, 8))
    assert (config.record_every_n_steps, config.flush_every_n_steps) == (20, 5)


def test_lmms_engine_is_off_unless_enabled_and_takes_no_config_as_defaults():
    assert not load({"enable_cuda_event_profiler": False}).enabled
    assert load({"enable_cuda_event_profiler": True, "cuda_event_profiler_config": None}) == CaptureConfig()
    assert load({"cuda_event_profiler_config": {"record_every_n_steps": 0}}).record_every_n_steps == 1
    with pytest.raises(ValueError, match=r"cuda_event_profiler_config=.*record_every_n_steps"):
        load({"cuda_event_profiler_config": {"every": 3}})


@pytest.mark.parametrize("word", ["1", "true", "YES", "0", "no", "False", ""])
def test_slime_environment(word: str):
    on = word.lower() in ("1", "true", "yes")
    trace = load({}, dict.fromkeys(ENVIRONMENT, word)).trace
    assert [trace.record_shapes, trace.with_flops, trace.with_stack, trace.profile_memory] == [on] * 4
    assert trace.ranks == (None if on else (0,))
    assert not trace.enabled, "these do not start profiling by themselves"
    by_keyword = load(dict.fromkeys(ENVIRONMENT, word)).trace
    assert by_keyword == trace


def test_bad_slime_variables_warn(capsys: pytest.CaptureFixture[str]):
    assert load({}, {"SLIME_PROFILE_MEMORY": "maybe", "SLIME_PROFILE_ALL_RANKS": "maybe"}) == CaptureConfig()
    printed = capsys.readouterr().err
    assert "SLIME_PROFILE_MEMORY='maybe'" in printed and "SLIME_PROFILE_ALL_RANKS='maybe'" in printed


def test_slime_arguments_are_one_window():
    given = {
        "use_pytorch_profiler": True,
        "profile_target": ["train_actor", "train_log_probs"],
        "profile_step_start": 5,
        "profile_step_end": 8,
        "tensorboard_dir": "tb",
    }
    config = load(given)
    trace = config.trace
    assert config.out == "tb"
    assert trace.target == ("train_actor", "train_log_probs")
    # Waits in steps 0 to 3, warms up in 4, records 5 to 7, once.
    assert (trace.enabled, trace.period - trace.warmup - trace.active) == (True, 4)
    assert (trace.warmup, trace.active, trace.repeat) == (1, 3, 1)


def test_slime_corner_cases():
    first = load({"profile_step_start": 0, "profile_step_end": 2}).trace
    assert (first.enabled, first.period, first.warmup, first.active) == (True, 2, 0, 2)
    megatron = load({"use_pytorch_profiler": True, "profile_step_start": 10}).trace
    assert (megatron.period, megatron.active) == (12, 2)
    assert not load({"use_pytorch_profiler": False, "profile_step_start": 1, "profile_step_end": 3}).trace.enabled
    assert load({"tensorboard_dir": None, "profile_target": "train_overall"}) == CaptureConfig()
    with pytest.raises(ValueError, match="profile_step_start is below profile_step_end"):
        load({"profile_step_start": 5, "profile_step_end": 5})


def test_d9d():
    config = load({"save_dir": Path("prof"), "period_steps": 100, "warmup_steps": 5, "active_steps": 2})
    trace = config.trace
    assert (config.out, trace.enabled, trace.period, trace.warmup, trace.active) == ("prof", True, 100, 5, 2)
    with pytest.raises(ValueError, match="do not fit"):
        load({"period_steps": 6, "warmup_steps": 5, "active_steps": 2})
    with pytest.raises(ValueError, match="warmup_steps=-1"):
        load({"period_steps": 6, "warmup_steps": -1})


def test_our_name_wins_over_a_compatibility_name():
    assert load({"out": "ours", "output_dir": "theirs"}).out == "ours"
    environ = {"SLIME_PROFILE_WITH_STACK": "1", "WHYSLOW_TRACE_WITH_STACK": "0"}
    assert not load({}, environ).trace.with_stack
    with pytest.raises(ValueError, match="out is given twice: output_dir and save_dir"):
        load({"output_dir": "a", "save_dir": "b"})


def test_no_compatibility_name_is_also_ours():
    ours = set(CaptureConfig.__dataclass_fields__)
    assert not ours & set(all_names())
    assert all(name.split(".")[0] in ours for name in RENAMED.values())
