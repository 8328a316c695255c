"""Collectives and exposed gradient communication, with real gloo ranks."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from gloo_ranks import run_ranks
from hooked import Job, Net, batches, capturing, duration, names, phases, steps_of
from old_torch import is_before, needs_torch
from torch import distributed
from torch.distributed.device_mesh import init_device_mesh
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from whyslow_capture.hooks.collectives import MAX_ON_CPU, describe, suffix
from whyslow_capture.hooks.gradient_sync import group_of, kind_of, syncs
from whyslow_capture.session import Capture

SLEEP_S = 0.1
# Fails without a GPU in torch 2.3 and 2.6.
FSDP2_ON_CPU = "2.7"


class Sleepy(torch.autograd.Function):
    """Sleeps in backward, before there is any gradient to exchange."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, seconds: float) -> torch.Tensor:
        ctx.seconds = seconds
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        time.sleep(ctx.seconds)
        return gradient, None


class SleepyJob(Job):
    seconds = 0.0

    def backward(self, x: torch.Tensor) -> float:
        loss = Sleepy.apply(self.model(x).pow(2).mean(), self.seconds)
        loss.backward()
        return float(loss.detach())


def ddp_job(rank: int) -> SleepyJob:
    torch.manual_seed(0)
    job = SleepyJob(DistributedDataParallel(Net()))
    job.seconds = SLEEP_S if rank == SLEEPER else 0.0
    return job


WORLD = 3
SLEEPER = 1


def everything(rank: int, base: Path) -> dict[str, Any]:
    """Runs everything that needs ranks in the same processes, because starting them is slow."""
    scenarios: dict[str, Callable[[int, Path], Any]] = {
        "ddp": train_ddp,
        "accumulating": train_accumulating,
        **({} if is_before(FSDP2_ON_CPU) else {"sharded": train_sharded, "sharded-loss": train_sharded_loss}),
        "order": queue_order,
        "kinds": call_everything,
        "often": call_often,
        "neighbors": exchange_with_neighbors,
        "compiled": compile_with_collective,
        "recognized": recognize_sharded,  # last, because torch 2.3 keeps these models alive
    }
    results = {}
    for name, work in scenarios.items():
        results[name] = work(rank, base / name)
        gc.collect()  # otherwise models of the previous job would be found
    return results


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    base = tmp_path_factory.mktemp("ranks")
    return base, run_ranks(everything, WORLD, base)


Runs = tuple[Path, list[dict[str, Any]]]


def train_ddp(rank: int, out: Path) -> list[float]:
    job = ddp_job(rank)
    with capturing(out):
        return [job.step(x) for x in DataLoader(batches(6), batch_size=None)]


def test_ddp_ranks_that_wait_record_the_wait(runs: Runs) -> None:
    out = runs[0] / "ddp"
    expected = ["data_wait", "forward", "backward", "collective:all_reduce", "optimizer"]
    for rank in range(WORLD):
        assert names(out, 5, rank) == expected
    steps = (2, 3, 4, 5)
    waits = [[duration(out, step, "collective:all_reduce", rank) for step in steps] for rank in range(WORLD)]
    # The fast ranks wait for most of the straggler's sleep; the straggler waits for nobody. On a busy machine a fast
    # rank may be delayed too, but not in every step.
    assert min(waits.pop(SLEEPER)) < 0.5 * SLEEP_S * 1000
    assert all(max(each) > 0.5 * SLEEP_S * 1000 for each in waits)
    assert all(duration(out, step, "backward", SLEEPER) >= SLEEP_S * 1000 for step in steps)


def train_accumulating(rank: int, out: Path) -> None:
    job = ddp_job(rank)
    with capturing(out):
        loader = iter(DataLoader(batches(12), batch_size=None))
        for _ in range(4):
            with job.model.no_sync():  # type: ignore[operator]
                job.backward(next(loader))
                job.backward(next(loader))
            job.step(next(loader))


def test_passes_without_gradient_sync_have_no_record_on_any_rank(runs: Runs) -> None:
    out = runs[0] / "accumulating"
    for rank in range(WORLD):
        assert [p for p in phases(out, 3, rank) if p[0].startswith("collective")] == [("collective:all_reduce", 2)]
        assert steps_of(out, rank) == [0, 1, 2, 3]


def fully_shard(module: torch.nn.Module) -> None:
    try:
        from torch.distributed.fsdp import fully_shard as shard
    except ImportError:
        from torch.distributed._composable.fsdp import fully_shard as shard  # torch before 2.6
    shard(module, mesh=init_device_mesh("cpu", (WORLD,)))


def train_sharded_loss(rank: int, out: Path) -> None:
    train_sharded(rank, out, returns_loss=True)


def train_sharded(rank: int, out: Path, returns_loss: bool = False) -> None:
    class Loss(Net):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x).pow(2).mean()

    torch.manual_seed(0)
    model = Loss() if returns_loss else Net()
    for part in (model.first, model.second, model):
        fully_shard(part)
    job = SleepyJob(model)
    with capturing(out):
        for x in DataLoader(batches(5), batch_size=None):
            if returns_loss:
                # The tensor that backward starts from has FSDP's hooks, which queue FSDP's callback.
                job.model(x).backward()
                job.optimizer.step()
                job.optimizer.zero_grad()
            else:
                job.step(x)


@needs_torch(FSDP2_ON_CPU, "FSDP2 needs a GPU")
@pytest.mark.parametrize("scenario", ["sharded", "sharded-loss"])
def test_fsdp2(runs: Runs, scenario: str) -> None:
    found = [names(runs[0] / scenario, 4, rank) for rank in range(WORLD)]
    assert found[0] == found[1] == found[2]
    assert found[0].count("backward") == 1
    # The gradients of each part. Those of the first are reduced at the end of the pass, which is not recorded twice.
    assert found[0].count("collective:reduce_scatter") == 2
    assert found[0].index("collective:all_gather") < found[0].index("backward")


def recognize_sharded(rank: int, out: Path) -> Any:
    """Unlike training, this works without a GPU in every torch version."""
    model = Net()
    for part in (model.first, model):
        fully_shard(part)
    exchanges = [syncs(model)]
    for wanted in (False, True):
        model.set_requires_gradient_sync(wanted)  # type: ignore[operator]
        exchanges.append(syncs(model))
    return kind_of(model), kind_of(model.second), suffix(group_of(model)), exchanges


def test_fsdp2_is_recognized(runs: Runs) -> None:
    for results in runs[1]:
        assert results["recognized"] == ("reduce_scatter", None, "", [True, False, True])


def queue_order(rank: int, out: Path) -> list[str]:
    """Our callback must run before one queued by another hook on the same tensor, in either order of registration."""
    from whyslow_capture.hooks.gradient_sync import GradientSync

    order: list[str] = []
    engine = torch.autograd.Variable._execution_engine

    class Mark:
        def mark(self, **_: object) -> int:
            order.append("ours")
            return 1

    class FakeFlow:
        recorder = Mark()

        def failed(self, error: Exception) -> None:
            raise error

    sync = GradientSync(FakeFlow())  # type: ignore[arg-type]
    sync._kind = "collective:all_reduce"
    sync._tracker.modules = type("None", (), {"searches": 0})()  # type: ignore[misc]
    model = DistributedDataParallel(Net())
    sync._wrappers = [lambda: model]  # type: ignore[list-item]
    loss = model(batches(1)[0]).mean()
    loss.register_hook(lambda _: engine.queue_callback(lambda: order.append("theirs")))
    sync.before(loss)
    loss.backward()
    sync._drop()
    assert len(loss._backward_hooks) == 1  # type: ignore[arg-type]
    return order


def test_our_callback_runs_first(runs: Runs) -> None:
    assert [results["order"] for results in runs[1]] == [["ours", "theirs"]] * WORLD


def call_everything(rank: int, out: Path) -> None:
    job = Job()
    pair = distributed.new_group([0, 1])
    other = distributed.new_group([2])
    with capturing(out) as capture:
        for x in batches(3):
            job.step(x)
            t, many = torch.ones(3), [torch.zeros(3) for _ in range(3)]
            distributed.all_reduce(t)
            distributed.all_gather(many, t)
            distributed.all_gather_into_tensor(torch.zeros(9), t)
            distributed.reduce_scatter_tensor(torch.zeros(1), t)
            distributed.broadcast(t, 0)
            distributed.barrier()
            distributed.all_to_all_single(torch.zeros(3), t)
            distributed.reduce(t, 0)
            distributed.gather(t, many if rank == 0 else None)
            distributed.scatter(t, many if rank == 0 else None)
            distributed.all_gather_object([None] * 3, "x")
            distributed.broadcast_object_list(["x"])
            distributed.distributed_c10d.all_reduce(t, distributed.ReduceOp.SUM, pair)
            distributed.all_reduce(t, group=other)
            # Asynchronous collectives overlap with later work.
            distributed.all_reduce(t, async_op=True).wait()
            distributed.all_reduce(t, distributed.ReduceOp.SUM, None, True).wait()
            with pytest.raises(RuntimeError, match="invalid root"):
                distributed.broadcast(t, 99)
        assert capture.problems.counts == {}


def test_every_collective_has_its_name(runs: Runs) -> None:
    kinds = "all_reduce all_gather all_gather reduce_scatter broadcast barrier all_to_all reduce gather scatter"
    world = [*kinds.split(), "all_gather", "broadcast"]
    for rank in range(WORLD):
        found = [n.removeprefix("collective:") for n in names(runs[0] / "kinds", 2, rank) if n.startswith("coll")]
        group = ["all_reduce@0-1"] if rank < 2 else []
        # The failed broadcast at the end is closed too.
        assert found == [*world, *group, "broadcast"]


def call_often(rank: int, out: Path) -> dict[str, int]:
    job = Job()
    with capturing(out) as capture:
        for x in batches(2):
            for _ in range(MAX_ON_CPU + 8):
                distributed.barrier()
            job.step(x)
        return dict(capture.problems.counts)


def test_the_number_of_collectives_is_limited(runs: Runs) -> None:
    assert [results["often"] for results in runs[1]] == [{"collectives-not-recorded": 16}] * WORLD
    assert names(runs[0] / "often", 1).count("collective:barrier") == MAX_ON_CPU


def exchange_with_neighbors(rank: int, out: Path) -> list[float]:
    """
    As stages of a pipeline do: each rank passes its result on to the next one. Returns how many seconds of the sleep of
    the rank before it were over, in each step, when this rank began to wait.
    """
    job = Job()
    t = torch.zeros(3)
    store = distributed.distributed_c10d._get_default_store()
    slept = []
    with capturing(out) as capture:
        for step, x in enumerate(batches(3)):
            job.backward(x)
            asked = time.perf_counter()
            if rank == SLEEPER + 1:
                store.set(f"last rank waits {step}", "")
            if rank > 0:
                work = distributed.irecv(t, rank - 1)
                slept.append(time.perf_counter() - asked)
                work.wait()
            if rank == SLEEPER:
                # Only now, so that a last rank that is late on a busy machine still has to wait.
                store.wait([f"last rank waits {step}"])
                time.sleep(SLEEP_S)
            if rank < WORLD - 1:
                distributed.isend(t, rank + 1).wait()
            ring = [
                distributed.P2POp(distributed.isend, t, (rank + 1) % WORLD),
                distributed.P2POp(distributed.irecv, torch.zeros(3), (rank - 1) % WORLD),
            ]
            for work in distributed.batch_isend_irecv(ring):
                work.wait()
            if rank == 0:
                distributed.send(t, 1)
            elif rank == 1:
                distributed.recv(t, 0)
            job.optimizer.step()
        assert capture.problems.counts == {}
        dump = capture.messages.as_dump()
        assert dump is not None
        (out / f"messages_{rank}.json").write_text(json.dumps(dump))
    assert distributed.Work.wait.__module__ != "whyslow_capture.hooks.collectives"
    return slept


def test_waits_for_sends_and_receives_are_recorded(runs: Runs) -> None:
    """isend and irecv return at once: the wait is what holds up the stage."""
    out = runs[0] / "neighbors"
    expected = [["send", "send", "recv", "send"], ["recv", "send", "send", "recv", "recv"], ["recv", "send", "recv"]]
    for rank, kinds in enumerate(expected):
        found = [n.removeprefix("collective:") for n in names(out, 2, rank) if n.startswith("coll")]
        assert found == kinds
    # The last rank waits for what is left of the sleep of the one before it.
    slept = runs[1][WORLD - 1]["neighbors"]
    for step in (1, 2):
        left = SLEEP_S - slept[step]
        assert duration(out, step, "collective:recv", WORLD - 1) > 0.8 * left * 1000


def test_the_last_sends_and_receives_are_known_with_their_peers(runs: Runs) -> None:
    to_next, from_before = "gloo:send {0}->{1}", "gloo:recv {0}<-{2}"
    expected = [
        [to_next, to_next, from_before, "gloo:send 0->1"],
        [from_before, to_next, to_next, from_before, "gloo:recv 1<-0"],
        [from_before, to_next, from_before],
    ]
    for rank, names_of in enumerate(expected):
        dump = json.loads((runs[0] / "neighbors" / f"messages_{rank}.json").read_text())
        calls = [e["profiling_name"] for e in dump["entries"]]
        step = [n.format(rank, (rank + 1) % WORLD, (rank - 1) % WORLD) for n in names_of]
        assert calls == 3 * step
        assert {e["state"] for e in dump["entries"]} == {"completed"}
        group = dump["pg_config"][dump["entries"][0]["process_group"][0]]
        assert json.loads(group["ranks"]) == list(range(WORLD))


def compile_with_collective(rank: int, out: Path) -> Any:
    class Exchanging(Net):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = super().forward(x).detach()
            distributed.all_reduce(y)
            return super().forward(x) + y

    def train(capture: Capture | None) -> Any:
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        torch.manual_seed(0)
        job = Job(Exchanging())
        job.model.compile(backend="eager", fullgraph=True)
        losses = [job.step(x) for x in batches(4)]
        counters = torch._dynamo.utils.counters
        return losses, counters["stats"]["unique_graphs"], sum(counters["graph_break"].values())

    import torch._dynamo

    plain = train(None)
    with capturing(out) as capture:
        captured = train(capture)
    again = train(None)
    return plain, captured, again


def test_collectives_in_a_compiled_model(runs: Runs) -> None:
    for plain, captured, again in (results["compiled"] for results in runs[1]):
        assert plain == captured == again
        assert plain[1] == 1


def test_a_single_rank_searches_for_no_wrappers(tmp_path: Path) -> None:
    with capturing(tmp_path) as capture:
        job = Job()
        for x in DataLoader(batches(3), batch_size=None):
            job.step(x)
        assert capture.hooks._tracker.gradient_sync._wrappers == []  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        ([0, 1, 2, 3], "0-3"),
        ([4, 5], "4-5"),
        ([0, 4, 8], "0-8/4"),
        ([3], "3"),
        ([0, 1, 5], "0.1.5"),
        ([0, 1, 2, 3, 4, 5, 6, 7, 9], "9-"),
    ],
)
def test_group_names(ranks: list[int], expected: str) -> None:
    assert describe(ranks).startswith(expected)
