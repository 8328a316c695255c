"""
Times `backward`: wraps torch.autograd.backward, which Tensor.backward looks up at each call (torch 2.3 to 2.13); and
torch.autograd.grad, which torch.func looks up too, while nothing but backward passes may end steps.
"""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING, Any

import torch

from ..patching import Patch, Patches, leave_out_caller
from .dynamo import never_compiled, not_compiled

if TYPE_CHECKING:
    from .phase_tracker import PhaseTracker


class BackwardWatch:
    """Replaces torch.autograd.backward only while backward passes must be seen, so other steps pay nothing."""

    def __init__(self, tracker: PhaseTracker) -> None:
        self._tracker = tracker
        self._original = torch.autograd.backward
        self._ours = self._make()
        self._patches = Patches(tracker.problems)
        self._patch: Patch | None = None
        self._grad: Patch | None = None
        # Someone has wrapped our function, so it can no longer be removed.
        self._is_covered = False

    def arm(self) -> None:
        if self._patch is None:
            self._original = torch.autograd.backward
            self._patch = self._patches.put("torch.autograd.backward", lambda _: self._ours)
        if self._grad is None and self._tracker.pass_steps.is_open:
            self._grad = self._patches.put("torch.autograd.grad", self._make_grad)
        elif self._grad is not None and not self._tracker.pass_steps.is_open and self._grad.remove():
            self._grad = None

    def disarm(self) -> bool:
        """False if ours had to stay; then it only passes calls on."""
        if self._patch is not None and not self._is_covered:
            if self._patch.remove():
                self._patch = None
            else:
                self._is_covered = True
        if self._grad is not None and self._grad.remove():
            self._grad = None
        return self._patch is None

    def _make(self) -> Any:
        tracker = self._tracker
        recorder = tracker.recorder
        get_ident = threading.get_ident

        @never_compiled
        def begins(tensors: object) -> None:
            try:
                tracker.backward_begins(tensors)
            except Exception as error:
                tracker.failed(error)

        @never_compiled
        def ends() -> None:
            try:
                tracker.backward_ends()
            except Exception as error:
                tracker.failed(error)

        @functools.wraps(self._original)
        def backward(tensors: Any, *args: Any, **options: Any) -> None:
            original = self._original
            # Only the outermost pass counts. Checkpointing and custom functions run further passes inside it, some on
            # autograd's own threads.
            if tracker.in_backward or get_ident() != recorder.thread:
                return original(tensors, *args, **options)
            tracker.in_backward = tracker.iterations.backward_since_step = True
            tracker.passes += 1
            if recorder.recording:
                begins(tensors)
            try:
                return original(tensors, *args, **options)
            except BaseException as error:
                leave_out_caller(error)
                raise
            finally:
                tracker.in_backward = False
                if recorder.recording or tracker.stepped_in_backward or tracker.pass_steps.is_open:
                    ends()

        return not_compiled(backward)

    def _make_grad(self, original: Any) -> Any:
        tracker = self._tracker
        recorder = tracker.recorder
        get_ident = threading.get_ident

        @never_compiled
        def begins(outputs: object) -> None:
            try:
                tracker.passes += 1
                if tracker.pass_steps.is_on and recorder.recording:
                    tracker.backward_begins(outputs)
            except Exception as error:
                tracker.failed(error)

        @never_compiled
        def ends() -> None:
            try:
                # No backward pass for the order of optimizers: these are only seen until an optimizer has stepped.
                tracker.pass_ends()
            except Exception as error:
                tracker.failed(error)

        @functools.wraps(original)
        def grad(outputs: Any, *args: Any, **options: Any) -> Any:
            if tracker.in_backward or get_ident() != recorder.thread or not tracker.pass_steps.is_open:
                return original(outputs, *args, **options)
            tracker.in_backward = True
            begins(outputs)
            try:
                return original(outputs, *args, **options)
            except BaseException as error:
                leave_out_caller(error)
                raise
            finally:
                tracker.in_backward = False
                ends()

        return not_compiled(grad)
