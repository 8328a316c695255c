"""Times exposed gradient communication: how long the end of a backward pass waits for other ranks (DDP, FSDP)."""

from __future__ import annotations

import sys
import weakref
from typing import TYPE_CHECKING, Any

import torch

from .. import process
from ..layout import collective
from ..patching import Hook
from .collectives import suffix
from .dynamo import compiles_backward, never_compiled
from .modules import Module

if TYPE_CHECKING:
    from .phase_tracker import PhaseTracker

# Class names of FSDP1 and FSDP2. In torch 2.3 FSDP2's was FSDP.
_SHARDED = ("FSDPModule", "FullyShardedDataParallel", "FSDP")


class GradientSync:
    """
    DDP and FSDP wait for their collectives (on the stream, or with gloo on the host) in a callback that autograd runs
    at the end of the pass. Callbacks run in the order they were queued, and the very first gradient queues ours. So the
    time from our callback to the end of the pass is exposed communication.
    """

    def __init__(self, tracker: PhaseTracker) -> None:
        self._tracker = tracker
        self._searches = 0
        self._wrappers: list[weakref.ref[Module]] = []
        self._kind: str | None = None
        self._handle: Hook | None = None
        self._computed = -1

    def before(self, tensors: Any) -> None:
        self._drop()
        if not process.group_is_up() or process.world_size() < 2 or compiles_backward():
            return
        modules = self._tracker.modules
        if self._searches != modules.searches:
            self._searches = modules.searches
            self._look_for_wrappers(modules.get())
        root = tensors if isinstance(tensors, torch.Tensor) else next(iter(tensors), None)
        if self._kind is None or not isinstance(root, torch.Tensor) or root.grad_fn is None:
            return
        # A pass that only accumulates gradients has no collective to time.
        if not any(syncs(w) for w in map(_alive, self._wrappers) if w is not None):
            return
        handle: Any = root.register_hook(self._first_gradient)
        self._handle = Hook("torch.Tensor.register_hook", handle.remove)
        # Ours must run before FSDP's hooks on the same tensor (a model that returns its loss), which queue the wait.
        # torch calls hooks in the order of insertion and ignores `move_to_end`, so insert the others again.
        hooks: Any = root._backward_hooks
        for key in [key for key in hooks if key != handle.id]:
            hooks[key] = hooks.pop(key)

    def after(self) -> None:
        """Called at the end of the pass."""
        computed = self._computed
        self._drop()
        recorder = self._tracker.recorder
        # On a CPU, FSDP2 reduces the last gradients in its callback, and that call has been timed itself.
        if computed >= 0 and self._kind is not None and not recorder.began_since(self._kind, computed):
            recorder.mark_phase(self._kind, computed, recorder.mark(unlike=computed))

    @never_compiled
    def _first_gradient(self, gradient: Any) -> None:
        try:
            torch.autograd.Variable._execution_engine.queue_callback(self._graph_done)
        except Exception as error:
            self._tracker.failed(error)

    @never_compiled
    def _graph_done(self) -> None:
        try:
            # In a GPU job this is one of autograd's threads, on the training thread's stream, while that thread waits.
            self._computed = self._tracker.recorder.mark(on_any_thread=True)
        except Exception as error:
            self._tracker.failed(error)

    def _drop(self) -> None:
        self._computed = -1
        handle, self._handle = self._handle, None
        if handle is not None:
            handle.remove()

    def _look_for_wrappers(self, modules: list[Module]) -> None:
        found: dict[str, list[Module]] = {}
        for module in modules:
            kind = kind_of(module)
            if kind is not None:
                found.setdefault(kind, []).append(module)
        wrappers = [module for modules in found.values() for module in modules]
        self._wrappers = [weakref.ref(module) for module in wrappers]
        if not found:
            return
        kind = next(iter(found)) if len(found) == 1 else "grad_sync"
        groups = {suffix(group_of(module)) for module in wrappers}
        # With several groups the wait is for all of them, so name none.
        self._kind = collective(kind + (groups.pop() if len(groups) == 1 else ""))


def _alive(reference: weakref.ref[Module]) -> Module | None:
    return reference()


def kind_of(module: Module) -> str | None:
    """The collective with which this wrapper exchanges gradients; None for other modules."""
    if isinstance(module, torch.nn.parallel.DistributedDataParallel):
        return "all_reduce"
    if any(c.__name__ in _SHARDED and "fsdp" in c.__module__ for c in _bases(module)):
        return "reduce_scatter"
    return None


def _bases(module: Module) -> tuple[type, ...]:
    # If FSDP was never imported, no module is one.
    return type(module).__mro__ if "torch.distributed.fsdp" in sys.modules else ()


def syncs(wrapper: Module) -> bool:
    """False inside `no_sync()` and the like. True if unknown."""
    if hasattr(wrapper, "require_backward_grad_sync"):
        return bool(wrapper.require_backward_grad_sync)
    if "_sync_gradients" in wrapper.__dict__:
        return bool(wrapper.__dict__["_sync_gradients"])
    parameters = _sharded(wrapper)
    # The second name is that of torch 2.3.
    return bool(getattr(parameters, "reduce_grads", getattr(parameters, "reduce_scatter_grads", True)))


def group_of(wrapper: Module) -> Any:
    group = getattr(wrapper, "process_group", None)
    return group if group is not None else getattr(_sharded(wrapper), "_reduce_scatter_process_group", None)


def _sharded(wrapper: Any) -> Any:
    """FSDP2's parameter group, which it keeps in a state outside the module."""
    try:
        state = wrapper._get_fsdp_state()
        groups = getattr(state, "_fsdp_param_groups", None)
        return groups[0] if groups else getattr(state, "_fsdp_param_group", None)
    except Exception:
        return None
