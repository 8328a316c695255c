"""The thirty cases of the first zoo: the same models, faults and twins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from context import Context
from inputs import (
    CpuHeavy,
    SameTensor,
    SlowStore,
    cycle,
    loader,
    pictures,
    ragged_text,
    text,
)
from networks_other import ResidualMlp
from registry import Case, Loop, Settings
from training import gpt, image_classifier, language_model, sized_gpt, small_gpt

STATIC_SHAPES = Settings(automatic_dynamic_shapes=False)


def lm(ctx: Context, **options: Any) -> Loop:
    """The language model of the chosen sizes, well fed."""
    return language_model(ctx, sized_gpt(ctx), text(ctx), **options)


def small_lm(ctx: Context, batch: int, tokens: int, layers: int = 8, **options: Any) -> Loop:
    return language_model(ctx, small_gpt(ctx, layers), text(ctx, batch, tokens), **options)


def ragged_lm(ctx: Context, bucket: int | None) -> Loop:
    batches = ragged_text(ctx.pick(512, 72), bucket)
    return language_model(ctx, gpt(ctx, 256, 2, 4), batches, compile_mode="default")


def read_every_gradient_norm(model: nn.Module, loss: Tensor) -> None:
    """Gradient norms logged one by one: a host read for each parameter."""
    history = [p.grad.norm().item() for p in model.parameters() if p.grad is not None]
    history.clear()


def cpu_heavy(ctx: Context, workers: int) -> Iterator[Any]:
    data = CpuHeavy(ctx.pick(224, 32))
    return loader(data, ctx.pick(32, 2), ctx.workers(workers))


def slow_store(ctx: Context, workers: int) -> Iterator[Any]:
    data = SlowStore(ctx.scratch / "store", ctx.pick(224, 32))
    return loader(data, ctx.pick(32, 2), ctx.workers(workers))


def short_epochs(ctx: Context, persistent: bool) -> Iterator[Any]:
    batch = ctx.pick(32, 2)
    data = CpuHeavy(ctx.pick(224, 32), repeats=1, length=4 * batch)
    return loader(data, batch, ctx.workers(8), prefetch=None, persistent=persistent)


def large_copy(ctx: Context, batches: Iterator[Tensor], non_blocking: bool) -> Loop:
    """A large array copied to the device, and little work on it there."""
    width = ctx.pick(4096, 64)
    model = nn.Linear(width, width).to(ctx.device)
    weight = torch.randn(width, width, device=ctx.device)

    def move(batch: Tensor) -> Tensor:
        return batch.to(ctx.device, non_blocking=non_blocking)

    def step(batch: Tensor) -> None:
        y = batch.view(-1, width)[:width].half().float()
        for _ in range(6):
            y = torch.tanh(y @ weight) * 0.1
        model(y).mean().backward()
        model.zero_grad()

    return Loop(step, batches, move)


def pageable_batches(ctx: Context) -> Iterator[Tensor]:
    data = SameTensor(ctx.pick(64 * 2**20, 2**14))
    return loader(data, None, workers=0, pin=False)


def pinned_batches(ctx: Context) -> Iterator[Tensor]:
    elements = ctx.pick(64 * 2**20, 2**14)
    return cycle([ctx.pinned(torch.randn(elements)) for _ in range(3)])


def residual_mlp(ctx: Context, compiled: bool) -> Loop:
    torch.manual_seed(0)
    model = ResidualMlp(layers=ctx.pick(60, 4)).to(ctx.device)
    update = torch.optim.SGD(model.parameters(), lr=0.01, foreach=True)
    forward = ctx.compiled(model) if compiled else model

    def step(batch: Tensor) -> None:
        forward(batch.to(ctx.device, non_blocking=True)).square().mean().backward()
        update.step()
        update.zero_grad()

    return Loop(step, cycle([ctx.pinned(torch.randn(256, 64))]))


FIT = Case("gpu_bound_bf16", lm, "gpu", note="well fed bf16 transformer")

INPUT = (
    Case(
        "data_cpu_w0",
        lambda ctx: image_classifier(ctx, cpu_heavy(ctx, 0)),
        "data",
        rules=("T4",),
        fix="num_workers=12",
        twin="data_cpu_w12",
        warm=3,
        steps=5,
        active=3,
    ),
    Case(
        "data_cpu_w12",
        lambda ctx: image_classifier(ctx, cpu_heavy(ctx, 12)),
        "data",
        rules=("T8",),
        not_a_gain=("T4",),
        note="twin of data_cpu_w0: num_workers=12",
        warm=60,  # 12 workers hold 48 batches ready; what follows is the rate they can keep up
        steps=24,
        active=12,  # the workers finish together, so the wait comes once in 12 steps
        profiler_warmup=50,
    ),
    Case(
        "data_io_w0",
        lambda ctx: image_classifier(ctx, slow_store(ctx, 0)),
        "data",
        rules=("T4", "T8"),
        fix="num_workers=8",
        twin="data_io_w8",
        steps=8,
        active=3,
    ),
    Case(
        "data_io_w8",
        lambda ctx: image_classifier(ctx, slow_store(ctx, 8)),
        "data",
        rules=("T8",),
        not_a_gain=("T7",),
        note="twin of data_io_w0: num_workers=8",
        warm=40,  # 8 workers hold 32 batches ready
        steps=24,
        active=8,
        profiler_warmup=36,
    ),
    Case(
        "epoch_respawn",
        lambda ctx: image_classifier(ctx, short_epochs(ctx, persistent=False)),
        "data",
        rules=("T5",),
        fix="persistent_workers=True",
        twin="epoch_persistent",
        note="4-batch epochs, workers re-forked each epoch",
        warm=8,
        steps=16,
        active=8,
    ),
    Case(
        "epoch_persistent",
        lambda ctx: image_classifier(ctx, short_epochs(ctx, persistent=True)),
        "data",
        rules=("T8", "T7"),
        not_a_gain=("T5",),
        note="twin of epoch_respawn",
        warm=8,
        steps=16,
        active=8,
    ),
    Case(
        "h2d_pageable",
        lambda ctx: large_copy(ctx, pageable_batches(ctx), non_blocking=False),
        "data",
        rules=("T6",),
        fix="pin_memory + non_blocking",
        twin="h2d_pinned",
        note="256 MB pageable batch, blocking copy",
        settings=Settings(tf32=True),
    ),
    Case(
        "h2d_pinned",
        lambda ctx: large_copy(ctx, pinned_batches(ctx), non_blocking=True),
        "data",
        not_a_gain=("T6-pin",),
        note="twin: pinned + non_blocking",
        settings=Settings(tf32=True),
    ),
)

DEVICE = (
    Case(
        "fp32_no_tf32",
        lambda ctx: lm(ctx, precision=None),
        "gpu",
        rules=("T9", "T13"),
        fix="TF32 on",
        twin="fp32_tf32",
        steps=8,
        active=3,
    ),
    Case(
        "fp32_tf32",
        lambda ctx: lm(ctx, precision=None),
        "gpu",
        rules=("T13",),
        not_a_gain=("T9",),
        fix="bf16 autocast",
        twin="gpu_bound_bf16",
        note="twin of fp32_no_tf32",
        settings=Settings(tf32=True),
        steps=8,
        active=3,
    ),
    Case(
        "sdpa_math",
        lambda ctx: language_model(ctx, sized_gpt(ctx, attention="math"), text(ctx)),
        "gpu",
        rules=("T14",),
        fix="fused SDPA backend",
        twin="gpu_bound_bf16",
        steps=8,
        active=3,
    ),
    Case(
        "ckpt_on",
        lambda ctx: language_model(ctx, sized_gpt(ctx, checkpointed=True), text(ctx)),
        "gpu",
        rules=("T17",),
        fix="activation checkpointing off",
        twin="gpu_bound_bf16",
        steps=8,
        active=3,
    ),
)

HOST = (
    Case(
        "sync_item_per_param",
        lambda ctx: small_lm(ctx, 8, 256, after_backward=read_every_gradient_norm),
        "host",
        rules=("T23", "T15"),
        fix="no .item() per parameter",
        twin="sync_none",
    ),
    Case(
        "sync_none",
        lambda ctx: small_lm(ctx, 8, 256),
        "host",
        rules=("T15", "T18"),
        note="twin of sync_item_per_param",
    ),
    Case(
        "launch_small",
        lambda ctx: small_lm(ctx, 2, 128, optimizer="forloop"),
        "host",
        rules=("T15", "T18", "W3"),
        gain_of="no-cuda-graphs",
        fix="fused optimizer + torch.compile(mode='reduce-overhead')",
        twin="launch_compiled",
    ),
    Case(
        "launch_compiled",
        lambda ctx: small_lm(ctx, 2, 128, compile_mode="reduce-overhead"),
        "host",
        not_a_gain=("T15",),
        note="twin of launch_small: fused optimizer, CUDA graphs",
        warm=12,
    ),
    Case(
        "adam_forloop",
        lambda ctx: small_lm(ctx, 8, 256, layers=16, optimizer="forloop"),
        "host",
        rules=("T15", "W3"),
        gain_of="W3",
        fix="AdamW(fused=True)",
        twin="adam_fused",
    ),
    Case(
        "adam_fused",
        lambda ctx: small_lm(ctx, 8, 256, layers=16),
        "host",
        rules=("T15", "T18"),
        note="twin of adam_forloop",
    ),
    Case(
        "elementwise_eager",
        lambda ctx: residual_mlp(ctx, compiled=False),
        "host",
        rules=("T15", "T18"),
        fix="torch.compile",
        twin="elementwise_compiled",
    ),
    Case(
        "elementwise_compiled",
        lambda ctx: residual_mlp(ctx, compiled=True),
        "host",
        rules=("T15", "T18"),
        note="twin",
        warm=10,
    ),
    Case(
        "recompile_ragged",
        lambda ctx: ragged_lm(ctx, bucket=None),
        "host",
        rules=("T16",),
        fix="pad to two buckets",
        twin="recompile_bucketed",
        note="new length every step, static shapes",
        settings=STATIC_SHAPES,
        warm=3,
        steps=4,
        active=3,
    ),
    Case(
        "recompile_bucketed",
        lambda ctx: ragged_lm(ctx, bucket=256),
        "host",
        rules=("T15", "T18"),
        not_a_gain=("T16",),
        note="twin: two buckets",
        settings=STATIC_SHAPES,
    ),
    Case(
        "batch_tiny",
        lambda ctx: language_model(ctx, sized_gpt(ctx), text(ctx, 1, ctx.sizes.tokens)),
        "host",
        rules=("T18", "T15"),
        note="same model as gpu_bound_bf16, batch 1",
    ),
)

LAYOUT_AND_REST = (
    Case(
        "cnn_nchw",
        lambda ctx: image_classifier(ctx, pictures(ctx, 128, 224)),
        "gpu",
        rules=("T11",),
        fix="channels_last",
        twin="cnn_nhwc",
    ),
    Case(
        "cnn_nhwc",
        lambda ctx: image_classifier(ctx, pictures(ctx, 128, 224), channels_last=True),
        "gpu",
        not_a_gain=("T11",),
        note="twin of cnn_nchw",
    ),
    Case(
        "cnn_fp32",
        lambda ctx: image_classifier(ctx, pictures(ctx, 128, 224), precision=None),
        "gpu",
        rules=("T13", "T9", "T11"),
        fix="bf16 autocast",
        twin="cnn_nchw",
    ),
    Case(
        "anomaly_on",
        lambda ctx: small_lm(ctx, 8, 256),
        "host",
        rules=("T12",),
        fix="detect_anomaly off",
        twin="sync_none",
        settings=Settings(detect_anomaly=True),
    ),
    Case(
        "zero_fill",
        lambda ctx: lm(ctx, set_to_none=False),
        "gpu",
        not_a_gain=("T12",),
        fix="set_to_none=True",
        twin="gpu_bound_bf16",
        steps=8,
        active=3,
    ),
    Case(
        "fat_trace",
        lambda ctx: language_model(ctx, small_gpt(ctx, 4), text(ctx, 4, 256)),
        "host",
        rules=("T15", "T18"),
        note="every profiler option on, for the reader",
        active=2,
        profiler={
            "record_shapes": True,
            "with_stack": True,
            "profile_memory": True,
            "with_flops": True,
        },
    ),
)

CASES = (FIT, *INPUT, *DEVICE, *HOST, *LAYOUT_AND_REST)
