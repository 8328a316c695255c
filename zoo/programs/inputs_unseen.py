"""Input of the unseen cases: speech with features made on the CPU, captions split into tokens in Python."""

from __future__ import annotations

import zlib
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from inputs import ENDLESS

RATE = 16_000
MELS = 80
LABELS = 40
WINDOW, HOP = 400, 160


@lru_cache
def mel_filters(device: torch.device) -> Tensor:
    """Triangles, evenly spaced on the mel scale."""
    highest = 2595 * np.log10(1 + RATE / 2 / 700)
    edges = 700 * (10 ** (np.linspace(0, highest, MELS + 2) / 2595) - 1)
    frequencies = np.linspace(0, RATE / 2, WINDOW // 2 + 1)
    low, middle, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    rising, falling = (frequencies - low) / (middle - low), (high - frequencies) / (high - middle)
    return torch.from_numpy(np.maximum(0, np.minimum(rising, falling)).astype(np.float32)).to(device)


def log_mel(audio: Tensor) -> Tensor:
    window = torch.hann_window(WINDOW, device=audio.device)
    spectrum = torch.stft(audio, WINDOW, HOP, window=window, return_complex=True).abs().square()
    return (mel_filters(audio.device) @ spectrum).clamp_min(1e-8).log()


class Utterances(Dataset[tuple[Tensor, Tensor]]):
    """Recordings in memory. With features: speed, noise and spectrogram of each are made here, on one core."""

    def __init__(self, seconds: float, features: bool) -> None:
        self.audio = np.random.default_rng(0).standard_normal((16, int(seconds * RATE))).astype(np.float32)
        self.features = features

    def __len__(self) -> int:
        return ENDLESS

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        audio = self.audio[index % len(self.audio)]
        labels = torch.full((LABELS,), 1 + index % 30)
        if not self.features:
            return torch.from_numpy(audio), labels
        random = np.random.default_rng(index)
        places = np.linspace(0, len(audio) - 1, len(audio)) * random.uniform(0.9, 1.0)
        faster = np.interp(places, np.arange(len(audio)), audio)
        noisy = faster + 0.05 * random.standard_normal(len(audio))
        return log_mel(torch.from_numpy(noisy.astype(np.float32))), labels


CAPTION_TOKENS = 64
WORDS = (
    "photograph",
    "mountain",
    "a",
    "of",
    "the",
    "children",
    "playing",
    "underneath",
    "bridge",
    "yellow",
    "watercolor",
)


class Tokenizer:
    """Byte-pair encoding as in teaching code: the best pair is merged again and again, word by word."""

    def __init__(self) -> None:
        pairs = dict.fromkeys(pair for word in WORDS for pair in zip(word, word[1:], strict=False))
        self.ranks: dict[tuple[str, str], int] = {pair: rank for rank, pair in enumerate(pairs)}

    def split(self, word: str) -> list[str]:
        parts = list(word)
        while len(parts) > 1:
            ranked = [(self.ranks.get(pair, ENDLESS), i) for i, pair in enumerate(zip(parts, parts[1:], strict=False))]
            rank, at = min(ranked)
            if rank == ENDLESS:
                break
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        return parts

    def ids(self, caption: str) -> list[int]:
        found = [zlib.crc32(part.encode()) % 8191 + 1 for word in caption.split() for part in self.split(word)]
        return (found + [0] * CAPTION_TOKENS)[:CAPTION_TOKENS]


class Captions(Dataset[tuple[Tensor, str]]):
    """Decoded pictures in memory and their captions as text."""

    def __init__(self, pixels: int, words: int) -> None:
        self.pictures = torch.randint(0, 256, (32, 3, pixels, pixels), dtype=torch.uint8)
        self.words = words

    def __len__(self) -> int:
        return ENDLESS

    def __getitem__(self, index: int) -> tuple[Tensor, str]:
        caption = " ".join(WORDS[(index * 7 + i * i) % len(WORDS)] for i in range(self.words))
        return self.pictures[index % len(self.pictures)], caption


class Collate:
    """Stacks the pictures and tokenizes the captions."""

    def __init__(self) -> None:
        self.tokenizer = Tokenizer()

    def __call__(self, samples: list[tuple[Tensor, str]]) -> tuple[Tensor, Tensor]:
        ids = [self.tokenizer.ids(caption) for _, caption in samples]
        return torch.stack([picture for picture, _ in samples]), torch.tensor(ids)
