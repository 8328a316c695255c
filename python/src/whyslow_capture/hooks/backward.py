"""`backward`: the outermost torch.autograd.backward, which Tensor.backward looks up at each call (2.3 to 2.13)."""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING, Any

import torch

from .dynamo import never_compiled, not_compiled
from .patches import Patches

if TYPE_CHECKING:
    from .flow import Flow


def install(flow: Flow, patches: Patches) -> None:
    recorder = flow.recorder
    get_ident = threading.get_ident
    original = torch.autograd.backward

    @never_compiled
    def begins(tensors: object) -> None:
        try:
            flow.backward_begins(tensors)
        except Exception as error:
            flow.failed(error)

    @never_compiled
    def ends() -> None:
        try:
            flow.backward_ends()
        except Exception as error:
            flow.failed(error)

    @functools.wraps(original)
    def backward(tensors: Any, *args: Any, **options: Any) -> None:
        # Checkpointing and custom functions run further passes inside one, on threads of autograd's where it has some.
        if flow.in_backward or get_ident() != recorder.thread:
            return original(tensors, *args, **options)
        flow.in_backward = flow.clock.backward_since_step = True
        flow.passes += 1
        if recorder.recording:
            begins(tensors)
        try:
            return original(tensors, *args, **options)
        finally:
            flow.in_backward = False
            if recorder.recording or flow.stepped_in_backward:
                ends()

    patches.put(torch.autograd, "backward", not_compiled(backward))
