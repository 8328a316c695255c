"""Loops of many small kernels: experts, tables, micro-batches, cells, optimizers, recompiles; and their remedies."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from context import Context
from inputs import cycle, text
from networks_other import FusedRecommender, Recommender, mlp
from networks_text import LstmCellLoop, LstmLayer, MoeLoop, MoePadded
from networks_vision import DeepCnn, Vit
from registry import Case, Loop, Settings
from training import (
    OptimizerKind,
    adamw,
    classifier,
    gpt,
    language_model,
    next_token_loss,
    small_gpt,
)


def mixture(ctx: Context, experts: type[MoeLoop] | type[MoePadded]) -> Loop:
    feed_forward = partial(experts, experts=ctx.pick(16, 4))
    model = gpt(ctx, 512, 2, 8, feed_forward=feed_forward)
    return language_model(ctx, model, text(ctx, 8, 512))


def recommender(ctx: Context, kind: type[Recommender] | type[FusedRecommender]) -> Loop:
    torch.manual_seed(0)
    tables, rows, batch = ctx.pick(80, 4), ctx.pick(1000, 10), ctx.pick(2048, 8)
    model = kind(tables, rows, 32).to(ctx.device)
    update = adamw(model, "foreach")
    ready = (
        ctx.pinned(torch.randn(batch, 13)),
        ctx.pinned(torch.randint(0, rows, (batch, tables))),
        ctx.pinned(torch.randint(0, 2, (batch,)).float()),
    )

    def step(batch: tuple[Tensor, Tensor, Tensor]) -> None:
        dense, sparse, clicked = (t.to(ctx.device, non_blocking=True) for t in batch)
        F.binary_cross_entropy_with_logits(model(dense, sparse), clicked).backward()
        update.step()
        update.zero_grad()

    return Loop(step, cycle([ready]))


def accumulation(ctx: Context, micro_batches: int) -> Loop:
    """Sixteen samples an update, in the given number of parts."""
    model = small_gpt(ctx, 1).to(ctx.device)
    update = adamw(model, "fused")

    def step(batch: Tensor) -> None:
        for part in batch.to(ctx.device, non_blocking=True).chunk(micro_batches):
            with ctx.autocast(torch.bfloat16):
                loss = next_token_loss(model(part), part) / micro_batches
            loss.backward()
        update.step()
        update.zero_grad()

    return Loop(step, text(ctx, 16, 256))


def small_pictures(ctx: Context, batch: int) -> Iterator[tuple[Tensor, Tensor]]:
    batch = ctx.pick(batch, 2)
    ready = (
        ctx.pinned(torch.randn(batch, 3, 32, 32)),
        ctx.pinned(torch.randint(0, 10, (batch,))),
    )
    return cycle([ready])


def deep_cnn(ctx: Context, layers: int) -> DeepCnn:
    torch.manual_seed(0)
    return DeepCnn(32, ctx.pick(layers, 2)).to(ctx.device)


def eager_step(ctx: Context) -> Loop:
    model = deep_cnn(ctx, 16)
    return classifier(ctx, model, small_pictures(ctx, 64), precision=None, update=adamw(model, "foreach"))


def captured_step(ctx: Context) -> Loop:
    """The whole step of eager_step as one CUDA graph, replayed."""
    model = deep_cnn(ctx, 16)
    update = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=True, capturable=True)
    batches = small_pictures(ctx, 64)
    inputs, labels = (t.to(ctx.device) for t in next(batches))

    def work() -> None:
        F.cross_entropy(model(inputs), labels).backward()
        update.step()

    # Capture asks for warm-up on a stream of its own, and for gradients that the graph allocates.
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            work()
            update.zero_grad(set_to_none=True)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()

    def step(batch: tuple[Tensor, Tensor]) -> None:
        inputs.copy_(batch[0], non_blocking=True)
        labels.copy_(batch[1], non_blocking=True)
        graph.replay()

    return Loop(step, batches)


def recurrent(ctx: Context, kind: type[LstmCellLoop] | type[LstmLayer]) -> Loop:
    torch.manual_seed(0)
    return language_model(ctx, kind(ctx.pick(512, 16)), text(ctx, 64, 64), precision=None)


def conv_optimizer(ctx: Context, optimizer: OptimizerKind) -> Loop:
    model = deep_cnn(ctx, 24)
    return classifier(ctx, model, small_pictures(ctx, 32), precision=None, update=adamw(model, optimizer))


def single_pictures(ctx: Context, compiled: bool) -> Loop:
    """A service that classifies two pictures at a time."""
    torch.manual_seed(0)
    pixels = ctx.pick(224, 32)
    model = Vit(ctx.pick(384, 32), ctx.pick(12, 2), ctx.pick(6, 2), pixels).to(ctx.device).eval()
    forward = ctx.compiled(model, mode="reduce-overhead") if compiled else model
    picture = ctx.pinned(torch.randint(0, 256, (2, 3, pixels, pixels), dtype=torch.uint8))

    @torch.no_grad()
    def step(batch: Tensor) -> None:
        with ctx.autocast(torch.bfloat16):
            forward(batch.to(ctx.device, non_blocking=True)).argmax(-1)

    return Loop(step, cycle([picture]))


def checkpointed_lm(ctx: Context, checkpointed: bool) -> Loop:
    return language_model(ctx, small_gpt(ctx, 4, checkpointed=checkpointed), text(ctx, 4, 128))


def growing_batches() -> Iterator[Tensor]:
    """A new number of rows every step: the last batch of a shard, filtered samples, packed texts."""
    # Multiples of 8: for others Inductor times padded products on the GPU, thousands of kernels a compile.
    rows = np.random.default_rng(2).permutation(np.arange(64, 4096, 8))
    return (torch.randn(int(count), 64) for count in itertools.cycle(rows))


def recompiled_mlp(ctx: Context, dynamic: bool) -> Loop:
    torch.manual_seed(0)
    model: nn.Module = mlp(64, 128, 128, 64).to(ctx.device)
    update = adamw(model, "fused")
    forward = ctx.compiled(model, dynamic=dynamic)

    def step(batch: Tensor) -> None:
        forward(batch.to(ctx.device)).square().mean().backward()
        update.step()
        update.zero_grad()

    return Loop(step, growing_batches())


CASES = (
    Case(
        "moe_loop",
        lambda ctx: mixture(ctx, MoeLoop),
        "host",
        rules=("T23", "T15"),
        gain_of="none",
        fix="fixed capacity, one batched product for all experts",
        twin="moe_padded",
        note="16 experts in a Python loop, nonzero() for each",
        active=2,
    ),
    Case(
        "moe_padded",
        lambda ctx: mixture(ctx, MoePadded),
        "host",
        rules=("T15",),
        not_a_gain=("T23",),
        note="twin of moe_loop",
    ),
    Case(
        "dlrm_tables",
        lambda ctx: recommender(ctx, Recommender),
        "host",
        rules=("T15",),
        gain_of="none",
        fix="one table with offsets",
        twin="dlrm_fused",
        note="80 embedding tables, one lookup each",
        active=3,
    ),
    Case(
        "dlrm_fused",
        lambda ctx: recommender(ctx, FusedRecommender),
        "host",
        rules=("T15", "T18"),
        note="twin of dlrm_tables",
    ),
    Case(
        "accum_tiny",
        lambda ctx: accumulation(ctx, 16),
        "host",
        rules=("T18", "T15"),
        gain_of="none",
        fix="one micro-batch of 16",
        twin="accum_one",
        note="16 micro-batches of one sample for each update",
        active=2,
    ),
    Case(
        "accum_one",
        lambda ctx: accumulation(ctx, 1),
        "host",
        rules=("T15",),
        note="twin of accum_tiny: the same 16 samples at once",
    ),
    Case(
        "graph_eager",
        eager_step,
        "host",
        rules=("T15", "T18"),
        gain_of="no-cuda-graphs",
        fix="the whole step as a CUDA graph",
        twin="graph_captured",
        note="small residual CNN, default AdamW",
    ),
    Case(
        "graph_captured",
        captured_step,
        "gpu",
        not_a_gain=("T15",),
        note="twin of graph_eager: forward, backward and optimizer in one graph launch",
        needs_cuda=True,
    ),
    Case(
        "rnn_loop",
        lambda ctx: recurrent(ctx, LstmCellLoop),
        "host",
        rules=("T15",),
        gain_of="none",
        fix="nn.LSTM (cuDNN)",
        twin="rnn_cudnn",
        note="LSTMCell called for every token",
        settings=Settings(tf32=True),
        active=3,
    ),
    Case(
        "rnn_cudnn",
        lambda ctx: recurrent(ctx, LstmLayer),
        "host",
        rules=("T15", "T18"),
        note="twin of rnn_loop",
        settings=Settings(tf32=True),
    ),
    Case(
        "optimizer_forloop",
        lambda ctx: conv_optimizer(ctx, "forloop"),
        "host",
        rules=("W3", "T15"),
        fix="AdamW(foreach=True)",
        twin="optimizer_foreach",
        note="a CNN with 76 small parameters",
        active=3,
    ),
    Case(
        "optimizer_foreach",
        lambda ctx: conv_optimizer(ctx, "foreach"),
        "host",
        rules=("T15",),
        gain_of="W3",
        fix="AdamW(fused=True)",
        twin="optimizer_fused",
        note="twin of optimizer_forloop",
    ),
    Case(
        "optimizer_fused",
        lambda ctx: conv_optimizer(ctx, "fused"),
        "host",
        rules=("T15",),
        not_a_gain=("W3",),
        note="twin of optimizer_foreach",
    ),
    Case(
        "infer_small",
        lambda ctx: single_pictures(ctx, compiled=False),
        "host",
        rules=("T15", "T18"),
        gain_of="no-cuda-graphs",
        fix="torch.compile(mode='reduce-overhead')",
        twin="infer_small_graphs",
        note="inference, two pictures at a time",
    ),
    Case(
        "infer_small_graphs",
        lambda ctx: single_pictures(ctx, compiled=True),
        None,
        not_a_gain=("T15",),
        note="twin of infer_small",
        warm=12,
    ),
    Case(
        "ckpt_small",
        lambda ctx: checkpointed_lm(ctx, checkpointed=True),
        "host",
        rules=("T17", "T15", "T18"),
        fix="activation checkpointing off",
        twin="ckpt_small_off",
        note="checkpointing on a model too small to need it: it costs host time",
    ),
    Case(
        "ckpt_small_off",
        lambda ctx: checkpointed_lm(ctx, checkpointed=False),
        "host",
        rules=("T15", "T18"),
        not_a_gain=("T17",),
        note="twin of ckpt_small",
    ),
    Case(
        "recompile_each_step",
        lambda ctx: recompiled_mlp(ctx, dynamic=False),
        "host",
        rules=("T16",),
        fix="torch.compile(dynamic=True)",
        twin="recompile_dynamic",
        note="a new batch size every step, static shapes, recompile limit raised",
        settings=Settings(automatic_dynamic_shapes=False, recompile_limit=10_000),
        warm=2,
        steps=3,
        active=2,
    ),
    Case(
        "recompile_dynamic",
        lambda ctx: recompiled_mlp(ctx, dynamic=True),
        "host",
        rules=("T15", "T18"),
        not_a_gain=("T16",),
        note="twin of recompile_each_step",
    ),
)
