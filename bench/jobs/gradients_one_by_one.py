"""Planted: gradients of each example by a loop of passes (DP-SGD). --fixed: without it."""

import sys

import torch
from torch import nn
from torch.func import functional_call, grad, vmap

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)
net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 4))
opt = torch.optim.SGD(net.parameters(), 1e-2)
ps = list(net.parameters())
X = torch.randn(512, 64)
Y = torch.randint(0, 4, (512,))
names = [k for k, _ in net.named_parameters()]


def one(p, x, y):
    return nn.functional.cross_entropy(functional_call(net, p, x[None]), y[None])


for n in range(120):
    i = torch.randint(0, 512, (32,))
    opt.zero_grad()
    if FIXED:
        g = vmap(grad(one), (None, 0, 0))(dict(net.named_parameters()), X[i], Y[i])
        nrm = torch.stack([v.flatten(1).norm(dim=1) for v in g.values()]).norm(dim=0)
        c = (1 / (nrm + 1e-6)).clamp(max=1)
        for p, k in zip(ps, names):
            p.grad = (g[k] * c.view(-1, *[1] * (g[k].dim() - 1))).mean(0)
    else:
        acc = [torch.zeros_like(p) for p in ps]
        for k in i.tolist():
            gs = torch.autograd.grad(nn.functional.cross_entropy(net(X[k : k + 1]), Y[k : k + 1]), ps)
            c = min(1.0, 1 / (torch.stack([v.norm() for v in gs]).norm().item() + 1e-6))
            for a, v in zip(acc, gs):
                a += v * c
        for p, a in zip(ps, acc):
            p.grad = a / 32
    opt.step()
