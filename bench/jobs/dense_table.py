"""Planted: large embedding with dense gradients under Adam. --fixed: without it."""

import sys

import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)
emb = nn.Embedding(300000, 32, sparse=FIXED)
head = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 4))
opts = (
    [torch.optim.SparseAdam(emb.parameters(), 1e-3), torch.optim.Adam(head.parameters(), 1e-3)]
    if FIXED
    else [torch.optim.Adam([*emb.parameters(), *head.parameters()], 1e-3)]
)
for n in range(60):
    i = torch.randint(0, 300000, (64, 16))
    y = torch.randint(0, 4, (64,))
    loss = nn.functional.cross_entropy(head(emb(i).mean(1)), y)
    for o in opts:
        o.zero_grad()
    loss.backward()
    for o in opts:
        o.step()
print(f"{loss.item():.5f}")
