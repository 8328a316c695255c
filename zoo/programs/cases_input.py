"""Loops held up by their input: bursts, copies to the device, and loading without a DataLoader."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from context import Context
from inputs import BurstyShards, CpuHeavy, augmented_picture, cycle, loader
from networks_vision import CLASSES, Cnn
from registry import Case, Loop
from training import image_classifier

Batch = tuple[Tensor, Tensor]


def bursty(ctx: Context, prefetch: int) -> Loop:
    data = BurstyShards(ctx.pick(64, 2), ctx.pick(224, 32), slow_s=ctx.pick(0.4, 0.01))
    return image_classifier(ctx, loader(data, None, ctx.workers(4), prefetch=prefetch))


def float_batches(ctx: Context, pinned: bool) -> Iterator[Batch]:
    """Large float pictures as an in-memory dataset hands them out."""
    batch, pixels = ctx.pick(256, 2), ctx.pick(224, 32)
    place = ctx.pinned if pinned else torch.clone

    def batch_in_memory() -> Batch:
        pictures, labels = torch.randn(batch, 3, pixels, pixels), torch.randint(0, CLASSES, (batch,))
        return place(pictures), place(labels)

    return cycle([batch_in_memory() for _ in range(2)])


class CopyAhead:
    """Starts the next batch's copy on a stream of its own while the current step computes."""

    def __init__(self, batches: Iterator[Batch], device: str) -> None:
        self.batches, self.device = batches, device
        self.stream = torch.cuda.Stream()
        self.upcoming = self.copy()

    def copy(self) -> Batch:
        pictures, labels = next(self.batches)
        with torch.cuda.stream(self.stream):
            return (
                pictures.to(self.device, non_blocking=True),
                labels.to(self.device, non_blocking=True),
            )

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        current = torch.cuda.current_stream()
        current.wait_stream(self.stream)
        ready = self.upcoming
        for tensor in ready:
            # Else the allocator would reuse the memory while the main stream still reads it.
            tensor.record_stream(current)
        self.upcoming = self.copy()
        return ready


def small_model(ctx: Context, batches: Iterator[Batch], *, non_blocking: bool, log_loss: bool) -> Loop:
    """A small network on large pictures: the copy takes as long as the computing."""
    torch.manual_seed(0)
    model = Cnn(16, 2).to(ctx.device, memory_format=torch.channels_last)
    update = torch.optim.SGD(model.parameters(), lr=0.01)
    history: list[float] = []

    def move(batch: Batch) -> Batch:
        return (
            batch[0].to(ctx.device, non_blocking=non_blocking),
            batch[1].to(ctx.device, non_blocking=non_blocking),
        )

    def step(batch: Batch) -> None:
        pictures = F.avg_pool2d(batch[0], 2).contiguous(memory_format=torch.channels_last)
        with ctx.autocast(torch.bfloat16):
            loss = F.cross_entropy(model(pictures), batch[1])
        loss.backward()
        update.step()
        update.zero_grad()
        if log_loss:
            history.append(loss.item())

    return Loop(step, batches, move)


def copied_ahead(ctx: Context) -> Loop:
    """The copy happens in the iterator, so there is none left to time in the step."""
    batches = CopyAhead(float_batches(ctx, pinned=True), ctx.device)
    plain = small_model(ctx, batches, non_blocking=True, log_loss=False)
    return Loop(plain.step, plain.batches)


def inline_pictures(ctx: Context) -> Iterator[Batch]:
    """Augmenting in the training process, with no DataLoader at all."""
    batch, pixels, index = ctx.pick(16, 2), ctx.pick(160, 32), 0
    while True:
        samples = [augmented_picture(index + i, pixels, repeats=1) for i in range(batch)]
        index += batch
        yield torch.stack([s[0] for s in samples]), torch.tensor([s[1] for s in samples])


def pictures_by_workers(ctx: Context) -> Iterator[Any]:
    data = CpuHeavy(ctx.pick(160, 32), repeats=1)
    return loader(data, ctx.pick(16, 2), ctx.workers(12))


CASES = (
    Case(
        "loader_bursty",
        lambda ctx: bursty(ctx, prefetch=2),
        "data",
        rules=("T7",),
        not_a_gain=("T4",),
        fix="prefetch_factor=8",
        twin="loader_bursty_prefetch8",
        note="every 7th batch takes 400 ms; the mean rate of 4 workers is sufficient",
        warm=20,
        steps=21,  # three periods
        active=8,
    ),
    Case(
        "loader_bursty_prefetch8",
        lambda ctx: bursty(ctx, prefetch=8),
        "gpu",
        not_a_gain=("T7", "T4"),
        note="twin of loader_bursty",
        warm=40,
        steps=21,
        active=8,
    ),
    Case(
        "h2d_small_pageable",
        lambda ctx: small_model(ctx, float_batches(ctx, pinned=False), non_blocking=False, log_loss=True),
        "data",
        rules=("T6",),
        fix="pin_memory + non_blocking, no .item()",
        twin="h2d_small_nonblocking",
        note="154 MB pageable batch, small model, loss read each step",
    ),
    Case(
        "h2d_small_pinned_blocking",
        lambda ctx: small_model(ctx, float_batches(ctx, pinned=True), non_blocking=False, log_loss=True),
        "data",
        rules=("T6",),
        fix="non_blocking=True, no .item()",
        twin="h2d_small_nonblocking",
        note="pinned, but the copy blocks the host and so does the read of the loss",
    ),
    Case(
        "h2d_small_nonblocking",
        lambda ctx: small_model(ctx, float_batches(ctx, pinned=True), non_blocking=True, log_loss=False),
        "data",
        not_a_gain=("T6-pin",),
        fix="copy the next batch on a second stream",
        twin="h2d_small_copy_ahead",
        note="pinned and non_blocking; the copy still runs in line with the step on one stream",
    ),
    Case(
        "h2d_small_copy_ahead",
        copied_ahead,
        "gpu",
        not_a_gain=("T6-pin",),
        note="twin of h2d_small_nonblocking: the copy overlaps the previous step",
        needs_cuda=True,
    ),
    Case(
        "data_inline",
        lambda ctx: image_classifier(ctx, inline_pictures(ctx)),
        "data",
        rules=("T4",),
        fix="a DataLoader with num_workers=12",
        twin="data_inline_workers",
        note="NumPy augmentation in the training loop, no DataLoader: "
        "the trace alone shows a busy host, the events log shows data_wait",
        also_acceptable=("data", "host"),
        steps=10,
    ),
    Case(
        "data_inline_workers",
        lambda ctx: image_classifier(ctx, pictures_by_workers(ctx)),
        "host",
        rules=("T15", "T18"),
        not_a_gain=("T4",),
        note="twin of data_inline",
        warm=60,
        steps=24,
    ),
)
