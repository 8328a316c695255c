"""The drop-in for d9d's Profiler."""

from __future__ import annotations

import json
import tarfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from gloo_ranks import run_ranks
from trace_support import files_in, read_trace, steps_in, work

from whyslow_capture.integrations.d9d import Profiler


def run(profiler: Profiler, start: int, steps: int) -> None:
    with profiler.open(start) as steps_of_job:
        for _ in range(steps):
            work()
            steps_of_job.step()
        assert steps_of_job.step_num == start + steps


def test_a_cycle_is_wait_then_warm_up_then_active(tmp_path: Path) -> None:
    run(Profiler(tmp_path, period_steps=5, warmup_steps=1, active_steps=2), 0, 10)
    traces = [name for name in files_in(tmp_path) if "step_" in name]
    # As in d9d: the number of the step after the window, and no rank in a job with one rank.
    assert traces == ["step_10/trace.tar.gz", "step_5/trace.tar.gz"]
    assert steps_in(tmp_path / "step_5/trace.tar.gz") == [3, 4]
    assert steps_in(tmp_path / "step_10/trace.tar.gz") == [8, 9]


def test_shapes_and_stacks_are_recorded(tmp_path: Path) -> None:
    run(Profiler(tmp_path, 2, 1, 1), 0, 2)
    trace = read_trace(tmp_path / "step_2/trace.tar.gz")
    assert any("Input Dims" in event.get("args", {}) for event in trace["traceEvents"])
    assert any(event.get("cat") == "python_function" for event in trace["traceEvents"])
    run(Profiler(tmp_path / "lean", 2, 1, 1, record_shapes=False, with_stack=False), 0, 2)
    trace = read_trace(tmp_path / "lean/step_2/trace.tar.gz")
    assert not any("Input Dims" in event.get("args", {}) for event in trace["traceEvents"])


def test_the_archive_replaces_the_raw_json(tmp_path: Path) -> None:
    run(Profiler(tmp_path, 2, 1, 1), 0, 2)
    with tarfile.open(tmp_path / "step_2/trace.tar.gz") as archive:
        assert archive.getnames() == ["trace.json"]
    assert not any(
        name.endswith(".json") and "ranks/" not in name and name != "run.json" for name in files_in(tmp_path)
    )


def test_resumes_at_the_given_step(tmp_path: Path) -> None:
    run(Profiler(tmp_path, 100, 2, 3), 1090, 15)
    (trace,) = tmp_path.rglob("*.tar.gz")
    assert trace.parent.name == "step_1100"
    assert steps_in(trace) == [1097, 1098, 1099]


def test_a_period_shorter_than_its_window_raises(tmp_path: Path) -> None:
    for wrong in ((2, 1, 2), (5, 1, 0), (5, -1, 1)):
        with pytest.raises(ValueError):
            Profiler(tmp_path, *wrong)


def test_an_exception_of_the_job_passes_and_keeps_the_window(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), Profiler(tmp_path, 10, 1, 5).open(4) as steps:
        for _ in range(3):
            work()
            steps.step()
        raise ZeroDivisionError
    (trace,) = tmp_path.rglob("*.tar.gz")
    assert steps_in(trace) == [5, 6, 7]


def test_a_file_in_place_of_the_folder_does_not_stop_training(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    run(Profiler(tmp_path / "file/out", 2, 1, 1), 0, 6)
    lines = [line for line in capfd.readouterr().err.splitlines() if line.startswith("whyslow_capture")]
    assert sorted(line.split(":")[1].strip() for line in lines) == [
        "no profiler window for steps 1 to 1",
        "writing the manifest failed, training goes on",
    ]


def test_a_rank_outside_the_mesh(tmp_path: Path) -> None:
    outside = SimpleNamespace(shape=(1,), mesh_dim_names=("pp",), get_coordinate=lambda: None)
    run(Profiler(tmp_path, 2, 1, 1, outside), 0, 2)
    assert (tmp_path / "step_2/trace.tar.gz").exists()


def _d9d_rank(rank: int, save_dir: str) -> None:
    from torch.distributed.device_mesh import init_device_mesh

    axes = ("pp", "dp_shard", "tp")
    mesh = init_device_mesh("cpu", (1, 2, 2), mesh_dim_names=axes)
    context = SimpleNamespace(
        mesh_for=lambda domain: {"regular": mesh}[domain], mesh_params=SimpleNamespace(is_distributed=True)
    )
    profiler = Profiler(Path(save_dir), period_steps=6, warmup_steps=1, active_steps=2, dist_context=context)
    with profiler.open(start_step=3) as steps:
        for _ in range(5):
            torch.distributed.all_reduce(work())
            time.sleep(0.005 * rank)
            steps.step()


def test_four_ranks_named_by_coordinates_record_the_same_steps(tmp_path: Path) -> None:
    run_ranks(_d9d_rank, 4, str(tmp_path))
    coordinates = ["0-0-0", "0-0-1", "0-1-0", "0-1-1"]
    expected = [f"step_6/rank-{rank}-coord-{coordinates[rank]}-trace.tar.gz" for rank in range(4)]
    assert [name for name in files_in(tmp_path) if "step_" in name] == expected
    for rank, name in enumerate(expected):
        assert steps_in(tmp_path / name) == [4, 5]
        assert read_trace(tmp_path / name)["distributedInfo"]["rank"] == rank
        with tarfile.open(tmp_path / name) as archive:
            assert archive.getnames() == [Path(name).name.replace(".tar.gz", ".json")]
    manifest: dict[str, Any] = json.loads((tmp_path / "run.json").read_text())
    assert manifest["mesh"] == {"axes": ["pp", "dp_shard", "tp"], "sizes": [1, 2, 2]}
    rank_3 = json.loads((tmp_path / "ranks/rank_3.json").read_text())
    assert rank_3["coordinates"] == {"pp": 0, "dp_shard": 1, "tp": 1}
    assert rank_3["trace"]["counts"] == {"done": 1}
