"""Phases found in plain loops, by real torch in this process."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from hooked import Job, batches, capturing, duration, names, phases, steps_of
from support import records_of
from torch.optim.optimizer import _global_optimizer_post_hooks, _global_optimizer_pre_hooks
from torch.utils.data import DataLoader, Dataset, IterableDataset
from torch.utils.data import dataloader as torch_dataloader

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


def test_what_takes_long_is_what_is_named(tmp_path: Path) -> None:
    class Slow(torch.nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            time.sleep(0.02)
            return super().forward(x)

    class SlowData(Dataset[torch.Tensor]):
        def __len__(self) -> int:
            return 4

        def __getitem__(self, index: int) -> torch.Tensor:
            time.sleep(0.03)
            return torch.ones(4, 8)

    job = Job(Slow(8, 1))
    with capturing(tmp_path):
        for x in DataLoader(SlowData(), batch_size=None):
            time.sleep(0.1)  # of no phase: neither loading nor the model
            job.step(x)
    assert 30 <= duration(tmp_path, 3, "data_wait") < 100
    assert 20 <= duration(tmp_path, 3, "forward") < 100
    assert duration(tmp_path, 3, "backward") < 20


@pytest.mark.parametrize("loads_all_first", [False, True])
def test_gradient_accumulation_counts_micro_batches(tmp_path: Path, loads_all_first: bool) -> None:
    job = Job()
    with capturing(tmp_path):
        loader = iter(DataLoader(batches(9), batch_size=None))
        for _ in range(3):
            # transformers fetches the batches of a step before the first of them is used.
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


def test_without_a_dataloader_loading_is_not_called_forward(tmp_path: Path) -> None:
    job = Job()
    with capturing(tmp_path):
        for x in batches(5):
            time.sleep(0.05)
            job.step(x)
    assert names(tmp_path, 0) == ["backward", "optimizer"]
    assert names(tmp_path, 4) == ["forward", "backward", "optimizer"]
    assert duration(tmp_path, 4, "forward") < 50


@pytest.mark.parametrize("workers", [0, 1])
def test_epochs_end_and_begin_anew(tmp_path: Path, workers: int) -> None:
    job = Job()
    loader = DataLoader(batches(3), batch_size=None, num_workers=workers)
    with capturing(tmp_path):
        for _ in range(2):
            for x in loader:
                job.step(x)
    assert steps_of(tmp_path) == list(range(6))
    # The end of the first epoch, the new iterator and the batch.
    assert names(tmp_path, 3)[:4] == ["data_wait"] * 3 + ["forward"]


def test_a_loader_behind_a_loader_is_one_wait(tmp_path: Path) -> None:
    class Nested(IterableDataset[torch.Tensor]):
        def __iter__(self) -> Any:
            return iter(DataLoader(batches(3), batch_size=None))

    job = Job()
    with capturing(tmp_path):
        for x in DataLoader(Nested(), batch_size=None):
            job.step(x)
    assert all(phases(tmp_path, step) == PLAIN for step in (1, 2))


def test_validation_is_not_training(tmp_path: Path) -> None:
    job = Job()
    with capturing(tmp_path):
        for x in DataLoader(batches(5), batch_size=None):
            with torch.no_grad():
                for held_out in DataLoader(batches(3), batch_size=None):
                    job.model(held_out)
            job.step(x)
    assert phases(tmp_path, 4) == PLAIN


def test_a_loop_that_skips_batches_is_bounded(tmp_path: Path) -> None:
    job = Job()
    with capturing(tmp_path) as capture:
        loader = iter(DataLoader(batches(100), batch_size=None))
        for _ in range(99):
            x = next(loader)
        job.step(x)
    assert names(tmp_path, 0).count("data_wait") == 64
    assert capture.trouble.counts["data-waits-not-recorded"] == 36


def test_failures_of_the_job_pass_and_close_their_phases(tmp_path: Path) -> None:
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
            raise ArithmeticError("in backward")

    def broken(_: object) -> object:
        raise LookupError("in collate")

    job = Job()
    with capturing(tmp_path) as capture:
        for index, x in enumerate(DataLoader(batches(6), batch_size=None)):
            if index == 4:
                with pytest.raises(ArithmeticError, match="in backward"):
                    Fails.apply(job.model(x)).sum().backward()
                with pytest.raises(LookupError, match="in collate"):
                    next(iter(DataLoader(batches(1), batch_size=1, collate_fn=broken)))
            job.step(x)
    assert capture.trouble.counts == {}
    failed = [name for name, _ in phases(tmp_path, 4)]
    assert failed.count("backward") == 2
    assert failed[-2:] == ["backward", "optimizer"]
    assert phases(tmp_path, 5) == PLAIN


def test_an_optimizer_that_fails_leaves_the_next_step_whole(tmp_path: Path) -> None:
    job = Job()
    steps = job.optimizer.register_step_pre_hook

    def refuse(*_: object) -> None:
        raise ValueError("no step")

    with capturing(tmp_path):
        for index, x in enumerate(DataLoader(batches(5), batch_size=None)):
            if index == 3:
                handle = steps(refuse)
                job.backward(x)
                with pytest.raises(ValueError, match="no step"):
                    job.optimizer.step()
                handle.remove()
                time.sleep(0.05)
            job.step(x)
    assert steps_of(tmp_path) == [0, 1, 2, 3, 4]
    assert duration(tmp_path, 3, "optimizer") < 50


def test_what_the_job_says_itself_is_not_repeated(tmp_path: Path) -> None:
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


def test_steps_of_the_job_win(tmp_path: Path) -> None:
    job = Job()
    with capturing(tmp_path, steps="manual") as capture:
        for x in batches(4):
            job.step(x)
            job.step(x)
            capture.step()
    assert steps_of(tmp_path) == [0, 1, 2, 3]
    assert names(tmp_path, 3) == ["forward", "backward", "optimizer"] * 2


def test_two_optimizers_in_turn(tmp_path: Path) -> None:
    one, other = Job(), Job()
    with capturing(tmp_path):
        for x in DataLoader(batches(5), batch_size=None):
            one.step(x)
            other.step(x)
    assert steps_of(tmp_path) == [0, 1, 2, 3, 4]
    part = [("forward", 0), ("backward", 0), ("optimizer", 0), ("forward", 1), ("backward", 1), ("optimizer", 1)]
    assert phases(tmp_path, 3) == [("data_wait", 0), *part]


def test_a_closure_is_not_the_optimizer(tmp_path: Path) -> None:
    job = Job()
    with capturing(tmp_path):
        for x in DataLoader(batches(5), batch_size=None):

            def closure(x: torch.Tensor = x) -> torch.Tensor:
                job.optimizer.zero_grad()
                time.sleep(0.05)
                loss = job.model(x).mean()
                loss.backward()
                return loss

            job.optimizer.step(closure)
    assert phases(tmp_path, 4) == PLAIN
    assert duration(tmp_path, 4, "optimizer") < 50


def test_lbfgs_ends_one_step_a_call(tmp_path: Path) -> None:
    job = Job()
    optimizer = torch.optim.LBFGS(job.model.parameters(), max_iter=3)
    with capturing(tmp_path):
        for x in batches(4):

            def closure(x: torch.Tensor = x) -> torch.Tensor:
                optimizer.zero_grad()
                loss = job.model(x).pow(2).mean()
                loss.backward()
                return loss

            optimizer.step(closure)
    assert steps_of(tmp_path) == [0, 1, 2, 3]


def test_optimizers_inside_backward_end_the_step_with_it(tmp_path: Path) -> None:
    job = Job()
    each = {p: torch.optim.SGD([p], lr=0.01) for p in job.model.parameters()}

    def apply(parameter: torch.Tensor) -> None:
        each[parameter].step()
        each[parameter].zero_grad()

    for p in each:
        p.register_post_accumulate_grad_hook(apply)
    with capturing(tmp_path):
        for x in DataLoader(batches(5), batch_size=None):
            job.backward(x)
    assert steps_of(tmp_path) == [0, 1, 2, 3, 4]
    assert phases(tmp_path, 4) == [("data_wait", 0), ("forward", 0), ("backward", 0)]


def test_a_step_that_amp_skips_merges_with_the_next(tmp_path: Path) -> None:
    job = Job()
    with capturing(tmp_path):
        for index, x in enumerate(DataLoader(batches(6), batch_size=None)):
            if index == 3:
                job.backward(x)
                job.optimizer.zero_grad()
            else:
                job.step(x)
    assert steps_of(tmp_path) == [0, 1, 2, 3, 4]
    assert [name for name, _ in phases(tmp_path, 3)].count("backward") == 2


def test_checkpointing_runs_passes_inside_the_pass(tmp_path: Path) -> None:
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


def test_other_threads_are_not_the_training(tmp_path: Path) -> None:
    job, other = Job(), Job()

    def loads_and_differentiates() -> None:
        for x in DataLoader(batches(3), batch_size=None):
            other.backward(x)

    with capturing(tmp_path):
        for x in DataLoader(batches(5), batch_size=None):
            thread = threading.Thread(target=loads_and_differentiates)
            thread.start()
            thread.join()
            job.step(x)
    assert phases(tmp_path, 4) == PLAIN


def test_everything_is_given_back(tmp_path: Path) -> None:
    def now() -> list[object]:
        distributed = torch.distributed
        return [
            torch_dataloader._BaseDataLoaderIter.__next__,
            torch_dataloader.DataLoader.__iter__,
            torch.autograd.backward,
            torch.optim.Optimizer.zero_grad,
            *(getattr(distributed, name) for name in ("all_reduce", "barrier", "broadcast_object_list")),
            *(getattr(distributed.distributed_c10d, name) for name in ("all_reduce", "all_gather")),
            dict(_global_optimizer_pre_hooks),
            dict(_global_optimizer_post_hooks),
            "to" in vars(torch.Tensor),
            dict(job.model._forward_pre_hooks),
        ]

    job = Job()
    before = now()
    with capturing(tmp_path):
        assert now() != before
        for x in DataLoader(batches(4), batch_size=None):
            job.step(x)
    assert now() == before
    job.step(batches(1)[0])


def test_what_somebody_put_over_ours_stays(tmp_path: Path) -> None:
    original = torch.autograd.backward
    calls = []
    with capturing(tmp_path):
        ours = torch.autograd.backward

        def theirs(*args: Any, **options: Any) -> None:
            calls.append(1)
            ours(*args, **options)

        torch.autograd.backward = theirs
        Job().step(batches(1)[0])
    try:
        assert torch.autograd.backward is theirs
        Job().step(batches(1)[0])
        assert len(calls) == 2
    finally:
        torch.autograd.backward = original


def test_a_capture_may_end_within_an_optimizer_step(tmp_path: Path) -> None:
    job = Job()
    with capturing(tmp_path) as capture:
        original = capture.step
        capture.optimizer_step = lambda: (original(), capture.close())  # type: ignore[method-assign]
        capture._uninstall._flow._end_step = capture.optimizer_step  # type: ignore[union-attr]
        job.step(batches(1)[0])  # torch would fail if its table of hooks changed under it
        job.step(batches(1)[0])
    assert steps_of(tmp_path) == [0]


def test_trouble_of_ours_never_reaches_the_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = Job()
    with capturing(tmp_path) as capture:
        flow = capture._uninstall._flow  # type: ignore[union-attr]

        def fail(*_: object, **__: object) -> None:
            raise RuntimeError("ours")

        for name in ("data_begins", "backward_begins", "backward_ends", "optimizer_begins", "forward_begins"):
            setattr(flow, name, fail)
        losses = [job.step(x) for x in DataLoader(batches(5), batch_size=None)]
        assert capture.trouble.counts["hooks"] > 5
    other = Job()
    assert losses == [other.step(x) for x in batches(5)]
    assert capsys.readouterr().err.count("training goes on") == 1


def test_next_to_nothing_when_not_recording(tmp_path: Path) -> None:
    """Ten times what it takes here on a bad day: a bound against mistakes, not a measurement."""
    nothing = lambda iterator: None  # noqa: E731
    original = torch_dataloader._BaseDataLoaderIter.__next__
    torch_dataloader._BaseDataLoaderIter.__next__ = nothing  # type: ignore[method-assign]
    try:
        with capturing(tmp_path, start_step=10**9):
            wrapped = torch_dataloader._BaseDataLoaderIter.__next__
            best = min(timed(wrapped) - timed(nothing) for _ in range(30))
        assert best < 2e-6
    finally:
        torch_dataloader._BaseDataLoaderIter.__next__ = original  # type: ignore[method-assign]


def timed(function: Any) -> float:
    started = time.perf_counter()
    for _ in range(1000):
        function(None)
    return (time.perf_counter() - started) / 1000
