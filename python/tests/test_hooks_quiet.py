"""In steps that are not recorded, only the hook after the optimizer's step stays in place."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest
import torch
from hooked import Job, batches, capturing, names, steps_of
from torch.optim import optimizer as torch_optimizer

from whyslow_capture.hooks.iterations import LEARNING_ROUNDS

X = torch.randn(4, 8)


@pytest.fixture(autouse=True)
def nothing_left_behind(tmp_path: Path) -> None:
    """A capture of another test that ended inside an optimizer step leaves its hooks to the next capture."""
    with capturing(tmp_path / "before"):
        pass


def in_place() -> tuple[object, int]:
    return torch.autograd.backward, len(torch_optimizer._global_optimizer_pre_hooks)


def test_patches_are_in_place_only_in_recorded_steps(tmp_path: Path) -> None:
    job, seen = Job(), []
    before = in_place()
    with capturing(tmp_path, record_every_n_steps=8):
        for x in batches(25):
            seen.append(in_place() == before)
            job.step(x)
    # Patches are in place until the loop is known, and in recorded steps.
    assert [i for i, untouched in enumerate(seen) if not untouched] == [0, 1, 2, 3, 8, 16, 24]
    assert in_place() == before
    assert steps_of(tmp_path) == [0, 8, 16, 24]
    for step in (8, 16, 24):
        assert names(tmp_path, step) == ["forward", "backward", "optimizer"]


# Patches that other tests of this process may have left: not of the capture that is tested.
LEFT_BEHIND = ("live_ranges.py", "profiler_use.py", "autostart.py", "calls.py", "dynamo.py", "collectives.py")


def our_calls(run: Callable[[], object]) -> list[str]:
    """The Python functions of ours that `run` calls."""
    found: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        file = frame.f_code.co_filename
        if event == "call" and "whyslow_capture" in file and not any(name in file for name in LEFT_BEHIND):
            found.append(frame.f_code.co_name)

    gc.disable()  # a collection would be noted: it is a phase
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
        gc.enable()
    return found


def test_a_plain_step_makes_two_calls(tmp_path: Path) -> None:
    job = Job()
    with capturing(tmp_path, record_every_n_steps=1 << 20, stacks=False) as capture:
        for _ in range(LEARNING_ROUNDS + 10):
            job.step(X)
        before = capture.recorder.current_step
        assert our_calls(lambda: job.step(X)) == ["_after", "end_quiet_step"]
        assert capture.recorder.current_step == before + 1


def test_hooks_on_the_model_stay_while_it_is_watched(tmp_path: Path) -> None:
    """Adding and removing them in each step would cost more than they do."""
    job = Job()
    with capturing(tmp_path, record_every_n_steps=1 << 20, stacks=False):
        for _ in range(20):
            job.step(X)
        (hook,) = job.model._forward_pre_hooks.items()
        calls = our_calls(lambda: job.step(X))
        assert job.model._forward_pre_hooks.items() == {hook}
        assert "arm" not in calls and "disarm" not in calls
        for _ in range(LEARNING_ROUNDS):
            job.step(X)
        assert not job.model._forward_pre_hooks


def one_after_the_other(one: Job, other: Job) -> None:
    """A second optimizer joins: first alone, then alternating with the first."""
    for _ in range(12):
        one.step(X)
    for _ in range(5):
        other.step(X)
    for _ in range(12):
        one.step(X)
        other.step(X)


def accumulation(one: Job, other: Job) -> None:
    for passes in (1, 4, 2):
        for _ in range(9):
            for _ in range(passes):
                one.backward(X)
            one.optimizer.step()


def twice_in_a_row(one: Job, other: Job) -> None:
    for _ in range(20):
        one.step(X)
    for _ in range(10):
        one.backward(X)
        one.optimizer.step()
        other.optimizer.step()


def inside_backward(one: Job, other: Job) -> None:
    """Trains like `other` from its eleventh step on."""
    for _ in range(10):
        other.step(X)
    each = {p: torch.optim.SGD([p], lr=0.01) for p in one.model.parameters()}
    for p in one.model.parameters():
        p.register_post_accumulate_grad_hook(lambda p: each[p].step())
    for _ in range(12):
        one.backward(X)


@pytest.mark.parametrize("job", [one_after_the_other, accumulation, twice_in_a_row, inside_backward])
def test_quiet_steps_are_counted_correctly(tmp_path: Path, job: Callable[[Job, Job], None]) -> None:
    counted = []
    for every in (1, 7, 1000):
        with capturing(tmp_path / str(every), record_every_n_steps=every) as capture:
            job(Job(), Job())
            counted.append(capture.recorder.current_step)
    assert counted[0] > 10
    # It may take one step to notice the change.
    assert all(abs(count - counted[0]) <= 1 for count in counted), counted


Backward = Callable[..., None]


@pytest.fixture
def original() -> Iterator[Backward]:
    """The patched functions, to compare before and after."""
    before = torch.autograd.backward
    yield before
    torch.autograd.backward = before


def test_a_wrapper_over_ours_is_kept(tmp_path: Path, original: Backward) -> None:
    job, calls = Job(), []
    with capturing(tmp_path, record_every_n_steps=4):
        job.step(X)
        ours = torch.autograd.backward
        assert ours is not original

        def theirs(*args: object, **options: object) -> None:
            calls.append(1)
            ours(*args, **options)  # type: ignore[arg-type]

        torch.autograd.backward = theirs
        for _ in range(11):
            job.step(X)
        assert torch.autograd.backward is theirs
    job.step(X)
    assert len(calls) == 12
    assert steps_of(tmp_path) == [0, 4, 8]
    assert names(tmp_path, 8) == ["forward", "backward", "optimizer"]


def test_a_patch_made_meanwhile_stays_in_place(tmp_path: Path, original: Backward) -> None:
    job, calls = Job(), []
    with capturing(tmp_path, record_every_n_steps=8):
        for _ in range(6):
            job.step(X)
        assert torch.autograd.backward is original

        def theirs(*args: object, **options: object) -> None:
            calls.append(1)
            original(*args, **options)

        torch.autograd.backward = theirs
        for _ in range(8):
            job.step(X)
        assert torch.autograd.backward is theirs
    assert len(calls) == 8
    assert names(tmp_path, 8) == ["forward", "backward", "optimizer"]
