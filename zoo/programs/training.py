"""Training loops shared by several cases, written the way users write them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from context import Context
from networks_text import Gpt
from networks_vision import Cnn
from registry import Loop

OptimizerKind = Literal["fused", "foreach", "forloop"]
AfterBackward = Callable[[nn.Module, Tensor], None]


def adamw(model: nn.Module, kind: OptimizerKind) -> torch.optim.Optimizer:
    how = {
        "fused": {"fused": True},
        "foreach": {"foreach": True},
        "forloop": {"foreach": False, "fused": False},
    }
    return torch.optim.AdamW(model.parameters(), lr=1e-4, **how[kind])


def next_token_loss(logits: Tensor, ids: Tensor) -> Tensor:
    predicted = logits[:, :-1].reshape(-1, logits.shape[-1]).float()
    return F.cross_entropy(predicted, ids[:, 1:].reshape(-1))


def gpt(ctx: Context, width: int, layers: int, heads: int, **options: Any) -> Gpt:
    """A GPT of a fixed size, shrunk in a smoke test."""
    if ctx.smoke:
        width, layers, heads = ctx.sizes.width, ctx.sizes.layers, ctx.sizes.heads
    torch.manual_seed(0)
    return Gpt(width, layers, heads, **options)


def sized_gpt(ctx: Context, **options: Any) -> Gpt:
    return gpt(ctx, ctx.sizes.width, ctx.sizes.layers, ctx.sizes.heads, **options)


def small_gpt(ctx: Context, layers: int = 8, **options: Any) -> Gpt:
    return gpt(ctx, 512, layers, 8, **options)


def language_model(
    ctx: Context,
    model: nn.Module,
    batches: Iterator[Tensor],
    *,
    precision: torch.dtype | None = torch.bfloat16,
    optimizer: OptimizerKind = "fused",
    compile_mode: str | None = None,
    set_to_none: bool = True,
    after_backward: AfterBackward | None = None,
) -> Loop:
    model.to(ctx.device)
    update = adamw(model, optimizer)
    forward = model
    if compile_mode:
        forward = ctx.compiled(model, mode=None if compile_mode == "default" else compile_mode)

    def step(batch: Tensor) -> None:
        ids = batch.to(ctx.device, non_blocking=True)
        with ctx.autocast(precision):
            loss = next_token_loss(forward(ids), ids)
        loss.backward()
        if after_backward:
            after_backward(model, loss)
        update.step()
        update.zero_grad(set_to_none=set_to_none)

    return Loop(step, batches)


def image_classifier(
    ctx: Context,
    batches: Iterator[Any],
    *,
    precision: torch.dtype | None = torch.bfloat16,
    channels_last: bool = False,
) -> Loop:
    torch.manual_seed(0)
    layout = torch.channels_last if channels_last else torch.contiguous_format
    model = Cnn().to(ctx.device, memory_format=layout)
    update = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, foreach=True)

    def step(batch: Any) -> None:
        pictures = batch[0].to(ctx.device, non_blocking=True)
        labels = torch.as_tensor(batch[1]).to(ctx.device, non_blocking=True)
        if channels_last:
            pictures = pictures.to(memory_format=torch.channels_last)
        with ctx.autocast(precision):
            loss = F.cross_entropy(model(pictures.float()), labels)
        loss.backward()
        update.step()
        update.zero_grad()

    return Loop(step, batches)


def classifier(
    ctx: Context,
    model: nn.Module,
    batches: Iterator[Any],
    *,
    precision: torch.dtype | None = torch.bfloat16,
    update: torch.optim.Optimizer | None = None,
    after_step: Callable[[], None] | None = None,
) -> Loop:
    """Any model that maps a batch of pictures to class scores."""
    model.to(ctx.device)
    optimizer = update or adamw(model, "fused")

    def step(batch: Any) -> None:
        inputs = batch[0].to(ctx.device, non_blocking=True)
        labels = batch[1].to(ctx.device, non_blocking=True)
        with ctx.autocast(precision):
            loss = F.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if after_step:
            after_step()

    return Loop(step, batches)
