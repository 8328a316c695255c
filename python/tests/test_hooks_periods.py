"""What a loop repeats, when one iteration has several optimizer steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from hooked import Job, batches, capturing, names, records_of, steps_of
from torch.utils.data import DataLoader, TensorDataset

from whyslow_capture.hooks.iterations import MAX_ROUNDS, LoopPeriod

X = torch.randn(4, 8)


def drawn(rounds: str, **state: Any) -> str:
    """A letter is a round; R follows a stretch without gradients, L also began a DataLoader. | ends a step."""
    loop = LoopPeriod()
    for name, value in state.items():
        setattr(loop, name, value)
    text = ""
    for letter in rounds:
        if letter in "RL":
            loop.no_grad_begins()
        if letter == "L":
            loop.loader_began()
        text += letter + ("|" if loop.round_ended() else "")
    return text


@pytest.mark.parametrize(
    "expected",
    [
        pytest.param("u|u|u|u|u|u|", id="no stretch"),
        pytest.param("R|R|R|R|R|", id="a stretch in every round"),
        pytest.param("u|u|u|R|u|u|R|uuR|uuR|", id="three rounds each; nobody saw the first rollout"),
        pytest.param("R|u|R|u|R|uR|uR|", id="two rounds each"),
        pytest.param("u|u|u|u|R|u|u|R|uR|uuuR|uuR|", id="the number of rounds varies"),
        pytest.param("u|u|u|R|u|u|R|" + "u" * 12 + "u|" * 5, id="the loop becomes another one"),
        pytest.param("u|R|u|u|u|u|u|u|u|R|u|R|u|u|u|u|u|u|u|", id="too irregular to be a loop"),
    ],
)
def test_an_iteration_ends_after_the_first_round_that_follows_a_stretch(expected: str) -> None:
    assert drawn(expected.replace("|", "")) == expected


def test_an_evaluation_now_and_then_is_no_iteration() -> None:
    between = "u" * (MAX_ROUNDS + 1)
    rounds = f"{between}R" * 3
    assert drawn(rounds).count("|") == len(rounds)


def test_what_a_loader_drives_is_a_plain_loop_unless_each_stretch_feeds_the_loader() -> None:
    assert drawn("uuuRuuRuuRuuR", has_loader=True).count("|") == 13
    assert drawn("uuuLuuLuuLuuL", has_loader=True) == "u|u|u|L|u|u|L|uuL|uuL|"


def rollout(job: Job, calls: int = 5) -> None:
    for _ in range(calls):
        with torch.no_grad():
            job.model(X)


def test_a_name_that_the_job_gives_says_more(tmp_path: Path) -> None:
    job = Job()
    with capturing(tmp_path, steps="manual") as capture:
        for _ in range(4):
            with capture.phase("rollout"):
                rollout(job)
            job.step(X)
            capture.step()
    assert names(tmp_path, 3) == ["rollout", "forward", "backward", "optimizer"]


@pytest.mark.parametrize("every", [1, 7])
def test_a_rollout_and_its_updates_are_one_step(tmp_path: Path, every: int) -> None:
    job, iterations, updates = Job(), 14, 4
    with capturing(tmp_path, record_every_n_steps=every) as capture:
        for _ in range(iterations):
            rollout(job)
            for _ in range(updates):
                job.step(X)
        iteration = capture.iteration()
        steps = capture.recorder.current_step
    assert iteration == {
        "from_step": 9,
        "optimizer_steps": 4,
        "optimizers": 1,
        "backward_passes": 4 if every == 1 else iteration["backward_passes"],
        "varies": False,
        "rollout": True,
    }
    # Nine optimizer steps until it was known, then one step for each iteration.
    assert steps == 9 + iterations - 3
    assert capture.job_clock.summary(0)["steps"] == iterations - 1  # type: ignore[index]
    if every == 1:
        assert names(tmp_path, 12).count("no_grad") == 1
        assert names(tmp_path, 12).count("backward") == updates
        assert max(steps_of(tmp_path)) == steps - 1


def test_an_evaluation_without_eval_lies_between_steps(tmp_path: Path) -> None:
    job = Job()
    data = TensorDataset(torch.randn(60, 8))
    with capturing(tmp_path, record_every_n_steps=50) as capture:
        for i, (x,) in enumerate(DataLoader(data, batch_size=1)):
            job.step(x)
            if i % 10 == 9:
                rollout(job)
        assert capture.recorder.current_step == 60
        assert capture.iteration() is None
    found = capture.job_clock.phases["inference"]
    # The last one had no call with gradients after it.
    assert found.count == 5
    assert max(found.lines, key=found.lines.__getitem__).endswith("in rollout")


def test_several_optimizers_are_counted(tmp_path: Path) -> None:
    one, other = Job(), Job()
    with capturing(tmp_path) as capture:
        for x in batches(6):
            for _ in range(2):
                one.step(x)
            other.step(x)
        iteration = capture.iteration()
    assert iteration is not None
    assert (iteration["optimizer_steps"], iteration["optimizers"], iteration["rollout"]) == (3, 2, False)
    assert all(r["step"] < 12 for r in records_of(tmp_path, 0))


def test_accumulation_is_one_optimizer_step_of_several_passes(tmp_path: Path) -> None:
    job = Job()
    with capturing(tmp_path) as capture:
        for x in batches(5):
            for _ in range(3):
                job.backward(x)
            job.optimizer.step()
            job.optimizer.zero_grad()
        iteration = capture.iteration()
    assert iteration is not None and (iteration["optimizer_steps"], iteration["backward_passes"]) == (1, 3)
