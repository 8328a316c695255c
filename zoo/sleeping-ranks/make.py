"""
Runs of four ranks, one of them late, in which computing and links are sleeps: it is known what hides a delay, and two
cores are enough. Each job is timed with and without its fault, in turns, and logged with it.

    torchrun --nproc-per-node 4 zoo/sleeping-ranks/make.py OUT [CASE …]
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python" / "src"))
import whyslow_capture

LATE, LAYERS, WIDTH = 2, 4, 64
FORWARD_S, BACKWARD_S = 0.01, 0.02  # of a layer
WARM_UP, TIMED, LOGGED = 3, 20, 40


@dataclass(frozen=True)
class Case:
    """What the late rank sleeps more, in seconds: before the forward pass, and at both ends of the backward pass."""

    before: float = 0.0
    begin: float = 0.0
    end: float = 0.0
    """After the last gradient has been handed over to be sent."""
    slower: float = 1.0
    link: float = 0.1
    """What each bucket takes to be sent."""
    bucket_mb: float = 25


CASES = {
    "healthy": Case(),
    "exposed_forward": Case(before=0.08),
    "exposed_backward": Case(begin=0.08),
    "hidden_end": Case(end=0.08),
    "partly_hidden": Case(end=0.16),
    "slow_gpu": Case(slower=1.6, link=0.03),
    "slow_gpu_comms": Case(slower=1.6, link=0.06, bucket_mb=0.02),
}
NOT_LATE = Case()


class Sleep(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, forward_s: float, backward_s: float) -> Tensor:
        ctx.seconds = backward_s
        time.sleep(forward_s)
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        time.sleep(ctx.seconds)
        return gradients[0], None, None


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))
        self.case = NOT_LATE

    def forward(self, x: Tensor) -> Tensor:
        case = self.case
        time.sleep(case.before)
        x = Sleep.apply(x.requires_grad_(), 0.0, case.end)
        for layer in self.layers:
            x = Sleep.apply(layer(x), FORWARD_S * case.slower, BACKWARD_S * case.slower)
        return Sleep.apply(x, 0.0, case.begin)


def slow_link(seconds: float) -> Callable[..., Any]:
    # DDP compares the hook's annotations with its own, and does not understand those of a later Python.
    def send(state, bucket):  # type: ignore[no-untyped-def]
        def arrive(sent: torch.futures.Future[list[Tensor]]) -> Tensor:
            time.sleep(seconds)
            return sent.value()[0]

        return dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(arrive)

    return send


class Job:
    def __init__(self, case: Case) -> None:
        self.case = case
        self.network = Network()
        self.model = DistributedDataParallel(self.network, bucket_cap_mb=case.bucket_mb, gradient_as_bucket_view=True)
        self.model.register_comm_hook(None, slow_link(case.link))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)

    def step(self, faulty: bool) -> None:
        self.network.case = self.case if faulty and dist.get_rank() == LATE else NOT_LATE
        self.optimizer.zero_grad()
        self.model(torch.randn(8, WIDTH)).square().mean().backward()
        self.optimizer.step()

    def mean_ms(self, faulty: bool) -> float:
        for _ in range(WARM_UP):
            self.step(faulty)
        dist.barrier()
        started = time.perf_counter()
        for _ in range(TIMED):
            self.step(faulty)
        return (time.perf_counter() - started) / TIMED * 1e3


def main() -> None:
    out, names = Path(sys.argv[1]), sys.argv[2:] or list(CASES)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    options = {"record_every_n_steps": 1, "flush_every_n_steps": 5, "max_overhead": 1.0}
    for name in names:
        job = Job(CASES[name])
        healthy, faulty, healthy_again, faulty_again = (job.mean_ms(is_faulty) for is_faulty in (False, True) * 2)
        with whyslow_capture.capture(str(out / name / "log"), **options) as cap:
            for _ in range(LOGGED):
                job.step(True)
                cap.step()
        dist.barrier()
        if dist.get_rank() == 0:
            truth = {"healthy_ms": (healthy + healthy_again) / 2, "faulty_ms": (faulty + faulty_again) / 2}
            (out / name / "truth.json").write_text(json.dumps(truth))
            print(name, truth, flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
