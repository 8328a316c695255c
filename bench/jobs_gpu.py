"""
Whole jobs as people write them, for bench/whole-jobs.py: python bench/jobs_gpu.py NAME STEPS

Each prints one JSON line: the mean step over the second half of the steps, and the seconds that it timed itself by phase.
What is planted is in JOBS, next to the job.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
STEPS = int(sys.argv[2]) if len(sys.argv) > 2 else 60
SPENT: dict[str, float] = defaultdict(float)
MARKS: dict[str, float] = {}


def synchronize() -> None:
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def clock(step: int) -> None:
    if step == STEPS // 2:
        synchronize()
        MARKS["half"] = time.perf_counter()
    if step == STEPS - 1:
        synchronize()
        MARKS["end"] = time.perf_counter()


@contextmanager
def timed(name: str) -> Iterator[None]:
    synchronize()
    begin = time.perf_counter()
    yield
    synchronize()
    SPENT[name] += time.perf_counter() - begin


def conv_net(width: int = 64) -> nn.Module:
    layers: list[nn.Module] = [nn.Conv2d(3, width, 3, padding=1), nn.ReLU()]
    for _ in range(6):
        layers += [nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10)).to(DEVICE)


class Augmented(Dataset):  # type: ignore[type-arg]
    """Images that are made and blurred on the CPU."""

    def __len__(self) -> int:
        return 1 << 20

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        image = torch.rand(3, 96, 96, generator=torch.Generator().manual_seed(index))
        for _ in range(3):
            image = F.avg_pool2d(image.unsqueeze(0), 5, 1, 2).squeeze(0)
        return image, index % 10


def augment_inline() -> None:
    """Data: augmentation on the training thread (T4)."""
    torch.set_num_threads(1)
    model = conv_net()
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    batches = iter(DataLoader(Augmented(), 32))
    for step in range(STEPS):
        clock(step)
        images, labels = (part.to(DEVICE) for part in next(batches))
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def gan() -> None:
    """Host: two small networks, two optimizers, several reads per iteration (T15, T23)."""
    make = lambda a, b: nn.Sequential(*[m for _ in range(6) for m in (nn.Linear(a, a), nn.ReLU())], nn.Linear(a, b)).to(
        DEVICE
    )  # noqa: E731
    maker, critic = make(128, 784), make(784, 1)
    of_maker = torch.optim.Adam(maker.parameters(), 2e-4)
    of_critic = torch.optim.Adam(critic.parameters(), 2e-4)
    real = torch.randn(64, 784, device=DEVICE)
    history = []
    for step in range(STEPS):
        clock(step)
        for _ in range(3):
            fake = maker(torch.randn(64, 128, device=DEVICE)).detach()
            loss = F.softplus(critic(fake)).mean() + F.softplus(-critic(real)).mean()
            of_critic.zero_grad()
            loss.backward()
            of_critic.step()
            history.append(loss.item())
        loss = F.softplus(-critic(maker(torch.randn(64, 128, device=DEVICE)))).mean()
        of_maker.zero_grad()
        loss.backward()
        of_maker.step()
        history.append(loss.item())


def evaluates_often() -> None:
    """Evaluation: every 10 steps over 60 batches."""
    model = conv_net(128)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, fused=DEVICE == "cuda")
    images, labels = torch.randn(128, 3, 64, 64, device=DEVICE), torch.randint(0, 10, (128,), device=DEVICE)
    for step in range(STEPS):
        clock(step)
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            with timed("evaluation"), torch.no_grad():
                model.eval()
                right = sum((model(images).argmax(1) == labels).float().mean().item() for _ in range(60))
                model.train()
            print("accuracy", right / 60, flush=True)


def saves_often() -> None:
    """Checkpoints: 400 MB every 8 steps."""
    model = nn.Sequential(*[m for _ in range(8) for m in (nn.Linear(2048, 2048), nn.GELU())]).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=DEVICE == "cuda")
    data = torch.randn(512, 2048, device=DEVICE)
    with tempfile.TemporaryDirectory() as folder:
        for step in range(STEPS):
            clock(step)
            loss = model(data).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 8 == 7:
                with timed("checkpoint"):
                    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
                    torch.save(state, Path(folder) / "last.pt")


def lstm_by_hand() -> None:
    """Host: an LSTM cell called in a Python loop (T15)."""
    cell, head = nn.LSTMCell(256, 256).to(DEVICE), nn.Linear(256, 256).to(DEVICE)
    parameters = [*cell.parameters(), *head.parameters()]
    optimizer = torch.optim.Adam(parameters, 1e-3)
    data = torch.randn(48, 64, 256, device=DEVICE)
    for step in range(STEPS):
        clock(step)
        state = None
        losses = []
        for row in data:
            state = cell(row, state)
            losses.append(head(state[0]).square().mean())
        loss = torch.stack(losses).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()


def ragged_compile() -> None:
    """Compile: a compiled model that sees a new length every few steps (T16)."""
    torch._dynamo.config.automatic_dynamic_shapes = False
    model = nn.Sequential(nn.Embedding(1000, 256), nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 1000)).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    compiled = torch.compile(model)
    for step in range(STEPS):
        clock(step)
        tokens = torch.randint(0, 1000, (16, 64 + 8 * (step // 8 % 7)), device=DEVICE)
        loss = F.cross_entropy(compiled(tokens).flatten(0, 1), tokens.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


class Lines(IterableDataset):  # type: ignore[type-arg]
    """JSON lines that are parsed as they come."""

    def __iter__(self) -> Iterator[torch.Tensor]:
        text = json.dumps({"ids": list(range(2048))})
        while True:
            yield torch.tensor(json.loads(text)["ids"])


def stream() -> None:
    """Data: an IterableDataset without workers (T4, with the warning about duplicates)."""
    model = nn.Sequential(nn.Embedding(4096, 256), nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 4096)).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, fused=DEVICE == "cuda")
    batches = iter(DataLoader(Lines(), 32))
    for step in range(STEPS):
        clock(step)
        ids = next(batches).to(DEVICE)
        with torch.autocast(DEVICE, torch.bfloat16):
            loss = F.cross_entropy(model(ids).flatten(0, 1), ids.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def wide_matmul() -> None:
    """GPU: large products in fp32 without TF32 (T9, T13)."""
    model = nn.Sequential(*[m for _ in range(8) for m in (nn.Linear(4096, 4096), nn.ReLU())]).to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    data = torch.randn(4096, 4096, device=DEVICE)
    for step in range(STEPS):
        clock(step)
        loss = model(data).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def trainer() -> None:
    """transformers' Trainer: evaluation every 20 steps and a small batch (evaluation, T15, T18)."""
    from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments

    class Tokens(Dataset):  # type: ignore[type-arg]
        def __len__(self) -> int:
            return 8 * STEPS

        def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
            ids = torch.randint(0, 1000, (64,), generator=torch.Generator().manual_seed(index))
            return {"input_ids": ids, "labels": torch.tensor(index % 2)}

    class Clock(TrainerCallback):  # type: ignore[misc]
        def on_step_begin(self, _arguments: object, state: object, *_: object, **__: object) -> None:
            clock(state.global_step)  # type: ignore[attr-defined]

    small = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 512}
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder,
            per_device_train_batch_size=8,
            max_steps=STEPS,
            eval_strategy="steps",
            eval_steps=20,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            logging_steps=10,
        )
        model = BertForSequenceClassification(BertConfig(vocab_size=1000, **small))
        data = Tokens()
        Trainer(model, arguments, train_dataset=data, eval_dataset=data, callbacks=[Clock()]).train()


class Clicks(Dataset):  # type: ignore[type-arg]
    def __len__(self) -> int:
        return 1 << 20

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        made = torch.Generator().manual_seed(index)
        return torch.randint(0, 20_000, (64,), generator=made), torch.rand(1, generator=made)


def recommender() -> None:
    """Data: tables too large for the GPU stay on the CPU; looked up on the training thread every step (T4, T6)."""
    tables = nn.ModuleList(nn.Embedding(20_000, 512) for _ in range(8))
    tower = nn.Sequential(nn.Linear(4096, 512), nn.ReLU(), nn.Linear(512, 1)).to(DEVICE)
    optimizer = torch.optim.Adam(tower.parameters(), 1e-3)
    ids, clicked = next(iter(DataLoader(Clicks(), 2048)))
    for step in range(STEPS):
        clock(step)
        with timed("rows"):
            rows = torch.cat([table(ids[:, :4]).mean(1) for table in tables], 1).detach().to(DEVICE)
        loss = F.binary_cross_entropy_with_logits(tower(rows), clicked.to(DEVICE))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def detector() -> None:
    """Host: targets are matched image by image with masks, and each match waits for the GPU (T23, T15)."""
    backbone = conv_net(64)
    heads = nn.Linear(10, 4).to(DEVICE)
    optimizer = torch.optim.SGD([*backbone.parameters(), *heads.parameters()], 1e-3)
    images = torch.randn(32, 3, 32, 32, device=DEVICE)
    boxes = [torch.rand(20, 4, device=DEVICE) for _ in range(32)]
    for step in range(STEPS):
        clock(step)
        losses = []
        for found, wanted in zip(heads(backbone(images)), boxes, strict=True):
            good = wanted[(wanted[:, 2] > 0.3) & (wanted[:, 3] > 0.3)]
            if len(good):
                losses.append((found - good).abs().mean())
        loss = torch.stack(losses).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def physics() -> None:
    """Host: a small network under LBFGS, whose closure runs many times per step, with second derivatives (T15)."""
    network = nn.Sequential(*[m for _ in range(5) for m in (nn.Linear(64, 64), nn.Tanh())])
    model = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), network, nn.Linear(64, 1)).to(DEVICE)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=8)
    points = torch.rand(2048, 2, device=DEVICE, requires_grad=True)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        slope = torch.autograd.grad(model(points).sum(), points, create_graph=True)[0]
        curve = torch.autograd.grad(slope.sum(), points, create_graph=True)[0]
        loss = (curve.sum(1) - 1).square().mean()
        loss.backward()
        return loss

    for step in range(STEPS):
        clock(step)
        optimizer.step(closure)


def distillation() -> None:
    """GPU: a large teacher in fp32 answers under no_grad in every step; the student is small (T9, T13)."""
    teacher = nn.Sequential(*[m for _ in range(6) for m in (nn.Linear(4096, 4096), nn.GELU())]).to(DEVICE).eval()
    student = nn.Sequential(nn.Linear(4096, 256), nn.GELU(), nn.Linear(256, 4096)).to(DEVICE)
    optimizer = torch.optim.AdamW(student.parameters(), 1e-3, fused=DEVICE == "cuda")
    data = torch.randn(4096, 4096, device=DEVICE)
    for step in range(STEPS):
        clock(step)
        with torch.no_grad():
            wanted = teacher(data)
        loss = F.mse_loss(student(data), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


# The job, what the verdict should be, and one of these findings among the first two.
JOBS: dict[str, tuple[Callable[[], None], str, tuple[str, ...]]] = {
    "augment_inline": (augment_inline, "data", ("T4",)),
    "gan": (gan, "host", ("T15", "T23")),
    "evaluates_often": (evaluates_often, "evaluation", ("evaluation-time",)),
    "saves_often": (saves_often, "checkpoint", ("W4",)),
    "lstm_by_hand": (lstm_by_hand, "host", ("T15",)),
    "ragged_compile": (ragged_compile, "host", ("T16",)),
    "stream": (stream, "data", ("T4",)),
    "wide_matmul": (wide_matmul, "gpu", ("T9", "T13")),
    "trainer": (trainer, "host", ("T15", "evaluation-time")),
    "recommender": (recommender, "data", ("T4", "T6")),
    "detector": (detector, "host", ("T23", "T15")),
    "physics": (physics, "host", ("T15",)),
    "distillation": (distillation, "gpu", ("T9", "T13")),
}

if __name__ == "__main__":
    torch.manual_seed(0)
    JOBS[sys.argv[1]][0]()
    step_ms = 1e3 * (MARKS["end"] - MARKS["half"]) / (STEPS - 1 - STEPS // 2)
    print(
        "JOB", json.dumps({"name": sys.argv[1], "step_ms": round(step_ms, 3), "spent_s": dict(SPENT), "steps": STEPS})
    )
