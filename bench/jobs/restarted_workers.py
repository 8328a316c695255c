"""Planted: workers started anew at each short epoch. --fixed: without it."""

import sys

import torch
from torch import nn

FIXED = "--fixed" in sys.argv


class D(torch.utils.data.Dataset):
    def __len__(s):
        return 128

    def __getitem__(s, i):
        g = torch.Generator().manual_seed(i)
        return torch.randn(64, generator=g), i % 4


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 4))
    opt = torch.optim.SGD(net.parameters(), 1e-2)
    dl = torch.utils.data.DataLoader(D(), 16, shuffle=True, num_workers=2, persistent_workers=FIXED)
    for e in range(60):
        for x, y in dl:
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
    print(f"{loss.item():.5f}")


if __name__ == "__main__":
    main()
