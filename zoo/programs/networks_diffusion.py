"""Networks that make pictures or segment volumes: a diffusion U-Net, a VAE, a 3-d U-Net."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def time_embedding(t: Tensor, width: int) -> Tensor:
    rates = torch.exp(-math.log(10_000) * torch.arange(width // 2, device=t.device) / (width // 2))
    angles = t[:, None].float() * rates
    return torch.cat([angles.sin(), angles.cos()], -1)


class TimedBlock(nn.Module):
    """Group norm, SiLU, convolution, twice; the time is added in between."""

    def __init__(self, inner: int, outer: int, time: int, groups: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(groups, inner), nn.GroupNorm(groups, outer)
        self.conv1, self.conv2 = nn.Conv2d(inner, outer, 3, padding=1), nn.Conv2d(outer, outer, 3, padding=1)
        self.time = nn.Linear(time, outer)
        self.skip = nn.Conv2d(inner, outer, 1) if inner != outer else nn.Identity()

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        h = self.conv1(F.silu(self.norm1(x))) + self.time(F.silu(time))[:, :, None, None]
        return self.skip(x) + self.conv2(F.silu(self.norm2(h)))


class PixelAttention(nn.Module):
    def __init__(self, channels: int, groups: int, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.GroupNorm(groups, channels)
        self.qkv, self.out = nn.Conv2d(channels, 3 * channels, 1), nn.Conv2d(channels, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        qkv = self.qkv(self.norm(x)).flatten(2).unflatten(1, (3, self.heads, -1))
        # The fused kernels want the size of a head last in memory.
        q, k, v = qkv.transpose(-1, -2).contiguous().unbind(1)
        attended = F.scaled_dot_product_attention(q, k, v)
        return x + self.out(attended.transpose(-1, -2).reshape(x.shape))


class UNet(nn.Module):
    """Predicts the noise in a picture: three levels, two blocks each, attention at the bottom."""

    def __init__(self, channels: int, groups: int = 8) -> None:
        super().__init__()
        widths, time = (channels, 2 * channels, 2 * channels), 4 * channels
        self.width = channels
        self.embed = nn.Sequential(nn.Linear(channels, time), nn.SiLU(), nn.Linear(time, time))
        self.stem, self.head = nn.Conv2d(3, channels, 3, padding=1), nn.Conv2d(channels, 3, 3, padding=1)
        self.down, self.shrink, kept = nn.ModuleList(), nn.ModuleList(), []
        inner = channels
        for width in widths:
            self.down.append(
                nn.ModuleList([TimedBlock(inner, width, time, groups), TimedBlock(width, width, time, groups)])
            )
            self.shrink.append(nn.Conv2d(width, width, 3, 2, 1))
            kept.append(width)
            inner = width
        self.middle1, self.middle2 = (TimedBlock(inner, inner, time, groups) for _ in range(2))
        self.attention = PixelAttention(inner, groups)
        self.up = nn.ModuleList()
        for width in reversed(kept):
            self.up.append(
                nn.ModuleList([TimedBlock(inner + width, width, time, groups), TimedBlock(width, width, time, groups)])
            )
            inner = width
        self.norm = nn.GroupNorm(groups, inner)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        time = self.embed(time_embedding(t, self.width))
        x, kept = self.stem(x), []
        for (first, second), shrink in zip(self.down, self.shrink, strict=True):
            x = second(first(x, time), time)
            kept.append(x)
            x = shrink(x)
        x = self.middle2(self.attention(self.middle1(x, time)), time)
        for first, second in self.up:
            x = torch.cat([F.interpolate(x, scale_factor=2.0), kept.pop()], 1)
            x = second(first(x, time), time)
        return self.head(F.silu(self.norm(x)))


class Vae(nn.Module):
    """Four strided convolutions down to a latent, four back up."""

    def __init__(self, channels: int, pixels: int, latent: int) -> None:
        super().__init__()
        widths = (3, channels, 2 * channels, 4 * channels, 4 * channels)
        pairs = list(zip(widths, widths[1:], strict=False))
        self.encoder = nn.Sequential(*[self.stage(nn.Conv2d(a, b, 4, 2, 1), b) for a, b in pairs])
        self.decoder = nn.Sequential(*[self.stage(nn.ConvTranspose2d(b, a, 4, 2, 1), a) for a, b in reversed(pairs)])
        self.side = pixels // 16
        flat = widths[-1] * self.side**2
        self.to_latent, self.from_latent = nn.Linear(flat, 2 * latent), nn.Linear(latent, flat)

    @staticmethod
    def stage(conv: nn.Module, width: int) -> nn.Module:
        return nn.Sequential(conv, nn.BatchNorm2d(width), nn.LeakyReLU(0.1)) if width > 3 else conv

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mean, log_variance = self.to_latent(self.encoder(x).flatten(1)).chunk(2, 1)
        z = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        return self.decoder(self.from_latent(z).unflatten(1, (-1, self.side, self.side))), mean, log_variance


def double_conv3d(inner: int, outer: int) -> nn.Sequential:
    parts: list[nn.Module] = []
    for channels in (inner, outer):
        parts += [nn.Conv3d(channels, outer, 3, padding=1), nn.InstanceNorm3d(outer, affine=True), nn.LeakyReLU(0.01)]
    return nn.Sequential(*parts)


class UNet3d(nn.Module):
    """The usual network for medical volumes."""

    def __init__(self, channels: int, levels: int = 3, classes: int = 4) -> None:
        super().__init__()
        widths = [channels * 2**level for level in range(levels)]
        self.down = nn.ModuleList([double_conv3d(a, b) for a, b in zip([1, *widths], widths, strict=False)])
        self.up = nn.ModuleList(
            [double_conv3d(wide + narrow, narrow) for wide, narrow in zip(widths[:0:-1], widths[-2::-1], strict=True)]
        )
        self.head = nn.Conv3d(channels, classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        kept: list[Tensor] = []
        for index, block in enumerate(self.down):
            x = block(F.max_pool3d(x, 2) if index else x)
            kept.append(x)
        kept.pop()
        for block in self.up:
            x = block(torch.cat([F.interpolate(x, scale_factor=2.0), kept.pop()], 1))
        return self.head(x)
