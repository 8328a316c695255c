"""The CUDA caching allocator: segments that grow, and a cache that is kept."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .base import Fix

if TYPE_CHECKING:
    from ..trial import Trial

_SETTING = "expandable_segments:True"


class ExpandableSegments(Fix):
    name = "expandable-segments"

    def before_torch(self, trial: Trial) -> None:
        # torch 2.9 has renamed it and reads both.
        name = "PYTORCH_ALLOC_CONF" if "PYTORCH_ALLOC_CONF" in os.environ else "PYTORCH_CUDA_ALLOC_CONF"
        before = os.environ.get(name, "")
        if "expandable_segments" in before:
            return trial.refuse(self.name, f"{name} sets it already")
        os.environ[name] = f"{before},{_SETTING}" if before else _SETTING
        return None

    def install(self, trial: Trial) -> None:
        import torch

        if not torch.cuda.is_available():
            trial.refuse(self.name, "the job has no CUDA device")
        elif self.name not in trial.refused:
            trial.apply(self.name, _SETTING)


class KeepCache(Fix):
    name = "keep-cache"

    def install(self, trial: Trial) -> None:
        import torch

        trial.refuse(self.name, "the job does not call torch.cuda.empty_cache() in its steps")

        def empty_cache(*_: Any) -> None:
            trial.apply(self.name, "torch.cuda.empty_cache() left out")

        torch.cuda.empty_cache = torch.cuda.memory.empty_cache = empty_cache
