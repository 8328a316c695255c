"""Runs a function on a module once the job has imported it. Nothing is imported for it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from ..patching import Hook

Action = Callable[[ModuleType], None]


def after_import(actions: Mapping[str, Action]) -> Callable[[], object]:
    """Acts at once on modules that are there. Returns a function that ends the waiting for the others."""
    waiting = {}
    for name, action in actions.items():
        module = sys.modules.get(name)
        # A module that is being imported has no functions yet.
        if module is None or getattr(getattr(module, "__spec__", None), "_initializing", False):
            waiting[name] = action
        else:
            action(module)
    if not waiting:
        return lambda: None
    finder = _Finder(waiting)
    sys.meta_path.insert(0, finder)

    def forget() -> None:
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)

    return Hook("sys.meta_path", forget).remove


class _Finder:
    """Finds nothing itself. The module, its spec and its loader stay as they are."""

    def __init__(self, waiting: dict[str, Action]) -> None:
        self._waiting = waiting
        # Two of these finders may wait for the same module, and each asks the other.
        self._asking: set[str] = set()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        action = self._waiting.get(name)
        if action is None or name in self._asking:
            return None
        self._asking.add(name)
        try:
            spec = _spec_of_others(self, name, path, target)
        finally:
            self._asking.discard(name)
        if spec is not None:
            self._act_after(spec.loader, name, action)
        return spec

    def _act_after(self, loader: Any, name: str, action: Action) -> None:
        execute = getattr(loader, "exec_module", None)
        if execute is None:
            return

        def exec_module(module: ModuleType) -> None:
            # Absent if another of these finders waits for the same module: its function has removed it, and calls ours.
            vars(loader).pop("exec_module", None)
            execute(module)
            # Some only look for the spec, so it is done only now.
            if self._waiting.pop(name, None) is not None:
                action(module)

        try:
            loader.exec_module = exec_module
        except AttributeError:  # a loader that cannot be watched: its calls are not timed
            return


def _spec_of_others(
    asking: _Finder, name: str, path: Sequence[str] | None, target: ModuleType | None
) -> ModuleSpec | None:
    for finder in list(sys.meta_path):
        find = None if finder is asking else getattr(finder, "find_spec", None)
        spec: ModuleSpec | None = None if find is None else find(name, path, target)
        if spec is not None:
            return spec
    return None
