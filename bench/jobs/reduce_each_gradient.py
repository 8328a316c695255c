"""Planted: two ranks; gradients averaged by hand, one all_reduce per parameter. --fixed: without it."""

import sys

import torch
import torch.distributed as dist
from torch import nn

FIXED = "--fixed" in sys.argv


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = nn.Sequential(
        *[m for _ in range(40) for m in (nn.Linear(32, 32), nn.LayerNorm(32), nn.ReLU())], nn.Linear(32, 4)
    )
    opt = torch.optim.SGD(net.parameters(), 1e-2)
    for k in range(150):
        x = torch.randn(16, 32)
        loss = net(x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        if FIXED:
            flat = torch.cat([p.grad.view(-1) for p in net.parameters()])
            dist.all_reduce(flat)
        else:
            for p in net.parameters():
                dist.all_reduce(p.grad)
                p.grad /= 2
        opt.step()
    dist.destroy_process_group()


main()
