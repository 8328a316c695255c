"""
Steps of a job whose updates nobody announces: it calls no torch.optim optimizer and clears no gradients with
`zero_grad()` (fastai, torch.func, updates by hand). There each backward pass ends a step.
"""

from __future__ import annotations

import gc
from typing import Any

import torch

from .modules import subclasses

# Passes after which an optimizer is looked for that is yet to step, which takes up to 0.1 s: once if there is none, and
# once more if there is one without gradients. A step may make a pass for each sample (DP-SGD with torch.autograd.grad).
UNANNOUNCED = 3
ONE_PER_SAMPLE = 128


class PassSteps:
    def __init__(self) -> None:
        self.is_open = True
        """Passes may end steps: nothing else has ended one."""
        self.is_on = False
        """They do."""
        self._passes = 0

    def close(self) -> None:
        """Something else ends steps."""
        self.is_open = self.is_on = False

    def pass_ends_step(self) -> bool:
        if self.is_open and not self.is_on:
            self._passes += 1
            if self._passes in (UNANNOUNCED, ONE_PER_SAMPLE):
                optimizers = _optimizers()
                if any(_has_gradients(optimizer) for optimizer in optimizers):
                    self.close()
                else:
                    self.is_on = not optimizers or self._passes == ONE_PER_SAMPLE
        return self.is_on


def _optimizers() -> list[Any]:
    """Compares types: `isinstance` would resolve lazy proxies."""
    kinds = subclasses(torch.optim.Optimizer)
    return [thing for thing in gc.get_objects() if type(thing) in kinds]


def _has_gradients(optimizer: Any) -> bool:
    groups = optimizer.__dict__.get("param_groups", [])
    return any(getattr(parameter, "grad", None) is not None for group in groups for parameter in group["params"])
