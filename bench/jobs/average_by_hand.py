"""Planted: exponential moving average with a Python loop over the state dict, several decays. --fixed: without it."""

import sys

import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)
net = nn.Sequential(*[m for _ in range(30) for m in (nn.Linear(64, 64), nn.ReLU())], nn.Linear(64, 4))
opt = torch.optim.SGD(net.parameters(), 1e-2)
DEC = (0.9, 0.99, 0.999, 0.9999)
shadows = [{k: v.clone() for k, v in net.state_dict().items()} for _ in DEC]
flat = [list(s.values()) for s in shadows]
live = list(net.state_dict().values())
X = torch.randn(512, 64)
Y = torch.randint(0, 4, (512,))
for n in range(600):
    i = torch.randint(0, 512, (16,))
    loss = nn.functional.cross_entropy(net(X[i]), Y[i])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if FIXED:
        for dec, f in zip(DEC, flat):
            torch._foreach_lerp_(f, live, 1 - dec)
    else:
        for dec, sh in zip(DEC, shadows):
            for k, v in net.state_dict().items():
                sh[k] = dec * sh[k] + (1 - dec) * v.detach().clone()
print(f"{loss.item():.5f}")
