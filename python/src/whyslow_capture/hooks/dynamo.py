"""torch.compile must neither trace what we put into its way nor notice it."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar, cast

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
    _skip(function, what_it_calls=False)
    return function


def never_compiled(function: Function) -> Function:
    """For our own work: neither it nor anything that it calls."""
    if _skip(function, what_it_calls=True):
        return function
    return _without_compiler(function)


def _skip(function: Callable[..., Any], *, what_it_calls: bool) -> bool:
    """False where `what_it_calls` was asked for and this torch can only skip the frame itself."""
    try:
        frames: Any = torch._C._dynamo.eval_frame
        if hasattr(frames, "set_code_exec_strategy"):
            action = frames._FrameAction
            below = action.SKIP if what_it_calls else action.DEFAULT
            frames.set_code_exec_strategy(function.__code__, frames._FrameExecStrategy(action.SKIP, below))
            return True
        # Before 2.7.
        frames.skip_code(function.__code__)
        return not what_it_calls
    except Exception:
        # A torch that calls it something else: frames of ours may be compiled, which is slow once but right.
        return True


def _without_compiler(function: Function) -> Function:
    """
    For torch before 2.7: the compiler is off in this thread during the call, as `torch._dynamo.disable` does it. Where
    a job compiles with `fullgraph=True` it would otherwise raise at the first line of ours that it cannot trace.
    """
    set_eval_frame = getattr(torch._C._dynamo.eval_frame, "set_eval_frame", None)
    if set_eval_frame is None:
        return function

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if is_compiling():  # traced, not called: that would break the graph
            return function(*args, **options)
        before = set_eval_frame(None)
        try:
            return function(*args, **options)
        finally:
            set_eval_frame(before)

    return cast(Function, not_compiled(call))


@not_compiled
def in_compiled_region() -> bool:
    """Whether dynamo looks at the functions that are called here."""
    frames: Any = torch._C._dynamo.eval_frame
    if hasattr(frames, "get_eval_frame_callback"):
        return callable(frames.get_eval_frame_callback())
    # Before 2.6 it is told only to who sets another.
    callback = frames.set_eval_frame(None)
    frames.set_eval_frame(callback)
    return callable(callback)


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
