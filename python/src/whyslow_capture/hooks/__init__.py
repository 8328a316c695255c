"""Phases without being told where they are: hooks of torch's where it has them, wrapped functions where it has none."""

from __future__ import annotations

import contextlib
import os
import weakref

from ..patches import Patches
from . import collectives, dataloader, optimizer
from .copies import CopyTimer
from .forward import ForwardEntry
from .gradient_sync import GradientSync
from .phase_tracker import PhaseTracker, Steps

__all__ = ["Uninstall", "install"]


class Uninstall:
    """What is installed. Called, everything is as before."""

    def __init__(self, tracker: PhaseTracker, patches: Patches) -> None:
        self._tracker = tracker
        self._patches = patches

    def __call__(self) -> None:
        tracker = self._tracker
        optimizer.detach(tracker)
        tracker.disarm()
        # Wrappers that somebody else has wrapped stay where they are: with the recorder off they only pass calls on.
        tracker.backward.disarm()
        self._patches.remove()
        if tracker.recorder.buffer.on_step == tracker.sample_begins:
            tracker.recorder.buffer.on_step = None


def install(capture: Steps, *, steps: str) -> Uninstall:
    """`steps`: "optimizer": an optimizer's step ends one, by capture.optimizer_step(). "manual": others do."""
    tracker = PhaseTracker(capture, ends_steps=steps == "optimizer")
    patches = Patches()
    installed = Uninstall(tracker, patches)
    parts = {
        "dataloader": lambda: dataloader.install(tracker, patches),
        "backward": lambda: tracker.backward.arm(),
        "zero_grad": lambda: optimizer.install_zero_grad(tracker, patches),
        "collectives": lambda: collectives.install(tracker, patches),
        "optimizer": lambda: optimizer.attach(tracker),
    }
    tracker.copies, tracker.forward, tracker.gradient_sync = (
        CopyTimer(tracker),
        ForwardEntry(tracker),
        GradientSync(tracker),
    )
    tracker.recorder.buffer.on_step = tracker.sample_begins
    for name, put in parts.items():
        # One that a version of torch does not allow leaves the others in place.
        with tracker.problems.guard(f"hook-{name}", f"timing by {name}"):
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
