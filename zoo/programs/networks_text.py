"""Sequence models: a GPT, its mixture-of-experts variants, and LSTMs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint

VOCABULARY = 8192
Attention = Literal["fused", "math", "eager"]


def attend(q: Tensor, k: Tensor, v: Tensor, kind: Attention) -> Tensor:
    """Causal attention: by PyTorch's choice of kernel, by its reference path, or as written by hand."""
    if kind == "fused":
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    if kind == "math":
        with sdpa_kernel(backends=[SDPBackend.MATH]):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    tokens = q.shape[-2]
    future = torch.ones(tokens, tokens, dtype=torch.bool, device=q.device).triu(1)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    weights = scores.masked_fill(future, float("-inf")).softmax(-1)
    return weights.to(v.dtype) @ v


class Block(nn.Module):
    def __init__(self, width: int, heads: int, attention: Attention, feed_forward: nn.Module) -> None:
        super().__init__()
        self.heads, self.attention = heads, attention
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed_forward = feed_forward

    def forward(self, x: Tensor) -> Tensor:
        batch, tokens, width = x.shape
        shape = (batch, tokens, 3, self.heads, width // self.heads)
        q, k, v = self.qkv(self.norm1(x)).view(shape).permute(2, 0, 3, 1, 4)
        attended = attend(q, k, v, self.attention)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.feed_forward(self.norm2(x))


def dense_feed_forward(width: int) -> nn.Module:
    return nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))


class Gpt(nn.Module):
    def __init__(
        self,
        width: int,
        layers: int,
        heads: int,
        attention: Attention = "fused",
        checkpointed: bool = False,
        feed_forward: Callable[[int], nn.Module] = dense_feed_forward,
    ) -> None:
        super().__init__()
        self.checkpointed = checkpointed
        self.embed = nn.Embedding(VOCABULARY, width)
        self.blocks = nn.ModuleList(
            [Block(width, heads, attention, feed_forward(width)) for _ in range(layers)]
        )
        self.head = nn.Linear(width, VOCABULARY, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpointed else block(x)
        return self.head(x)


class MoeLoop(nn.Module):
    """Mixture of experts as first written: a Python loop, and a host read (nonzero) for every expert."""

    def __init__(self, width: int, experts: int) -> None:
        super().__init__()
        self.router = nn.Linear(width, experts)
        self.experts = nn.ModuleList([dense_feed_forward(width) for _ in range(experts)])

    def forward(self, x: Tensor) -> Tensor:
        flat = x.reshape(-1, x.shape[-1])
        weights, choice = self.router(flat).softmax(-1).topk(2)
        out = torch.zeros_like(flat)
        for index, expert in enumerate(self.experts):
            token, slot = (choice == index).nonzero(as_tuple=True)
            if token.numel() == 0:
                continue
            mixed = expert(flat[token]) * weights[token, slot, None]
            out.index_add_(0, token, mixed.to(out.dtype))
        return out.view_as(x)


class MoePadded(nn.Module):
    """The same mixture with a fixed capacity per expert: two batched products, no host read."""

    def __init__(self, width: int, experts: int, capacity_factor: float = 1.25) -> None:
        super().__init__()
        self.experts, self.capacity_factor = experts, capacity_factor
        self.router = nn.Linear(width, experts)
        self.up = nn.Parameter(torch.randn(experts, width, 4 * width) / math.sqrt(width))
        self.down = nn.Parameter(torch.randn(experts, 4 * width, width) / math.sqrt(4 * width))

    def forward(self, x: Tensor) -> Tensor:
        flat = x.reshape(-1, x.shape[-1])
        weights, choice = self.router(flat).softmax(-1).topk(2)
        rows = choice.flatten()
        capacity = math.ceil(rows.numel() / self.experts * self.capacity_factor)
        slot = self.slots(rows, capacity)
        # The last row takes every token over capacity and is thrown away.
        buffer = flat.new_zeros(self.experts * capacity + 1, flat.shape[-1])
        buffer = buffer.index_copy(0, slot, flat.repeat_interleave(2, 0))
        grouped = buffer[:-1].view(self.experts, capacity, -1)
        mixed = torch.bmm(F.gelu(torch.bmm(grouped, self.up)), self.down).flatten(0, 1)
        mixed = torch.cat([mixed, mixed.new_zeros(1, mixed.shape[-1])])
        picked = mixed.index_select(0, slot) * weights.flatten()[:, None]
        return picked.view(flat.shape[0], 2, -1).sum(1).view_as(x)

    def slots(self, rows: Tensor, capacity: int) -> Tensor:
        """Where each token goes: its expert's first free row, or the discarded row."""
        chosen = rows[:, None] == torch.arange(self.experts, device=rows.device)
        rank = chosen.long().cumsum(0).gather(1, rows[:, None]).squeeze(1) - 1
        return torch.where(rank < capacity, rows * capacity + rank, self.experts * capacity)


class LstmCellLoop(nn.Module):
    """An LSTM stepped by hand: a handful of small kernels per token."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, width)
        self.cell = nn.LSTMCell(width, width)
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        state = (torch.zeros_like(x[:, 0]), torch.zeros_like(x[:, 0]))
        outputs = []
        for token in x.unbind(1):
            state = self.cell(token, state)
            outputs.append(state[0])
        return self.head(torch.stack(outputs, 1))


class LstmLayer(nn.Module):
    """The same LSTM in one cuDNN call."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, width)
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, ids: Tensor) -> Tensor:
        return self.head(self.lstm(self.embed(ids))[0])
