"""NumPy data is float64, and one .double() made the model follow it. Planted: everything computes in double precision.

    whyslow run -- python examples/double_precision.py
    whyslow run -- python examples/double_precision.py --fixed

Expected: compute-bound, rule T13 (double-precision).
"""

import sys
import time

import torch
from torch import nn

DTYPE = torch.float32 if "--fixed" in sys.argv else torch.float64
STEPS = 100


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    model.to(DTYPE)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    data = torch.randn(64, 256, dtype=DTYPE)
    targets = torch.randint(0, 10, (64,))
    start = time.perf_counter()
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(data), targets)
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}, {1000 * (time.perf_counter() - start) / STEPS:.1f} ms per step")


if __name__ == "__main__":
    main()
