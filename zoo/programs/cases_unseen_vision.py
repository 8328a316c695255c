"""Unseen: pictures. A detection loss for each picture, distillation, evaluation inside the loop, two faults at once."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from context import Context
from inputs import byte_pictures, cycle
from networks_unusual import Detector, Mixer, ResNet
from networks_vision import CLASSES, Vit
from registry import Case, Loop
from training import adamw

KINDS = 20
"""Classes of objects that the detector knows."""
MOST_OBJECTS = 12


def anchors(side: int, device: str) -> Tensor:
    """Three squares around every place of the feature map, as corners between 0 and 1."""
    center = (torch.arange(side, device=device) + 0.5) / side
    places = torch.stack(torch.meshgrid(center, center, indexing="xy"), -1).reshape(-1, 1, 2)
    half = torch.tensor([0.05, 0.1, 0.2], device=device)[None, :, None]
    return torch.cat([places - half, places + half], -1).reshape(-1, 4)


def overlap(a: Tensor, b: Tensor) -> Tensor:
    """Intersection over union of all pairs; leading dimensions are broadcast."""
    a, b = a[..., :, None, :], b[..., None, :, :]
    size = (torch.minimum(a[..., 2:], b[..., 2:]) - torch.maximum(a[..., :2], b[..., :2])).clamp_min(0)
    both = size[..., 0] * size[..., 1]
    area_a = (a[..., 2] - a[..., 0]) * (a[..., 3] - a[..., 1])
    area_b = (b[..., 2] - b[..., 0]) * (b[..., 3] - b[..., 1])
    return both / (area_a + area_b - both + 1e-6)


def loss_per_picture(output: Tensor, boxes: list[Tensor], kinds: list[Tensor], places: Tensor) -> Tensor:
    """Matches and losses one picture after another; boolean masks pick the matched boxes."""
    losses = []
    for predicted, truth, kind in zip(output, boxes, kinds, strict=True):
        best, match = overlap(places, truth).max(1)
        hit = best > 0.4
        target = torch.zeros_like(predicted[:, 4:])
        target[hit, kind[match[hit]]] = 1.0
        loss = F.binary_cross_entropy_with_logits(predicted[:, 4:], target, reduction="sum")
        if hit.any():
            wanted = truth[match[hit]] - places[hit]
            loss = loss + F.smooth_l1_loss(predicted[hit, :4], wanted, reduction="sum")
        losses.append(loss / hit.sum().clamp_min(1))
    return torch.stack(losses).mean()


def loss_of_batch(output: Tensor, boxes: Tensor, kinds: Tensor, places: Tensor) -> Tensor:
    """The same for all pictures at once: objects padded with empty boxes, misses multiplied by zero."""
    best, match = overlap(places, boxes).max(2)
    hit = (best > 0.4).float()
    matched = boxes.gather(1, match[..., None].expand(-1, -1, 4))
    target = F.one_hot(kinds.gather(1, match), KINDS).float() * hit[..., None]
    scores = F.binary_cross_entropy_with_logits(output[..., 4:], target, reduction="none").sum((1, 2))
    offsets = F.smooth_l1_loss(output[..., :4], matched - places, reduction="none").sum(2)
    return ((scores + (offsets * hit).sum(1)) / hit.sum(1).clamp_min(1)).mean()


def scenes(ctx: Context) -> Iterator[tuple[Tensor, Tensor, Tensor, list[int]]]:
    batch, pixels = ctx.pick(24, 2), ctx.pick(256, 64)
    corner = torch.rand(batch, MOST_OBJECTS, 2) * 0.6
    boxes = torch.cat([corner, corner + 0.1 + 0.3 * torch.rand(batch, MOST_OBJECTS, 2)], -1)
    counts = [3 + index % (MOST_OBJECTS - 3) for index in range(batch)]
    for index, count in enumerate(counts):
        boxes[index, count:] = 0
    pictures, kinds = torch.randn(batch, 3, pixels, pixels), torch.randint(0, KINDS, (batch, MOST_OBJECTS))
    return cycle([(ctx.pinned(pictures), ctx.pinned(boxes), ctx.pinned(kinds), counts)])


def detection(ctx: Context, per_picture: bool) -> Loop:
    torch.manual_seed(0)
    model = Detector(ctx.pick(32, 8), KINDS).to(ctx.device)
    update = adamw(model, "fused")
    places = anchors(ctx.pick(32, 8), ctx.device)

    def step(batch: Any) -> None:
        pictures, boxes, kinds = (t.to(ctx.device, non_blocking=True) for t in batch[:3])
        with ctx.autocast(torch.bfloat16):
            output = model(pictures)
        if per_picture:
            counts = batch[3]
            few = (
                [b[:n] for b, n in zip(boxes, counts, strict=True)],
                [k[:n] for k, n in zip(kinds, counts, strict=True)],
            )
            loss = loss_per_picture(output.float(), *few, places)
        else:
            loss = loss_of_batch(output.float(), boxes, kinds, places)
        loss.backward()
        update.step()
        update.zero_grad()

    return Loop(step, scenes(ctx))


def distillation(ctx: Context, teacher_precision: torch.dtype | None) -> Loop:
    """A small student learns from a large teacher, which only runs forward."""
    torch.manual_seed(0)
    pixels = ctx.pick(224, 32)
    teacher = Vit(*ctx.pick((1024, 12, 16), (32, 2, 2)), pixels).to(ctx.device).eval().requires_grad_(False)
    student = Vit(*ctx.pick((384, 6, 6), (32, 1, 2)), pixels).to(ctx.device)
    update = adamw(student, "fused")

    def step(batch: tuple[Tensor, Tensor]) -> None:
        pictures, labels = (t.to(ctx.device, non_blocking=True) for t in batch)
        with torch.no_grad(), ctx.autocast(teacher_precision):
            wanted = teacher(pictures).float().div(2).softmax(-1)
        with ctx.autocast(torch.bfloat16):
            scores = student(pictures).float()
        soft = F.kl_div(scores.div(2).log_softmax(-1), wanted, reduction="batchmean")
        (soft + 0.1 * F.cross_entropy(scores, labels)).backward()
        update.step()
        update.zero_grad()

    return Loop(step, byte_pictures(ctx, 96, 224))


EVALUATED_EVERY = 4


def mixer(ctx: Context, evaluated: bool) -> Loop:
    torch.manual_seed(0)
    pixels = ctx.pick(224, 32)
    model = Mixer(ctx.pick(768, 32), ctx.pick(4, 2), pixels, CLASSES).to(ctx.device)
    update = adamw(model, "fused")
    validation = list(itertools.islice(byte_pictures(ctx, 256, 224), ctx.pick(4, 2)))
    accuracies: list[float] = []
    done = 0

    @torch.no_grad()
    def evaluate() -> None:
        model.eval()
        right = 0
        for pictures, labels in validation:
            with ctx.autocast(torch.bfloat16):
                guess = model(pictures.to(ctx.device, non_blocking=True)).argmax(-1)
            right += (guess == labels.to(ctx.device, non_blocking=True)).sum().item()
        accuracies.append(right / sum(len(labels) for _, labels in validation))
        model.train()

    def step(batch: tuple[Tensor, Tensor]) -> None:
        nonlocal done
        pictures, labels = (t.to(ctx.device, non_blocking=True) for t in batch)
        with ctx.autocast(torch.bfloat16):
            loss = F.cross_entropy(model(pictures), labels)
        loss.backward()
        update.step()
        update.zero_grad()
        done += 1
        if evaluated and done % EVALUATED_EVERY == 0:
            evaluate()

    return Loop(step, byte_pictures(ctx, 192, 224))


def small_resnet(ctx: Context, faulty: bool) -> Loop:
    torch.manual_seed(0)
    model = ResNet(ctx.pick(32, 8), ctx.pick((3, 4, 6, 3), (1, 1)), 100)
    model.to(ctx.device, memory_format=torch.channels_last)
    update = torch.optim.SGD(
        model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4, nesterov=True, foreach=not faulty
    )
    batch = ctx.pick(64, 2)
    ready = (ctx.pinned(torch.randn(batch, 3, 32, 32)), ctx.pinned(torch.randint(0, 100, (batch,))))
    log = open(os.devnull, "w")

    def step(batch: tuple[Tensor, Tensor]) -> None:
        pictures, labels = (t.to(ctx.device, non_blocking=True) for t in batch)
        scores = model(pictures.contiguous(memory_format=torch.channels_last))
        loss = F.cross_entropy(scores, labels)
        if faulty:
            right = (scores.argmax(-1) == labels).float().mean()
            print(f"loss {loss} accuracy {right}", file=log)
        loss.backward()
        if faulty:
            print("first and last gradients", model.body[0].weight.grad.norm(), model.head.weight.grad.norm(), file=log)
        update.step()
        update.zero_grad()

    return Loop(step, cycle([ready]))


CASES = (
    Case(
        "detection_per_picture",
        lambda ctx: detection(ctx, per_picture=True),
        "host",
        rules=("T23", "T15"),
        gain_of="none",
        fix="one loss for the batch, objects padded",
        twin="detection_batched",
        note="24 pictures one after another, several boolean masks each: the host waits for their sizes",
        active=2,
    ),
    Case(
        "detection_batched",
        lambda ctx: detection(ctx, per_picture=False),
        "host",
        not_a_gain=("T23",),
        note="twin of detection_per_picture",
    ),
    Case(
        "distill_teacher_fp32",
        lambda ctx: distillation(ctx, None),
        "gpu",
        rules=("T9", "T13"),
        gain_of="T13",
        fix="the teacher under bf16 autocast too",
        twin="distill_teacher_bf16",
        note="the student trains in bf16; the teacher's forward pass was left in fp32",
        steps=8,
        active=3,
    ),
    Case(
        "distill_teacher_bf16",
        lambda ctx: distillation(ctx, torch.bfloat16),
        "gpu",
        not_a_gain=("T9", "T13", "T14"),
        note="twin of distill_teacher_fp32",
        active=3,
    ),
    Case(
        "mixer_evaluated",
        lambda ctx: mixer(ctx, evaluated=True),
        None,
        fix="evaluate every thousandth step",
        twin="mixer_not_evaluated",
        note="four validation batches after every 4th step; a trace alone does not name that",
        steps=12,  # three periods
        active=8,
    ),
    Case(
        "mixer_not_evaluated",
        lambda ctx: mixer(ctx, evaluated=False),
        "gpu",
        not_a_gain=("T9", "T13", "T23", "W3"),
        note="twin of mixer_evaluated",
        steps=12,
    ),
    Case(
        "resnet_two_faults",
        lambda ctx: small_resnet(ctx, faulty=True),
        "host",
        rules=("W3", "T23"),
        gain_of="none",
        fix="SGD(foreach=True), no tensors printed",
        twin="resnet_repaired",
        note="SGD updates parameter by parameter, and four tensors are printed every step",
        active=3,
    ),
    Case(
        "resnet_repaired",
        lambda ctx: small_resnet(ctx, faulty=False),
        "host",
        rules=("T15", "T18"),
        not_a_gain=("W3", "T23"),
        note="twin of resnet_two_faults",
        active=3,
    ),
)
