"""The allocator is a fake: CI has no GPU. Its calls and the shape of a snapshot are those of torch 2.13."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from whyslow_capture.memory import MAX_OUT_OF_MEMORY, SETTLED_STEPS, MemoryWatch
from whyslow_capture.problems import ProblemLog

Observer = Callable[[int, int, int, int], None]


class Allocator:
    def __init__(self) -> None:
        self.peak = 1000
        self.history: list[dict[str, Any]] = []
        self.observer: Observer | None = None
        self.snapshots = 0
        self.fails = False

    def snapshot(self) -> dict[str, Any]:
        self.snapshots += 1
        if self.fails:
            raise RuntimeError("CUDA error: device-side assert triggered")
        block = {"address": 4096, "size": 1024, "requested_size": 1000, "state": "active_allocated", "frames": []}
        segment = {"device": 0, "address": 4096, "total_size": 2 << 20, "blocks": [block]}
        return {"segments": [segment], "device_traces": [[]], "allocator_settings": {"expandable_segments": False}}


@pytest.fixture
def allocator(monkeypatch: pytest.MonkeyPatch) -> Allocator:
    fake = Allocator()

    def attach(observer: Observer) -> None:
        fake.observer = observer

    monkeypatch.setenv("RANK", "2")
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: fake.peak)
    monkeypatch.setattr(torch.cuda.memory, "_record_memory_history", lambda **given: fake.history.append(given))
    monkeypatch.setattr(torch.cuda.memory, "_snapshot", fake.snapshot)
    monkeypatch.setattr(torch._C, "_cuda_attachOutOfMemoryObserver", attach, raising=False)
    return fake


def watch_of(out: Path, *, records: bool) -> MemoryWatch:
    watch = MemoryWatch(records, ProblemLog())
    watch.start(out)
    watch.trains(out)
    return watch


def load(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = pickle.loads(path.read_bytes())
    return loaded


def test_out_of_memory_leaves_what_was_asked_for_and_by_which_line(tmp_path: Path, allocator: Allocator) -> None:
    watch = watch_of(tmp_path, records=False)
    assert allocator.history == []
    assert allocator.observer is not None
    allocator.observer(0, 5000, 2000, 300)
    snapshot = load(tmp_path / "memory" / "oom_rank_2.pickle")
    (event,) = snapshot["device_traces"][0]
    assert (event["action"], event["size"], event["device_free"]) == ("oom", 5000, 300)
    assert event["frames"][0]["filename"].endswith("test_memory.py")
    assert snapshot["segments"][0]["total_size"] == 2 << 20
    for _ in range(10):
        allocator.observer(0, 5000, 2000, 300)
    assert allocator.snapshots == MAX_OUT_OF_MEMORY
    watch.stop()
    assert (tmp_path / "memory" / "oom_rank_2.pickle").exists()


def test_a_job_that_goes_on_after_out_of_memory_leaves_nothing(tmp_path: Path, allocator: Allocator) -> None:
    watch = watch_of(tmp_path, records=False)
    assert allocator.observer is not None
    watch.step()
    allocator.observer(0, 5000, 2000, 300)
    watch.step()
    assert (tmp_path / "memory" / "oom_rank_2.pickle").exists()
    watch.step()
    assert not (tmp_path / "memory" / "oom_rank_2.pickle").exists()


def test_a_snapshot_is_taken_at_the_peak_and_again_when_it_is_higher(tmp_path: Path, allocator: Allocator) -> None:
    watch = watch_of(tmp_path, records=True)
    assert allocator.history[0]["max_entries"] > 0 and allocator.history[0]["stacks"] == "python"
    for _ in range(SETTLED_STEPS):
        watch.step()
    file = tmp_path / "memory" / "snapshot_rank_2.pickle"
    assert load(file)["device_traces"] == [[]]
    for _ in range(20):
        watch.step()
    assert allocator.snapshots == 1
    allocator.peak = 2000
    for _ in range(20):
        watch.step()
    assert allocator.snapshots == 2
    for peak in range(3000, 100_000, 1000):
        allocator.peak = peak
        watch.step()
    assert allocator.snapshots <= 4
    watch.stop()
    assert allocator.history[-1] == {"enabled": None}


def test_an_allocator_that_fails_does_not_fail_the_job(tmp_path: Path, allocator: Allocator) -> None:
    allocator.fails = True
    watch = watch_of(tmp_path, records=True)
    for _ in range(10):
        watch.step()
    assert allocator.observer is not None
    allocator.observer(0, 5000, 2000, 300)
    assert not (tmp_path / "memory").exists() or not list((tmp_path / "memory").iterdir())


def test_memory_that_runs_out_before_training_is_explained_though_no_step_has_begun(
    tmp_path: Path, allocator: Allocator
) -> None:
    watch = MemoryWatch(False, ProblemLog())
    watch.start(tmp_path)
    assert allocator.observer is not None
    allocator.observer(0, 5000, 2000, 300)
    snapshot = tmp_path / "memory" / "oom_rank_2.pickle"
    assert load(snapshot)["device_traces"][0][-1]["size"] == 5000
    # Training begins after all: it is the job's, and stays until its steps go on.
    watch.trains(tmp_path)
    assert snapshot.exists()


def test_a_helper_that_survives_running_out_of_memory_leaves_nothing(
    tmp_path: Path, allocator: Allocator, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_exit: list[Callable[[], None]] = []
    monkeypatch.setattr("atexit.register", at_exit.append)
    watch = MemoryWatch(False, ProblemLog())
    watch.start(tmp_path)
    assert allocator.observer is not None
    allocator.observer(0, 5000, 2000, 300)
    monkeypatch.setattr("sys.last_value", MemoryError(), raising=False)
    at_exit[0]()
    assert (tmp_path / "memory" / "oom_rank_2.pickle").exists()
    monkeypatch.delattr("sys.last_value")
    at_exit[0]()
    assert list((tmp_path / "memory").iterdir()) == []


def test_the_snapshot_of_an_earlier_process_goes_when_training_begins_and_not_before(
    tmp_path: Path, allocator: Allocator
) -> None:
    old = tmp_path / "memory" / "snapshot_rank_2.pickle"
    old.parent.mkdir()
    old.write_bytes(b"old")
    watch = MemoryWatch(True, ProblemLog())
    watch.start(tmp_path)
    assert old.exists()
    watch.trains(tmp_path)
    assert not old.exists()
    assert len(allocator.history) == 1


def test_the_watch_begins_when_the_job_first_uses_cuda(
    tmp_path: Path, allocator: Allocator, monkeypatch: pytest.MonkeyPatch
) -> None:
    queued: list[tuple[Callable[[], None], object]] = []
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)
    monkeypatch.setattr(torch.cuda, "_queued_calls", queued)
    watch_of(tmp_path, records=True)
    assert allocator.observer is None and allocator.history == []
    for call, _ in queued:
        call()
    assert allocator.observer is not None and len(allocator.history) == 1


def test_nothing_is_asked_of_cuda_in_a_job_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda.memory, "_record_memory_history", lambda **_: pytest.fail("asked"))
    watch = watch_of(tmp_path, records=True)
    for _ in range(10):
        watch.step()
    watch.stop()
    assert list(tmp_path.iterdir()) == []
