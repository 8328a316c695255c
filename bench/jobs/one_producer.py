"""Planted: one background thread prepares batches and sleeps, as reads from a store do. --fixed: without it."""

import queue
import sys
import threading
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)
q = queue.Queue(4)
N = 240


def produce(start, step):
    for n in range(start, N, step):
        time.sleep(0.03)
        q.put((torch.randn(32, 64), torch.randint(0, 4, (32,))))


T = 8 if FIXED else 1
for k in range(T):
    threading.Thread(target=produce, args=(k, T), daemon=True).start()
net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 4))
opt = torch.optim.Adam(net.parameters(), 1e-3)
for n in range(N):
    x, y = q.get()
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("done")
