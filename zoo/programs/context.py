"""What a case is built for: the device, the sizes, and whether this is a smoke test."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

T = TypeVar("T")


@dataclass(frozen=True)
class Sizes:
    """The language model of the original cases."""

    width: int
    layers: int
    heads: int
    tokens: int
    batch: int


# a: the set given to developers; b: held out; smoke: runs on any CPU in seconds.
SIZES: dict[str, Sizes] = {
    "a": Sizes(width=1024, layers=8, heads=16, tokens=1024, batch=16),
    "b": Sizes(width=1536, layers=6, heads=12, tokens=512, batch=24),
    "smoke": Sizes(width=32, layers=2, heads=2, tokens=16, batch=2),
}


@dataclass(frozen=True)
class Context:
    device: str
    sizes: Sizes
    smoke: bool
    scratch: Path
    """A folder for files that a case writes; removed at the end."""

    def pick(self, full: T, smoke: T) -> T:
        return smoke if self.smoke else full

    def workers(self, count: int) -> int:
        return min(count, 2) if self.smoke else count

    def on_gpu(self) -> bool:
        return self.device == "cuda"

    def pinned(self, tensor: Tensor) -> Tensor:
        return tensor.pin_memory() if self.on_gpu() else tensor

    def autocast(self, dtype: torch.dtype | None) -> torch.autocast:
        # Not in a smoke test: some virtual CPUs announce bf16 instructions that they do not have.
        enabled = dtype is not None and not self.smoke
        return torch.autocast(self.device, dtype=dtype or torch.bfloat16, enabled=enabled)

    def compiled(self, module: nn.Module, **options: Any) -> Any:
        # A smoke test checks the programs, not Inductor, and must not need a C++ compiler.
        if self.smoke:
            return torch.compile(module, backend="eager", dynamic=options.get("dynamic"))
        return torch.compile(module, **options)
