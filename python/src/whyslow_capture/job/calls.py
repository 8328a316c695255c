"""Functions of torch and other libraries whose time is a phase of the job."""

from __future__ import annotations

import functools
import inspect
import sys
from contextlib import ExitStack
from functools import partial
from types import ModuleType
from typing import Any

from ..hooks.dynamo import is_compiling, not_compiled
from ..patching import Patches, leave_out_caller
from ..touched import CALLS, IN_STEPS, Target
from .clock import JobClock
from .imports import after_import

# They return the function to time.
_MAKERS = ("Metric._wrap_update", "Metric._wrap_compute")


def install(clock: JobClock, patches: Patches, groups: frozenset[str], undo: ExitStack) -> None:
    targets = [target for target in CALLS if target.group in groups]

    def wrap_all(module: ModuleType) -> None:
        for target in targets:
            if target.module == module.__name__:
                with clock.problems.guard("job-hooks", f"timing {target.id}"):
                    patches.put(target.id, partial(_timed, clock, target))

    undo.callback(after_import(dict.fromkeys((target.module for target in targets), wrap_all)))


def _timed(clock: JobClock, target: Target, original: Any) -> Any:
    if target.group in IN_STEPS:
        return timed_in_steps(clock, original, target.group, makes=target.name in _MAKERS)
    return timed(clock, original, target.group, target.called)


def timed_in_steps(clock: JobClock, function: Any, phase: str, *, makes: bool) -> Any:
    """The same function, timed in recorded steps. `makes`: what it returns is. None if it is no plain function."""
    if not inspect.isfunction(function):
        return None

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        recorder = clock.recorder
        if recorder is None or not recorder.is_sampling or clock.is_in_phase or is_compiling():
            return function(*args, **options)
        recorder.begin(phase)
        try:
            return function(*args, **options)
        except BaseException as error:
            leave_out_caller(error)
            raise
        finally:
            recorder.end(phase)

    @functools.wraps(function)
    def make(*args: Any, **options: Any) -> Any:
        made = function(*args, **options)
        return timed_in_steps(clock, made, phase, makes=False) or made

    return not_compiled(make if makes else call)


def timed(clock: JobClock, original: Any, phase: str, called: str) -> Any:
    """The same function, timed. None if it is no plain function: then it is left alone."""
    kind = type(original) if isinstance(original, (staticmethod, classmethod)) else None
    function = original.__func__ if kind is not None else original
    if (
        not inspect.isfunction(function)
        or inspect.iscoroutinefunction(function)
        or inspect.isgeneratorfunction(function)
    ):
        return None

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        frame = None if is_compiling() else clock.enter(phase, called)
        if frame is None:
            return function(*args, **options)
        try:
            return function(*args, **options)
        except BaseException as error:
            leave_out_caller(error)
            raise
        finally:
            clock.leave(frame, at=sys._getframe(1))

    wrapper = not_compiled(call)
    return wrapper if kind is None else kind(wrapper)
