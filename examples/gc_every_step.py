"""A replay buffer of many Python objects, and a garbage collection in every step. Planted: gc.collect() in the loop.

    whyslow run -- python examples/gc_every_step.py
    whyslow run -- python examples/gc_every_step.py --fixed

Expected: most of the job is garbage collection, rule W4 (gc-time), with the line of the call.
"""

import gc
import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv
STEPS = 120


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    buffer = [{"state": (i, i + 1), "action": [i], "reward": float(i)} for i in range(60_000)]
    model = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    start = time.perf_counter()
    for step in range(STEPS):
        inputs, targets = torch.randn(32, 64), torch.randint(0, 4, (32,))
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        buffer[step]["reward"] = float(step)
        if not FIXED:
            gc.collect()
    print(f"loss {loss.item():.3f}, {1000 * (time.perf_counter() - start) / STEPS:.1f} ms per step")


if __name__ == "__main__":
    main()
