"""Fused optimizers, or foreach ones if there is no fused implementation."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from .base import Fix

if TYPE_CHECKING:
    from ..trial import Trial


class FusedOptimizer(Fix):
    name = "fused-optimizer"

    def install(self, trial: Trial) -> None:
        import torch

        for owner in vars(torch.optim).values():
            if inspect.isclass(owner) and issubclass(owner, torch.optim.Optimizer) and "__init__" in vars(owner):
                self._wrap(trial, owner)

    def _wrap(self, trial: Trial, owner: Any) -> None:
        import torch

        original = owner.__init__
        signature = inspect.signature(original)
        option = next((name for name in ("fused", "foreach") if name in signature.parameters), None)
        if option is None:
            return

        @functools.wraps(original)
        def __init__(self_: Any, *args: Any, **options: Any) -> None:
            try:
                bound = signature.bind(self_, *args, **options)
            except TypeError:
                return original(self_, *args, **options)  # raises the job's own error
            given = bound.arguments
            # Parameters may be a generator, which can be read only once.
            if not isinstance(given["params"], torch.Tensor):
                given["params"] = list(given["params"])
            if given.get(option) or given.get("differentiable"):
                trial.refuse(self.name, f"{owner.__name__} is {option} already")
                return original(*bound.args, **bound.kwargs)
            before = dict(given)
            given[option] = True
            if option == "fused" and given.get("foreach") is not None:
                given["foreach"] = None
            try:
                original(*bound.args, **bound.kwargs)
                trial.apply(self.name, f"{owner.__name__}({option}=True)")
            except (RuntimeError, ValueError, TypeError) as error:
                trial.refuse(self.name, f"{owner.__name__} refused {option}=True: {error}")
                bound.arguments.update(before)
                bound.arguments[option] = before.get(option)
                original(*bound.args, **bound.kwargs)
            return None

        owner.__init__ = __init__
