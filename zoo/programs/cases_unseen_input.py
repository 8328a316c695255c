"""Unseen: input. Speech features on two cores, captions tokenized in the loop, molecules copied one by one, doubles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader

from context import Context
from inputs import Cycle, cycle, loader, on_all_cores
from inputs_unseen import CAPTION_TOKENS, MELS, Captions, Collate, Utterances, log_mel
from networks_unusual import MoleculeNet, SpeechNet, TabularNet, TextTower
from networks_vision import Vit
from registry import Case, Loop, Settings
from training import adamw


def speech(ctx: Context, features_in_workers: bool) -> Loop:
    torch.manual_seed(0)
    model = SpeechNet(MELS, ctx.pick(512, 32), ctx.pick(6, 2), ctx.pick(8, 2)).to(ctx.device)
    update = adamw(model, "fused")
    data = Utterances(ctx.pick(10.0, 2.0), features_in_workers)
    batches = loader(data, ctx.pick(16, 2), ctx.workers(2), prefetch=2)

    def features(audio: Tensor) -> Tensor:
        if features_in_workers:
            return audio
        return log_mel(audio + 0.05 * torch.randn_like(audio))

    def step(batch: tuple[Tensor, Tensor]) -> None:
        inputs, labels = (t.to(ctx.device, non_blocking=True) for t in batch)
        spectrograms = features(inputs)
        with ctx.autocast(torch.bfloat16):
            scores = model(spectrograms)
        chances = scores.float().log_softmax(-1).transpose(0, 1)
        frames, count = chances.shape[:2]
        lengths = torch.full((count,), frames), torch.full((count,), labels.shape[1])
        F.ctc_loss(chances, labels, *lengths, zero_infinity=True).backward()
        update.step()
        update.zero_grad()

    return Loop(step, batches)


class TwoTowers(nn.Module):
    """Pictures and captions meet in one space; the temperature is trained."""

    def __init__(self, ctx: Context, pixels: int) -> None:
        super().__init__()
        width, layers, heads = ctx.pick((768, 6, 12), (32, 2, 2))
        self.pictures = Vit(width, layers, heads, pixels)
        self.captions = TextTower(8192, CAPTION_TOKENS, width, ctx.pick(4, 2), heads, 1000)
        self.temperature = nn.Parameter(torch.tensor(2.6))

    def forward(self, pictures: Tensor, ids: Tensor) -> Tensor:
        a, b = F.normalize(self.pictures(pictures), dim=-1), F.normalize(self.captions(ids), dim=-1)
        return a @ b.T * self.temperature.exp()


def captions(ctx: Context, workers: int) -> Loop:
    torch.manual_seed(0)
    pixels = ctx.pick(224, 32)
    model = TwoTowers(ctx, pixels).to(ctx.device)
    update = adamw(model, "fused")
    workers = ctx.workers(workers)
    batches = DataLoader(
        Captions(pixels, words=24),
        ctx.pick(128, 2),
        num_workers=workers,
        collate_fn=Collate(),
        pin_memory=ctx.on_gpu(),
        persistent_workers=workers > 0,
        worker_init_fn=on_all_cores,
    )

    def step(batch: tuple[Tensor, Tensor]) -> None:
        pictures, ids = (t.to(ctx.device, non_blocking=True) for t in batch)
        with ctx.autocast(torch.bfloat16):
            scores = model(pictures, ids).float()
        own = torch.arange(len(scores), device=ctx.device)
        (F.cross_entropy(scores, own) + F.cross_entropy(scores.T, own)).backward()
        update.step()
        update.zero_grad()

    return Loop(step, Cycle(batches, prefetched=workers * (batches.prefetch_factor or 0)))


Molecule = tuple[Tensor, Tensor, Tensor]


def molecules(ctx: Context) -> Iterator[list[Molecule]]:
    random = np.random.default_rng(4)

    def molecule() -> Molecule:
        atoms = int(random.integers(10, 30))
        return torch.randn(atoms, 32), torch.randint(0, atoms, (2, 2 * atoms)), torch.randn(1)

    return cycle([[molecule() for _ in range(ctx.pick(256, 4))] for _ in range(4)])


def joined(batch: list[Molecule], device: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """One graph of all molecules, on the device of the parts."""
    counts = [len(atoms) for atoms, _, _ in batch]
    starts = np.cumsum([0, *counts[:-1]]).tolist()
    bonds = torch.cat([edges + start for (_, edges, _), start in zip(batch, starts, strict=True)], 1)
    owner = torch.repeat_interleave(torch.arange(len(batch)), torch.tensor(counts)).to(device)
    return torch.cat([atoms for atoms, _, _ in batch]), bonds, owner, torch.cat([y for _, _, y in batch])


def chemistry(ctx: Context, one_by_one: bool) -> Loop:
    torch.manual_seed(0)
    model = MoleculeNet(32, ctx.pick(128, 16), ctx.pick(4, 2)).to(ctx.device)
    update = adamw(model, "fused")

    def step(batch: list[Molecule]) -> None:
        if one_by_one:
            there = [(a.to(ctx.device), b.to(ctx.device), y.to(ctx.device)) for a, b, y in batch]
            atoms, bonds, owner, truth = joined(there, ctx.device)
        else:
            atoms, bonds, owner, truth = (ctx.pinned(t).to(ctx.device, non_blocking=True) for t in joined(batch, "cpu"))
        F.mse_loss(model(atoms, bonds, owner, len(batch)), truth).backward()
        update.step()
        update.zero_grad()

    return Loop(step, molecules(ctx))


def table(ctx: Context, dtype: type[np.floating[Any]]) -> Loop:
    """A table read by NumPy, which makes doubles by default; the model was made to match."""
    torch.manual_seed(0)
    rows, columns = ctx.pick(16_384, 8), ctx.pick(128, 8)
    numbers = np.random.default_rng(5).standard_normal((2, rows, columns + 1)).astype(dtype)
    ready = [ctx.pinned(torch.from_numpy(part)) for part in numbers]
    model = TabularNet(columns, ctx.pick(1024, 16), ctx.pick(8, 2)).to(ctx.device, ready[0].dtype)
    update = adamw(model, "fused")

    def step(batch: Tensor) -> None:
        rows = batch.to(ctx.device, non_blocking=True)
        F.mse_loss(model(rows[:, :-1]), rows[:, -1]).backward()
        update.step()
        update.zero_grad()

    return Loop(step, cycle(ready))


CASES = (
    Case(
        "speech_features_w2",
        lambda ctx: speech(ctx, features_in_workers=True),
        "data",
        rules=("T8",),
        not_a_gain=("T7",),
        gain_of="none",
        fix="spectrogram and noise on the GPU",
        twin="speech_features_gpu",
        note="two workers make spectrograms; a trace alone does not show what that would cost on the GPU",
        warm=4,
        steps=8,
        active=5,
        profiler_warmup=8,
    ),
    Case(
        "speech_features_gpu",
        lambda ctx: speech(ctx, features_in_workers=False),
        None,
        not_a_gain=("T4",),
        note="twin of speech_features_w2",
        active=3,
        profiler_warmup=8,
    ),
    Case(
        "captions_w0",
        lambda ctx: captions(ctx, workers=0),
        "data",
        rules=("T4",),
        fix="num_workers=8",
        twin="captions_w8",
        note="contrastive pair of towers; captions are tokenized in Python by the collate function",
        warm=3,
        steps=6,
        active=3,
    ),
    Case(
        "captions_w8",
        lambda ctx: captions(ctx, workers=8),
        None,
        not_a_gain=("T4",),
        note="twin of captions_w0",
        warm=20,
        active=3,
        profiler_warmup=18,
    ),
    Case(
        "molecules_one_by_one",
        lambda ctx: chemistry(ctx, one_by_one=True),
        "host",
        rules=("T6", "T15"),
        gain_of="none",
        fix="joined on the CPU, one copy",
        twin="molecules_joined",
        note="768 small tensors copied to the device one by one, joined there: both a launch and an input problem",
        also_acceptable=("host", "data"),
        active=2,
    ),
    Case(
        "molecules_joined",
        lambda ctx: chemistry(ctx, one_by_one=False),
        "host",
        note="twin of molecules_one_by_one: joining still costs the training thread",
        also_acceptable=("host", "data"),
    ),
    Case(
        "table_doubles",
        lambda ctx: table(ctx, np.float64),
        "gpu",
        rules=("T13", "T9"),
        gain_of="double-precision",
        fix="float32 in table and model",
        twin="table_floats",
        note="fp64 by accident; TF32 is allowed but doubles cannot use it",
        settings=Settings(tf32=True),
    ),
    Case(
        "table_floats",
        lambda ctx: table(ctx, np.float32),
        None,
        not_a_gain=("T9",),
        note="twin of table_doubles",
        settings=Settings(tf32=True),
    ),
)
