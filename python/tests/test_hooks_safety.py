"""Hooks do no harm: errors, other threads, forks, other people's patches."""

from __future__ import annotations

import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hooked import Job, batches, capturing, phases, steps_of
from support import SRC
from torch.optim.optimizer import _global_optimizer_post_hooks, _global_optimizer_pre_hooks
from torch.utils.data import DataLoader
from torch.utils.data import dataloader as torch_dataloader

import whyslow_capture

PLAIN = [("data_wait", 0), ("forward", 0), ("backward", 0), ("optimizer", 0)]


def test_errors_of_the_job_pass_and_close_their_phases(tmp_path: Path) -> None:
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
    assert capture.problems.counts == {}
    failed = [name for name, _ in phases(tmp_path, 4)]
    assert failed.count("backward") == 2
    assert failed[-2:] == ["backward", "optimizer"]
    assert phases(tmp_path, 5) == PLAIN


def test_other_threads_do_not_count_as_training(tmp_path: Path) -> None:
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


def test_closing_restores_torch(tmp_path: Path) -> None:
    def now() -> list[object]:
        distributed = torch.distributed
        return [
            torch_dataloader._BaseDataLoaderIter.__next__,
            torch_dataloader.DataLoader.__iter__,
            torch.autograd.backward,
            torch.optim.Optimizer.zero_grad,
            torch.nn.Module.zero_grad,
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


def test_a_forked_child_gets_the_original_torch(tmp_path: Path) -> None:
    original = torch.autograd.backward
    job = Job()
    with capturing(tmp_path) as capture:
        job.step(batches(1)[0])
        child = os.fork()
        if child == 0:
            given_back = torch.autograd.backward is original and not _global_optimizer_pre_hooks
            job.step(batches(1)[0])
            os._exit(0 if given_back and not capture.recorder.recording else 1)
        assert os.waitpid(child, 0)[1] == 0
        job.step(batches(1)[0])
    assert steps_of(tmp_path) == [0, 1]


def test_a_wrapper_over_ours_survives_closing(tmp_path: Path) -> None:
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


def test_a_capture_can_end_inside_an_optimizer_step(tmp_path: Path) -> None:
    job = Job()
    with capturing(tmp_path) as capture:
        original = capture.step
        capture.optimizer_step = lambda: (original(), capture.close())  # type: ignore[method-assign]
        capture.hooks._tracker._end_step = capture.optimizer_step  # type: ignore[union-attr]
        job.step(batches(1)[0])  # torch would fail if its hooks changed during the iteration
        job.step(batches(1)[0])
    assert steps_of(tmp_path) == [0]
    assert not [p for p in whyslow_capture.patches() if p.kind == "replaced" and not p.is_covered]


def test_our_errors_never_reach_the_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = Job()
    with capturing(tmp_path) as capture:
        tracker = capture.hooks._tracker  # type: ignore[union-attr]

        def fail(*_: object, **__: object) -> None:
            raise RuntimeError("ours")

        for name in ("data_begins", "backward_begins", "backward_ends", "optimizer_begins", "forward_begins"):
            setattr(tracker, name, fail)
        losses = [job.step(x) for x in DataLoader(batches(5), batch_size=None)]
        assert capture.problems.counts["hooks"] > 5
    other = Job()
    assert losses == [other.step(x) for x in batches(5)]
    assert capsys.readouterr().err.count("training goes on") == 1


def test_unrecorded_steps_cost_next_to_nothing(tmp_path: Path) -> None:
    """The bound is ten times the slowest run here: it catches mistakes and is not a measurement."""
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


class Broken(torch.utils.data.Dataset[int]):
    def __len__(self) -> int:
        return 1

    def __getitem__(self, _: int) -> int:
        raise KeyError("theirs")


def fails_in_backward() -> None:
    loss = torch.ones(1, requires_grad=True) * 2
    loss.register_hook(lambda _: {}["theirs"])
    loss.backward()


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 adds the frame again")
@pytest.mark.parametrize(
    "fails",
    [
        lambda: next(iter(torch.utils.data.DataLoader(Broken()))),
        lambda: torch.save({}, "/nowhere/at/all"),
        fails_in_backward,
    ],
)
def test_a_traceback_has_no_frames_of_ours(fails: Callable[[], object], tmp_path: Path) -> None:
    """In a recorded step, in which our functions are around theirs."""
    with whyslow_capture.capture(tmp_path, record_every_n_steps=1, max_overhead=1, hooks="all") as cap:
        cap.step()
        with pytest.raises((KeyError, RuntimeError)) as raised:
            fails()
        files = [frame.filename for frame in traceback.extract_tb(raised.value.__traceback__)]
    assert files[-1].startswith(os.path.dirname(torch.__file__)) or files[-1] == __file__
    assert not [file for file in files if file.startswith(str(SRC))]
