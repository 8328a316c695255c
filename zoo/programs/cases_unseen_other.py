"""Unseen: neither text nor pictures. Forecasting, policy gradients, a recommender with a very large table."""

from __future__ import annotations

import copy
import itertools
import os
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from context import Context
from inputs import cycle
from networks_other import mlp
from networks_unusual import EmbeddingNet, Forecaster
from registry import Case, Loop, Settings
from training import adamw


def forecasting(ctx: Context, read_every: int) -> Loop:
    """A progress line with loss and gradient norm, as a bar with set_postfix shows it."""
    torch.manual_seed(0)
    model = Forecaster(32, ctx.pick(384, 16)).to(ctx.device)
    update = torch.optim.Adam(model.parameters(), lr=1e-3)
    series = [
        (ctx.pinned(torch.randn(ctx.pick(256, 2), ctx.pick(64, 8), 32)), ctx.pinned(torch.randn(ctx.pick(256, 2))))
        for _ in range(2)
    ]
    bar, done = open(os.devnull, "w"), 0

    def step(batch: tuple[Tensor, Tensor]) -> None:
        nonlocal done
        inputs, wanted = (t.to(ctx.device, non_blocking=True) for t in batch)
        loss = F.huber_loss(model(inputs), wanted)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        done += 1
        if done % read_every == 0:
            print(f"\r{done} loss={loss.item():.4f} norm={norm.item():.3f}", end="", file=bar, flush=True)
        update.step()
        update.zero_grad()

    return Loop(step, cycle(series))


Array = NDArray[np.float32]


class CartPoles:
    """Many poles on carts at once, in NumPy; one that falls starts anew."""

    def __init__(self, count: int) -> None:
        self.random = np.random.default_rng(6)
        self.state = self.fresh(count)

    def fresh(self, count: int) -> Array:
        return self.random.uniform(-0.05, 0.05, (count, 4)).astype(np.float32)

    def step(self, action: NDArray[np.int64]) -> tuple[Array, Array]:
        _, speed, angle, turn = self.state.T
        force = np.where(action == 1, 10.0, -10.0)
        sine, cosine = np.sin(angle), np.cos(angle)
        pushed = (force + 0.05 * turn**2 * sine) / 1.1
        turning = (9.8 * sine - cosine * pushed) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
        moving = pushed - 0.05 * turning * cosine / 1.1
        change = np.stack([speed, moving, turn, turning], 1)
        self.state = (self.state + 0.02 * change).astype(np.float32)
        fallen = (np.abs(self.state[:, 2]) > 0.21) | (np.abs(self.state[:, 0]) > 2.4)
        self.state[fallen] = self.fresh(int(fallen.sum()))
        return self.state, np.where(fallen, 0, 1).astype(np.float32)


def policy_gradient(ctx: Context, act_on_device: bool) -> Loop:
    """A rollout of many moves, then one update. The policy picks each move on the GPU, or a copy of it on the CPU."""
    torch.manual_seed(0)
    carts, moves = ctx.pick(64, 4), ctx.pick(48, 4)
    model = mlp(4, 64, 64, 2).to(ctx.device)
    actor = model if act_on_device else copy.deepcopy(model).cpu()
    place = ctx.device if act_on_device else "cpu"
    update, poles = adamw(model, "fused"), CartPoles(carts)

    @torch.no_grad()
    def rollout() -> tuple[Tensor, Tensor, Tensor]:
        seen, done, paid = [], [], []
        for _ in range(moves):
            state = torch.from_numpy(poles.state).to(place)
            action = torch.multinomial(actor(state).softmax(-1), 1).squeeze(1)
            seen.append(state)
            done.append(action)
            paid.append(torch.from_numpy(poles.step(action.cpu().numpy())[1]))
        return torch.cat(seen), torch.cat(done), torch.stack(paid)

    def step(_: Any) -> None:
        if not act_on_device:
            actor.load_state_dict(model.state_dict())
        states, actions, rewards = (t.to(ctx.device, non_blocking=True) for t in rollout())
        returns = rewards.flip(0).cumsum(0).flip(0).flatten()
        advantage = (returns - returns.mean()) / (returns.std() + 1e-6)
        chosen = model(states).log_softmax(-1).gather(1, actions[:, None]).squeeze(1)
        (-(chosen * advantage).mean()).backward()
        update.step()
        update.zero_grad()

    return Loop(step, itertools.repeat(None))


def recommender(ctx: Context, sparse: bool) -> Loop:
    """Two gigabytes of embeddings; a batch touches one in forty."""
    torch.manual_seed(0)
    rows, slots, batch = ctx.pick(8_000_000, 100), ctx.pick(24, 4), ctx.pick(8192, 8)
    with torch.device(ctx.device):
        model = EmbeddingNet(rows, 64, slots, sparse)
    updates: list[torch.optim.Optimizer] = [adamw(model.top if sparse else model, "fused")]
    if sparse:
        updates.append(torch.optim.SparseAdam(model.table.parameters(), lr=1e-3))
    ready = [
        (ctx.pinned(torch.randint(0, rows, (batch, slots))), ctx.pinned(torch.randint(0, 2, (batch,)).float()))
        for _ in range(2)
    ]

    def step(batch: tuple[Tensor, Tensor]) -> None:
        categories, clicked = (t.to(ctx.device, non_blocking=True) for t in batch)
        F.binary_cross_entropy_with_logits(model(categories), clicked).backward()
        for update in updates:
            update.step()
            update.zero_grad()

    return Loop(step, cycle(ready))


CASES = (
    Case(
        "forecast_progress_bar",
        lambda ctx: forecasting(ctx, read_every=1),
        None,
        rules=("T23",),
        fix="the progress line every 50th step",
        twin="forecast_rare_lines",
        note="LSTM; loss and gradient norm read for a progress bar before the optimizer's step",
        active=3,
    ),
    Case(
        "forecast_rare_lines",
        lambda ctx: forecasting(ctx, read_every=50),
        None,
        note="twin of forecast_progress_bar",
        active=3,
        steps=50,
    ),
    Case(
        "policy_on_device",
        lambda ctx: policy_gradient(ctx, act_on_device=True),
        "host",
        rules=("T23", "T15"),
        gain_of="none",
        fix="a copy of the small policy acts on the CPU, one copy of the rollout",
        twin="policy_on_cpu",
        note="48 moves an update: states go to the GPU and actions come back for each",
        active=3,
    ),
    Case(
        "policy_on_cpu",
        lambda ctx: policy_gradient(ctx, act_on_device=False),
        "host",
        note="twin of policy_on_device: environment and policy both run on the CPU",
        active=3,
    ),
    Case(
        "embeddings_dense",
        lambda ctx: recommender(ctx, sparse=False),
        "gpu",
        rules=("dense-embedding-gradients",),
        not_a_gain=("T12", "T13", "W3"),
        fix="Embedding(sparse=True), SparseAdam",
        twin="embeddings_sparse",
        note="AdamW walks 8 million rows for a gradient that touches one in forty; the rule was made from this pair",
        settings=Settings(tf32=True),
        warm=4,
    ),
    Case(
        "embeddings_sparse",
        lambda ctx: recommender(ctx, sparse=True),
        None,
        note="twin of embeddings_dense",
        settings=Settings(tf32=True),
        warm=4,
    ),
)
