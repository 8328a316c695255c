"""
Runs of four ranks in which some are late, and what that costs: each job is timed with and without its fault in one
process and logged with it. When all have been, each is traced.

    torchrun --nproc-per-node 4 zoo/ranks/make.py OUT [CASE …]

Gloo, with all ranks on one GPU where there is no other: so a rank that computes more slows the others' kernels too, and
mending it gains more than it is late by.
"""

from __future__ import annotations

import gzip
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, schedule

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python" / "src"))
import whyslow_capture

WIDTH, LAYERS = 1024, 6
WARM_UP, TIMED, LOGGED = 6, 24, 48
PRODUCTS = 6  # of 2.7 ms each


@dataclass(frozen=True)
class Case:
    """`late` in every step by default, because of `cause`; what the fault does before the forward pass."""

    late: tuple[int, ...]
    cause: str | None
    fault: Callable[[int], None] = lambda step: None
    bucket_mb: int = 25
    batch: int = 512
    batch_of_late: int = 0
    loads: bool = False
    in_backward: bool = False
    in_turn: bool = False


def sleep(seconds: float, every: int = 1) -> Callable[[int], None]:
    return lambda step: time.sleep(seconds) if step % every == every - 1 else None


def spin(step: int) -> None:
    end = time.perf_counter() + 0.012
    while time.perf_counter() < end:
        pass


def multiply(step: int = 0) -> None:
    for _ in range(PRODUCTS):
        torch.mm(large(), large())


def copy_pageable(step: int) -> None:
    pageable().cuda()


CASES = {
    "gpu_buckets": Case((1,), "gpu", multiply, bucket_mb=4),
    # After the last gradient: all but hidden behind what is being sent.
    "gpu_backward": Case((2,), "gpu", in_backward=True),
    "data_rank": Case((0,), "data", batch=64, loads=True),
    "host_forward": Case((3,), "host", spin),
    "batch_4x": Case((1,), "gpu", bucket_mb=4, batch=4096, batch_of_late=4 * 4096),
    "h2d_rank": Case((2,), "data", copy_pageable),
    "rotating": Case((), "gpu", multiply, in_turn=True),
    "two_late": Case((0, 1), "host", sleep(0.015)),
    "healthy_buckets": Case((), None, bucket_mb=2, batch=1024),
    "host_every4": Case((2,), "host", sleep(0.03, every=4)),
}


@cache
def large() -> Tensor:
    return torch.randn(4096, 4096, device="cuda")


@cache
def pageable() -> Tensor:
    return torch.randn(8192, 2048)


class SlowBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        multiply()
        return gradients[0]


class Rows(torch.utils.data.Dataset[Tensor]):
    delay = 0.0

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, index: int) -> Tensor:
        time.sleep(self.delay)
        return torch.randn(64, WIDTH)


class Job:
    def __init__(self, case: Case) -> None:
        self.case, self.rank = case, dist.get_rank()
        torch.manual_seed(self.rank)
        layers = [layer for _ in range(LAYERS) for layer in (nn.Linear(WIDTH, WIDTH), nn.GELU())]
        network = nn.Sequential(*layers).cuda()
        self.model = DistributedDataParallel(network, bucket_cap_mb=case.bucket_mb, gradient_as_bucket_view=True)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), fused=True)
        self.batches: Iterator[Tensor] = iter(torch.utils.data.DataLoader(Rows(), batch_size=None))

    def step(self, number: int, faulty: bool) -> None:
        case = self.case
        is_late = faulty and (number % dist.get_world_size() == self.rank if case.in_turn else self.rank in case.late)
        x = self.load(is_late)
        if is_late:
            case.fault(number)
        if is_late and case.in_backward:
            x = SlowBackward.apply(x.requires_grad_())
        self.model(x).square().mean().backward()
        self.optimizer.step()
        self.optimizer.zero_grad()

    def load(self, is_late: bool) -> Tensor:
        if not self.case.loads:
            rows = self.case.batch_of_late if is_late and self.case.batch_of_late else self.case.batch
            return torch.randn(rows, WIDTH, device="cuda")
        Rows.delay = 0.015 if is_late else 0.0
        return next(self.batches).cuda()

    def mean_ms(self, faulty: bool) -> float:
        """Without the two shortest and longest steps of each half."""
        times: list[float] = []
        for _ in range(2):
            for i in range(WARM_UP):
                self.step(i, faulty)
            torch.cuda.synchronize()
            dist.barrier()
            for i in range(TIMED):
                started = time.perf_counter()
                self.step(i, faulty)
                torch.cuda.synchronize()
                times.append((time.perf_counter() - started) * 1e3)
        kept = sorted(times)[2:-2]
        return sum(kept) / len(kept)


def record_trace(job: Job, folder: Path) -> None:
    def keep(profiler: Any) -> None:
        raw = folder / f"rank{job.rank}.json"
        profiler.export_chrome_trace(str(raw))
        with raw.open("rb") as source, gzip.open(f"{raw}.gz", "wb", 6) as target:
            shutil.copyfileobj(source, target)
        raw.unlink()

    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    plan = schedule(wait=1, warmup=2, active=10, repeat=1)
    with profile(activities=activities, schedule=plan, on_trace_ready=keep) as profiler:
        for i in range(13):
            job.step(i, True)
            profiler.step()
    dist.barrier()


def record_log(job: Job, folder: Path) -> None:
    options = {"record_every_n_steps": 1, "flush_every_n_steps": 5, "max_overhead": 1.0}
    with whyslow_capture.capture(str(folder), **options) as cap:
        for i in range(LOGGED):
            job.step(i, True)
            cap.step()
    dist.barrier()


def main() -> None:
    out, names = Path(sys.argv[1]), sys.argv[2:] or list(CASES)
    torch.cuda.set_device(0)
    dist.init_process_group("gloo")
    # All that is timed comes before the first profile: CUPTI stays attached after it and slows the host.
    for name in names:
        case, folder = CASES[name], out / name
        (folder / "trace").mkdir(parents=True, exist_ok=True)
        job = Job(case)
        healthy, faulty = job.mean_ms(False), job.mean_ms(True)
        record_log(job, folder / "log")
        if job.rank == 0:
            truth = {"late": case.late, "cause": case.cause, "healthy_ms": healthy, "faulty_ms": faulty}
            (folder / "truth.json").write_text(json.dumps(truth))
            print(f"{name}: {healthy:.2f} ms, with its fault {faulty:.2f}", flush=True)
    for name in names:
        record_trace(Job(CASES[name]), out / name / "trace")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
