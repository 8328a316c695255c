"""Image and video models: a plain CNN, a narrow deep one, a ViT, and 3-d convolutions."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

CLASSES = 1000


class Cnn(nn.Module):
    """Doubles its channels and halves its picture every third layer."""

    def __init__(self, channels: int = 64, layers: int = 8) -> None:
        super().__init__()
        parts: list[nn.Module] = [
            nn.Conv2d(3, channels, 7, 2, 3, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(True),
        ]
        for index in range(layers):
            stride = 2 if index % 3 == 2 else 1
            parts += [
                nn.Conv2d(channels, channels * stride, 3, stride, 1, bias=False),
                nn.BatchNorm2d(channels * stride),
                nn.ReLU(True),
            ]
            channels *= stride
        self.body = nn.Sequential(*parts)
        self.head = nn.Linear(channels, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(x).mean((2, 3)))


class DeepCnn(nn.Module):
    """A residual net for 32 × 32 pictures: many small layers, many small parameters."""

    def __init__(self, channels: int, layers: int) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, 1, 1)
        self.convs = nn.ModuleList(
            [nn.Conv2d(channels, channels, 3, 1, 1, bias=False) for _ in range(layers)]
        )
        self.norms = nn.ModuleList([nn.BatchNorm2d(channels) for _ in range(layers)])
        self.head = nn.Linear(channels, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for conv, norm in zip(self.convs, self.norms, strict=True):
            x = x + F.relu(norm(conv(x)))
        return self.head(x.mean((2, 3)))


class VitBlock(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, self.heads, -1)).unbind(2)
        heads = [t.transpose(1, 2) for t in (q, k, v)]
        x = x + self.out(F.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class Vit(nn.Module):
    """Takes pictures as bytes, as a decoder gives them, and normalizes on the device."""

    def __init__(self, width: int, layers: int, heads: int, pixels: int, patch: int = 16) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.place = nn.Parameter(torch.randn(1, (pixels // patch) ** 2, width) * 0.02)
        self.blocks = nn.Sequential(*[VitBlock(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, CLASSES)

    def forward(self, picture: Tensor) -> Tensor:
        x = self.patches(picture.float().div(255).sub(0.5)).flatten(2).transpose(1, 2) + self.place
        return self.head(self.norm(self.blocks(x)).mean(1))


class DilatedHead(nn.Module):
    """A segmentation head: parallel 3 × 3 convolutions with growing holes, joined."""

    def __init__(self, channels: int, rates: tuple[int, ...] = (6, 12, 18, 24)) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 7, 4, 3)
        self.branches = nn.ModuleList(
            [nn.Conv2d(channels, channels, 3, padding=rate, dilation=rate) for rate in rates]
        )
        self.join = nn.Conv2d(len(rates) * channels, channels, 1)
        self.head = nn.Linear(channels, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.stem(x))
        for _ in range(2):
            x = F.relu(self.join(torch.cat([branch(x) for branch in self.branches], 1)))
        return self.head(x.mean((2, 3)))


class VideoNet(nn.Module):
    """3-d convolutions with channel counts and clip sizes that are no powers of two."""

    def __init__(self, channels: int = 24, layers: int = 6) -> None:
        super().__init__()
        parts: list[nn.Module] = [nn.Conv3d(3, channels, 5, (1, 2, 2), 2), nn.ReLU(True)]
        for _ in range(layers):
            parts += [nn.Conv3d(channels, channels, 3, padding=1), nn.ReLU(True)]
        self.body = nn.Sequential(*parts)
        self.head = nn.Linear(channels, CLASSES)

    def forward(self, clip: Tensor) -> Tensor:
        return self.head(self.body(clip).mean((2, 3, 4)))
