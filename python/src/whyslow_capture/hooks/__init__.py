"""Phases without being told where they are: hooks of torch's where it has them, wrapped functions where it has none."""

from __future__ import annotations

import contextlib
import os
import weakref

from . import collectives, dataloader, optimizer
from .copies import CopyTimer
from .flow import Flow, Steps
from .forward import ForwardEntry
from .gradient_sync import GradientSync
from .patches import Patches

__all__ = ["Uninstall", "install"]


class Uninstall:
    """What is installed. Called, everything is as before."""

    def __init__(self, flow: Flow, patches: Patches) -> None:
        self._flow = flow
        self._patches = patches

    def __call__(self) -> None:
        flow = self._flow
        optimizer.detach(flow)
        flow.disarm()
        # Wrappers that somebody else has wrapped stay where they are: with the recorder off they only pass calls on.
        flow.backward.disarm()
        self._patches.remove()
        if flow.recorder.tape.on_step == flow.sample_begins:
            flow.recorder.tape.on_step = None


def install(capture: Steps, *, steps: str) -> Uninstall:
    """`steps`: "optimizer": an optimizer's step ends one, by capture.optimizer_step(). "manual": others do."""
    flow = Flow(capture, ends_steps=steps == "optimizer")
    patches = Patches()
    installed = Uninstall(flow, patches)
    parts = {
        "dataloader": lambda: dataloader.install(flow, patches),
        "backward": lambda: flow.backward.arm(),
        "zero_grad": lambda: optimizer.install_zero_grad(flow, patches),
        "collectives": lambda: collectives.install(flow, patches),
        "optimizer": lambda: optimizer.attach(flow),
    }
    flow.copies, flow.forward, flow.gradient_sync = CopyTimer(flow), ForwardEntry(flow), GradientSync(flow)
    flow.recorder.tape.on_step = flow.sample_begins
    for name, put in parts.items():
        # One that a version of torch does not allow leaves the others in place.
        with flow.trouble.guard(f"hook-{name}", f"timing by {name}"):
            put()
    _installed.add(installed)
    return installed


# For a forked child, which trains nothing: it gets torch as it was.
_installed: weakref.WeakSet[Uninstall] = weakref.WeakSet()


def _uninstall_in_child() -> None:
    for installed in list(_installed):
        with contextlib.suppress(Exception):  # nobody is there to be told
            installed()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_uninstall_in_child)
