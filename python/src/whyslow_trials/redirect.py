"""Replaces one argument of a function or method of another library."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any


def map_argument(owner: Any, function: str, argument: str, change: Callable[[Any], Any]) -> None:
    """Calls of `owner.function` get the changed argument. Does nothing if there is no such function or argument."""
    original = vars(owner).get(function)
    if not inspect.isfunction(original):
        return
    signature = inspect.signature(original)
    if argument not in signature.parameters:
        return

    @functools.wraps(original)
    def call(*args: Any, **options: Any) -> Any:
        try:
            bound = signature.bind(*args, **options)
        except TypeError:
            return original(*args, **options)  # raises the job's own error
        default = signature.parameters[argument].default
        given = bound.arguments.get(argument, None if default is inspect.Parameter.empty else default)
        bound.arguments[argument] = change(given)
        return original(*bound.args, **bound.kwargs)

    setattr(owner, function, call)
