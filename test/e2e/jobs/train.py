"""A plain CPU training job without any whyslow code. Options add faults such as a slow loader or a straggler."""

from __future__ import annotations

import argparse
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

WIDTH, HIDDEN, BATCH = 64, 256, 32


class Samples(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """`slow_ms`: time to load one batch."""

    def __init__(self, batches: int, slow_ms: float) -> None:
        self.batches, self.slow = batches, slow_ms / 1000 / BATCH

    def __len__(self) -> int:
        return self.batches * BATCH

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        if self.slow:
            time.sleep(self.slow)
        generator = torch.Generator().manual_seed(index)
        return torch.randn(WIDTH, generator=generator), torch.tensor(index % 10)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--late-rank", type=int, default=-1)
    parser.add_argument("--late-ms", type=float, default=0)
    parser.add_argument("--data-ms", type=float, default=0)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--end", choices=["well", "exit-3", "raise"], default="well")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rank = int(os.environ.get("RANK", "0"))
    distributed = "RANK" in os.environ
    if distributed:
        dist.init_process_group("gloo")
    layers = [torch.nn.Linear(WIDTH, HIDDEN), *(torch.nn.Linear(HIDDEN, HIDDEN) for _ in range(4))]
    model: torch.nn.Module = torch.nn.Sequential(*layers, torch.nn.ReLU(), torch.nn.Linear(HIDDEN, 10))
    if distributed:
        model = DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loader = DataLoader(Samples(args.steps, args.data_ms), batch_size=BATCH, num_workers=args.workers)
    for step, (inputs, targets) in enumerate(loader):
        if rank == args.late_rank:
            time.sleep(args.late_ms / 1000)
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0 and rank == 0:
            print(f"step {step} loss {loss.item():.6f}", flush=True)
    if args.end == "raise":
        raise RuntimeError("planted failure")
    if distributed:
        dist.destroy_process_group()
        # gloo's thread needs the interpreter lock to release the last all_reduce. During interpreter exit that aborts
        # the process (torch 2.13), so give it time now.
        time.sleep(1)
    sys.exit(3 if args.end == "exit-3" else 0)


if __name__ == "__main__":
    main()
