"""Models that are neither text nor pictures: MLPs, a recommender, a graph net, gated elementwise layers."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class ResidualMlp(nn.Module):
    """Sixty layers so small that launching them costs more than running them."""

    def __init__(self, width: int = 64, layers: int = 60) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(layers)])
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(layers)])

    def forward(self, x: Tensor) -> Tensor:
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = x + torch.tanh(norm(layer(x))) * 0.5
        return x


def mlp(*widths: int) -> nn.Sequential:
    parts: list[nn.Module] = []
    for inner, outer in zip(widths, widths[1:], strict=False):
        parts += [nn.Linear(inner, outer), nn.ReLU()]
    return nn.Sequential(*parts[:-1])


class Recommender(nn.Module):
    """One embedding table for each categorical feature, each looked up by itself."""

    def __init__(self, tables: int, rows: int, width: int) -> None:
        super().__init__()
        self.tables = nn.ModuleList([nn.Embedding(rows, width) for _ in range(tables)])
        self.bottom = mlp(13, 256, width)
        self.top = mlp((tables + 1) * width, 512, 256, 1)

    def forward(self, dense: Tensor, sparse: Tensor) -> Tensor:
        looked_up = [table(sparse[:, index]) for index, table in enumerate(self.tables)]
        return self.top(torch.cat([self.bottom(dense), *looked_up], 1)).squeeze(1)


class FusedRecommender(nn.Module):
    """The same model with all tables in one, separated by an offset: one lookup."""

    offsets: Tensor

    def __init__(self, tables: int, rows: int, width: int) -> None:
        super().__init__()
        self.table = nn.Embedding(tables * rows, width)
        self.register_buffer("offsets", torch.arange(tables) * rows)
        self.bottom = mlp(13, 256, width)
        self.top = mlp((tables + 1) * width, 512, 256, 1)

    def forward(self, dense: Tensor, sparse: Tensor) -> Tensor:
        looked_up = self.table(sparse + self.offsets).flatten(1)
        return self.top(torch.cat([self.bottom(dense), looked_up], 1)).squeeze(1)


class GraphNet(nn.Module):
    """Message passing over an edge list: gather along edges, add up at the nodes."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.own = nn.ModuleList([nn.Linear(width, width) for _ in range(layers)])
        self.neighbor = nn.ModuleList([nn.Linear(width, width, bias=False) for _ in range(layers)])

    def forward(self, nodes: Tensor, source: Tensor, target: Tensor) -> Tensor:
        for own, neighbor in zip(self.own, self.neighbor, strict=True):
            messages = F.relu(nodes).index_select(0, source)
            gathered = torch.zeros_like(nodes).index_add(0, target, messages)
            nodes = own(nodes) + neighbor(gathered)
        return nodes


class GatedNorm(nn.Module):
    """RMS norm, gate and residual written out operation by operation: each one reads and writes memory."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))
        self.shift = nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor) -> Tensor:
        normal = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        y = normal * self.scale + self.shift
        gate = 0.5 * (1 + torch.tanh(0.79788456 * (y + 0.044715 * y.pow(3))))
        return x + y * gate * 0.5


def gated_norms(width: int, layers: int) -> nn.Sequential:
    return nn.Sequential(*[GatedNorm(width) for _ in range(layers)])
