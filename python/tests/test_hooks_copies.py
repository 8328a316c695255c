"""Copies to the device. Tests have no GPU, so they time copies to `meta`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from fake_clock import Clock
from hooked import Job, batches, capturing, duration, names, phases
from torch.utils.data import DataLoader

from whyslow_capture.hooks.copies import MAX_COPIES, CopyTimer
from whyslow_capture.session import Capture

TRUE_TO, TRUE_CUDA = torch.Tensor.to, torch.Tensor.cuda


def is_as_it_was() -> bool:
    exchanged = {"to", "cuda"} & set(vars(torch.Tensor))
    return not exchanged and torch.Tensor.to is TRUE_TO and torch.Tensor.cuda is TRUE_CUDA


@contextmanager
def timing_copies(out: Path, **config: Any) -> Iterator[Capture]:
    with capturing(out, **config) as capture:
        tracker = capture.hooks._tracker  # type: ignore[union-attr]
        to_meta = lambda source, target: (source.type, target.type) == ("cpu", "meta")  # noqa: E731
        tracker.copies = CopyTimer(tracker, is_copy=to_meta, is_wanted=lambda: True)
        yield capture
    assert is_as_it_was()


def test_one_phase_from_the_first_copy_to_the_last(tmp_path: Path, clock: Clock) -> None:
    job = Job()
    with timing_copies(tmp_path):
        for x in DataLoader(batches(5), batch_size=None):
            clock.pause(50)
            x.to("meta")
            clock.pause(20)
            x.to(torch.float64)  # not to the device: not timed
            x.to("meta")
            clock.pause(50)
            job.step(x)
    assert names(tmp_path, 4) == ["data_wait", "host_to_device", "forward", "backward", "optimizer"]
    assert 20 <= duration(tmp_path, 4, "host_to_device") < 21
    # While the model is unknown, forward begins at the last copy.
    assert duration(tmp_path, 0, "forward") >= 50


def test_each_micro_batch_has_its_own_copy_phase(tmp_path: Path) -> None:
    job = Job()
    with timing_copies(tmp_path):
        loader = iter(DataLoader(batches(8), batch_size=None))
        for _ in range(4):
            for _ in range(2):
                x = next(loader)
                x.to("meta")
                job.backward(x)
            job.optimizer.step()
    found = [phase for phase in phases(tmp_path, 3) if phase[0] == "host_to_device"]
    assert found == [("host_to_device", 0), ("host_to_device", 1)]


def test_a_prefetched_batch_is_not_part_of_the_copy(tmp_path: Path) -> None:
    """Like accelerate's loader: copies this batch, loads the next one, then uses this one."""
    job = Job()
    with timing_copies(tmp_path):
        loader = iter(DataLoader(batches(6), batch_size=None))
        x = next(loader)
        for _ in range(4):
            x.to("meta")
            following = next(loader)
            job.step(x)
            x = following
    assert names(tmp_path, 3) == ["data_wait", "forward", "backward", "optimizer"]
    assert names(tmp_path, 0)[:3] == ["data_wait", "data_wait", "host_to_device"]


def test_copies_count_only_between_loading_and_forward(tmp_path: Path) -> None:
    job = Job()
    seen = []
    job.model.register_forward_hook(lambda *_: seen.append(is_as_it_was()))
    with timing_copies(tmp_path, record_every_n_steps=2):
        for step, x in enumerate(DataLoader(batches(8), batch_size=None)):
            assert is_as_it_was() == (step % 2 == 1)
            job.step(x)
            assert is_as_it_was()
    assert seen[4:] == [True] * 4


def test_jobs_without_gpu_are_not_patched(tmp_path: Path) -> None:
    job = Job()
    with capturing(tmp_path):
        for x in DataLoader(batches(4), batch_size=None):
            assert is_as_it_was()
            job.step(x)


def test_the_number_of_timed_copies_is_limited(tmp_path: Path, clock: Clock) -> None:
    job = Job()
    with timing_copies(tmp_path):
        for x in DataLoader(batches(4), batch_size=None):
            for _ in range(MAX_COPIES):
                x.to("meta")
            clock.pause(50)
            x.to("meta")
            job.step(x)
    assert duration(tmp_path, 3, "host_to_device") < 50


def test_results_and_errors_of_copies_are_unchanged(tmp_path: Path) -> None:
    job = Job()
    with timing_copies(tmp_path) as capture:
        for x in DataLoader(batches(4), batch_size=None):
            with pytest.raises(RuntimeError, match="device string"):
                x.to("no-such-device")
            with pytest.raises((AssertionError, RuntimeError), match=r"CUDA|NVIDIA"):
                x.cuda()
            assert x.to(torch.float32) is x
            assert x.to(tensor=torch.ones(1, dtype=torch.float64)).dtype == torch.float64
            job.step(x)
    assert capture.problems.counts == {}
    assert "host_to_device" not in names(tmp_path, 3)


def test_tensor_subclasses_see_the_original_functions(tmp_path: Path) -> None:
    asked = []

    class Tagged(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function: Any, types: Any, args: Any = (), options: Any = None) -> Any:
            asked.append(function is torch.Tensor.to)
            return super().__torch_function__(function, types, args, options or {})

    job = Job()
    with timing_copies(tmp_path):
        for x in DataLoader(batches(4), batch_size=None):
            tagged = x.as_subclass(Tagged)
            asked.clear()
            assert type(tagged.to("meta")) is Tagged
            assert asked[0]
            job.step(x)
    assert "host_to_device" in names(tmp_path, 3)


def test_a_wrapper_around_ours_causes_no_recursion(tmp_path: Path) -> None:
    job = Job()
    try:
        with capturing(tmp_path) as capture:
            tracker = capture.hooks._tracker  # type: ignore[union-attr]
            tracker.copies = CopyTimer(tracker, is_copy=lambda *_: True, is_wanted=lambda: True)
            for step, x in enumerate(DataLoader(batches(6), batch_size=None)):
                if step == 2:
                    ours = torch.Tensor.to
                    theirs = lambda tensor, *args, ours=ours: ours(tensor, *args)  # noqa: E731
                    torch.Tensor.to = theirs  # type: ignore[method-assign]
                assert x.to(torch.float64).dtype == torch.float64
                job.step(x)
    finally:
        del torch.Tensor.to  # type: ignore[misc]
    assert torch.Tensor.to is TRUE_TO


def test_earlier_patches_are_still_called(tmp_path: Path) -> None:
    job, calls = Job(), []

    def theirs(tensor: Any, *args: Any) -> Any:
        calls.append(args)
        return TRUE_TO(tensor, *args)

    torch.Tensor.to = theirs  # type: ignore[method-assign]
    try:
        with capturing(tmp_path) as capture:
            tracker = capture.hooks._tracker  # type: ignore[union-attr]
            tracker.copies = CopyTimer(tracker, is_copy=lambda *_: True, is_wanted=lambda: True)
            for x in DataLoader(batches(3), batch_size=None):
                x.to("meta")
                job.step(x)
        assert torch.Tensor.to is theirs
        assert calls == [("meta",)] * 3
    finally:
        del torch.Tensor.to  # type: ignore[misc]
