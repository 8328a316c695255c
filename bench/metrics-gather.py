"""
What a step's metrics cost: five all_reduces and five reads, one MetricsGather, one that is pipelined.

    python bench/metrics-gather.py --device cpu --ranks 4          # starts its ranks itself (gloo)
    python bench/metrics-gather.py --device cuda                   # one rank, NCCL
    torchrun --nproc-per-node 8 bench/metrics-gather.py --device cuda

All ways run in turn in every round, in another order each time; a ratio is taken within a round and its confidence
interval over the rounds, so that a machine that gets slower does not count. `--work-ms`: what the device has to do
between, which a read must wait for.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
from turns import median_interval

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "src"))

from whyslow_training import metrics_exchange
from whyslow_training.metrics import MetricsGather

# Shorter than this a block of steps shows the machine's moods.
BLOCK_S = 0.05


class Job:
    """One rank: its device, its scalars, the work of a step."""

    def __init__(self, device: torch.device, work_ms: float) -> None:
        self.device = device
        self.rank = dist.get_rank()
        self.world = dist.get_world_size()
        self._matrix = torch.randn(1024, 1024, device=device) if work_ms else None
        self._times = self._calibrate(work_ms) if work_ms else 0
        self._step = 0
        self.sync = MetricsGather(device=device)
        self.pipelined = MetricsGather(device=device, pipelined=True)

    def work(self) -> None:
        for _ in range(self._times):
            assert self._matrix is not None
            torch.mm(self._matrix, self._matrix)

    def scalars(self) -> tuple[float, float, float]:
        self._step += 1
        return 0.41 + 0.001 * self.rank, 65536.0 + self._step, 4096.0 + self.rank

    def nothing(self) -> None:
        self.work()

    def five_all_reduces(self) -> None:
        """As it was in lmms-engine before its change: a scalar tensor, a collective and a read for each."""
        self.work()
        mfu, tokens, length = self.scalars()
        for value, op in (
            (mfu, dist.ReduceOp.SUM),
            (tokens, dist.ReduceOp.SUM),
            (length, dist.ReduceOp.SUM),
            (length, dist.ReduceOp.MIN),
            (length, dist.ReduceOp.MAX),
        ):
            tensor = torch.tensor(value, device=self.device)
            dist.all_reduce(tensor, op=op)
            tensor.item()

    def one_gather(self) -> None:
        self.work()
        self._add(self.sync)
        self.sync.gather()

    def one_pipelined_gather(self) -> None:
        self.work()
        self._add(self.pipelined)
        self.pipelined.gather()

    def _add(self, gather: MetricsGather) -> None:
        mfu, tokens, length = self.scalars()
        gather.add("mfu", mfu)
        gather.add("tokens", tokens, op="sum")
        gather.add("length", length, ops=("avg", "min", "max"))

    def time(self, step: Callable[[], None], steps: int) -> float:
        """Seconds a step, of the slowest rank."""
        self._settle()
        began = time.perf_counter()
        for _ in range(steps):
            step()
        self._settle_device()
        took = torch.tensor((time.perf_counter() - began) / steps, device=self.device, dtype=torch.float64)
        dist.all_reduce(took, op=dist.ReduceOp.MAX)
        self.pipelined.flush()
        return float(took.item())

    def _settle(self) -> None:
        self._settle_device()
        dist.barrier()

    def _settle_device(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def _calibrate(self, work_ms: float) -> int:
        assert self._matrix is not None
        for count in (20, 200):
            self._settle_device()
            began = time.perf_counter()
            for _ in range(count):
                torch.mm(self._matrix, self._matrix)
            self._settle_device()
            each = (time.perf_counter() - began) / count
        return max(1, round(work_ms / 1e3 / each))


WAYS: dict[str, Callable[[Job], None]] = {
    "no metrics": Job.nothing,
    "5 all_reduce + 5 .item()": Job.five_all_reduces,
    "MetricsGather": Job.one_gather,
    "MetricsGather, pipelined": Job.one_pipelined_gather,
}
NAIVE = "5 all_reduce + 5 .item()"


def measure(device: torch.device, work_ms: float, rounds: int) -> dict[str, list[float]]:
    job = Job(device, work_ms)
    steps = {name: _steps_for(job, way) for name, way in WAYS.items()}
    times: dict[str, list[float]] = {name: [] for name in WAYS}
    names = list(WAYS)
    for turn in range(rounds):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            times[name].append(job.time(lambda way=WAYS[name]: way(job), steps[name]))  # type: ignore[misc]
    return times


def _steps_for(job: Job, way: Callable[[Job], None]) -> int:
    """Enough for a block; the same on all ranks, since `time` gives all of them the slowest one's."""
    job.time(lambda: way(job), 10)
    return max(10, min(2000, int(BLOCK_S / max(job.time(lambda: way(job), 20), 1e-6))))


def interval(values: list[float], form: str) -> str:
    middle, low, high = median_interval(values)
    return f"{middle:{form}} [{low:{form}}, {high:{form}}]"


def report(times: dict[str, list[float]], work_ms: float) -> None:
    print(f"\nwork of a step: {work_ms:g} ms\n")
    print("| way | ms/step | added ms | cost of the 5 all_reduces ÷ this | step of the 5 all_reduces ÷ this |")
    print("|---|---|---|---|---|")
    base, naive = times["no metrics"], times[NAIVE]
    for name, mine in times.items():
        columns = [interval([1e3 * t for t in mine], ".4f"), "", "", ""]
        if name != "no metrics":
            columns[1] = interval([1e3 * (t - b) for t, b in zip(mine, base, strict=True)], "+.4f")
        if name not in ("no metrics", NAIVE):
            costs = [(n - b) / (t - b) for t, b, n in zip(mine, base, naive, strict=True) if t > b]
            # Of costs near nothing a ratio says nothing.
            columns[2] = interval(costs, ".2f") if len(costs) == len(mine) else "cost within noise"
            columns[3] = interval([n / t for t, n in zip(mine, naive, strict=True)], ".2f")
        print(f"| {name} | {' | '.join(columns)} |")


def run_rank(rank: int, arguments: argparse.Namespace, store: str | None) -> None:
    torch.set_num_threads(1)
    is_cuda = arguments.device == "cuda"
    if is_cuda:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", rank)))
    device = torch.device("cuda", torch.cuda.current_device()) if is_cuda else torch.device("cpu")
    metrics_exchange.COLLECTIVE_IN_GROUP_OF_ONE = True
    how = {} if store is None else {"init_method": f"file://{store}", "rank": rank, "world_size": arguments.ranks}
    dist.init_process_group("nccl" if is_cuda else "gloo", **how)
    if dist.get_rank() == 0:
        name = torch.cuda.get_device_name() if is_cuda else platform.processor() or platform.machine()
        print(
            f"{dist.get_world_size()} ranks, {dist.get_backend()}, {name}, torch {torch.__version__}, "
            f"Python {platform.python_version()}, {os.cpu_count()} cores, {arguments.rounds} rounds, 95% intervals"
        )
    for work_ms in arguments.work_ms:
        times = measure(device, work_ms, arguments.rounds)
        if dist.get_rank() == 0:
            report(times, work_ms)
    dist.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--ranks", type=int, help="processes to start; default 4 on the CPU, 1 on a GPU")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--work-ms", type=float, nargs="+", help="default 0 on the CPU, 0 and 3 on a GPU")
    arguments = parser.parse_args()
    is_cuda = arguments.device == "cuda"
    arguments.ranks = arguments.ranks or (1 if is_cuda else 4)
    arguments.work_ms = arguments.work_ms or ([0.0, 3.0] if is_cuda else [0.0])
    if is_cuda and "RANK" not in os.environ and arguments.ranks > torch.cuda.device_count():
        parser.error("NCCL wants a GPU for each rank")
    if "RANK" in os.environ:
        run_rank(int(os.environ["RANK"]), arguments, None)
        return
    with tempfile.TemporaryDirectory() as scratch:
        store = str(Path(scratch, "store"))
        if arguments.ranks == 1:
            run_rank(0, arguments, store)
        else:
            torch.multiprocessing.spawn(run_rank, (arguments, store), nprocs=arguments.ranks)


if __name__ == "__main__":
    main()
