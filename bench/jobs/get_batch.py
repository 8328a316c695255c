"""Planted: plain numpy feeding: normalizes all of the data anew for each batch. --fixed: without it."""

import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)
rng = np.random.default_rng(0)
X = rng.normal(size=(20000, 64)).astype(np.float32)
Y = rng.integers(0, 4, 20000)


def standard(a):
    return (a - a.mean(0)) / a.std(0)


Z = standard(X)


def get_batch():
    i = rng.integers(0, 20000, 64)
    data = Z if FIXED else standard(X)
    return torch.tensor(data[i]), torch.tensor(Y[i])


net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 4))
opt = torch.optim.Adam(net.parameters(), 1e-3)
for n in range(500):
    x, y = get_batch()
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(f"{loss.item():.5f}")
