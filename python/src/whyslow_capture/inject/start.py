"""
Waits for the job to import torch, and then arms capture. Runs at the start of every Python process of the job, most of
which never import it: no imports here but what the interpreter itself has loaded.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any


class TorchFinder:
    """
    On `sys.meta_path` until torch has been imported; being looked for is not enough (transformers does that just to
    know whether there is one). The module, its spec and its loader are what they would have been.
    """

    def find_spec(
        self, name: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        if name != "torch":
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = None if find is None else find(name, path, target)
            if spec is not None:
                self._arm_after(spec.loader)
                return spec
        return None

    def _arm_after(self, loader: "Any") -> None:
        execute = getattr(loader, "exec_module", None)
        if execute is None:
            return

        def exec_module(module: "ModuleType") -> None:
            del loader.exec_module
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                arm()

        try:
            loader.exec_module = exec_module
        except AttributeError:
            say("the loader of torch cannot be watched")


def watch_for_torch() -> None:
    if "torch" in sys.modules:  # by a .pth file
        arm()
    else:
        sys.meta_path.insert(0, TorchFinder())


def arm() -> None:
    """Never fails. The package is the job's own if it has one, otherwise ours, which is not left on its path."""
    if sys.hexversion < 0x030A0000:
        return say("it needs Python 3.10")
    source = os.environ.get("WHYSLOW_PYTHON")
    try:
        if source:
            sys.path.append(source)
        try:
            from whyslow_capture.inject.autostart import start_when_training_begins
        finally:
            if source and sys.path and sys.path[-1] == source:
                sys.path.pop()
        start_when_training_begins()
    except Exception as error:
        say(repr(error))


def say(reason: str) -> None:
    import contextlib

    with contextlib.suppress(Exception):  # no stderr, or a closed one
        sys.stderr.write(f"whyslow_capture: nothing is captured in this process: {reason}\n")
