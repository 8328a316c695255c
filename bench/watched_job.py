"""
A CPU job that changes in mid-run, or has every reason to look as if it did: `watched_job.py NAME SECONDS`.

Changes begin at 55% of the time, and the job prints `CHANGE STEP WALL_NS`. Healthy jobs do what healthy jobs do.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import torch
from torch import nn

NAME, SECONDS = sys.argv[1], float(sys.argv[2])
# Only a job that computes minds neighbors. A long job should leave the cores to others.
COMPUTES = "neighbor" in NAME or "compute" in NAME
SLOW = 6 if "slow" in NAME else 0 if COMPUTES else 1
# Per step. On a machine with much memory, only a fast leak is a danger.
LEAK_MB = float(os.environ.get("WATCHED_LEAK_MB", "5"))
# In a row. On a fast disk, few of them cost nothing.
SAVES = int(os.environ.get("WATCHED_SAVES", "4"))
# Steps before this one are not part of the pace that is printed.
STEADY = 200
# Ends by itself: it must not outlive the job by much.
SPIN = "import sys, time\nend = time.monotonic() + float(sys.argv[1])\nwhile time.monotonic() < end: pass"


class Data(torch.utils.data.IterableDataset[torch.Tensor]):
    slow = 0.0

    def __iter__(self) -> Iterator[torch.Tensor]:
        while True:
            if self.slow > 0 or not COMPUTES:
                time.sleep(0.002 + self.slow)
            yield torch.randn(32, 256)


class Work(torch.autograd.Function):
    """Stands for a GPU: takes time, and no core. The longer the more rows there are."""

    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, x: torch.Tensor) -> torch.Tensor:
        time.sleep(SLOW * 0.006 * x.shape[0] / 32)
        return x.clone()

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, grad: torch.Tensor) -> torch.Tensor:
        time.sleep(SLOW * 0.01 * grad.shape[0] / 32)
        return grad


class Device(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = Work.apply(x)
        return result


class Job:
    def __init__(self, rank: int, world: int) -> None:
        torch.manual_seed(0)
        torch.set_num_threads(1)
        self.rank, self.world = rank, world
        width = 700 if COMPUTES else 300
        model = nn.Sequential(
            nn.Linear(256, width), Device(), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 8)
        )
        self.plain = model
        self.model: nn.Module = nn.parallel.DistributedDataParallel(model) if world > 1 else model
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        self.data = Data()
        self.loader = iter(torch.utils.data.DataLoader(self.data, batch_size=None))
        self.kept: list[object] = []
        self.repeat = 1

    def train_step(self) -> None:
        x = next(self.loader)
        x = x.repeat(self.repeat, 1)
        self.optimizer.zero_grad()
        loss = self.model(x).square().mean()
        loss.backward()
        self.optimizer.step()

    def evaluate(self, batches: int) -> None:
        self.plain.eval()
        with torch.no_grad():
            for _ in range(batches):
                self.plain(torch.randn(64, 256))
        self.plain.train()

    def save(self, times: int = 1) -> None:
        for _ in range(times):
            torch.save(
                {"m": self.plain.state_dict(), "o": self.optimizer.state_dict()}, f"/tmp/watched-{os.getpid()}.pt"
            )

    # Changes. Called once at the change.
    def change(self) -> None:
        if NAME == "loader":
            self.data.slow = 0.03
        elif NAME == "late-rank" and self.rank == self.world - 1:
            self.data.slow = 0.05
        elif NAME == "hog":
            threading.Thread(target=spin, name="metrics", daemon=True).start()
        elif "neighbor" in NAME:
            # All on the core of this job: the rest of the machine stays free. Their parent ends, so they are no part of the job.
            core = min(os.sched_getaffinity(0))
            os.sched_setaffinity(0, {core})
            for _ in range(1 if "one" in NAME else 6):
                alone = ["sh", "-c", '"$@" &', "sh", sys.executable, "-c", SPIN, str(0.45 * SECONDS)]
                subprocess.run(alone, check=True, start_new_session=True)

    # Called at every step: what goes on since the change, or always.
    def beside(self, step: int, changed: bool) -> None:
        if changed and NAME == "gc":
            # Objects with references to each other: every collection has more to look through.
            for _ in range(1000):
                a: list[object] = [{}, {}]
                a.append(a)
                self.kept.append(a)
            if step % 15 == 0:
                gc.collect()
        elif changed and NAME == "leak":
            self.kept.append(torch.ones(int(LEAK_MB * 250_000)))
        elif changed and NAME == "checkpoint" and step % 60 == 0:
            self.save(SAVES)

    def healthy(self, step: int) -> None:
        if "evaluation" in NAME and step % 300 == 299:
            self.evaluate(150)
        if "checkpoint-always" in NAME and step % 250 == 249:
            self.save(3)
        if "curriculum" in NAME and step in (700, 1400):
            self.repeat += 1
        if "logging" in NAME and step % 50 == 0:
            print(f"step {step}", flush=True)
        if "collect" in NAME and step % 200 == 0:
            gc.collect()
        if "ragged" in NAME:
            self.repeat = 1 + (step * 7919) % 3


def spin() -> None:
    while True:
        sum(range(1000))


def main() -> None:
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world > 1:
        torch.distributed.init_process_group("gloo")
    job = Job(int(os.environ.get("RANK", "0")), world)
    begin, changed, step = time.monotonic(), False, 0
    at = 0
    steady = (begin, 0)
    while True:
        elapsed = torch.tensor([time.monotonic() - begin])
        if world > 1 and step % 20 == 0:
            torch.distributed.broadcast(elapsed, 0)
        elif world > 1:
            elapsed = torch.tensor([0.0])
        if elapsed.item() > SECONDS:
            break
        if not changed and elapsed.item() > 0.55 * SECONDS:
            changed, at = True, step
            job.change()
            if job.rank == 0:
                print(f"CHANGE {step} {time.time_ns()}", flush=True)
        job.train_step()
        job.beside(step, changed)
        job.healthy(step)
        step += 1
        if step == STEADY:
            steady = (time.monotonic(), step)
    if job.rank == 0:
        pace = 1000 * (time.monotonic() - steady[0]) / max(1, step - steady[1])
        print(f"END {step} {at} {pace:.5f} ms per step", flush=True)
    if world > 1:
        torch.distributed.destroy_process_group()


main()
