"""Runs a function on a module once the job has imported it. Nothing is imported for it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import ModuleType

from ..inject.start import AfterImport
from ..patching import Hook


def after_import(actions: Mapping[str, Callable[[ModuleType], object]]) -> Callable[[], object]:
    """Acts at once on modules that are there. Returns a function that ends the waiting for the others."""
    waiting = {}
    for name, act in actions.items():
        module = sys.modules.get(name)
        # A module that is being imported has no functions yet.
        if module is None or getattr(getattr(module, "__spec__", None), "_initializing", False):
            waiting[name] = act
        else:
            act(module)
    return Hook("sys.meta_path", AfterImport(waiting).leave).remove if waiting else lambda: None
