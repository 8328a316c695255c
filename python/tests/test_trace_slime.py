"""The drop-in for slime's TrainProfiler."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
import torch
from gloo_ranks import run_ranks
from trace_support import files_in, operations_in, read_trace, steps_in, work

from whyslow_capture.integrations.slime import TrainProfiler

FLAGS = {
    "SLIME_PROFILE_RECORD_SHAPES": "record_shapes",
    "SLIME_PROFILE_WITH_FLOPS": "with_flops",
    "SLIME_PROFILE_WITH_STACK": "with_stack",
    "SLIME_PROFILE_MEMORY": "profile_memory",
}


def args(folder: Path | str, *targets: str, **given: Any) -> Namespace:
    return Namespace(
        **{
            "use_pytorch_profiler": True,
            "profile_target": list(targets or ("train_overall",)),
            "profile_step_start": 2,
            "profile_step_end": 4,
            "tensorboard_dir": str(folder),
            "record_memory_history": False,
            **given,
        }
    )


def rollouts(profiler: TrainProfiler, count: int = 6, first: int = 0) -> None:
    profiler.on_init_end()
    for rollout in range(first, first + count):
        work()
        profiler.step(rollout)
    profiler.close()


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*FLAGS, "SLIME_PROFILE_ALL_RANKS"):
        monkeypatch.delenv(name, raising=False)


def test_train_overall_records_from_start_to_end(tmp_path: Path) -> None:
    rollouts(TrainProfiler(args(tmp_path)))
    (trace,) = tmp_path.iterdir()
    assert trace.name.startswith("train_overall_rank_0.") and trace.name.endswith(".pt.trace.json.gz")
    assert steps_in(trace) == [2, 3]
    assert operations_in(trace) == 40


def test_a_resumed_job_counts_its_own_rollouts(tmp_path: Path) -> None:
    rollouts(TrainProfiler(args(tmp_path)), first=500)
    (trace,) = tmp_path.iterdir()
    assert steps_in(trace) == [2, 3]


def test_a_window_at_the_first_step(tmp_path: Path) -> None:
    rollouts(TrainProfiler(args(tmp_path, profile_step_start=0, profile_step_end=1)))
    (trace,) = tmp_path.iterdir()
    assert steps_in(trace) == [0]


def test_options_are_off_by_default(tmp_path: Path) -> None:
    rollouts(TrainProfiler(args(tmp_path)))
    (path,) = tmp_path.iterdir()
    trace = read_trace(path)
    assert [flag for flag in FLAGS.values() if flag in trace] == []
    assert not any("Input Dims" in event.get("args", {}) for event in trace["traceEvents"])


@pytest.mark.parametrize("word", ["1", "true", "TRUE", "Yes", "yes"])
@pytest.mark.parametrize("variable", list(FLAGS))
def test_options_can_be_set_in_the_environment(
    tmp_path: Path, variable: str, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, word)
    rollouts(TrainProfiler(args(tmp_path)))
    (path,) = tmp_path.iterdir()
    assert [flag for flag in FLAGS.values() if read_trace(path).get(flag) == 1] == [FLAGS[variable]]


@pytest.mark.parametrize("word", ["0", "false", "No", "", "perhaps"])
def test_other_values_mean_off(tmp_path: Path, word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLIME_PROFILE_WITH_STACK", word)
    rollouts(TrainProfiler(args(tmp_path)))
    (path,) = tmp_path.iterdir()
    assert "with_stack" not in read_trace(path)


def test_callbacks_are_none_when_their_target_is_off(tmp_path: Path) -> None:
    overall = TrainProfiler(args(tmp_path))
    assert overall.step_train_actor is None and overall.step_train_log_probs is None
    actor = TrainProfiler(args(tmp_path, "train_actor"))
    assert actor.step_train_actor is not None and actor.step_train_log_probs is None
    off = TrainProfiler(args(tmp_path, "train_actor", use_pytorch_profiler=False))
    assert off.step_train_actor is None
    rollouts(off)
    for profiler in (overall, actor):
        profiler.close()
    assert files_in(tmp_path) == []


def train(batches: int, step_callback: Any = None) -> None:
    """Calls it like slime's train() and forward_only()."""
    for _ in range(batches):
        work(7)
        if step_callback is not None:
            step_callback()


def test_train_actor_covers_single_steps_within_a_rollout(tmp_path: Path) -> None:
    profiler = TrainProfiler(args(tmp_path, "train_actor", profile_step_start=5, profile_step_end=6))
    profiler.on_init_end()
    for rollout in range(3):
        work(1000)  # generation and log-probs, not in the trace
        train(4, profiler.step_train_actor)
        profiler.step(rollout)
    profiler.close()
    (trace,) = tmp_path.iterdir()
    assert trace.name.startswith("train_actor_rank_0.")
    # The second step of the second rollout.
    assert steps_in(trace) == [5]
    assert operations_in(trace) == 7


def test_train_log_probs_and_actor_one_after_another(tmp_path: Path) -> None:
    profiler = TrainProfiler(args(tmp_path, "train_actor", "train_log_probs"))
    profiler.on_init_end()
    train(6, profiler.step_train_log_probs)
    train(6, profiler.step_train_actor)
    profiler.close()
    names = sorted(path.name.split("_rank_0.")[0] for path in tmp_path.iterdir())
    assert names == ["train_actor", "train_log_probs"]


@pytest.mark.parametrize("name", ["train_actor", "train_log_probs"])
def test_iterators_are_wrapped(tmp_path: Path, name: str) -> None:
    profiler = TrainProfiler(args(tmp_path, name))
    seen = []
    for item in getattr(profiler, f"iterate_{name}")(range(6)):
        seen.append(item)
        work(3)
    assert seen == list(range(6))
    profiler.close()
    (trace,) = tmp_path.iterdir()
    assert steps_in(trace) == [2, 3] and operations_in(trace) == 6
    off = TrainProfiler(args(tmp_path, "train_overall"))
    assert list(getattr(off, f"iterate_{name}")(iter("abc"))) == ["a", "b", "c"]
    off.close()


def test_missing_arguments_have_defaults_and_bad_ones_warn(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    profiler = TrainProfiler(Namespace(use_pytorch_profiler=True, tensorboard_dir=str(tmp_path)))
    rollouts(profiler, 13)
    (trace,) = tmp_path.iterdir()
    assert steps_in(trace) == [10, 11]
    assert [line for line in capfd.readouterr().err.splitlines() if line.startswith("whyslow_capture")] == []
    rollouts(TrainProfiler(args(tmp_path, profile_step_start=5, profile_step_end=5, record_memory_history=True)))
    warnings = [line for line in capfd.readouterr().err.splitlines() if line.startswith("whyslow_capture")]
    assert len(warnings) == 2 and "record-memory-history" in warnings[0] and "profile_step_start=5" in warnings[1]
    rollouts(TrainProfiler(Namespace()))


def _slime_rank(rank: int, folder: str, everybody: str) -> None:
    import os

    os.environ["SLIME_PROFILE_ALL_RANKS"] = everybody
    profiler = TrainProfiler(args(folder))
    profiler.on_init_end()
    for rollout in range(5):
        torch.distributed.all_reduce(work())
        profiler.step(rollout)
    profiler.close()


def test_only_rank_0_unless_all_ranks_are_requested(tmp_path: Path) -> None:
    run_ranks(_slime_rank, 3, str(tmp_path / "one"), "0")
    assert [path.name.split(".")[0] for path in (tmp_path / "one").iterdir()] == ["train_overall_rank_0"]
    run_ranks(_slime_rank, 3, str(tmp_path / "all"), "Yes")
    traces = sorted((tmp_path / "all").iterdir())
    assert [path.name.split(".")[0] for path in traces] == [f"train_overall_rank_{rank}" for rank in range(3)]
    assert [steps_in(path) for path in traces] == [[2, 3]] * 3
