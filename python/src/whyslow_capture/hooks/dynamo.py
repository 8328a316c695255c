"""Keeps our code out of torch.compile: it must neither be traced nor break a graph."""

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
    For wrappers around torch functions: the wrapper's frame is never compiled, but what it calls may be. Costs nothing
    per call. Unlike `torch._dynamo.disable` it neither imports dynamo nor breaks a graph that the wrapper is traced
    into. A wrapper that can be called in a compiled region starts with `if is_compiling()` and then only calls the
    original.
    """
    _skip(function, what_it_calls=False)
    return function


def never_compiled(function: Function) -> Function:
    """For our own work: neither the function nor anything it calls is compiled."""
    if _skip(function, what_it_calls=True):
        return function
    return _without_compiler(function)


def _skip(function: Callable[..., Any], *, what_it_calls: bool) -> bool:
    """False if `what_it_calls` is set but this torch can only skip the frame itself."""
    try:
        frames: Any = torch._C._dynamo.eval_frame
        if hasattr(frames, "set_code_exec_strategy"):
            action = frames._FrameAction
            below = action.SKIP if what_it_calls else action.DEFAULT
            frames.set_code_exec_strategy(function.__code__, frames._FrameExecStrategy(action.SKIP, below))
            return True
        # torch before 2.7.
        frames.skip_code(function.__code__)
        return not what_it_calls
    except Exception:
        # Another torch has another name for this. Our frames may then be compiled, which is slow once but correct.
        return True


def _without_compiler(function: Function) -> Function:
    """
    For torch before 2.7: turns the compiler off in this thread during the call, as `torch._dynamo.disable` does. With
    `fullgraph=True` it would otherwise raise at the first line of ours that it cannot trace.
    """
    set_eval_frame = getattr(torch._C._dynamo.eval_frame, "set_eval_frame", None)
    if set_eval_frame is None:
        return function

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if is_compiling():  # being traced: changing the callback would break the graph
            return function(*args, **options)
        before = set_eval_frame(None)
        try:
            return function(*args, **options)
        finally:
            set_eval_frame(before)

    return cast(Function, not_compiled(call))


@not_compiled
def in_compiled_region() -> bool:
    """Whether dynamo would compile a function called here."""
    frames: Any = torch._C._dynamo.eval_frame
    if hasattr(frames, "get_eval_frame_callback"):
        return callable(frames.get_eval_frame_callback())
    # Before torch 2.6 the callback can only be read by replacing it.
    callback = frames.set_eval_frame(None)
    frames.set_eval_frame(callback)
    return callable(callback)


def has_compiled() -> bool:
    """Whether anything in this process has been compiled."""
    utils = sys.modules.get("torch._dynamo.utils")
    counters = getattr(utils, "counters", None)
    return bool(counters and counters["stats"].get("unique_graphs"))


def compiles_backward() -> bool:
    """Whether compiled autograd is on. It would trace our hooks and callbacks into the graph."""
    module = sys.modules.get("torch._dynamo.compiled_autograd")
    if module is None:
        return False
    for name in ("compiled_autograd_enabled", "compiled_autograd_enabled_force_eager", "in_compiled_autograd_region"):
        if getattr(module, name, False):
            return True
    return False
