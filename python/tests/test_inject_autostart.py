"""When an injected process starts its capture. Runs in this process."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from hooked import Job, batches, names, phases, steps_of
from torch.optim.optimizer import _global_optimizer_post_hooks, _global_optimizer_pre_hooks
from torch.utils.data import DataLoader
from torch.utils.data import dataloader as torch_dataloader

import whyslow_capture
from whyslow_capture import layout, process
from whyslow_capture.api import active
from whyslow_capture.inject.autostart import AutoStart
from whyslow_capture.manifest import launch_command
from whyslow_capture.touched import groups_of

Settings = Callable[..., Path]


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WHYSLOW_OUT", str(tmp_path / "out"))
    monkeypatch.setenv("WHYSLOW_RECORD_EVERY_N_STEPS", "1")
    monkeypatch.setenv("WHYSLOW_MAX_OVERHEAD", "1")
    return tmp_path / "out"


@pytest.fixture
def armed(out: Path) -> Iterator[AutoStart]:
    now = AutoStart()
    now.arm(groups_of(("all",)))
    yield now
    now.disarm()
    close()


def close() -> None:
    capture = active()
    if capture is not None:
        capture.close()


def test_starts_at_the_first_batch(armed: AutoStart, out: Path) -> None:
    job = Job()
    for x in DataLoader(batches(3), batch_size=None):
        job.step(x)
    close()
    assert steps_of(out) == [0, 1, 2]
    assert names(out, 0) == ["data_wait", "data_wait", "forward", "backward", "optimizer"]


def test_starts_at_the_first_zero_grad(armed: AutoStart, out: Path) -> None:
    job = Job()
    for x in batches(3):
        job.optimizer.zero_grad()
        job.backward(x)
        job.optimizer.step()
    close()
    assert steps_of(out) == [0, 1, 2]
    assert names(out, 0) == ["backward", "optimizer"]


def test_starts_at_the_first_backward_pass(armed: AutoStart, out: Path) -> None:
    job = Job()
    for x in batches(3):
        job.step(x)
    close()
    assert steps_of(out) == [0, 1, 2]
    assert names(out, 0) == ["backward", "optimizer"]


def test_starts_at_the_first_optimizer_step(armed: AutoStart, out: Path) -> None:
    """Inside torch's iteration over its hooks, where none may be added or removed."""
    job = Job()
    for parameter in job.model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    job.optimizer.step()
    for x in batches(2):
        job.step(x)
    close()
    assert steps_of(out) == [0, 1, 2]
    assert names(out, 0) == ["optimizer"]
    assert phases(out, 2) == [("forward", 0), ("backward", 0), ("optimizer", 0)]


def test_no_patch_is_left_after_closing(out: Path) -> None:
    def now() -> list[object]:
        return [
            torch_dataloader._BaseDataLoaderIter.__next__,
            torch_dataloader.DataLoader.__iter__,
            torch.optim.Optimizer.zero_grad,
            torch.nn.Module.zero_grad,
            dict(_global_optimizer_pre_hooks),
            dict(_global_optimizer_post_hooks),
        ]

    before = now()
    AutoStart().arm(groups_of(("all",)))
    assert now() != before
    for x in DataLoader(batches(3), batch_size=None):
        Job().step(x)
    close()
    assert now() == before


def test_no_files_or_threads_before_training(armed: AutoStart, out: Path) -> None:
    threads = set(threading.enumerate())
    Job().model(batches(1)[0]).mean()
    assert active() is None
    assert set(threading.enumerate()) <= threads
    assert not out.exists()


def test_evaluation_writes_no_files(armed: AutoStart, out: Path) -> None:
    model = Job().model
    for x in DataLoader(batches(100), batch_size=None):
        model(x)
    close()
    assert not out.exists()


def test_a_dataloader_worker_never_starts_a_capture(
    armed: AutoStart, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whyslow_capture.inject.autostart.get_worker_info", lambda: object())
    job = Job()
    for x in DataLoader(batches(3), batch_size=None):
        job.step(x)
    assert active() is None


@pytest.mark.parametrize("trained", [False, True])
def test_a_process_that_only_read_data_can_fork_training(armed: AutoStart, out: Path, trained: bool) -> None:
    job = Job()
    for x in DataLoader(batches(3), batch_size=None):
        if trained:
            job.step(x)
    child = os.fork()
    if child == 0:
        os.environ["RANK"] = "1"
        for x in batches(3):
            job.step(x)
        close()
        os._exit(0)
    os.waitpid(child, 0)
    close()
    assert layout.events_file(out, 0).exists() == trained
    assert layout.events_file(out, 1).exists() != trained


def in_thread(work: Callable[[], None]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_a_prefetch_thread_does_not_start_the_capture(armed: AutoStart, out: Path) -> None:
    job, ahead = Job(), list[torch.Tensor]()
    in_thread(lambda: ahead.extend(DataLoader(batches(5), batch_size=None)))
    assert active() is None
    # Training on another thread than the main thread, as in Ray.
    in_thread(lambda: [job.step(x) for x in ahead] and None)
    close()
    assert steps_of(out) == [0, 1, 2, 3, 4]
    assert names(out, 4) == ["forward", "backward", "optimizer"]


def test_a_job_keeps_its_own_capture(armed: AutoStart, out: Path, tmp_path: Path) -> None:
    job = Job()
    with whyslow_capture.capture(tmp_path / "own") as capture:
        for x in DataLoader(batches(3), batch_size=None):
            job.step(x)
            job.step(x)
            capture.step()
    for x in DataLoader(batches(3), batch_size=None):
        job.step(x)  # the job has ended its own capture, so ours does not start
    assert active() is None
    assert not out.exists()
    assert steps_of(tmp_path / "own") == [0, 1, 2]
    assert names(tmp_path / "own", 2).count("optimizer") == 2


def test_whyslow_run_finds_the_capture_of_a_script(
    armed: AutoStart,
    out: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("WHYSLOW_INJECT", "1")
    monkeypatch.setenv("WHYSLOW_COMMAND", '["torchrun", "my train.py"]')
    job = Job()
    with whyslow_capture.capture(tmp_path / "own") as capture:
        for x in batches(3):
            job.step(x)
            capture.step()
    assert not (tmp_path / "own").exists()
    assert steps_of(out) == [0, 1, 2]
    assert f"`whyslow run` measures into {out}, so capture(" in capsys.readouterr().err
    assert json.loads((out / "run.json").read_text())["launch"] == ["torchrun", "my train.py"]
    armed.disarm()
    assert whyslow_capture.patches() == [], "what the script's capture had wrapped is gone with it"


def test_a_job_by_itself_is_started_again_by_its_own_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WHYSLOW_COMMAND", raising=False)
    monkeypatch.setattr(sys, "orig_argv", ["/usr/bin/python3", "my train.py", "--lr", "1"])
    assert launch_command() == ["python3", "my train.py", "--lr", "1"]
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert launch_command() is None, "one rank does not know how all were launched"
    for unusable in ("not json", json.dumps(["x" * 2000])):
        monkeypatch.setenv("WHYSLOW_COMMAND", unusable)
        assert launch_command() is None


def test_steps_of_a_joining_job_count_from_the_join(armed: AutoStart, out: Path, tmp_path: Path) -> None:
    job = Job()
    for x in batches(2):
        job.step(x)
    with whyslow_capture.capture(tmp_path / "own") as capture:
        for x in batches(3):
            job.step(x)
            job.step(x)
            capture.step()
    close()
    assert not (tmp_path / "own").exists()
    # Two steps ended by the optimizer, then three by the job.
    assert steps_of(out) == [0, 1, 2, 3, 4]
    assert names(out, 4).count("optimizer") == 2


def test_settings_come_from_the_environment(
    armed: AutoStart, out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = {"RECORD_EVERY_N_STEPS": "7", "START_STEP": "3", "FLUSH_EVERY_N_STEPS": "often", "TRACE": "0"}
    for name, value in settings.items():
        monkeypatch.setenv(f"WHYSLOW_{name}", value)
    job = Job()
    for x in batches(30):
        job.step(x)
    close()
    assert steps_of(out) == [3, 10, 17, 24]
    assert capsys.readouterr().err.splitlines() == [
        "whyslow_capture: WHYSLOW_FLUSH_EVERY_N_STEPS='often' must be a whole number of at least 1; ignored"
    ]


def test_capture_can_be_off(armed: AutoStart, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHYSLOW_ENABLED", "0")
    Job().step(batches(1)[0])
    assert active() is None


def test_our_errors_never_reach_the_job(
    armed: AutoStart, out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> int:
        raise RuntimeError("ours")

    monkeypatch.setattr(process, "rank", fail)
    job = Job()
    losses = [job.step(x) for x in DataLoader(batches(3), batch_size=None)]
    other = Job()
    assert losses == [other.step(x) for x in batches(3)]
    assert capsys.readouterr().err.count("\n") == 1
