"""Smaller networks of the unseen cases: speech, forecasting, detection, molecules, two towers, a mixer, a ResNet."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from networks_other import mlp


def encoder(width: int, layers: int, heads: int) -> nn.TransformerEncoder:
    layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.1, batch_first=True, norm_first=True)
    return nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)


class SpeechNet(nn.Module):
    """Two strided convolutions over a spectrogram, then a transformer, then characters."""

    CHARACTERS = 32

    def __init__(self, mels: int, width: int, layers: int, heads: int) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv1d(mels, width, 3, 2, 1), nn.Conv1d(width, width, 3, 2, 1)
        self.encoder = encoder(width, layers, heads)
        self.head = nn.Linear(width, self.CHARACTERS)

    def forward(self, spectrogram: Tensor) -> Tensor:
        x = F.gelu(self.conv2(F.gelu(self.conv1(spectrogram))))
        return self.head(self.encoder(x.transpose(1, 2)))


class Forecaster(nn.Module):
    def __init__(self, features: int, width: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(features, width, num_layers=2, batch_first=True, dropout=0.1)
        self.head = nn.Linear(width, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.lstm(x)[0][:, -1]).squeeze(1)


class Detector(nn.Module):
    """One feature map with three boxes a place: four offsets and the class scores of each."""

    BOXES = 3

    def __init__(self, channels: int, classes: int) -> None:
        super().__init__()
        self.outputs = 4 + classes
        widths = (3, channels, 2 * channels, 4 * channels, 4 * channels)
        self.body = nn.Sequential(
            *[
                nn.Sequential(nn.Conv2d(a, b, 3, 2 if index < 3 else 1, 1), nn.BatchNorm2d(b), nn.SiLU(True))
                for index, (a, b) in enumerate(zip(widths, widths[1:], strict=False))
            ]
        )
        self.head = nn.Conv2d(widths[-1], self.BOXES * self.outputs, 1)

    def forward(self, pictures: Tensor) -> Tensor:
        return self.head(self.body(pictures)).flatten(2).transpose(1, 2).reshape(len(pictures), -1, self.outputs)


class MoleculeNet(nn.Module):
    """Message passing over many small graphs at once, added up for each molecule."""

    def __init__(self, features: int, width: int, layers: int) -> None:
        super().__init__()
        self.embed = nn.Linear(features, width)
        self.messages = nn.ModuleList([mlp(2 * width, width, width) for _ in range(layers)])
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(layers)])
        self.head = mlp(width, width, 1)

    def forward(self, atoms: Tensor, bonds: Tensor, owner: Tensor, molecules: int) -> Tensor:
        x = self.embed(atoms)
        source, target = bonds
        for message, norm in zip(self.messages, self.norms, strict=True):
            sent = message(torch.cat([x[source], x[target]], 1))
            x = norm(x + torch.zeros_like(x).index_add(0, target, sent))
        return self.head(x.new_zeros(molecules, x.shape[1]).index_add(0, owner, x)).squeeze(1)


class TextTower(nn.Module):
    def __init__(self, vocabulary: int, tokens: int, width: int, layers: int, heads: int, out: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.place = nn.Parameter(torch.randn(1, tokens, width) * 0.02)
        self.encoder = encoder(width, layers, heads)
        self.head = nn.Linear(width, out)

    def forward(self, ids: Tensor) -> Tensor:
        return self.head(self.encoder(self.embed(ids) + self.place).mean(1))


class MixerBlock(nn.Module):
    """Mixes over places on the transposed activation, then over channels."""

    def __init__(self, places: int, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.over_places = nn.Sequential(nn.Linear(places, 2 * places), nn.GELU(), nn.Linear(2 * places, places))
        self.over_channels = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.over_places(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.over_channels(self.norm2(x))


class Mixer(nn.Module):
    def __init__(self, width: int, layers: int, pixels: int, classes: int, patch: int = 16) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.blocks = nn.Sequential(*[MixerBlock((pixels // patch) ** 2, width) for _ in range(layers)])
        self.head = nn.Linear(width, classes)

    def forward(self, picture: Tensor) -> Tensor:
        x = self.patches(picture.float().div(255)).flatten(2).transpose(1, 2)
        return self.head(self.blocks(x).mean(1))


class Bottleneck(nn.Module):
    def __init__(self, inner: int, width: int, stride: int) -> None:
        super().__init__()
        outer = 4 * width
        self.body = nn.Sequential(
            *(nn.Conv2d(inner, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(True)),
            *(nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(True)),
            *(nn.Conv2d(width, outer, 1, bias=False), nn.BatchNorm2d(outer)),
        )
        self.skip: nn.Module = nn.Identity()
        if stride > 1 or inner != outer:
            self.skip = nn.Sequential(nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer))

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.skip(x) + self.body(x))


class ResNet(nn.Module):
    """ResNet-50's blocks on small pictures."""

    def __init__(self, channels: int, blocks: tuple[int, ...], classes: int) -> None:
        super().__init__()
        parts: list[nn.Module] = [nn.Conv2d(3, channels, 3, 1, 1, bias=False), nn.BatchNorm2d(channels), nn.ReLU(True)]
        inner = channels
        for level, count in enumerate(blocks):
            for index in range(count):
                width = channels * 2**level
                parts.append(Bottleneck(inner, width, 2 if level and not index else 1))
                inner = 4 * width
        self.body, self.head = nn.Sequential(*parts), nn.Linear(inner, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(x).mean((2, 3)))


class TabularNet(nn.Module):
    """A residual MLP over the columns of a table."""

    def __init__(self, columns: int, width: int, layers: int) -> None:
        super().__init__()
        self.stem, self.head = nn.Linear(columns, width), nn.Linear(width, 1)
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(layers)])
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(layers)])

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = x + F.silu(layer(norm(x)))
        return self.head(x).squeeze(1)


class EmbeddingNet(nn.Module):
    """A recommender with one very large table for all categories."""

    def __init__(self, rows: int, width: int, slots: int, sparse: bool) -> None:
        super().__init__()
        self.table = nn.Embedding(rows, width, sparse=sparse)
        self.top = mlp(slots * width, 512, 256, 1)

    def forward(self, categories: Tensor) -> Tensor:
        return self.top(self.table(categories).flatten(1)).squeeze(1)
