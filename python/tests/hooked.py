"""For tests of hooks and injection: captures with hooks, small jobs, and processes started as by `whyslow run`."""

from __future__ import annotations

import os
import subprocess
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from support import SRC, records_of
from warm_python import warm_python

from whyslow_capture.api import open_session
from whyslow_capture.config import CaptureConfig
from whyslow_capture.session import Capture

SITE = SRC / "whyslow_capture" / "inject" / "site"


@contextmanager
def capturing(out: Path, steps: str = "optimizer", **config: Any) -> Iterator[Capture]:
    """A capture with hooks that records every step."""
    given = {"record_every_n_steps": 1, "max_overhead": 1.0, "hooks": ("all",), **config}
    capture = open_session(Capture(CaptureConfig(out=str(out), **given)), steps)
    try:
        yield capture
    finally:
        capture.close()


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(8, 8)
        self.second = torch.nn.Linear(8, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x).relu())


class Job:
    """A model and its optimizer. `step` is one iteration of a plain loop."""

    def __init__(self, model: torch.nn.Module | None = None, **options: Any) -> None:
        torch.manual_seed(0)
        self.model = model or Net()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, **options)

    def backward(self, x: torch.Tensor) -> float:
        loss = self.model(x).pow(2).mean()
        loss.backward()
        return float(loss.detach())

    def step(self, x: torch.Tensor) -> float:
        loss = self.backward(x)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss


def batches(count: int) -> list[torch.Tensor]:
    torch.manual_seed(1)
    return list(torch.randn(count, 4, 8))


def phases(out: Path, step: int, rank: int = 0) -> list[tuple[str, int]]:
    """(name, micro) in the order they began, without `training_step`. Equal times keep the order of the file."""
    found = [r for r in records_of(out, rank) if r["step"] == step and r["name"] != "training_step"]
    return [(r["name"], r["micro"]) for r in sorted(found, key=lambda r: r["start_ms"])]


def names(out: Path, step: int, rank: int = 0) -> list[str]:
    return [name for name, _ in phases(out, step, rank)]


def duration(out: Path, step: int, name: str, rank: int = 0) -> float:
    return sum(r["duration_ms"] for r in records_of(out, rank) if r["step"] == step and r["name"] == name)


def steps_of(out: Path, rank: int = 0) -> list[int]:
    return [r["step"] for r in records_of(out, rank) if r["name"] == "training_step"]


def injected(out: Path, **settings: object) -> dict[str, str]:
    """The environment in which `whyslow run` starts a job."""
    path = os.environ.get("PYTHONPATH")
    return {
        **os.environ,
        "WHYSLOW_INJECT": "1",
        "WHYSLOW_OUT": str(out),
        "WHYSLOW_RUN": "the-run",
        "WHYSLOW_PYTHON": str(SRC),
        "WHYSLOW_RECORD_EVERY_N_STEPS": "1",
        "WHYSLOW_MAX_OVERHEAD": "1",
        "PYTHONPATH": os.pathsep.join([str(SITE), *([path] if path else [])]),
        # Tests are about one thing at a time. The default window has its own.
        **({} if any(name.startswith("trace") for name in settings) else {"WHYSLOW_TRACE": "0"}),
        "OMP_NUM_THREADS": "1",
        **{f"WHYSLOW_{name.upper()}": str(value) for name, value in settings.items()},
    }


def run_warm_script(
    source: str, folder: Path, *arguments: str, env: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """As `python train.py`, but torch is there already, as if a .pth file had imported it before us."""
    script = folder / "train.py"
    script.write_text(textwrap.dedent(source))
    return warm_python().run(script.read_text(), list(arguments), env, 400, script)
