"""
Waits for the job to import torch, then prepares capture. Runs at the start of every Python process of the job. Most of
them never import torch, so this file imports only modules that the interpreter has already loaded.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any


class AfterImport:
    """
    Acts on modules once the job has really imported them: transformers, for one, only searches for the spec of torch to
    see if it is installed. Finds nothing itself: a module, its spec and its loader stay as they are. `job/imports.py`
    uses it too.
    """

    def __init__(self, waiting: "dict[str, Callable[[ModuleType], object]]") -> None:
        self._waiting = waiting
        # Two of these may wait for the same module, and each asks the other.
        self._asking: set[str] = set()
        sys.meta_path.insert(0, self)

    def find_spec(
        self, name: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        if name not in self._waiting or name in self._asking:
            return None
        self._asking.add(name)
        try:
            for finder in list(sys.meta_path):
                find = None if finder is self else getattr(finder, "find_spec", None)
                spec: ModuleSpec | None = None if find is None else find(name, path, target)
                if spec is not None:
                    self._act_after(spec.loader, name)
                    return spec
        finally:
            self._asking.discard(name)
        return None

    def leave(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def _act_after(self, loader: "Any", name: str) -> None:
        execute = getattr(loader, "exec_module", None)
        if execute is None:
            return

        def exec_module(module: "ModuleType") -> None:
            # Absent if another of these waits for the same module: its function has removed it, and calls ours.
            vars(loader).pop("exec_module", None)
            execute(module)
            act = self._waiting.pop(name, None)
            if act is not None:
                act(module)

        try:
            loader.exec_module = exec_module
        except AttributeError:
            if name == "torch":
                say("torch has an import loader that cannot be watched")


class OurPackage:
    """
    While this is entered, our packages are found in $WHYSLOW_PYTHON, and nothing else there is: in an installed wheel
    that folder is the site-packages of what may be another environment.
    """

    def __init__(self, at: int) -> None:
        """`at`: the position in `sys.meta_path`, before or behind what finds the job's own whyslow_capture."""
        self.source, self.at = os.environ.get("WHYSLOW_PYTHON"), at

    def find_spec(
        self, name: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        if name not in ("whyslow_capture", "whyslow_training", "whyslow_trials") or not self.source:
            return None
        from _frozen_importlib_external import PathFinder

        return PathFinder.find_spec(name, [self.source])

    def __enter__(self) -> None:
        sys.meta_path.insert(self.at, self)

    def __exit__(self, *_: object) -> None:
        sys.meta_path.remove(self)


def watch_for_torch() -> None:
    if os.environ.get("WHYSLOW_TRIAL"):
        begin_trial("before_torch")
    if "torch" in sys.modules:  # imported by a .pth file
        arm()
    else:

        def imported(_: "ModuleType") -> None:
            finder.leave()
            arm()

        finder = AfterImport({"torch": imported})


def arm() -> None:
    """
    Never raises. Uses the job's own whyslow_capture if installed, otherwise ours.
    """
    if sys.hexversion < 0x030A0000:
        return say("it needs Python 3.10 or newer")
    if os.environ.get("WHYSLOW_TRIAL"):
        return begin_trial("after_torch")
    try:
        with OurPackage(len(sys.meta_path)):
            from whyslow_capture.inject.autostart import start_when_training_begins
        start_when_training_begins()
    except Exception as error:
        say(repr(error))


def begin_trial(moment: str) -> None:
    """
    `whyslow try`. Always our own package: an installed one may be older. A trial that cannot begin must not train, as
    its saves would be real.
    """
    try:
        with OurPackage(0):
            from whyslow_trials import start
        getattr(start, moment)()
    except Exception as error:
        import traceback

        traceback.print_exc()
        sys.stderr.write(f"whyslow try: the trial did not begin: {error!r}\n")
        sys.stderr.flush()
        os._exit(86)


def say(reason: str) -> None:
    import contextlib

    with contextlib.suppress(Exception):  # stderr may be missing or closed
        shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in reason)
        sys.stderr.write(f"whyslow_capture: this process is not captured: {shown}\n")
