"""A Llama as open training scripts write it: RMS norm in fp32, rotary positions, SwiGLU; and LoRA."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint


class RmsNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * wide.to(x.dtype)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat([-second, first], -1) * sin


class LoraLinear(nn.Module):
    """A frozen projection with a trained low-rank one next to it."""

    def __init__(self, base: nn.Linear, rank: int = 16, scale: float = 2.0) -> None:
        super().__init__()
        self.base, self.scale = base.requires_grad_(False), scale
        self.down = nn.Linear(base.in_features, rank, bias=False)
        self.up = nn.Linear(rank, base.out_features, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + self.up(self.down(F.dropout(x, 0.05, self.training))) * self.scale


class LlamaBlock(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, hidden = heads, width * 8 // 3 // 64 * 64 or 64
        self.norm1, self.norm2 = RmsNorm(width), RmsNorm(width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(width, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor | None) -> Tensor:
        h = self.norm1(x)
        q, k, v = [p(h).unflatten(-1, (self.heads, -1)).transpose(1, 2) for p in (self.q, self.k, self.v)]
        q, k = rotate(q, cos, sin).to(v.dtype), rotate(k, cos, sin).to(v.dtype)
        attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None)
        x = x + self.o(attended.transpose(1, 2).flatten(2))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Llama(nn.Module):
    inverse: Tensor

    def __init__(self, vocabulary: int, width: int, layers: int, heads: int, checkpointed: bool = False) -> None:
        super().__init__()
        self.checkpointed = checkpointed
        self.embed = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList([LlamaBlock(width, heads) for _ in range(layers)])
        self.norm = RmsNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        size = width // heads
        self.register_buffer("inverse", 1 / 10_000 ** (torch.arange(0, size, 2) / size))

    def forward(self, ids: Tensor, mask: Tensor | None = None, positions: Tensor | None = None) -> Tensor:
        x = self.embed(ids)
        if positions is None:
            positions = torch.arange(ids.shape[1], device=ids.device)[None]
        angles = (positions[:, None, :, None] * self.inverse.float()).repeat(1, 1, 1, 2)
        cos, sin = angles.cos(), angles.sin()
        for block in self.blocks:
            if self.checkpointed:
                x = checkpoint(block, x, cos, sin, mask, use_reentrant=False)
            else:
                x = block(x, cos, sin, mask)
        return self.head(self.norm(x))

    def add_lora(self) -> list[nn.Parameter]:
        """Freezes everything but the new projections; returns those."""
        self.requires_grad_(False)
        for block in self.blocks:
            assert isinstance(block, LlamaBlock)
            block.q, block.v = LoraLinear(block.q), LoraLinear(block.v)
        return [p for p in self.parameters() if p.requires_grad]
