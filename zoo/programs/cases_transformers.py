"""A Hugging Face model. Run last: importing transformers leaves many objects for the garbage collector to walk."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from context import Context
from inputs import cycle
from networks_text import VOCABULARY
from registry import Case, Loop
from training import adamw


def bert(ctx: Context, precision: torch.dtype | None) -> Loop:
    """Fine-tuning as in the transformers tutorials, from a random start."""
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=ctx.pick(768, 32),
        intermediate_size=ctx.pick(3072, 64),
        num_hidden_layers=ctx.pick(6, 2),
        num_attention_heads=ctx.pick(12, 2),
        num_labels=4,
    )
    model = BertForSequenceClassification(config).to(ctx.device).train()
    update = adamw(model, "foreach")

    def step(batch: dict[str, Tensor]) -> None:
        inputs = {name: t.to(ctx.device, non_blocking=True) for name, t in batch.items()}
        with ctx.autocast(precision):
            loss = model(**inputs).loss
        loss.backward()
        update.step()
        update.zero_grad()

    return Loop(step, bert_batches(ctx))


def bert_batches(ctx: Context) -> Iterator[dict[str, Tensor]]:
    shape = (ctx.pick(128, 2), ctx.pick(384, 16))
    ids = torch.randint(0, VOCABULARY, shape)
    batch = {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "labels": torch.randint(0, 4, shape[:1]),
    }
    return cycle([{name: ctx.pinned(t) for name, t in batch.items()}])


CASES = (
    Case(
        "hf_bert_fp32",
        lambda ctx: bert(ctx, None),
        "gpu",
        rules=("T9", "T13"),
        gain_of="T13",
        fix="bf16 autocast",
        twin="hf_bert_bf16",
        note="transformers BertForSequenceClassification, random start",
        needs_package="transformers",
        steps=6,
        active=2,
    ),
    Case(
        "hf_bert_bf16",
        lambda ctx: bert(ctx, torch.bfloat16),
        "gpu",
        not_a_gain=("T9", "T13"),
        note="twin of hf_bert_fp32",
        needs_package="transformers",
        steps=10,
        active=2,
    ),
)
