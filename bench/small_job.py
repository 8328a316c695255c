"""A training loop without a GPU. Used by the programs in this folder."""

from __future__ import annotations

import torch


class Job:
    """Small layers, as a GPU job looks to its host: one launch after the other."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        torch.set_num_threads(1)
        layers = [layer for _ in range(12) for layer in (torch.nn.Linear(64, 64), torch.nn.GELU())]
        self.model = torch.nn.Sequential(*layers)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-6)
        self.batch = torch.randn(16, 64)

    def copied(self) -> torch.Tensor:
        return self.batch + 0

    def loss(self, x: torch.Tensor) -> torch.Tensor:
        return self.model(x).float().pow(2).mean()

    def optimize(self) -> None:
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def plain(self, _: int) -> None:
        self.loss(self.copied()).backward()
        self.optimize()
