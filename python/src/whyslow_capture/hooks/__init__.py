"""Finds phases automatically: with torch's own hooks where they exist, otherwise by wrapping functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..patching import Patches
from . import collectives, dataloader, optimizer
from .backward import BackwardWatch
from .copies import CopyTimer
from .forward import ForwardEntry
from .gradient_sync import GradientSync
from .phase_tracker import PhaseTracker

if TYPE_CHECKING:
    from ..session import Capture

__all__ = ["InstalledHooks", "install"]


class InstalledHooks:
    """Calling it removes all hooks and restores torch."""

    def __init__(self, tracker: PhaseTracker, patches: Patches) -> None:
        self._tracker = tracker
        self._patches = patches

    def describe_iteration(self) -> dict[str, object] | None:
        """What an iteration of the job's loop is made of. None: one step of one optimizer after one backward pass."""
        tracker = self._tracker
        loop, per_round = tracker.loop, tracker.steps_per_round
        steps = per_round.total() * loop.usual
        passes = tracker.usual_passes
        if steps < 2 and passes < 2:
            return None
        return {
            "optimizer_steps": steps,
            "optimizers": len(per_round),
            "backward_passes": passes,
            "varies": loop.is_on and loop.varies,
            "rollout": loop.is_on,
        }

    def __call__(self) -> None:
        tracker = self._tracker
        tracker.is_installed = False
        optimizer.detach(tracker)
        tracker.disarm()
        # Wrappers that someone else has wrapped must stay. With the recorder off they only pass calls on.
        if tracker.backward is not None:
            tracker.backward.disarm()
        self._patches.remove()
        if tracker.recorder.buffer.on_step == tracker.sample_begins:
            tracker.recorder.buffer.on_step = None


def install(capture: Capture, *, steps: str, groups: frozenset[str]) -> InstalledHooks:
    """`steps`: "optimizer" if optimizer steps end training steps, by capture.optimizer_step(); otherwise "manual"."""
    tracker = PhaseTracker(capture, ends_steps=steps == "optimizer")
    patches = Patches(tracker.problems)
    installed = InstalledHooks(tracker, patches)
    parts = {
        "dataloader": lambda: dataloader.install(tracker, patches),
        "model": lambda: _watch_models(tracker, patches, groups),
        "zero_grad": lambda: optimizer.install_zero_grad(tracker, patches),
        "collectives": lambda: collectives.install(tracker, patches),
        "optimizer": lambda: optimizer.attach(tracker),
    }
    tracker.recorder.buffer.on_step = tracker.sample_begins
    for name in groups & parts.keys():
        # If a version of torch does not allow one of them, the others still work.
        with tracker.problems.guard(f"hook-{name}", f"installing the {name} hook"):
            parts[name]()
    return installed


def _watch_models(tracker: PhaseTracker, patches: Patches, groups: frozenset[str]) -> None:
    tracker.forward, tracker.backward = ForwardEntry(tracker), BackwardWatch(tracker)
    tracker.copies = CopyTimer(tracker) if "copies" in groups else None
    tracker.gradient_sync = GradientSync(tracker) if "gradient_sync" in groups else None
    tracker.backward.arm()

    def make(original: Any) -> Any:
        def get_hook_stubs(module: Any) -> Any:
            tracker.disarm()
            return original(module)

        return get_hook_stubs

    tracker.loop.may_watch = patches.put("torch.jit._recursive.get_hook_stubs", make) is not None
