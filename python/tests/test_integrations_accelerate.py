"""A loop with a real Accelerator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from frameworks import framework
from support import records_of

from whyslow_capture import layout
from whyslow_capture.api import active_session
from whyslow_capture.integrations.accelerate import instrument

accelerate = framework("accelerate")

PHASES = {layout.DATA_WAIT, layout.FORWARD, layout.BACKWARD, layout.OPTIMIZER, layout.TRAINING_STEP}


class Job:
    def __init__(self, folder: Path | None, accumulate: int = 1) -> None:
        torch.manual_seed(0)
        self.accelerator = accelerate.Accelerator(
            cpu=True, gradient_accumulation_steps=accumulate, project_dir=None if folder is None else str(folder)
        )
        self.losses: list[float] = []

    def prepare(self) -> None:
        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        generator = torch.Generator().manual_seed(5)
        loader = torch.utils.data.DataLoader(torch.randn(60, 4, generator=generator), batch_size=2)
        self.model, self.optimizer, self.loader = self.accelerator.prepare(model, optimizer, loader)

    def train(self) -> None:
        for batch in self.loader:
            with self.accelerator.accumulate(self.model):
                loss = self.model(batch).square().mean()
                self.losses.append(loss.item())
                self.accelerator.backward(loss)
                self.optimizer.step()
                self.optimizer.zero_grad()


def whole_steps(out: Path) -> list[int]:
    return [record["step"] for record in records_of(out) if record["name"] == layout.TRAINING_STEP]


def test_thirty_steps(tmp_path: Path):
    job = Job(tmp_path)
    job.prepare()
    with instrument(job.accelerator, max_overhead=1, hooks="all") as instrumented:
        assert active_session() is instrumented.capture
        job.train()
    out = tmp_path / "whyslow"
    assert whole_steps(out) == [10, 20, 30]
    # 30 is the last step of the epoch, where Accelerate looks in vain for a next batch.
    for step in (10, 20):
        assert {record["name"] for record in records_of(out) if record["step"] == step} >= PHASES
    assert active_session() is None
    plain = Job(None)
    plain.prepare()
    plain.train()
    assert job.losses == plain.losses, "training is the same with and without"


def test_an_accumulated_step_is_one_step(tmp_path: Path):
    job = Job(None, accumulate=3)
    job.prepare()
    with instrument(job.accelerator, out=tmp_path, record_every_n_steps=1, max_overhead=1, hooks="all", steps_done=100):
        job.train()
    assert whole_steps(tmp_path) == list(range(101, 111))
    micro = [r["micro"] for r in records_of(tmp_path) if r["name"] == layout.BACKWARD and r["step"] == 105]
    assert micro == [0, 1, 2]


def test_micro_batches_without_automatic_phases(tmp_path: Path):
    job = Job(None, accumulate=3)
    job.prepare()
    seen: list[int] = []
    with instrument(
        job.accelerator, out=tmp_path, auto_phases=False, record_every_n_steps=1, max_overhead=1
    ) as instrumented:
        original = job.model.forward
        job.model.forward = lambda batch: (seen.append(instrumented.capture.recorder.micro), original(batch))[1]
        job.train()
    assert seen[:7] == [0, 1, 2, 0, 1, 2, 0]


def test_a_later_prepared_optimizer_counts_and_end_training_closes(tmp_path: Path):
    job = Job(None)
    instrumented = instrument(job.accelerator, out=tmp_path, record_every_n_steps=10, max_overhead=1)
    job.prepare()
    job.train()
    job.accelerator.end_training()
    assert instrumented.capture is None and active_session() is None
    assert whole_steps(tmp_path) == [10, 20, 30]


def test_closing_restores_the_accelerator(tmp_path: Path):
    job = Job(None)
    job.prepare()
    before = {name: vars(owner).get(name) for owner, name in watched(job)}
    with instrument(job.accelerator, out=tmp_path):
        assert {name: vars(owner).get(name) for owner, name in watched(job)} != before
    assert {name: vars(owner).get(name) for owner, name in watched(job)} == before


def watched(job: Job) -> list[tuple[Any, str]]:
    return [(job.accelerator, "prepare"), (job.accelerator, "end_training"), (job.optimizer, "step")]
