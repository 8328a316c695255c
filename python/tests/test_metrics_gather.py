"""Gathers scalars of four real ranks in one collective."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
import torch.distributed as dist
from gloo_ranks import run_ranks

from whyslow_training import metrics_exchange
from whyslow_training.metrics import MetricsGather, MetricsMismatchError

WORLD = 4
Answers = dict[str, list[Any]]


@pytest.fixture(scope="module")
def ran() -> Answers:
    """Starts the ranks once, runs all jobs on them, and returns their results by job."""
    by_rank = run_ranks(do_everything, WORLD)
    return {name: [answers[name] for answers in by_rank] for name in by_rank[0]}


def do_everything(rank: int) -> dict[str, Any]:
    return {
        "compare_with_all_reduce": compare_with_all_reduce(rank),
        "run_pipelined 1": run_pipelined(rank, 1),
        "run_pipelined 3": run_pipelined(rank, 3),
        "run_every_third": run_every_third(rank),
        "add_differently False": add_differently(rank, False),
        "add_differently True": add_differently(rank, True),
        "grow": grow(rank),
        "in_a_subgroup": in_a_subgroup(rank),
    }


class CountedGather:
    """Counts the collectives and their sizes."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self._gather = metrics_exchange._all_gather

    def __call__(self, out: torch.Tensor, mine: torch.Tensor, **how: object) -> object:
        self.sizes.append(mine.numel())
        return self._gather(out, mine, **how)

    def __enter__(self) -> CountedGather:
        metrics_exchange._all_gather = self
        return self

    def __exit__(self, *_: object) -> None:
        metrics_exchange._all_gather = self._gather


def scalars(rank: int, step: int) -> dict[str, float]:
    """Different numbers on each rank and step, none of them round."""
    generator = torch.Generator().manual_seed(100 * rank + step)
    mfu, length = torch.rand(2, generator=generator, dtype=torch.float64).tolist()
    return {"mfu": mfu, "tokens": float(2**24 + 1 + rank * 7 + step), "length": 4096 * length}


def five_all_reduces(rank: int, step: int) -> dict[str, float]:
    mine = scalars(rank, step)

    def reduced(name: str, op: Any) -> float:
        value = torch.tensor(mine[name], dtype=torch.float64)
        dist.all_reduce(value, op=op)
        return value.item()

    return {
        "mfu": reduced("mfu", dist.ReduceOp.SUM) / WORLD,
        "tokens": reduced("tokens", dist.ReduceOp.SUM),
        "length/avg": reduced("length", dist.ReduceOp.SUM) / WORLD,
        "length/min": reduced("length", dist.ReduceOp.MIN),
        "length/max": reduced("length", dist.ReduceOp.MAX),
    }


def add_all(gather: MetricsGather, rank: int, step: int) -> None:
    mine = scalars(rank, step)
    gather.add("mfu", torch.tensor(mine["mfu"], dtype=torch.float64))
    gather.add("tokens", int(mine["tokens"]), op=dist.ReduceOp.SUM)
    gather.add("length", mine["length"], ops=("avg", "MIN", "max"))


def compare_with_all_reduce(rank: int) -> dict[str, Any]:
    gather = MetricsGather()
    found, wanted = [], []
    with CountedGather() as counted, warnings.catch_warnings():
        warnings.simplefilter("error")
        for step in range(5):
            add_all(gather, rank, step)
            found.append(gather.gather())
    for step in range(5):
        wanted.append(five_all_reduces(rank, step))
    return {"found": found, "wanted": wanted, "sizes": counted.sizes, "step": gather.result_step}


def test_one_collective_equals_five_all_reduces(ran: Answers):
    answers = ran["compare_with_all_reduce"]
    for answer in answers:
        assert len(answer["sizes"]) == 5, "one collective a step, and no warning from torch about it"
        assert answer["found"] == answers[0]["found"], "every rank has the same numbers"
        assert answer["step"] == 4
        for found, wanted in zip(answer["found"], answer["wanted"], strict=True):
            assert list(found) == ["mfu", "tokens", "length/avg", "length/min", "length/max"]
            assert found == pytest.approx(wanted, rel=1e-15)
            # float32 cannot hold this sum: 4 × (2^24 + 1) is not a multiple of 8.
            assert found["tokens"] == wanted["tokens"] and found["tokens"] % 8 != 0


def run_pipelined(rank: int, every_n: int) -> dict[str, Any]:
    gather = MetricsGather(every_n=every_n, pipelined=True)
    returned = []
    with CountedGather() as counted:
        for step in range(6):
            add_all(gather, rank, step)
            metrics = gather.gather(step=1000 + step)
            returned.append((metrics, gather.result_step))
        returned.append((gather.flush(), gather.result_step))
        assert gather.flush() is None
    return {
        "returned": returned,
        "collectives": len(counted.sizes),
        "wanted": [five_all_reduces(rank, s) for s in range(6)],
    }


def test_pipelined_returns_the_previous_step(ran: Answers):
    for answer in ran["run_pipelined 1"]:
        metrics = [m for m, _ in answer["returned"]]
        assert metrics[0] is None
        for step in range(6):
            assert metrics[step + 1] == pytest.approx(answer["wanted"][step], rel=1e-15)
        assert [step for _, step in answer["returned"]] == [None, *range(1000, 1006)]
        assert answer["collectives"] == 6


def test_pipelined_every_third_returns_one_call_later(ran: Answers):
    for answer in ran["run_pipelined 3"]:
        metrics = [m for m, _ in answer["returned"]]
        assert [m is None for m in metrics] == [True, True, True, False, True, True, False]
        assert metrics[3] == pytest.approx(answer["wanted"][2], rel=1e-15)
        assert metrics[6] == pytest.approx(answer["wanted"][5], rel=1e-15)
        assert answer["collectives"] == 2


def run_every_third(rank: int) -> dict[str, Any]:
    # Large tables are reduced by torch instead of Python.
    small, metrics_exchange.SMALL = metrics_exchange.SMALL, 0
    gather = MetricsGather(every_n=3)
    returned, due = [], []
    with CountedGather() as counted:
        for step in range(7):
            due.append(gather.due)
            gather.add("rank", rank, ops=("avg", "argmax", "argmin"))
            gather.add("step", step)
            returned.append(gather.gather())
    metrics_exchange.SMALL = small
    return {"returned": returned, "due": due, "collectives": len(counted.sizes)}


def test_every_n(ran: Answers):
    wanted = [None, None, {"rank/avg": 1.5, "rank/argmax": 3.0, "rank/argmin": 0.0, "step": 2.0}]
    wanted += [None, None, {**wanted[2], "step": 5.0}, None]
    for answer in ran["run_every_third"]:
        assert answer["returned"] == wanted
        assert answer["due"] == [False, False, True, False, False, True, False]
        assert answer["collectives"] == 2


def add_differently(rank: int, pipelined: bool) -> list[Any]:
    """Mismatches that would hang or mix up a plain exchange of vectors."""
    outcomes: list[Any] = []

    def attempt(names: list[str]) -> None:
        gather = MetricsGather(pipelined=pipelined)
        for name in names:
            gather.add(name, rank)
        try:
            outcomes.append(gather.gather() or gather.flush())
        except MetricsMismatchError as error:
            outcomes.append(str(error))
        # Afterwards all ranks can continue.
        gather.add("after", rank)
        metrics = gather.gather() or gather.flush()
        assert metrics == {"after": 1.5}, metrics

    attempt(["loss"] if rank != 2 else ["loss", "extra"])
    attempt(["a", "b"] if rank % 2 else ["b", "a"])
    attempt([f"m{i}" for i in range(100 if rank == 1 else 3)])
    attempt([] if rank == 3 else ["x"])
    attempt([f"m{i}" for i in range(100)])
    return outcomes


@pytest.mark.parametrize("pipelined", [False, True])
def test_mismatches_name_the_ranks_on_every_rank_and_nothing_hangs(ran: Answers, pipelined: bool):
    for rank, (extra, order, many, none, alike) in enumerate(ran[f"add_differently {pipelined}"]):
        assert extra.startswith("ranks added different metrics: ranks 0, 1, 3 added 1 metric; rank 2 added 2 metrics")
        assert f"this rank, {rank}, added loss (avg)" in extra and ("extra (avg)" in extra) == (rank == 2)
        assert "ranks 0, 2 added 2 metrics; ranks 1, 3 added 2 metrics" in order
        assert "ranks 0, 2, 3 added 3 metrics; rank 1 added 100 metrics" in many
        assert "ranks 0, 1, 2 added 1 metric; rank 3 added 0 metrics" in none
        assert ("added nothing" in none) == (rank == 3)
        assert alike == {f"m{i}": 1.5 for i in range(100)}


def grow(rank: int) -> tuple[list[int], list[Any]]:
    gather = MetricsGather()
    with CountedGather() as counted:
        results = []
        for step in range(3):
            for i in range(40 if step else 5):
                gather.add(f"m{i}", rank * 100 + i, op="max")
            results.append(gather.gather())
    return counted.sizes, results


def test_more_metrics_than_fit_cost_one_extra_collective(ran: Answers):
    for sizes, results in ran["grow"]:
        assert sizes == [32, 32, 64, 64]
        assert results[0] == {f"m{i}": 300.0 + i for i in range(5)}
        assert results[1] == results[2] == {f"m{i}": 300.0 + i for i in range(40)}


def in_a_subgroup(rank: int) -> list[Any]:
    group = dist.new_group([1, 3])
    gather = MetricsGather(group=group)
    outcomes: list[Any] = []
    gather.add("rank", rank, op="sum")
    outcomes.append(gather.gather())
    gather.add("only here" if rank == 3 else "there", rank)
    try:
        outcomes.append(gather.gather())
    except MetricsMismatchError as error:
        outcomes.append(str(error))
    return outcomes


def test_a_subgroup(ran: Answers):
    answers = ran["in_a_subgroup"]
    assert answers[0] == answers[2] == [None, None]
    assert answers[1][0] == answers[3][0] == {"rank": 4.0}
    assert "rank 1 added 1 metric; rank 3 added 1 metric" in answers[1][1], "by their numbers in the job"
