"""Unseen: diffusion, a VAE, medical volumes. Weight averaging, layouts, hand-made timers, an emptied cache."""

from __future__ import annotations

import copy
import itertools
import time
from collections.abc import Callable
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from context import Context
from inputs import cycle
from networks_diffusion import UNet, UNet3d, Vae
from registry import Case, Loop
from training import adamw

Averaging = Literal["loop", "foreach", "none"]
STEPS_OF_NOISE = 1000


def average_weights(model: nn.Module, how: Averaging) -> tuple[Callable[[], None], nn.Module]:
    """Keeps an exponential moving average of the weights: what does it, and where it is kept."""
    shadow = copy.deepcopy(model).requires_grad_(False)
    ours, theirs = list(shadow.parameters()), list(model.parameters())

    @torch.no_grad()
    def loop() -> None:
        for average, value in zip(shadow.state_dict().values(), model.state_dict().values(), strict=True):
            average.copy_(0.999 * average + (1 - 0.999) * value)

    @torch.no_grad()
    def foreach() -> None:
        torch._foreach_lerp_(ours, theirs, 0.001)

    return {"loop": loop, "foreach": foreach, "none": lambda: None}[how], shadow


def diffusion(
    ctx: Context, channels: int, batch: int, pixels: int, averaging: Averaging, channels_last: bool = False
) -> Loop:
    torch.manual_seed(0)
    layout = torch.channels_last if channels_last else torch.contiguous_format
    model = UNet(ctx.pick(channels, 8)).to(ctx.device, memory_format=layout)
    update = adamw(model, "fused")
    average, _ = average_weights(model, averaging)
    kept = torch.linspace(0.9999, 0.98, STEPS_OF_NOISE, device=ctx.device).cumprod(0)
    pixels, batch = ctx.pick(pixels, 16), ctx.pick(batch, 2)
    ready = [ctx.pinned(torch.randn(batch, 3, pixels, pixels)) for _ in range(2)]

    def step(batch: Tensor) -> None:
        pictures = batch.to(ctx.device, non_blocking=True).to(memory_format=layout)
        t = torch.randint(0, STEPS_OF_NOISE, (len(pictures),), device=ctx.device)
        noise, share = torch.randn_like(pictures), kept[t][:, None, None, None]
        noisy = share.sqrt() * pictures + (1 - share).sqrt() * noise
        with ctx.autocast(torch.bfloat16):
            loss = F.mse_loss(model(noisy, t).float(), noise)
        loss.backward()
        update.step()
        update.zero_grad()
        average()

    return Loop(step, cycle(ready))


def vae(ctx: Context, timed: bool) -> Loop:
    torch.manual_seed(0)
    pixels, batch = ctx.pick(64, 32), ctx.pick(512, 2)
    model = Vae(ctx.pick(64, 8), pixels, ctx.pick(128, 8)).to(ctx.device, memory_format=torch.channels_last)
    update = adamw(model, "fused")
    ready = [
        ctx.pinned(torch.randn(batch, 3, pixels, pixels).contiguous(memory_format=torch.channels_last))
        for _ in range(2)
    ]
    marks: list[float] = []

    def mark(*_: Any) -> None:
        """What people write to see how long each layer, backward and the optimizer take."""
        if ctx.on_gpu():
            torch.cuda.synchronize()
        marks.append(time.perf_counter())

    if timed:
        for layer in [*model.encoder, model.to_latent, model.from_latent, *model.decoder]:
            layer.register_forward_hook(mark)

    def step(batch: Tensor) -> None:
        pictures = batch.to(ctx.device, non_blocking=True)
        with ctx.autocast(torch.bfloat16):
            made, mean, log_variance = model(pictures)
            divergence = -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum(1).mean()
            loss = F.mse_loss(made, pictures) + 0.001 * divergence
        loss.backward()
        if timed:
            mark()
        update.step()
        update.zero_grad()
        if timed:
            mark()

    return Loop(step, cycle(ready))


def dice_loss(logits: Tensor, labels: Tensor) -> Tensor:
    chances = logits.float().softmax(1)
    truth = F.one_hot(labels, logits.shape[1]).movedim(-1, 1)
    both, either = (chances * truth).sum((2, 3, 4)), (chances + truth).sum((2, 3, 4))
    return F.cross_entropy(logits.float(), labels) + 1 - ((2 * both + 1) / (either + 1)).mean()


def volumes(ctx: Context, emptied: bool) -> Loop:
    """fp16 with a GradScaler, as the medical toolkits do it."""
    torch.manual_seed(0)
    side = ctx.pick(96, 8)
    model = UNet3d(ctx.pick(32, 4)).to(ctx.device)
    update = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.99, nesterov=True)
    scaler = torch.amp.GradScaler(ctx.device)
    ready = (
        ctx.pinned(torch.randn(2, 1, side, side, side)),
        ctx.pinned(torch.randint(0, 4, (2, side, side, side))),
    )

    def step(batch: Any) -> None:
        scans, labels = (t.to(ctx.device, non_blocking=True) for t in batch)
        update.zero_grad()
        with ctx.autocast(torch.float16):
            loss = dice_loss(model(scans), labels)
        scaler.scale(loss).backward()
        scaler.unscale_(update)
        nn.utils.clip_grad_norm_(model.parameters(), 12)
        scaler.step(update)
        scaler.update()
        if emptied:
            del loss, scans, labels
            torch.cuda.empty_cache()

    return Loop(step, itertools.repeat(ready))


CASES = (
    Case(
        "unet_ema_loop",
        lambda ctx: diffusion(ctx, 64, 16, 32, "loop"),
        "host",
        rules=("T15",),
        not_a_gain=("W3",),
        gain_of="none",
        fix="torch._foreach_lerp_ over all weights",
        twin="unet_ema_foreach",
        note="diffusion U-Net on 32 x 32 pictures; the average of the weights is kept one tensor at a time",
        active=3,
    ),
    Case(
        "unet_ema_foreach",
        lambda ctx: diffusion(ctx, 64, 16, 32, "foreach"),
        "host",
        rules=("T15", "T18"),
        not_a_gain=("W3",),
        note="twin of unet_ema_loop",
        active=3,
    ),
    Case(
        "unet_groupnorm",
        lambda ctx: diffusion(ctx, 128, 96, 64, "none"),
        "gpu",
        not_a_gain=("T11",),
        fix="channels_last",
        twin="unet_groupnorm_nhwc",
        note="group norm works in NCHW, so channels_last may only move the transposes",
        steps=8,
        active=2,
    ),
    Case(
        "unet_groupnorm_nhwc",
        lambda ctx: diffusion(ctx, 128, 96, 64, "none", channels_last=True),
        "gpu",
        note="twin of unet_groupnorm",
        steps=8,
        active=2,
    ),
    Case(
        "vae_timers",
        lambda ctx: vae(ctx, timed=True),
        "host",
        rules=("T23",),
        fix="no torch.cuda.synchronize() in the step",
        twin="vae_untimed",
        note="hand-made timers synchronize after each of ten layers, after backward and after the optimizer",
        also_acceptable=("host", "gpu"),
    ),
    Case("vae_untimed", lambda ctx: vae(ctx, timed=False), None, not_a_gain=("T23",), note="twin of vae_timers"),
    Case(
        "volumes_emptied",
        lambda ctx: volumes(ctx, emptied=True),
        "host",
        rules=("W4",),
        fix="no torch.cuda.empty_cache() in the step",
        twin="volumes_cached",
        note="3-d U-Net on 96-voxel patches, fp16 with a GradScaler, the cache emptied after every step",
        also_acceptable=("host", "gpu"),
        steps=6,
        warm=4,
    ),
    Case(
        "volumes_cached",
        lambda ctx: volumes(ctx, emptied=False),
        "gpu",
        not_a_gain=("W4", "T23", "T13"),
        note="twin of volumes_emptied",
        steps=8,
        warm=4,
    ),
)
