"""Two ranks train together, and one is slow. Planted: rank 1 does 20 ms of extra work in Python before each step.

    whyslow run -- torchrun --nproc-per-node 2 examples/late_rank.py
    whyslow run -- torchrun --nproc-per-node 2 examples/late_rank.py --fixed

Expected: rank 1 is late in every step, rule W1 (late-rank), with the line that keeps it busy.
"""

import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

FIXED = "--fixed" in sys.argv
STEPS = 120


def write_statistics(seconds=0.02):
    """Only one rank keeps statistics: the kind of code that stays in a script long after it was needed."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        sum(range(1000))


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(dist.get_rank())
    torch.set_num_threads(1)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    start = time.perf_counter()
    for _ in range(STEPS):
        if dist.get_rank() == 1 and not FIXED:
            write_statistics()
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(torch.randn(32, 64)), torch.randint(0, 10, (32,)))
        loss.backward()
        optimizer.step()
    if dist.get_rank() == 0:
        print(f"loss {loss.item():.3f}, {1000 * (time.perf_counter() - start) / STEPS:.1f} ms per step")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
