"""Finds the modules that the training loop itself calls, and lets fixes act on them and on their calls."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as module_of_torch

from whyslow_capture.hooks.dynamo import is_compiling, never_compiled

from .fixes.base import Fix
from .trial import Trial

# Some loops train parts of the model in turns. Later a new outermost module is not looked for.
LOOK_STEPS = 3


class OutermostModules:
    """
    Global hooks slow every module down, so they are there in the first steps only. An outermost module then has one
    entry of ours: `_compiled_call_impl`, which torch calls instead of the module's forward where it is set.
    """

    def __init__(self, trial: Trial, fixes: Sequence[Fix]) -> None:
        self._trial, self._fixes = trial, fixes
        self._depth = 0
        self._found: set[int] = set()
        self._hooks: list[Any] = []

    def install(self) -> None:
        before = module_of_torch.register_module_forward_pre_hook(self._before)
        after = module_of_torch.register_module_forward_hook(self._after, always_call=True)
        self._hooks = [before, after]
        self._trial.at_step_end.append(self._step_ended)

    def _step_ended(self, count: int) -> None:
        if count >= LOOK_STEPS:
            while self._hooks:
                self._hooks.pop().remove()

    @never_compiled
    def _before(self, module: nn.Module, args: Any) -> Any:
        if is_compiling() or threading.current_thread() is not threading.main_thread():
            return None
        self._depth += 1
        if self._depth > 1 or id(module) in self._found or not self._is_trained(module):
            return None
        self._found.add(id(module))
        for fix in self._fixes:
            fix.found_module(self._trial, module)
        inner = module._compiled_call_impl or module._call_impl
        for fix in self._fixes:
            inner = fix.compiled(self._trial, module, inner)
        module._compiled_call_impl = self._entry(inner)
        return self._changed(args, {})[0]

    def _after(self, module: nn.Module, args: Any, output: Any) -> None:
        if not is_compiling() and threading.current_thread() is threading.main_thread():
            self._depth = max(0, self._depth - 1)

    def _is_trained(self, module: nn.Module) -> bool:
        if self._trial.in_backward or not torch.is_grad_enabled() or not module.training:
            return False
        return any(p.requires_grad for p in module.parameters())

    def _entry(self, inner: Any) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            if is_compiling() or not torch.is_grad_enabled():
                return inner(*args, **options)
            args, options = self._changed(args, options)
            return inner(*args, **options)

        return call

    def _changed(self, args: tuple[Any, ...], options: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        for fix in self._fixes:
            args, options = fix.call_begins(self._trial, args, options)
        return args, options
