"""Finds the call of the model without side effects on the job."""

from __future__ import annotations

import copy
import gc
import io
import json
import pickle
import sys
import weakref
from pathlib import Path
from typing import Any

import pytest
import torch
from fake_clock import Clock
from hooked import Job, Net, batches, capturing, duration, names
from old_torch import is_before
from support import run_torch_program
from torch.utils.data import DataLoader

from whyslow_capture.hooks import iterations
from whyslow_capture.hooks.forward import ForwardEntry
from whyslow_capture.hooks.modules import all_modules, roots
from whyslow_capture.session import Capture

PLAIN = ["data_wait", "forward", "backward", "optimizer"]
PAUSE_MS = 50


def train(job: Job, steps: int = 8, clock: Clock | None = None) -> list[float]:
    """With a pause after loading, which is part of forward unless the call of the model is seen."""
    losses = []
    for x in DataLoader(batches(steps), batch_size=None):
        if clock is not None:
            clock.pause(PAUSE_MS)
        losses.append(job.step(x))
    return losses


def entry_of(capture: Capture) -> ForwardEntry:
    return capture.hooks._tracker.forward  # type: ignore[union-attr]


class Trained(torch.nn.Module):
    """As in Lightning: the root module is not called itself."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = torch.nn.ModuleList([Net()])

    def training_step(self, x: torch.Tensor) -> torch.Tensor:
        return self.parts[0](x)


class TrainedJob(Job):
    def backward(self, x: torch.Tensor) -> float:
        loss = self.model.training_step(x).pow(2).mean()  # type: ignore[operator]
        loss.backward()
        return float(loss.detach())


def test_forward_begins_at_the_call_of_a_known_model(tmp_path: Path, clock: Clock) -> None:
    with capturing(tmp_path):
        train(Job(), clock=clock)
    # In the first two steps the model is unknown, and forward begins at the end of loading.
    assert duration(tmp_path, 0, "forward") >= PAUSE_MS
    assert all(duration(tmp_path, step, "forward") < PAUSE_MS for step in (3, 4, 5))


def test_children_replace_a_root_that_is_never_called(tmp_path: Path, clock: Clock) -> None:
    with capturing(tmp_path):
        train(TrainedJob(Trained()), 10, clock)
    # Two steps each to learn that neither the root nor the list in it is called.
    assert duration(tmp_path, 3, "forward") >= PAUSE_MS
    assert all(names(tmp_path, step) == PLAIN for step in range(1, 10))
    assert all(duration(tmp_path, step, "forward") < PAUSE_MS for step in (7, 8, 9))


def test_calls_without_gradients_do_not_count(tmp_path: Path, clock: Clock) -> None:
    job = Job()
    with capturing(tmp_path):
        for x in DataLoader(batches(6), batch_size=None):
            with torch.no_grad():
                job.model(x)
            clock.pause(PAUSE_MS)
            job.step(x)
    assert duration(tmp_path, 5, "forward") < PAUSE_MS


def test_hooks_exist_only_from_loading_to_the_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Once it is known what the loop repeats.
    monkeypatch.setattr(iterations, "LEARNING_ROUNDS", 0)
    job = Job()
    seen = []
    job.model.first.register_forward_pre_hook(lambda *_: seen.append(len(job.model._forward_pre_hooks)))
    with capturing(tmp_path, record_every_n_steps=2):
        for step, x in enumerate(DataLoader(batches(8), batch_size=None)):
            is_recorded = step in (4, 6)
            assert len(job.model._forward_pre_hooks) == is_recorded or step < 4
            job.step(x)
            assert len(job.model._forward_pre_hooks) == 0
    assert sum(seen) == 0


def test_copies_and_pickles_of_a_model_have_no_hook_of_ours(tmp_path: Path) -> None:
    job = Job()
    with capturing(tmp_path / "run") as capture:
        train(job, 3)
        entry_of(capture).arm()
        assert len(job.model._forward_pre_hooks) == 1
        twin = copy.deepcopy(job.model)
        pickled = pickle.dumps(job.model)
        buffer = io.BytesIO()
        torch.save(job.model, buffer)
    assert b"whyslow" not in pickled
    assert b"whyslow" not in buffer.getvalue()
    x = batches(1)[0]
    expected = job.model(x)
    for loaded in (twin, pickle.loads(pickled), torch.load(io.BytesIO(buffer.getvalue()), weights_only=False)):
        assert torch.equal(loaded(x), expected)


def test_roots_are_the_models_of_the_optimizer() -> None:
    student, teacher = Trained(), Net()
    own = {id(p) for p in student.parameters()}
    found = roots(all_modules(), own)
    assert [m for m in found if m is student or m is teacher or m is student.parts[0]] == [student]
    trainable = roots(all_modules(), None)
    assert any(m is teacher for m in trainable)
    assert not any(m is student.parts for m in trainable)


def test_models_are_not_kept_alive(tmp_path: Path) -> None:
    with capturing(tmp_path):
        job = Job()
        train(job, 4)
        model = weakref.ref(job.model)
        del job
        gc.collect()
        assert model() is None
        train(Job(), 4)


COMPILED = """
    import gc, json, sys, torch, torch._dynamo
    from torch.utils.data import DataLoader
    sys.path.insert(0, sys.argv[2])
    from hooked import Job, batches, capturing

    def of_module(job):
        call = torch.compile(job.model, backend="eager", fullgraph=True)
        return lambda x: call(x).pow(2).mean()

    def in_place(job):
        job.model.compile(backend="eager", fullgraph=True)
        return lambda x: job.model(x).pow(2).mean()

    def of_parts(job):
        job.model.first = torch.compile(job.model.first, backend="eager")
        job.model.second.compile(backend="eager")
        return lambda x: job.model(x).pow(2).mean()

    def of_function(job):
        # New shapes in most steps, so that it recompiles often.
        call = torch.compile(lambda x: job.model(x).pow(2).mean(), backend="eager", fullgraph=True, dynamic=False)
        sizes = iter([1, 1, 2, 2, 3, 3, 4, 4, 1])
        return lambda x: call(x[: next(sizes)])

    def of_optimizer(job):
        job.optimizer.step = torch.compile(job.optimizer.step, backend="eager")
        return lambda x: job.model(x).pow(2).mean()

    def whole(job):
        return lambda x: job.model(x).pow(2).mean()

    def train(way):
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        job = Job()
        loss_of = way(job)

        def step(x):
            loss = loss_of(x)
            loss.backward()
            job.optimizer.step()
            job.optimizer.zero_grad()
            return loss

        if way is whole:
            step = torch.compile(step, backend="eager")
        losses = [step(x).item() for x in DataLoader(batches(9), batch_size=None)]
        counters = torch._dynamo.utils.counters
        breaks = sum(counters["graph_break"].values())
        return losses, counters["stats"]["unique_graphs"], breaks, counters["frames"]["total"]

    results = {}
    for way in (of_module, in_place, of_parts, of_function, of_optimizer, whole):
        train(way)  # a warm run compiles one or two frames of torch less
        plain = train(way)
        gc.collect()  # otherwise compiled models of the previous run would be found
        with capturing(sys.argv[1] + "/" + way.__name__, record_every_n_steps=2):
            results[way.__name__] = plain, train(way)
    print(json.dumps(results))
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    out = tmp_path_factory.mktemp("compiled")
    printed = run_torch_program(COMPILED, out, Path(__file__).parent).stdout
    return out, json.loads(printed.splitlines()[-1])


@pytest.mark.parametrize("way", ["of_module", "in_place", "of_parts", "of_function", "of_optimizer", "whole"])
def test_compiled_jobs_do_not_recompile(compiled: tuple[Path, dict[str, Any]], way: str) -> None:
    out, results = compiled
    (losses, graphs, breaks, frames), captured = results[way]
    assert captured[:2] == [losses, graphs]
    # May be fewer: with any hook, torch 2.3 does not compile the frame around a compiled optimizer's step.
    assert captured[2] <= breaks
    assert captured[3] <= frames
    # A compiled optimizer does not call its hooks (for 2.3 see above), so zero_grad() ends steps.
    is_hidden = way in ("of_optimizer", "whole") and not is_before("2.4")
    expected = [name for name in PLAIN if not (name == "optimizer" and is_hidden)]
    assert names(out / way, 4) == expected
    assert names(out / way, 8) == expected


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="torch.jit.script is gone")
def test_models_can_be_scripted_between_epochs(tmp_path: Path) -> None:
    job = Job()
    with capturing(tmp_path):
        for _ in range(3):
            for x in DataLoader(batches(3), batch_size=None):
                job.step(x)
            torch.jit.script(job.model)
