"""The same random numbers in every trial: seeds are set where the job sets none."""

from __future__ import annotations

import functools
import os
import random
import sys
from types import ModuleType
from typing import Any

import torch

from whyslow_capture.job.imports import after_import

from .trial import Trial


def install(trial: Trial) -> None:
    # Ranks that seed nothing draw different numbers. They still do.
    seed = trial.spec.seed + int(os.environ.get("RANK", "0") or 0)
    random.seed(seed)
    torch.manual_seed(seed)
    after_import({"numpy.random": lambda module: _seed_numpy(module, seed)})
    original = torch.manual_seed

    @functools.wraps(original)
    def manual_seed(*args: Any, **options: Any) -> Any:
        trial.seeded_by_job = True
        return original(*args, **options)

    for module in (torch, sys.modules["torch.random"]):
        module.manual_seed = manual_seed  # type: ignore[attr-defined]


def _seed_numpy(module: ModuleType, seed: int) -> None:
    module.seed(seed)
