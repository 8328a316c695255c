"""torch.compile must neither trace what we put into its way nor notice it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import torch

Function = TypeVar("Function", bound=Callable[..., Any])

is_compiling = torch.compiler.is_compiling


def not_compiled(function: Function) -> Function:
    """
    For functions that stand before one of torch's: their own frame is never compiled, whoever calls them; what they
    call is as before. Costs nothing a call, and unlike `torch._dynamo.disable` neither imports dynamo nor breaks a
    graph that they are traced into. Those that can be called in a compiled region begin with `if is_compiling()`, and
    do there only what they stand for.
    """
    return _skip(function, what_it_calls=False)


def never_compiled(function: Function) -> Function:
    """For our own work: neither it nor anything that it calls."""
    return _skip(function, what_it_calls=True)


def _skip(function: Function, *, what_it_calls: bool) -> Function:
    try:
        frames: Any = torch._C._dynamo.eval_frame
        if hasattr(frames, "set_code_exec_strategy"):
            action = frames._FrameAction
            below = action.SKIP if what_it_calls else action.DEFAULT
            frames.set_code_exec_strategy(function.__code__, frames._FrameExecStrategy(action.SKIP, below))
        else:  # before 2.7
            frames.skip_code(function.__code__)
    except Exception:
        pass  # a torch that calls it something else: frames of ours may be compiled, which is slow once but right
    return function


def has_compiled() -> bool:
    """Something in this process has been compiled."""
    utils = sys.modules.get("torch._dynamo.utils")
    counters = getattr(utils, "counters", None)
    return bool(counters and counters["stats"].get("unique_graphs"))


def compiles_backward() -> bool:
    """Compiled autograd is on: hooks and callbacks of ours would be traced into the graph."""
    module = sys.modules.get("torch._dynamo.compiled_autograd")
    if module is None:
        return False
    for name in ("compiled_autograd_enabled", "compiled_autograd_enabled_force_eager", "in_compiled_autograd_region"):
        if getattr(module, name, False):
            return True
    return False
