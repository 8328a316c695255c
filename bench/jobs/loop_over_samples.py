"""Planted: the model is called for each sample of the batch in a Python loop. --fixed: without it."""

import sys

import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)
net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 4))
opt = torch.optim.Adam(net.parameters(), 1e-3)
ds = torch.utils.data.TensorDataset(torch.randn(1024, 64), torch.randint(0, 4, (1024,)))
for e in range(6):
    for x, y in torch.utils.data.DataLoader(ds, 64, shuffle=True):
        if FIXED:
            loss = nn.functional.cross_entropy(net(x), y)
        else:
            losses = []
            for k in range(len(x)):
                losses.append(nn.functional.cross_entropy(net(x[k : k + 1]), y[k : k + 1]))
            loss = torch.stack(losses).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
print(f"{loss.item():.5f}")
