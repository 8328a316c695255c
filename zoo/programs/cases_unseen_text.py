"""Unseen: language models. LoRA, an eager Llama, packed texts, odd vocabularies, metrics, large accumulation."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from context import Context
from inputs import cycle
from networks_llama import Llama
from registry import Case, Loop
from training import adamw, gpt, next_token_loss

VOCABULARY = 32_000


def llama(ctx: Context, width: int, layers: int, heads: int, vocabulary: int = VOCABULARY, **options: Any) -> Llama:
    torch.manual_seed(0)
    if ctx.smoke:
        width, layers, heads, vocabulary = 32, 2, 2, min(vocabulary, 512 + vocabulary % 64)
    return Llama(vocabulary, width, layers, heads, **options)


def ids(ctx: Context, batch: int, tokens: int, vocabulary: int = VOCABULARY) -> Iterator[Tensor]:
    """Token ids that are ready in pinned memory, as a memory-mapped corpus gives them."""
    shape = (ctx.pick(batch, 2), ctx.pick(tokens, 16))
    return cycle([ctx.pinned(torch.randint(0, ctx.pick(vocabulary, 512), shape)) for _ in range(4)])


def eager_or_compiled(ctx: Context, compiled: bool) -> Loop:
    model = llama(ctx, 1536, 4, 12).to(ctx.device)
    update = adamw(model, "fused")
    forward = ctx.compiled(model) if compiled else model

    def step(batch: Tensor) -> None:
        tokens = batch.to(ctx.device, non_blocking=True)
        with ctx.autocast(torch.bfloat16):
            loss = next_token_loss(forward(tokens), tokens)
        loss.backward()
        update.step()
        update.zero_grad()

    return Loop(step, ids(ctx, 16, 1024))


def lora(ctx: Context, checkpointed: bool = False, compiled: bool = False) -> Loop:
    """A frozen base in 16 bit; only the added projections are trained."""
    model = llama(ctx, 2048, 4, 16, checkpointed=checkpointed)
    trained = model.add_lora()
    model.to(ctx.device, dtype=ctx.pick(torch.bfloat16, torch.float32))
    update = torch.optim.AdamW(trained, lr=1e-4, fused=True)
    forward = ctx.compiled(model) if compiled else model

    def step(batch: Tensor) -> None:
        tokens = batch.to(ctx.device, non_blocking=True)
        next_token_loss(forward(tokens), tokens).backward()
        update.step()
        update.zero_grad()

    return Loop(step, ids(ctx, 16, 1024))


def text_metrics(logits: Tensor, tokens: Tensor) -> Tensor:
    """Entropy, top-1 and top-5 accuracy over the whole vocabulary; they stay on the device."""
    scores, truth = logits[:, :-1].detach().float(), tokens[:, 1:]
    chances = scores.softmax(-1)
    entropy = -(chances * chances.clamp_min(1e-9).log()).sum(-1).mean()
    best = scores.topk(5, -1).indices == truth[..., None]
    return torch.stack([entropy, best[..., 0].float().mean(), best.any(-1).float().mean()])


def large_vocabulary(ctx: Context, vocabulary: int, metrics: bool = False, compiled: bool = False) -> Loop:
    model = llama(ctx, 768, 4, 12, vocabulary).to(ctx.device)
    update = adamw(model, "fused")
    forward = ctx.compiled(model) if compiled else model
    history: list[Tensor] = []

    def step(batch: Tensor) -> None:
        tokens = batch.to(ctx.device, non_blocking=True)
        with ctx.autocast(torch.bfloat16):
            logits = forward(tokens)
            loss = next_token_loss(logits, tokens)
        if metrics:
            history.append(text_metrics(logits, tokens))
        loss.backward()
        update.step()
        update.zero_grad()

    return Loop(step, ids(ctx, 16, 1024))


def large_accumulation(ctx: Context, compiled: bool = False) -> Loop:
    """Four full micro-batches an update, the norm clipped without reading it."""
    model = gpt(ctx, 1536, 6, 12).to(ctx.device)
    forward = ctx.compiled(model) if compiled else model
    update, micro_batches = adamw(model, "fused"), 4

    def step(batches: list[Tensor]) -> None:
        for batch in batches:
            tokens = batch.to(ctx.device, non_blocking=True)
            with ctx.autocast(torch.bfloat16):
                loss = next_token_loss(forward(tokens), tokens) / micro_batches
            loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        update.step()
        update.zero_grad()

    batches = ids(ctx, 32, 1024, vocabulary=8192)
    return Loop(step, (list(itertools.islice(batches, micro_batches)) for _ in itertools.count()))


def packed_lengths(rows: int, tokens: int) -> Iterator[list[list[int]]]:
    """How long the texts are that fill each row."""
    random = np.random.default_rng(3)
    while True:
        cuts = [np.sort(random.choice(np.arange(1, tokens), 7, replace=False)) for _ in range(rows)]
        yield [np.diff([0, *cut, tokens]).tolist() for cut in cuts]


def mask_by_loops(lengths: list[list[int]], tokens: int) -> tuple[Tensor, Tensor]:
    """A token sees those before it in its own text. Written row by row."""
    mask = np.zeros((len(lengths), 1, tokens, tokens), dtype=bool)
    positions = []
    for row, texts in enumerate(lengths):
        start, place = 0, []
        for length in texts:
            for i in range(start, start + length):
                mask[row, 0, i, start : i + 1] = True
                place.append(i - start)
            start += length
        positions.append(place)
    return torch.from_numpy(mask), torch.tensor(positions)


def mask_on_device(lengths: list[list[int]], tokens: int, device: str) -> tuple[Tensor, Tensor]:
    """The same from the number of each token's text, by comparing."""
    ends = torch.tensor(lengths, device=device).cumsum(1)
    place = torch.arange(tokens, device=device)
    text = (place[None, :, None] >= ends[:, None, :]).sum(-1)
    starts = F.pad(ends, (1, 0)).gather(1, text)
    causal = place[:, None] >= place[None, :]
    return ((text[:, :, None] == text[:, None, :]) & causal)[:, None], place - starts


def packed(ctx: Context, by_loops: bool) -> Loop:
    rows, tokens = ctx.pick(32, 2), ctx.pick(512, 16)
    model = llama(ctx, 512, 3, 8).to(ctx.device)
    update = adamw(model, "fused")

    def step(batch: tuple[Tensor, list[list[int]]]) -> None:
        words = batch[0].to(ctx.device, non_blocking=True)
        if by_loops:
            mask, positions = (t.to(ctx.device) for t in mask_by_loops(batch[1], tokens))
        else:
            mask, positions = mask_on_device(batch[1], tokens, ctx.device)
        with ctx.autocast(torch.bfloat16):
            loss = next_token_loss(model(words, mask, positions), words)
        loss.backward()
        update.step()
        update.zero_grad()

    lengths = list(itertools.islice(packed_lengths(rows, tokens), 8))
    return Loop(step, zip(ids(ctx, rows, tokens), itertools.cycle(lengths), strict=False))


CASES = (
    Case(
        "llama_eager",
        lambda ctx: eager_or_compiled(ctx, compiled=False),
        "gpu",
        rules=("T15",),
        not_a_gain=("T18",),
        fix="torch.compile",
        twin="llama_compiled",
        note="RMS norm in fp32, rotary positions and SwiGLU as single kernels",
        steps=8,
        active=3,
    ),
    Case(
        "llama_compiled",
        lambda ctx: eager_or_compiled(ctx, compiled=True),
        "gpu",
        not_a_gain=("T9", "T13", "T14", "T18", "T23", "W3"),
        note="twin of llama_eager: compiled, fused AdamW, bf16",
        steps=8,
        active=3,
    ),
    Case(
        "lora_checkpointed",
        lambda ctx: lora(ctx, checkpointed=True),
        "gpu",
        rules=("T17",),
        fix="activation checkpointing off",
        twin="lora_plain",
        note="a frozen base needs no weight gradients, so recomputing costs relatively more than in full training",
        steps=8,
        active=3,
    ),
    Case(
        "lora_plain",
        lora,
        "gpu",
        rules=("T15",),
        not_a_gain=("T17", "T9", "T13", "T18", "W3"),
        fix="torch.compile",
        twin="lora_compiled",
        note="twin of lora_checkpointed",
        steps=8,
        active=3,
    ),
    Case(
        "lora_compiled",
        lambda ctx: lora(ctx, compiled=True),
        "gpu",
        not_a_gain=("T17", "T9", "T13", "T18", "W3"),
        note="twin of lora_plain; not recorded yet",
        steps=8,
        active=3,
    ),
    Case(
        "vocabulary_50257",
        lambda ctx: large_vocabulary(ctx, 50_257),
        "gpu",
        rules=("unaligned-products",),
        not_a_gain=("T9", "T13", "T18", "T23", "W3"),
        fix="a vocabulary of 50,304, a multiple of 64",
        twin="vocabulary_50304",
        note="the head's rows are no multiple of 8",
        steps=8,
        active=2,
    ),
    Case(
        "vocabulary_metrics",
        lambda ctx: large_vocabulary(ctx, 50_304, metrics=True),
        "gpu",
        not_a_gain=("T9", "T13", "T18", "T23", "W3"),
        fix="metrics every 50th step",
        twin="vocabulary_50304",
        note="entropy and top-5 accuracy over the vocabulary every step, on the device; no rule names that",
        steps=8,
        active=2,
    ),
    Case(
        "vocabulary_50304",
        lambda ctx: large_vocabulary(ctx, 50_304),
        "gpu",
        rules=("T15",),
        not_a_gain=("T9", "T13", "T18", "T23", "W3"),
        fix="torch.compile",
        twin="vocabulary_compiled",
        note="twin of vocabulary_50257 and vocabulary_metrics",
        steps=8,
        active=2,
    ),
    Case(
        "vocabulary_compiled",
        lambda ctx: large_vocabulary(ctx, 50_304, compiled=True),
        "gpu",
        not_a_gain=("T9", "T13", "T18", "T23", "W3"),
        note="twin of vocabulary_50304; not recorded yet",
        steps=8,
        active=2,
    ),
    Case(
        "accumulation_large",
        large_accumulation,
        "gpu",
        not_a_gain=("T9", "T13", "T14", "T18", "T23", "W3"),
        fix="torch.compile",
        twin="accumulation_compiled",
        note="four micro-batches of 32,768 tokens, bf16, fused AdamW: nothing planted; library norms and activations",
        warm=2,
        steps=4,
        active=2,
    ),
    Case(
        "accumulation_compiled",
        lambda ctx: large_accumulation(ctx, compiled=True),
        "gpu",
        not_a_gain=("T9", "T13", "T14", "T18", "T23", "W3"),
        note="twin of accumulation_large: what compiling gains when unfused-elementwise is silent; not recorded yet",
        warm=2,
        steps=4,
        active=2,
    ),
    Case(
        "packed_mask_loops",
        lambda ctx: packed(ctx, by_loops=True),
        "host",
        rules=("W4",),
        fix="the mask by comparing text numbers on the device",
        twin="packed_mask_device",
        note="NumPy and Python loops make the attention mask of packed texts every step",
        active=3,
    ),
    Case("packed_mask_device", lambda ctx: packed(ctx, by_loops=False), None, note="twin of packed_mask_loops"),
)
