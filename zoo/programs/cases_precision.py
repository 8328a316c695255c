"""GPU-bound loops: number formats, attention kernels, convolution algorithms, and loops with nothing to fix."""

from __future__ import annotations

import itertools
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from context import Context
from inputs import byte_pictures, cycle, pictures, text
from networks_other import GraphNet, gated_norms
from networks_text import Attention
from networks_vision import CLASSES, DilatedHead, VideoNet, Vit
from registry import Case, Loop, Settings
from training import adamw, classifier, gpt, language_model

VIT_BATCH = 256


def vit(ctx: Context) -> Vit:
    torch.manual_seed(0)
    return Vit(ctx.pick(768, 32), ctx.pick(8, 2), ctx.pick(12, 2), ctx.pick(224, 32))


def vit_training(ctx: Context, precision: torch.dtype | None) -> Loop:
    return classifier(ctx, vit(ctx), byte_pictures(ctx, VIT_BATCH, 224), precision=precision)


def vit_with_scaler(ctx: Context) -> Loop:
    """fp16 the way it was done before bf16: a GradScaler around the optimizer."""
    model = vit(ctx).to(ctx.device)
    update = adamw(model, "foreach")
    scaler = torch.amp.GradScaler(ctx.device)

    def step(batch: tuple[Tensor, Tensor]) -> None:
        pictures, labels = (t.to(ctx.device, non_blocking=True) for t in batch)
        with ctx.autocast(torch.float16):
            loss = F.cross_entropy(model(pictures), labels)
        scaler.scale(loss).backward()
        scaler.step(update)
        scaler.update()
        update.zero_grad()

    return Loop(step, byte_pictures(ctx, VIT_BATCH, 224))


def vit_inference(ctx: Context) -> Loop:
    model = vit(ctx).to(ctx.device).eval()

    @torch.no_grad()
    def step(batch: tuple[Tensor, Tensor]) -> None:
        with ctx.autocast(torch.bfloat16):
            model(batch[0].to(ctx.device, non_blocking=True)).argmax(-1)

    return Loop(step, byte_pictures(ctx, 512, 224))


def causal_lm(ctx: Context, attention: Attention) -> Loop:
    return language_model(ctx, gpt(ctx, 1024, 6, 16, attention=attention), text(ctx, 32, 1024))


def video(ctx: Context, precision: torch.dtype | None = None) -> Loop:
    torch.manual_seed(0)
    frames, pixels, batch = ctx.pick(17, 5), ctx.pick(113, 15), ctx.pick(12, 2)
    clips = ctx.pinned(torch.randn(batch, 3, frames, pixels, pixels))
    labels = ctx.pinned(torch.randint(0, CLASSES, (batch,)))
    model = VideoNet(layers=ctx.pick(6, 2))
    return classifier(ctx, model, cycle([(clips, labels)]), precision=precision)


def segmentation(ctx: Context) -> Loop:
    torch.manual_seed(0)
    return classifier(ctx, DilatedHead(ctx.pick(256, 8)), pictures(ctx, 16, 260))


def graph_network(ctx: Context) -> Loop:
    """Full-graph training: the graph stays on the device, there is no batch to load."""
    torch.manual_seed(0)
    nodes, edges, width = ctx.pick(200_000, 100), ctx.pick(3_000_000, 400), ctx.pick(128, 16)
    features = torch.randn(nodes, width, device=ctx.device)
    source, target = torch.randint(0, nodes, (2, edges), device=ctx.device)
    model = GraphNet(width, 3).to(ctx.device)
    update = adamw(model, "fused")

    def step(_: Any) -> None:
        model(features, source, target).square().mean().backward()
        update.step()
        update.zero_grad()

    return Loop(step, itertools.repeat(None))


def gated_chain(ctx: Context, compiled: bool) -> Loop:
    torch.manual_seed(0)
    width = ctx.pick(4096, 16)
    x = torch.randn(ctx.pick(8 * 2048, 8), width, device=ctx.device)
    model = gated_norms(width, ctx.pick(6, 2)).to(ctx.device)
    forward = ctx.compiled(model) if compiled else model
    update = adamw(model, "fused")

    def step(_: Any) -> None:
        forward(x).square().mean().backward()
        update.step()
        update.zero_grad()

    return Loop(step, itertools.repeat(None))


CASES = (
    Case(
        "vit_fp32",
        lambda ctx: vit_training(ctx, None),
        "gpu",
        rules=("T9", "T13"),
        fix="TF32 on",
        twin="vit_tf32",
        steps=6,
        active=3,
    ),
    Case(
        "vit_tf32",
        lambda ctx: vit_training(ctx, None),
        "gpu",
        rules=("T13",),
        not_a_gain=("T9",),
        fix="bf16 autocast",
        twin="vit_bf16",
        note="twin of vit_fp32",
        settings=Settings(tf32=True),
        steps=10,
        active=3,
    ),
    Case(
        "vit_bf16",
        lambda ctx: vit_training(ctx, torch.bfloat16),
        "gpu",
        not_a_gain=("T9", "T13"),
        note="twin of vit_tf32",
    ),
    Case(
        "vit_fp16_scaler",
        vit_with_scaler,
        "gpu",
        not_a_gain=("T9", "T13"),
        note="fp16 autocast with a GradScaler, which reads one flag a step",
    ),
    Case(
        "infer_loop",
        vit_inference,
        "gpu",
        not_a_gain=("T13",),
        note="inference under no_grad: no backward, no optimizer",
    ),
    Case(
        "attention_eager",
        lambda ctx: causal_lm(ctx, "eager"),
        "gpu",
        rules=("T14",),
        fix="scaled_dot_product_attention(is_causal=True)",
        twin="attention_sdpa",
        note="softmax(q k^T) v written by hand with a mask",
        steps=8,
        active=3,
    ),
    Case(
        "attention_sdpa",
        lambda ctx: causal_lm(ctx, "fused"),
        "gpu",
        not_a_gain=("T14",),
        note="twin of attention_eager",
        steps=10,
        active=3,
    ),
    Case(
        "cudnn_benchmark_off",
        video,
        "gpu",
        not_a_gain=("T10",),
        fix="cudnn.benchmark=True",
        twin="cudnn_benchmark_on",
        note="3-d convolutions of odd but constant shapes: cuDNN's first guess is as good",
    ),
    Case(
        "cudnn_benchmark_on",
        video,
        "gpu",
        rules=("T13",),
        not_a_gain=("T10",),
        fix="bf16 autocast",
        twin="video_bf16",
        note="twin of cudnn_benchmark_off",
        settings=Settings(cudnn_benchmark=True),
    ),
    Case(
        "video_bf16",
        lambda ctx: video(ctx, torch.bfloat16),
        "gpu",
        not_a_gain=("T13",),
        note="twin of cudnn_benchmark_on",
        settings=Settings(cudnn_benchmark=True),
    ),
    Case(
        "conv_dilated",
        segmentation,
        "gpu",
        not_a_gain=("T10",),
        fix="cudnn.benchmark=True",
        twin="conv_dilated_benchmark",
        note="dilated convolutions, constant shapes: cuDNN's first guess is as good",
    ),
    Case(
        "conv_dilated_benchmark",
        segmentation,
        "gpu",
        not_a_gain=("T10",),
        note="twin of conv_dilated",
        settings=Settings(cudnn_benchmark=True),
    ),
    Case(
        "gnn",
        graph_network,
        "gpu",
        not_a_gain=("T4", "T18"),
        note="message passing: gather and index_add along three million edges",
        steps=12,
    ),
    Case(
        "elementwise_big",
        lambda ctx: gated_chain(ctx, compiled=False),
        "gpu",
        rules=("T15",),
        not_a_gain=("T18",),
        fix="torch.compile fuses the chain",
        twin="elementwise_big_compiled",
        note="memory-bound: large kernels, each reads and writes the whole activation",
        steps=12,
    ),
    Case(
        "elementwise_big_compiled",
        lambda ctx: gated_chain(ctx, compiled=True),
        "gpu",
        not_a_gain=("T15",),
        note="twin of elementwise_big",
        steps=12,
    ),
)
