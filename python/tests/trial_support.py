"""For tests of trials: small jobs that run as one turn of `whyslow try`."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import textwrap
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from support import SRC, run_torch_program

SITE = SRC / "whyslow_capture" / "inject" / "site"

# What `whyslow try` does before the job's own code, in a process that has imported torch already.
BEGIN = """
import os, sys
os.chdir(sys.argv[1])
os.environ["WHYSLOW_TRIAL"] = sys.argv[2]
from whyslow_trials import start
start.after_torch()
"""

# A loop that would run for long.
LOOP = """
import torch
from torch.utils.data import DataLoader, TensorDataset
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
loader = DataLoader(TensorDataset(torch.randn(4000, 8)), 4, shuffle=True)
for (x,) in loader:
    loss = model(x).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("the end of the script")
"""


@dataclass(frozen=True)
class Tried:
    ranks: list[dict[str, Any]]
    process: subprocess.CompletedProcess[str]
    folder: Path

    @property
    def result(self) -> dict[str, Any]:
        assert self.ranks, f"exit {self.process.returncode}\n{self.process.stdout}\n{self.process.stderr}"
        return self.ranks[0]


def write_spec(folder: Path, fixes: tuple[Any, ...], given: dict[str, Any]) -> Path:
    (folder / "results").mkdir(parents=True)
    named = [fix if isinstance(fix, dict) else {"name": fix} for fix in fixes]
    spec = {"results": str(folder / "results"), "fixes": named}
    path = folder / "trial.json"
    path.write_text(json.dumps({**spec, "steps": 6, "warmup": 3, **given}))
    return path


def tried(source: str, tmp_path: Path, *fixes: Any, **given: Any) -> Tried:
    """One turn of a job whose working directory is `tmp_path / "job"`."""
    job = tmp_path / "job"
    job.mkdir(exist_ok=True)
    folder = tmp_path / f"turn-{len(list(tmp_path.glob('turn-*')))}"
    spec = write_spec(folder, fixes, given)
    process = run_torch_program(BEGIN + textwrap.dedent(source), job, spec, check=False)
    return Tried(ranks_in(folder), process, folder)


@cache
def plain_turn() -> Tried:
    """LOOP as it is, for several tests."""
    with tempfile.TemporaryDirectory() as folder:
        return tried(LOOP, Path(folder))


def ranks_in(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted((folder / "results").glob("rank_*.json"))]


def injected_trial(command: list[str], tmp_path: Path, *fixes: Any, **given: Any) -> Tried:
    """A turn as `whyslow try` starts it, with a new interpreter."""
    folder = tmp_path / "turn"
    spec = write_spec(folder, fixes, given)
    env = {**os.environ, "WHYSLOW_INJECT": "1", "WHYSLOW_TRIAL": str(spec), "WHYSLOW_PYTHON": str(SRC)}
    env |= {"PYTHONPATH": str(SITE), "OMP_NUM_THREADS": "1"}
    process = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=400)
    return Tried(ranks_in(folder), process, folder)
