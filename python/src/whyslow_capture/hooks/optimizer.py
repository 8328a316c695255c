"""Times `optimizer` and finds the end of a step, with torch's own hooks around every optimizer's step()."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Protocol

from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from ..patching import Hook, Patch, Patches
from .dynamo import is_compiling, never_compiled, not_compiled

if TYPE_CHECKING:
    from .phase_tracker import PhaseTracker


class OptimizerTarget(Protocol):
    recorder: Any
    sees_steps: bool
    plain_optimizer: int
    """The id of an optimizer whose steps end training steps, while nothing else needs to be seen. 0: none."""

    def end_quiet_step(self) -> bool:
        """Ends a training step of that optimizer. False if `optimizer_ends` must be called."""
        ...

    def optimizer_begins(self, optimizer: object) -> None: ...
    def optimizer_ends(self, optimizer: object) -> None: ...
    def failed(self, error: Exception) -> None: ...


class _Relay:
    """
    torch iterates over its hooks while it calls them, so a hook must not add or remove any. But captures begin and end
    inside hooks. Hence one permanent pair of hooks that passes calls on to the current target.
    """

    target: OptimizerTarget | None = None
    inside = False
    before: Hook | None = None
    after: Hook | None = None


_relay = _Relay()


def attach(target: OptimizerTarget) -> None:
    _relay.target = target
    set_pre_hook(True)
    if _relay.after is None:
        handle = register_optimizer_step_post_hook(_after)
        _relay.after = Hook("torch.optim.optimizer._global_optimizer_post_hooks", handle.remove)


def set_pre_hook(wanted: bool) -> None:
    """Adds or removes the hook before step(), which only recorded steps need. Never call this inside that hook."""
    if wanted and _relay.before is None:
        handle = register_optimizer_step_pre_hook(_before)
        _relay.before = Hook("torch.optim.optimizer._global_optimizer_pre_hooks", handle.remove)
    elif not wanted and _relay.before is not None:
        _relay.before.remove()
        _relay.before = None


def detach(target: OptimizerTarget) -> None:
    if _relay.target is not target:
        return
    _relay.target = None
    if not _relay.inside:
        set_pre_hook(False)
        if _relay.after is not None:
            _relay.after.remove()
            _relay.after = None


def attached() -> OptimizerTarget | None:
    return _relay.target


# A compiled step() traces its hooks. There they do nothing and break no graph, but we do not see the step.
@never_compiled
def _before(optimizer: Any, args: Any, options: Any) -> None:
    if is_compiling():
        return
    target = _relay.target
    if target is None:
        return
    target.sees_steps = True
    if not target.recorder.recording:
        return
    _relay.inside = True
    try:
        target.optimizer_begins(optimizer)
    except Exception as error:
        target.failed(error)
    finally:
        _relay.inside = False


@never_compiled
def _after(optimizer: Any, args: Any, options: Any) -> None:
    if is_compiling():
        return
    target = _relay.target
    # Nearly all steps end here: as few calls as possible.
    if target is None or (id(optimizer) == target.plain_optimizer and target.end_quiet_step()):
        return
    _relay.inside = True
    try:
        target.optimizer_ends(optimizer)
    except Exception as error:
        target.failed(error)
    finally:
        _relay.inside = False


def install_zero_grad(tracker: PhaseTracker, patches: Patches) -> None:
    """
    Of optimizers and of models: an optimizer that is not torch's (Keras has its own) or an update by hand calls no
    hooks, but the gradients of the model are cleared in between.
    """
    for owner in ("torch.optim.Optimizer", "torch.nn.Module"):
        _watch_zero_grad(owner, tracker, patches)


def _watch_zero_grad(owner: str, tracker: PhaseTracker, patches: Patches) -> None:
    patch: Patch | None = None

    @never_compiled
    def begins(holder: object) -> None:
        try:
            if not tracker.gradients_zeroed(holder) and patch is not None:
                patch.remove()
        except Exception as error:
            tracker.failed(error)

    def make(original: Any) -> Any:
        @functools.wraps(original)
        def zero_grad(self: Any, *args: Any, **options: Any) -> None:
            if not is_compiling():
                begins(self)
            return original(self, *args, **options)

        return not_compiled(zero_grad)

    patch = patches.put(f"{owner}.zero_grad", make)
