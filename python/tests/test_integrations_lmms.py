"""lmms-engine's CudaEventProfiler: the calls that its trainer makes give the same files."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from support import header_of, records_of

from whyslow_capture import layout
from whyslow_capture.api import active_session
from whyslow_capture.integrations.lmms import CudaEventProfiler

EVERY = {"record_every_n_steps": 1, "max_overhead": 1}


def profiler_in(output_dir: Path, config: dict[str, object] | None = None, **given: Any) -> CudaEventProfiler:
    arguments = {"enable": True, "rank": 0, **given}
    return CudaEventProfiler(directory=str(output_dir / "cuda_event_profiler"), profiler_config=config, **arguments)


def train(profiler: CudaEventProfiler, steps: range, accumulate: int = 1) -> None:
    for step in steps:
        for _ in range(accumulate):
            with profiler.record("host_to_device", step):
                time.sleep(0.001)
            with profiler.record("training_step", step):
                time.sleep(0.003)
            with profiler.record("training_metrics", step):
                time.sleep(0.001)
            profiler.maybe_flush(step)
    profiler.close()


def test_same_file_same_records(tmp_path: Path):
    profiler = profiler_in(tmp_path, EVERY)
    train(profiler, range(4))
    file = tmp_path / "cuda_event_profiler" / "cuda_events_rank_0.jsonl"
    assert profiler.path == str(file) and file.exists()
    records = records_of(tmp_path)
    phases = ["host_to_device", "training_step", "training_metrics"]
    assert [(r["name"], r["step"], r["rank"]) for r in records] == [(name, s, 0) for s in range(4) for name in phases]
    copies, steps, metrics = ([r for r in records if r["name"] == name] for name in phases)
    for copied, stepped, measured in zip(copies, steps, metrics, strict=True):
        assert copied["duration_ms"] >= 1 and stepped["duration_ms"] >= 3 and measured["duration_ms"] >= 1
        # As in lmms-engine, training_step is what the trainer wraps, not the whole iteration.
        assert copied["start_ms"] + copied["duration_ms"] <= stepped["start_ms"] + 0.001
        assert stepped["start_ms"] + stepped["duration_ms"] <= measured["start_ms"] + 0.001
    assert active_session() is None


def test_default_is_one_step_in_ten(tmp_path: Path):
    train(profiler_in(tmp_path, {"max_overhead": 1}), range(21))
    assert [r["step"] for r in records_of(tmp_path) if r["name"] == "training_step"] == [0, 10, 20]
    assert header_of(tmp_path)["record_every_n_steps"] == 10


def test_start_end_and_stride(tmp_path: Path):
    config = {"start_step": 2, "end_step": 5, "record_every_n_steps": 2, "flush_every_n_steps": 1, "max_overhead": 1}
    train(profiler_in(tmp_path, config), range(7))
    assert [r["step"] for r in records_of(tmp_path) if r["name"] == "training_step"] == [2, 4]


def test_a_resumed_job_continues_counting(tmp_path: Path):
    train(profiler_in(tmp_path, {"record_every_n_steps": 5, "max_overhead": 1}), range(1003, 1012))
    assert [r["step"] for r in records_of(tmp_path) if r["name"] == "training_step"] == [1005, 1010]


def test_micro_batches(tmp_path: Path):
    train(profiler_in(tmp_path, EVERY), range(2), accumulate=3)
    records = records_of(tmp_path)
    assert [(r["step"], r["micro"]) for r in records if r["name"] == "training_step"] == [
        (step, micro) for step in range(2) for micro in range(3)
    ]
    assert [r["micro"] for r in records if r["name"] == "host_to_device" and r["step"] == 1] == [0, 1, 2]


def test_micro_batches_by_metadata(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    profiler = profiler_in(tmp_path, EVERY)
    with profiler.record("training_step", step=7, micro_step=2):
        pass
    assert capsys.readouterr().err == ""
    with profiler.record("training_metrics", step=7, tokens=5):
        pass
    profiler.close()
    assert [(r["step"], r["micro"]) for r in records_of(tmp_path)] == [(7, 2), (7, 2)]
    assert "records keep only micro_step" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "config"), [({"enable": False}, None), ({"rank": 3}, {"ranks": [0, 1]}), ({"rank": 3}, {"ranks": "0"})]
)
def test_disabled_and_unselected_ranks_write_nothing(
    tmp_path: Path, given: dict[str, Any], config: dict[str, object] | None
):
    profiler = profiler_in(tmp_path, config, **given)
    assert not profiler.enable and not profiler.should_record(0)
    train(profiler, range(12))
    profiler.flush(blocking=True)
    assert list(tmp_path.iterdir()) == []


def test_should_record(tmp_path: Path):
    profiler = profiler_in(tmp_path, {"start_step": 1, "record_every_n_steps": 2})
    assert [profiler.should_record(step) for step in range(4)] == [False, True, False, True]
    profiler.close()


def test_an_error_in_a_phase_passes(tmp_path: Path):
    profiler = profiler_in(tmp_path, EVERY)
    with pytest.raises(RuntimeError, match="out of memory"), profiler.record("training_step", 0):
        raise RuntimeError("out of memory")
    with profiler.record("training_step", 1):
        pass
    profiler.close()
    profiler.close()
    assert [r["step"] for r in records_of(tmp_path)] == [0, 1]


def test_step_numbers_may_jump_and_go_back(tmp_path: Path):
    profiler = profiler_in(tmp_path, EVERY)
    for step in (0, 1, 7, 8, 2):
        with profiler.record("training_step", step):
            pass
    profiler.close()
    assert [r["step"] for r in records_of(tmp_path)] == [0, 1, 7, 8, 2]


def test_a_directory_with_another_name(tmp_path: Path):
    profiler = CudaEventProfiler(True, tmp_path / "events", profiler_config=EVERY)
    train(profiler, range(2))
    assert profiler.path == str(layout.events_file(tmp_path / "events", 0)) and Path(profiler.path).exists()


def test_a_mistake_in_the_config_raises_at_once(tmp_path: Path):
    with pytest.raises(ValueError, match="did you mean record_every_n_steps"):
        profiler_in(tmp_path, {"record_every_n_step": 5})
