"""Planted: a multiprocessing pool made for each step's augmentation. --fixed: without it."""

import multiprocessing as mp
import sys

import torch
from torch import nn

FIXED = "--fixed" in sys.argv


def augment(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(64, generator=g).tolist()


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 4))
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    for n in range(80):
        if FIXED:
            rows = [augment(n * 16 + k) for k in range(16)]
        else:
            with mp.Pool(2) as pool:
                rows = pool.map(augment, range(n * 16, n * 16 + 16))
        x = torch.tensor(rows)
        y = torch.arange(16) % 4
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"{loss.item():.5f}")


if __name__ == "__main__":
    main()
