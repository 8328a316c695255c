"""Where batches come from: datasets with a known fault, and iterators over them."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from context import Context
from networks_text import VOCABULARY
from networks_vision import CLASSES

T = TypeVar("T")
ENDLESS = 100_000
Picture = tuple[Tensor, int]


class Tokens(Dataset[Tensor]):
    """Random text: costs next to nothing to load."""

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens

    def __len__(self) -> int:
        return ENDLESS

    def __getitem__(self, index: int) -> Tensor:
        return torch.randint(0, VOCABULARY, (self.tokens,))


def augmented_picture(index: int, pixels: int, repeats: int) -> Picture:
    """Stands for decoding and augmenting: real NumPy work on one core."""
    random = np.random.default_rng(index)
    picture = random.standard_normal((3, pixels, pixels)).astype(np.float32)
    for _ in range(repeats):
        picture = np.fft.ifft2(np.fft.fft2(picture)).real.astype(np.float32)
    return torch.from_numpy(picture), index % CLASSES


class CpuHeavy(Dataset[Picture]):
    def __init__(self, pixels: int, repeats: int = 3, length: int = ENDLESS) -> None:
        self.pixels, self.repeats, self.length = pixels, repeats, length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Picture:
        return augmented_picture(index, self.pixels, self.repeats)


class SlowStore(Dataset[Picture]):
    """Bytes that arrive slowly: each sample is a small file and a remote round trip."""

    FILES = 64

    def __init__(self, folder: Path, pixels: int, latency: float = 0.004) -> None:
        self.folder, self.pixels, self.latency = folder, pixels, latency
        folder.mkdir(parents=True, exist_ok=True)
        for index in range(self.FILES):
            random = np.random.default_rng(index)
            random.standard_normal(3 * pixels * pixels).astype(np.float32).tofile(self.path(index))

    def path(self, index: int) -> Path:
        return self.folder / f"{index % self.FILES}.bin"

    def __len__(self) -> int:
        return ENDLESS

    def __getitem__(self, index: int) -> Picture:
        time.sleep(self.latency)
        raw = bytearray(self.path(index).read_bytes())
        picture = torch.frombuffer(raw, dtype=torch.float32).view(3, self.pixels, self.pixels)
        return picture, index % CLASSES


class SameTensor(Dataset[Tensor]):
    """One large array handed out again and again: only its copy to the device costs anything."""

    def __init__(self, elements: int) -> None:
        self.tensor = torch.randn(elements)

    def __len__(self) -> int:
        return ENDLESS

    def __getitem__(self, index: int) -> Tensor:
        return self.tensor


class BurstyShards(Dataset[tuple[Tensor, Tensor]]):
    """Whole batches of byte pictures; opening a new shard every few batches is slow."""

    # 7 shares no factor with the 4 workers, so that the slow batches go round among them.
    EVERY = 7

    def __init__(self, batch: int, pixels: int, slow_s: float) -> None:
        self.pictures = torch.randint(0, 256, (batch, 3, pixels, pixels), dtype=torch.uint8)
        self.labels = torch.randint(0, CLASSES, (batch,))
        self.slow_s = slow_s

    def __len__(self) -> int:
        return ENDLESS

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        if index % self.EVERY == self.EVERY - 1:
            time.sleep(self.slow_s)
        return self.pictures, self.labels


class Cycle(Iterator[T]):
    """Epoch after epoch. A DataLoader starts anew each time, as in a real training loop."""

    def __init__(self, batches: Iterable[T], prefetched: int = 0) -> None:
        self.batches, self.prefetched = batches, prefetched
        """`prefetched`: batches that workers keep ready."""
        self.epoch: Iterator[T] = iter(())

    def __next__(self) -> T:
        for batch in self.epoch:
            return batch
        self.epoch = iter(self.batches)
        return next(self.epoch)


def cycle(batches: Iterable[T]) -> Iterator[T]:
    return Cycle(batches)


def on_all_cores(_worker: int) -> None:
    """A worker inherits the cores that its loop is bound to (harness.py)."""
    os.sched_setaffinity(0, range(os.cpu_count() or 1))


def loader(
    dataset: Dataset[Any],
    batch: int | None,
    workers: int,
    *,
    pin: bool = True,
    prefetch: int | None = 4,
    persistent: bool = True,
) -> Iterator[Any]:
    batches = DataLoader(
        dataset,
        batch,
        num_workers=workers,
        pin_memory=pin and torch.cuda.is_available(),
        persistent_workers=persistent and workers > 0,
        prefetch_factor=prefetch if workers else None,
        worker_init_fn=on_all_cores,
    )
    return Cycle(batches, prefetched=workers * (batches.prefetch_factor or 0))


def text(ctx: Context, batch: int | None = None, tokens: int | None = None) -> Iterator[Tensor]:
    """Token ids, well fed; the model's own sizes unless given, and tiny ones in a smoke test."""
    if batch is None or tokens is None or ctx.smoke:
        batch, tokens = min(batch or ENDLESS, ctx.sizes.batch), ctx.sizes.tokens
    return loader(Tokens(tokens), batch, ctx.workers(4))


def pictures(ctx: Context, batch: int, pixels: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Ready batches of float pictures in pinned memory: input costs only the copy."""
    batch, pixels = ctx.pick(batch, 2), ctx.pick(pixels, 32)
    return cycle(
        [
            (
                ctx.pinned(torch.randn(batch, 3, pixels, pixels)),
                ctx.pinned(torch.randint(0, CLASSES, (batch,))),
            )
            for _ in range(2)
        ]
    )


def byte_pictures(ctx: Context, batch: int, pixels: int) -> Iterator[tuple[Tensor, Tensor]]:
    """The same as bytes: a quarter of the copy."""
    batch, pixels = ctx.pick(batch, 2), ctx.pick(pixels, 32)
    shape = (batch, 3, pixels, pixels)
    return cycle(
        [
            (
                ctx.pinned(torch.randint(0, 256, shape, dtype=torch.uint8)),
                ctx.pinned(torch.randint(0, CLASSES, (batch,))),
            )
            for _ in range(2)
        ]
    )


def ragged_text(longest: int = 512, bucket: int | None = None) -> Iterator[Tensor]:
    """Four texts of a new length every step, or padded up to a multiple of `bucket`."""
    random = np.random.default_rng(1)
    while True:
        tokens = int(random.integers(65, longest))
        if bucket:
            tokens = math.ceil(tokens / bucket) * bucket
        yield torch.randint(0, VOCABULARY, (4, tokens))
