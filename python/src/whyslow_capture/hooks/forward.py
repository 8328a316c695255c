"""Times `forward`: from the first call of a model in a micro-batch to the begin of backward."""

from __future__ import annotations

import contextlib
import threading
import weakref
from typing import TYPE_CHECKING, Any

import torch

from ..patching import Hook
from .dynamo import has_compiled, is_compiling, never_compiled
from .modules import Module, children, roots

if TYPE_CHECKING:
    from .phase_tracker import PhaseTracker

# If a root module is never called (LightningModule.training_step, wrappers), its children are hooked instead.
MAX_LEVELS = 3
MAX_MODULES = 32
# Micro-batches without a call before that happens.
PATIENCE = 2


class _EntryHook:
    """
    The forward pre-hook. In pickles and copies of a model it becomes a no-op, so that they load where whyslow is not
    installed.
    """

    def __init__(self, entry: ForwardEntry) -> None:
        self._entry = entry

    @never_compiled
    def __call__(self, module: Any, args: Any) -> None:
        # When traced into a compiled region it must do nothing.
        if is_compiling():
            return
        entry = self._entry
        if entry.only_no_grad and not entry.no_grad_regions.is_open and torch.is_grad_enabled():
            return  # the usual call while no-grad regions are expected
        entry.called()

    def __deepcopy__(self, memo: object) -> Any:
        return contextlib.nullcontext().__exit__

    def __reduce__(self) -> Any:
        return getattr, (contextlib.nullcontext(), "__exit__")


class ForwardEntry:
    """
    Hooks root modules from the end of loading to the first call, in recorded steps. In others only while no-grad
    regions are expected; then hooks stay from step to step, since adding and removing them costs ten times
    what a call does.
    """

    def __init__(self, tracker: PhaseTracker) -> None:
        self._tracker = tracker
        self.no_grad_regions = tracker.no_grad_regions
        self.only_no_grad = False
        """Calls with gradients do not matter."""
        self._hook = _EntryHook(self)
        self._candidates: list[weakref.ref[Module]] = []
        self._handles: list[Hook] = []
        self._levels_left = MAX_LEVELS - 1
        self._missed = 0
        self._trains_in_training_mode = False

    def look_for_models(self, optimizer: Any) -> None:
        """
        Finds the models with this optimizer's parameters. If it holds copies (DeepSpeed), takes all trainable models.
        """
        parameters = None
        if optimizer is not None:
            parameters = {id(p) for group in optimizer.param_groups for p in group["params"]}
        modules = self._tracker.modules
        found = roots(modules.get(), parameters) or roots(modules.search(), parameters)
        if not found and not self._candidates:
            found = roots(modules.get(), None)
        if has_compiled() and not any(is_compiled(m) or not can_be_hooked(m) for m in modules.get()):
            # A compiled function may call the model. Its graph is guarded on the model's hooks, so adding and removing
            # ours would recompile it.
            found = []
        known = {id(reference()) for reference in self._candidates}
        room = MAX_MODULES - len(self._candidates)
        self._candidates += [weakref.ref(m) for m in found if id(m) not in known][:room]

    def watch(self) -> None:
        """Only for no-grad regions. A call with gradients is not where the step's forward begins."""
        if not self._handles:
            self.arm()
            self.only_no_grad = True
        elif not self._tracker.recorder.is_sampling:
            self.only_no_grad = True

    def arm(self) -> None:
        self.only_no_grad = False
        if self._handles:
            return
        for reference in self._candidates:
            module = reference()
            if module is not None and can_be_hooked(module):
                handle = Module.register_forward_pre_hook(module, self._hook, prepend=True)
                self._handles.append(Hook("torch.nn.Module.register_forward_pre_hook", handle.remove))

    def disarm(self) -> None:
        while self._handles:
            self._handles.pop().remove()

    def called(self) -> None:
        """Called by the hook. Validation and other threads (a teacher model) call models too."""
        tracker = self._tracker
        try:
            recorder = tracker.recorder
            if threading.get_ident() != recorder.thread:
                return
            if not torch.is_grad_enabled():
                tracker.no_grad_regions.called()
                return
            is_after_no_grad = tracker.no_grad_regions.end()
            if not recorder.is_sampling:
                if not self.only_no_grad:
                    self.disarm()
            elif is_after_no_grad or not self.only_no_grad:
                self._missed = 0
                self._trains_in_training_mode = self._is_in_training_mode()
                tracker.forward_begins()
        except Exception as error:
            tracker.failed(error)

    def is_evaluating(self) -> bool:
        """Whether the models are in evaluation mode now, and were in training mode when they trained."""
        return self._trains_in_training_mode and not self._is_in_training_mode()

    def _is_in_training_mode(self) -> bool:
        return any(module.training for reference in self._candidates if (module := reference()) is not None)

    def missed(self) -> None:
        """A backward pass begins, but no hook was called."""
        if not self._handles or self.only_no_grad:
            return
        self._missed += 1
        if self._missed < PATIENCE:
            return
        self._missed = 0
        self.disarm()
        if has_compiled() or self._levels_left == 0:
            self._candidates = []  # perhaps called inside a compiled function, see look_for_models
        else:
            self._levels_left -= 1
            self._descend()

    def _descend(self) -> None:
        below: list[weakref.ref[Module]] = []
        for reference in self._candidates:
            module = reference()
            if module is None:
                continue
            inner = list(children(module)) if can_be_hooked(module) and not is_compiled(module) else []
            below += [weakref.ref(m) for m in inner or [module]]
        self._candidates = below[:MAX_MODULES]


def is_compiled(module: Module) -> bool:
    """Whether `torch.compile(module)` returned it. Its hooks run outside the graph; hooks of its children would not."""
    return type(module).__name__ == "OptimizedModule" or "dynamo_ctx" in module.__dict__


def can_be_hooked(module: Module) -> bool:
    """Not if `module.compile()` was called: then its hooks are part of the graph."""
    return module.__dict__.get("_compiled_call_impl") is None and not isinstance(module, torch.jit.ScriptModule)
