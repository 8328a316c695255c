"""A training loop on a GPU, bound by it or by the host that launches it. Used by the programs in this folder."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch


class Job:
    """A training loop whose step takes about `step_ms`, bound by the GPU or by the host that launches it."""

    def __init__(self, step_ms: float, bound: str) -> None:
        torch.manual_seed(0)
        if bound == "gpu":
            width, depth, batch = 4096, 4, 2048
        else:
            width, depth, batch = 256, 12, 64
        layers: list[torch.nn.Module] = []
        for _ in range(depth):
            layers += [torch.nn.Linear(width, width), torch.nn.GELU()]
        self.model = torch.nn.Sequential(*layers).cuda().to(torch.bfloat16)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-6)
        self.host = [torch.randn(batch, width, dtype=torch.bfloat16).pin_memory() for _ in range(4)]
        self.repeat = 1
        self.calibrate(step_ms)

    def calibrate(self, step_ms: float) -> None:
        for _ in range(3):
            run_plain(self, 10)
        for _ in range(4):
            measured = run_plain(self, 30)
            self.repeat = max(1, round(self.repeat * step_ms / measured))

    def batch(self, i: int) -> torch.Tensor:
        return self.host[i % 4]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(self.repeat):
            x = self.model(x)
        return x.float().pow(2).mean()


# A GPU that has rested runs faster for a while, and hooks take their time to be put in place: all rest as long.
REST_S = 0.03


def timed(steps: int, body: Callable[[int], None]) -> float:
    time.sleep(REST_S)
    # The first steps after another variant are slower whichever it is, and for hooks they find the model.
    for i in range(3):
        body(i)
    torch.cuda.synchronize()
    started = time.perf_counter()
    for i in range(steps):
        body(i)
    torch.cuda.synchronize()
    return (time.perf_counter() - started) / steps * 1e3


def plain_step(job: Job, i: int) -> None:
    x = job.batch(i)
    x = x.to("cuda", non_blocking=True)
    loss = job.forward(x)
    loss.backward()
    job.optimizer.step()
    job.optimizer.zero_grad(set_to_none=True)


def run_plain(job: Job, steps: int) -> float:
    return timed(steps, lambda i: plain_step(job, i))
