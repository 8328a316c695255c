"""Two ranks average each metric with a collective of its own. Planted: 48 all_reduce calls of one number per step.

    whyslow run -- torchrun --nproc-per-node 2 examples/small_collectives.py
    whyslow run -- torchrun --nproc-per-node 2 examples/small_collectives.py --fixed

Expected: comms-bound, rule W2 (scalar-collectives).
"""

import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

FIXED = "--fixed" in sys.argv
STEPS, METRICS = 120, 48


def averaged(metrics):
    if FIXED:
        joined = torch.stack(metrics)
        dist.all_reduce(joined)
        return joined / dist.get_world_size()
    for metric in metrics:
        dist.all_reduce(metric)
    return torch.stack(metrics) / dist.get_world_size()


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(dist.get_rank())
    torch.set_num_threads(1)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    start = time.perf_counter()
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(torch.randn(32, 64)), torch.randint(0, 10, (32,)))
        loss.backward()
        optimizer.step()
        averaged([loss.detach() * i for i in range(METRICS)])
    if dist.get_rank() == 0:
        print(f"loss {loss.item():.3f}, {1000 * (time.perf_counter() - start) / STEPS:.1f} ms per step")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
