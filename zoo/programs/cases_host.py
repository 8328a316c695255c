"""Loops held up by the host: the allocator, garbage collection, saving, reading results, the CPU itself."""

from __future__ import annotations

import gc
import itertools
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from context import Context
from inputs import byte_pictures, cycle, text
from networks_vision import CLASSES, Cnn, Vit
from registry import Case, Loop
from training import adamw, classifier, gpt, language_model, next_token_loss, small_gpt


def short_vit(ctx: Context) -> Vit:
    torch.manual_seed(0)
    return Vit(ctx.pick(512, 32), ctx.pick(6, 2), ctx.pick(8, 2), ctx.pick(224, 32))


def allocator(ctx: Context, emptied: bool) -> Loop:
    def after_backward(model: nn.Module, loss: Tensor) -> None:
        if emptied:
            torch.cuda.empty_cache()

    model = gpt(ctx, 768, 4, 12)
    return language_model(ctx, model, text(ctx, 8, 1024), after_backward=after_backward)


def collector(ctx: Context, collected: bool) -> Loop:
    # A dataset's index kept as Python objects, and the collector has to walk all of them.
    index = [{"id": i, "tags": [i]} for i in range(ctx.pick(60_000, 100))]
    pairs = zip(byte_pictures(ctx, 128, 224), itertools.cycle(index))

    def after_step() -> None:
        if collected:
            gc.collect()

    batches = (batch for batch, _ in pairs)
    return classifier(ctx, short_vit(ctx), batches, after_step=after_step)


def saver(ctx: Context, saved: bool) -> Loop:
    model = short_vit(ctx)

    def after_step() -> None:
        if saved:
            torch.save(model.state_dict(), ctx.scratch / "last.pt")

    return classifier(ctx, model, byte_pictures(ctx, 128, 224), after_step=after_step)


def loss_reader(ctx: Context, read: bool) -> Loop:
    history: list[float] = []

    def after_backward(model: nn.Module, loss: Tensor) -> None:
        if read:
            history.append(loss.item())

    model = gpt(ctx, 1024, 6, 16)
    return language_model(ctx, model, text(ctx, 48, 1024), after_backward=after_backward)


def forward_metrics(logits: Tensor, ids: Tensor, loss: Tensor) -> list[Tensor]:
    scores = logits[:, :-1].detach()
    hit = scores.argmax(-1) == ids[:, 1:]
    return [
        loss.detach(),
        loss.detach().exp(),
        hit.float().mean(),
        hit[:, -1].float().mean(),
        scores.max().float(),
        scores.float().mean(),
    ]


def gradient_metrics(model: nn.Module) -> list[Tensor]:
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    norms = torch.stack(torch._foreach_norm(gradients))
    return [norms.norm(), norms.max(), norms.min(), norms.mean()]


class LateMetrics:
    """Sends all metrics in one copy and reads them a step later, when they have long arrived."""

    def __init__(self) -> None:
        self.sent: Tensor | None = None
        self.arrived = torch.cuda.Event() if torch.cuda.is_available() else None

    def send(self, metrics: list[Tensor]) -> list[float]:
        if self.sent is not None and self.arrived:
            self.arrived.synchronize()
        values = [] if self.sent is None else self.sent.tolist()
        self.sent = torch.stack(metrics).to("cpu", non_blocking=True)
        if self.arrived:
            self.arrived.record()
        return values


def metric_logger(ctx: Context, batch: int, late: bool) -> Loop:
    model = gpt(ctx, 768, 4, 12).to(ctx.device)
    update, metrics, history = adamw(model, "fused"), LateMetrics(), list[float]()

    def log(values: list[Tensor]) -> list[Tensor]:
        if not late:
            history.extend(value.item() for value in values)
        return values

    def step(batch: Tensor) -> None:
        ids = batch.to(ctx.device, non_blocking=True)
        with ctx.autocast(torch.bfloat16):
            logits = model(ids)
            loss = next_token_loss(logits, ids)
        seen = log(forward_metrics(logits, ids, loss))
        loss.backward()
        seen += log(gradient_metrics(model))
        update.step()
        update.zero_grad()
        if late:
            history.extend(metrics.send(seen))

    return Loop(step, text(ctx, batch, 512))


def prediction_keeper(ctx: Context, whole_logits: bool) -> Loop:
    """Keeps predictions for a report: all class scores on the host, or just the best class on the device."""
    model = small_gpt(ctx, 4).to(ctx.device)
    update = adamw(model, "fused")
    kept: list[Tensor] = []

    def step(batch: Tensor) -> None:
        ids = batch.to(ctx.device, non_blocking=True)
        with ctx.autocast(torch.bfloat16):
            logits = model(ids)
            loss = next_token_loss(logits, ids)
        loss.backward()
        update.step()
        update.zero_grad()
        kept.append(logits.detach().cpu() if whole_logits else logits.argmax(-1))
        if len(kept) == 4:
            kept.clear()

    return Loop(step, text(ctx, 16, 512))


def on_the_cpu(ctx: Context) -> Loop:
    torch.manual_seed(0)
    model = Cnn(ctx.pick(32, 8), 4)
    update = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    batch, pixels = ctx.pick(32, 2), ctx.pick(112, 32)
    ready = (torch.randn(batch, 3, pixels, pixels), torch.randint(0, CLASSES, (batch,)))

    def step(batch: Any) -> None:
        F.cross_entropy(model(batch[0]), batch[1]).backward()
        update.step()
        update.zero_grad()

    return Loop(step, cycle([ready]))


CASES = (
    Case(
        "alloc_churn",
        lambda ctx: allocator(ctx, emptied=True),
        "host",
        rules=("W4",),
        fix="no torch.cuda.empty_cache() in the step",
        twin="alloc_cached",
        note="the allocator gives its memory back and asks for it again every step",
    ),
    Case(
        "alloc_cached",
        lambda ctx: allocator(ctx, emptied=False),
        "host",
        rules=("T15", "T18"),
        not_a_gain=("W4",),
        note="twin of alloc_churn: the GPU is busy two thirds of the step",
        also_acceptable=("host", "gpu"),
    ),
    Case(
        "gc_each_step",
        lambda ctx: collector(ctx, collected=True),
        "host",
        rules=("W4",),
        fix="no gc.collect() in the step",
        twin="gc_automatic",
        note="60,000 samples indexed as Python objects, all walked every step",
    ),
    Case(
        "gc_automatic",
        lambda ctx: collector(ctx, collected=False),
        "gpu",
        not_a_gain=("W4",),
        note="twin of gc_each_step",
    ),
    Case(
        "save_each_step",
        lambda ctx: saver(ctx, saved=True),
        "host",
        rules=("W4",),
        fix="save every thousandth step",
        twin="save_never",
        note="torch.save of the whole model every step",
        steps=12,
    ),
    Case(
        "save_never",
        lambda ctx: saver(ctx, saved=False),
        "gpu",
        not_a_gain=("W4",),
        note="twin of save_each_step",
    ),
    Case(
        "sync_gpu_bound",
        lambda ctx: loss_reader(ctx, read=True),
        "gpu",
        not_a_gain=("T23",),
        fix="no loss.item() in the step",
        twin="sync_gpu_bound_none",
        note="a host read each step, but the GPU has work enough",
        steps=8,
    ),
    Case(
        "sync_gpu_bound_none",
        lambda ctx: loss_reader(ctx, read=False),
        "gpu",
        not_a_gain=("T23",),
        note="twin of sync_gpu_bound",
        steps=8,
    ),
    Case(
        "sync_many_metrics",
        lambda ctx: metric_logger(ctx, 32, late=False),
        None,
        rules=("T23", "W2"),
        fix="one copy of all metrics, read one step later",
        twin="sync_late_metrics",
        note="ten .item() a step, six of them between forward and backward",
    ),
    Case(
        "sync_late_metrics",
        lambda ctx: metric_logger(ctx, 32, late=True),
        "gpu",
        not_a_gain=("T23", "W2"),
        note="twin of sync_many_metrics",
    ),
    Case(
        "sync_metrics_launch_bound",
        lambda ctx: metric_logger(ctx, 16, late=False),
        "host",
        rules=("T15", "T18"),
        fix="one copy of all metrics, read one step later",
        twin="late_metrics_launch_bound",
        note="half the batch of sync_many_metrics: the GPU waits for launches too; "
        "the late read gained 1% in one session and 18% in another",
    ),
    Case(
        "late_metrics_launch_bound",
        lambda ctx: metric_logger(ctx, 16, late=True),
        None,
        rules=("T15", "T18"),
        not_a_gain=("T23", "W2"),
        note="twin of sync_metrics_launch_bound",
    ),
    Case(
        "d2h_logits",
        lambda ctx: prediction_keeper(ctx, whole_logits=True),
        "host",
        rules=("T23",),
        fix="argmax on the device, no .cpu() in the step",
        twin="d2h_argmax",
        note="134 MB of logits copied to the host every step",
    ),
    Case(
        "d2h_argmax",
        lambda ctx: prediction_keeper(ctx, whole_logits=False),
        "host",
        rules=("T15", "T18"),
        not_a_gain=("T23",),
        note="twin of d2h_logits",
    ),
    Case(
        "cpu_only",
        on_the_cpu,
        "compute",
        note="a job without a GPU",
        on_cpu=True,
        steps=10,
    ),
)
