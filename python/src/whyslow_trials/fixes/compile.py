"""torch.compile of the outermost modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .base import Fix

if TYPE_CHECKING:
    from torch import nn

    from ..remedies import TrialId
    from ..trial import Trial


class Compile(Fix):
    name: TrialId = "compile"
    acts_on_modules = True
    mode: str | None = None

    def compiled(self, trial: Trial, module: nn.Module, call: Callable[..., Any]) -> Callable[..., Any]:
        import torch

        if hasattr(module, "_orig_mod") or module._compiled_call_impl is not None:
            trial.refuse(self.name, f"{type(module).__name__} is compiled already")
            return call
        shown = "" if self.mode is None else f", mode={self.mode!r}"
        trial.apply(self.name, f"torch.compile({type(module).__name__}{shown})")
        return torch.compile(call, mode=self.mode)


class CompileGraphs(Compile):
    name = "compile-graphs"
    mode = "reduce-overhead"

    def install(self, trial: Trial) -> None:
        import torch

        # On a CPU there are no CUDA graphs, so it is the same as `compile`.
        if not torch.cuda.is_available():
            trial.refuse(self.name, "the job has no CUDA device")
            self.acts_on_modules = False

    def compiled(self, trial: Trial, module: nn.Module, call: Callable[..., Any]) -> Callable[..., Any]:
        return super().compiled(trial, module, call) if self.name not in trial.refused else call
