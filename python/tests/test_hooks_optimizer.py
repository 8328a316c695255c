"""The optimizer phase, and where steps end."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from fake_clock import Clock
from hooked import Job, Net, batches, capturing, duration, names, phases, steps_of
from support import records_of
from torch.utils.data import DataLoader

from whyslow_capture.api import active
from whyslow_capture.hooks import iterations

PLAIN = [("data_wait", 0), ("forward", 0), ("backward", 0), ("optimizer", 0)]


def test_a_failing_optimizer_does_not_spoil_the_next_step(tmp_path: Path, clock: Clock) -> None:
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
                clock.pause(50)
            job.step(x)
    assert steps_of(tmp_path) == [0, 1, 2, 3, 4]
    assert duration(tmp_path, 3, "optimizer") < 50


def test_steps_ended_by_the_job_win(tmp_path: Path) -> None:
    job = Job()
    with capturing(tmp_path, steps="manual") as capture:
        for x in batches(4):
            job.step(x)
            job.step(x)
            capture.step()
    assert steps_of(tmp_path) == [0, 1, 2, 3]
    assert names(tmp_path, 3) == ["forward", "backward", "optimizer"] * 2


def test_two_alternating_optimizers(tmp_path: Path) -> None:
    one, other = Job(), Job()
    with capturing(tmp_path):
        for x in DataLoader(batches(5), batch_size=None):
            one.step(x)
            other.step(x)
    assert steps_of(tmp_path) == [0, 1, 2, 3, 4]
    part = [("forward", 0), ("backward", 0), ("optimizer", 0), ("forward", 1), ("backward", 1), ("optimizer", 1)]
    assert phases(tmp_path, 3) == [("data_wait", 0), *part]


def test_a_closure_does_not_count_as_optimizer(tmp_path: Path, clock: Clock) -> None:
    job = Job()
    with capturing(tmp_path):
        for x in DataLoader(batches(5), batch_size=None):

            def closure(x: torch.Tensor = x) -> torch.Tensor:
                job.optimizer.zero_grad()
                clock.pause(50)
                loss = job.model(x).mean()
                loss.backward()
                return loss

            job.optimizer.step(closure)
    assert phases(tmp_path, 4) == PLAIN
    assert duration(tmp_path, 4, "optimizer") < 50


def test_lbfgs_ends_one_step_per_call(tmp_path: Path) -> None:
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


def test_optimizers_inside_backward_end_the_step_at_its_end(tmp_path: Path) -> None:
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


def test_a_step_skipped_by_amp_merges_with_the_next(tmp_path: Path) -> None:
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


def test_steps_without_torch_optim_end_where_gradients_are_cleared(tmp_path: Path) -> None:
    """Keras has optimizers of its own, others update by hand. Nothing of torch.optim is called."""
    model = Net()
    with capturing(tmp_path):
        for x in batches(6):
            for part in x.chunk(2):
                model(part).mean().backward()
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter -= 0.1 * parameter.grad
            model.zero_grad()
    assert steps_of(tmp_path) == [0, 1, 2, 3, 4, 5]
    assert names(tmp_path, 5) == ["forward", "backward", "forward", "backward"]


def test_clearing_gradients_of_models_ends_no_step_of_torch_optim(tmp_path: Path) -> None:
    original = torch.nn.Module.zero_grad
    job = Job()
    with capturing(tmp_path):
        for x in batches(4):
            job.model.zero_grad()
            job.backward(x)
            job.backward(x)
            job.optimizer.step()
            job.model.zero_grad()
        assert torch.nn.Module.zero_grad is original  # steps are seen, so there is nothing to watch
    assert steps_of(tmp_path) == [0, 1, 2, 3]


def test_an_optimizer_with_a_closure_is_timed_between_its_calls(tmp_path: Path) -> None:
    """LBFGS calls the closure many times in one step, and works in between."""
    torch.manual_seed(0)
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=5)
    with capturing(tmp_path):
        for batch in batches(6):

            def closure(batch: torch.Tensor = batch) -> torch.Tensor:
                optimizer.zero_grad()
                loss = (model(batch) - 1).pow(2).mean()
                loss.backward()
                return loss

            optimizer.step(closure)
    found = names(tmp_path, 4)
    calls = found.count("backward")
    assert calls > 1
    assert found.count("forward") == calls
    assert found.count("optimizer") >= calls
    steps = {r["step"]: r["duration_ms"] for r in records_of(tmp_path) if r["name"] == "training_step"}
    phases = ("forward", "backward", "optimizer")
    # The best step: a busy machine can interrupt any one of these short steps between its phases.
    assert max(sum(duration(tmp_path, n, name) for name in phases) / ms for n, ms in steps.items()) > 0.6
    assert not model._forward_pre_hooks


def test_an_optimizer_that_is_made_anew_takes_the_place_of_the_last(tmp_path: Path) -> None:
    """Federated learning, fine-tuning per task: the steps of each new optimizer are steps like those before."""
    job = Job()
    with capturing(tmp_path, record_every_n_steps=3):
        for index, x in enumerate(batches(40)):
            if index % 4 == 0:
                # The scheduler keeps the old one alive until the next garbage collection.
                job.optimizer = torch.optim.SGD(job.model.parameters(), lr=0.01)
                torch.optim.lr_scheduler.ConstantLR(job.optimizer)
            job.step(x)
        assert steps_now() == 40


def test_a_new_model_with_a_new_optimizer_takes_the_place_of_the_last(tmp_path: Path) -> None:
    with capturing(tmp_path):
        for part in torch.stack(batches(12)).split(4):
            job = Job()
            for x in part:
                job.step(x)
        assert steps_now() == 12


def test_optimizers_of_the_same_parameters_that_both_step_have_a_role_each(tmp_path: Path) -> None:
    job = Job()
    other = torch.optim.Adam(job.model.parameters())
    with capturing(tmp_path):
        for x in batches(10):
            job.step(x)
            job.backward(x)
            other.step()
        # Both count until it is known that each iteration has both.
        assert steps_now() <= 12


@pytest.fixture
def no_other_optimizers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of other tests stay alive in autograd's hooks."""
    monkeypatch.setattr(iterations, "_optimizers", list)


@pytest.mark.usefixtures("no_other_optimizers")
def test_steps_end_with_backward_passes_if_nothing_announces_updates(tmp_path: Path) -> None:
    model = Net()
    with capturing(tmp_path):
        for x in DataLoader(batches(9), batch_size=None):
            model(x).mean().backward()
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter -= 0.1 * parameter.grad
                    parameter.grad = None
        # The first three passes only show that there is no optimizer.
        assert steps_now() == 7
    assert phases(tmp_path, 6) == [("data_wait", 0), ("forward", 0), ("backward", 0)]


@pytest.mark.usefixtures("no_other_optimizers")
def test_functional_training_is_counted_by_its_gradients(tmp_path: Path) -> None:
    net = Net()
    parameters = dict(net.named_parameters())

    def loss(values: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(net, values, (x,)).pow(2).mean()

    with capturing(tmp_path):
        for x in DataLoader(batches(9), batch_size=None):
            gradients = torch.func.grad(loss)(parameters, x)
            parameters = {name: value - 0.1 * gradients[name] for name, value in parameters.items()}
        assert steps_now() == 7
    assert ("backward", 0) in phases(tmp_path, 6)


@pytest.mark.parametrize("passes", [1, 6, 140])
def test_an_optimizer_ends_the_steps_of_a_job_that_only_calls_autograd_grad(tmp_path: Path, passes: int) -> None:
    job = Job()
    parameters = list(job.model.parameters())
    with capturing(tmp_path):
        for x in batches(5):
            for _ in range(passes):
                gradients = torch.autograd.grad(job.model(x).sum(), parameters)
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.grad = gradient
            job.optimizer.step()
            job.optimizer.zero_grad()
        # In the first step, passes after the 127th count: nothing shows yet who updates.
        assert 5 <= steps_now() <= 5 + max(0, passes - 127)


def test_passes_end_no_step_while_an_optimizer_exists(tmp_path: Path) -> None:
    job = Job()
    original = torch.autograd.grad
    with capturing(tmp_path):
        for index, x in enumerate(batches(12)):
            job.backward(x)
            if index % 6 == 5:
                job.optimizer.step()
        assert steps_now() == 2
    assert torch.autograd.grad is original


def steps_now() -> int:
    capture = active()
    assert capture is not None
    return capture.recorder.current_step
