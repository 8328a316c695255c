"""Batches are read on the training thread, from a slow store. Planted: num_workers=0 and a read that takes 2 ms.

    whyslow run -- python examples/slow_dataset.py
    whyslow run -- python examples/slow_dataset.py --fixed

Expected: data-bound, rule T4 (num-workers-zero).
"""

import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

FIXED = "--fixed" in sys.argv
BATCH, STEPS = 16, 120


class Store(Dataset):
    def __len__(self):
        return BATCH * STEPS

    def __getitem__(self, index):
        time.sleep(0.002)  # a network file system, an object store
        return torch.randn(64), index % 10


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    workers = {"num_workers": 8, "persistent_workers": True} if FIXED else {}
    loader = DataLoader(Store(), batch_size=BATCH, **workers)
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    start = time.perf_counter()
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}, {1000 * (time.perf_counter() - start) / STEPS:.1f} ms per step")


if __name__ == "__main__":
    main()
