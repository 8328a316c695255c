"""Phases found in plain loops, with real torch in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from fake_clock import Clock
from hooked import Job, batches, capturing, duration, names, phases, steps_of
from support import records_of
from torch.utils.data import DataLoader, Dataset, IterableDataset

PLAIN = [("data_wait", 0), ("forward", 0), ("backward", 0), ("optimizer", 0)]


def test_a_plain_loop(tmp_path: Path) -> None:
    job = Job()
    with capturing(tmp_path):
        losses = [job.step(x) for x in DataLoader(batches(6), batch_size=None)]
    other = Job()
    assert losses == [other.step(x) for x in batches(6)]
    assert steps_of(tmp_path) == list(range(6))
    # The first wait is for the iterator, which starts the workers.
    assert phases(tmp_path, 0) == [("data_wait", 0), *PLAIN]
    assert all(phases(tmp_path, step) == PLAIN for step in range(1, 6))


def test_phases_share_their_boundaries(tmp_path: Path) -> None:
    job = Job()
    with capturing(tmp_path):
        for x in DataLoader(batches(5), batch_size=None):
            job.step(x)
    records = {r["name"]: r for r in records_of(tmp_path) if r["step"] == 4}
    end = {name: r["start_ms"] + r["duration_ms"] for name, r in records.items()}
    assert records["backward"]["start_ms"] == pytest.approx(end["forward"], abs=0.0002)
    assert records["training_step"]["start_ms"] <= records["data_wait"]["start_ms"]
    assert end["optimizer"] <= end["training_step"] + 0.0002


def test_the_slow_phase_has_the_long_duration(tmp_path: Path, clock: Clock) -> None:
    class Slow(torch.nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            clock.pause(20)
            return super().forward(x)

    class SlowData(Dataset[torch.Tensor]):
        def __len__(self) -> int:
            return 4

        def __getitem__(self, index: int) -> torch.Tensor:
            clock.pause(30)
            return torch.ones(4, 8)

    job = Job(Slow(8, 1))
    with capturing(tmp_path):
        for x in DataLoader(SlowData(), batch_size=None):
            clock.pause(100)  # belongs to no phase
            job.step(x)
    assert 30 <= duration(tmp_path, 3, "data_wait") < 31
    assert 20 <= duration(tmp_path, 3, "forward") < 21
    assert duration(tmp_path, 3, "backward") < 1


@pytest.mark.parametrize("loads_all_first", [False, True])
def test_gradient_accumulation_counts_micro_batches(tmp_path: Path, loads_all_first: bool) -> None:
    job = Job()
    with capturing(tmp_path):
        loader = iter(DataLoader(batches(9), batch_size=None))
        for _ in range(3):
            # transformers fetches all batches of a step before it uses the first.
            group = [next(loader) for _ in range(3)] if loads_all_first else (next(loader) for _ in range(3))
            for x in group:
                job.backward(x)
            job.optimizer.step()
            job.optimizer.zero_grad()
    assert steps_of(tmp_path) == [0, 1, 2]
    found = phases(tmp_path, 2)
    assert [micro for name, micro in found if name == "forward"] == [0, 1, 2]
    assert [micro for name, micro in found if name == "backward"] == [0, 1, 2]
    assert [micro for name, micro in found if name == "data_wait"] == ([0, 0, 0] if loads_all_first else [0, 1, 2])
    assert ("optimizer", 2) in found


def test_without_a_dataloader_loading_is_not_part_of_forward(tmp_path: Path, clock: Clock) -> None:
    job = Job()
    with capturing(tmp_path):
        for x in batches(5):
            clock.pause(50)
            job.step(x)
    assert names(tmp_path, 0) == ["backward", "optimizer"]
    assert names(tmp_path, 4) == ["forward", "backward", "optimizer"]
    assert duration(tmp_path, 4, "forward") < 1


@pytest.mark.parametrize("workers", [0, 1])
def test_a_new_epoch_continues_the_steps(tmp_path: Path, workers: int) -> None:
    job = Job()
    loader = DataLoader(batches(3), batch_size=None, num_workers=workers)
    with capturing(tmp_path):
        for _ in range(2):
            for x in loader:
                job.step(x)
    assert steps_of(tmp_path) == list(range(6))
    # Waits for the end of the first epoch, the new iterator, and the batch.
    assert names(tmp_path, 3)[:4] == ["data_wait"] * 3 + ["forward"]


def test_nested_loaders_are_one_wait(tmp_path: Path) -> None:
    class Nested(IterableDataset[torch.Tensor]):
        def __iter__(self) -> Any:
            return iter(DataLoader(batches(3), batch_size=None))

    job = Job()
    with capturing(tmp_path):
        for x in DataLoader(Nested(), batch_size=None):
            job.step(x)
    assert all(phases(tmp_path, step) == PLAIN for step in (1, 2))


@pytest.mark.parametrize("says_so", ["no_grad around the loop", "eval(), no_grad inside"])
def test_validation_in_each_step_is_no_training(tmp_path: Path, says_so: str) -> None:
    job = Job()
    with capturing(tmp_path):
        for x in DataLoader(batches(5), batch_size=None):
            with torch.set_grad_enabled(says_so.startswith("eval")):
                job.model.train(not says_so.startswith("eval"))
                for held_out in DataLoader(batches(3), batch_size=None):
                    with torch.no_grad():
                        job.model(held_out)
                job.model.train()
            job.step(x)
    # Calls without gradients are one phase of their own, whatever happens between them.
    assert names(tmp_path, 4) == ["data_wait", "no_grad", "forward", "backward", "optimizer"]


def test_training_in_evaluation_mode_is_recorded(tmp_path: Path) -> None:
    job = Job()
    job.model.eval()
    with capturing(tmp_path):
        for x in DataLoader(batches(5), batch_size=None):
            job.step(x)
    assert phases(tmp_path, 4) == PLAIN


def test_data_waits_are_limited_in_a_loop_that_skips_batches(tmp_path: Path) -> None:
    job = Job()
    with capturing(tmp_path) as capture:
        loader = iter(DataLoader(batches(100), batch_size=None))
        for _ in range(99):
            x = next(loader)
        job.step(x)
    assert names(tmp_path, 0).count("data_wait") == 64
    assert capture.problems.counts["data-waits-not-recorded"] == 36


def test_hooks_do_not_repeat_phases_of_the_job(tmp_path: Path) -> None:
    job = Job()
    with capturing(tmp_path, steps="manual") as capture:
        for x in capture.data(DataLoader(batches(4), batch_size=None)):
            with capture.phase("host_to_device"):
                x = x.clone()
            with capture.phase("forward"):
                loss = job.model(x).mean()
            with capture.phase("backward"):
                loss.backward()
            with capture.phase("optimizer"):
                job.optimizer.step()
            capture.step()
    expected = ["data_wait", "host_to_device", "forward", "backward", "optimizer"]
    assert all(names(tmp_path, step) == expected for step in (1, 2, 3))


def test_checkpointing_inside_backward_is_one_pass(tmp_path: Path) -> None:
    from torch.utils.checkpoint import checkpoint

    class Checkpointed(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.Linear(8, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return checkpoint(self.inner, x.requires_grad_(), use_reentrant=True)

    job = Job(Checkpointed())
    with capturing(tmp_path):
        for x in DataLoader(batches(5), batch_size=None):
            job.step(x)
    assert phases(tmp_path, 4) == PLAIN
