"""Times `host_to_device`: copies between the end of loading and the call of the model, in recorded steps only."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from ..patching import Patches, leave_out_caller
from .dynamo import is_compiling, never_compiled, not_compiled

if TYPE_CHECKING:
    from .phase_tracker import PhaseTracker

# Copies timed per micro-batch. A batch of very many tensors is not worth an event for each.
MAX_COPIES = 16


def to_cuda(source: torch.device, target: torch.device) -> bool:
    return source.type == "cpu" and target.type == "cuda"


class CopyTimer:
    """Replaces Tensor.to and Tensor.cuda while armed. Never armed in jobs without GPU."""

    def __init__(
        self,
        tracker: PhaseTracker,
        *,
        is_copy: Callable[[torch.device, torch.device], bool] = to_cuda,
        is_wanted: Callable[[], bool] = torch.cuda.is_initialized,
    ) -> None:
        self._tracker = tracker
        self._is_copy = is_copy
        self._is_wanted = is_wanted
        self._patches: Patches | None = None
        self._covered = False
        self._left = 0
        # The functions found when armed. Others may have replaced torch's before us.
        self._before: dict[str, Callable[..., Any]] = {}
        self._wrappers = {name: self._wrap(name) for name in ("to", "cuda")}

    def arm(self) -> None:
        if self._patches is None and not self._covered and self._is_wanted():
            self._left = MAX_COPIES
            self._put()

    def disarm(self) -> None:
        patches, self._patches = self._patches, None
        if patches is not None and not patches.remove():
            # Someone has wrapped ours and will keep calling it. Installed again on top, it would call itself.
            self._covered = True

    def _put(self) -> None:
        self._before = {name: getattr(torch.Tensor, name) for name in self._wrappers}
        self._patches = Patches(self._tracker.problems)
        for name, wrapper in self._wrappers.items():
            self._patches.put(f"torch.Tensor.{name}", _as(wrapper))

    def _wrap(self, name: str) -> Callable[..., Any]:
        def copy(tensor: Any, /, *args: Any, **options: Any) -> Any:
            original = self._before[name]
            if is_compiling() or self._patches is None:
                return original(tensor, *args, **options)
            begin = self._begins(tensor)
            # Subclasses may compare the called function with torch.Tensor's attributes, so restore the originals.
            is_plain = type(tensor) is torch.Tensor
            if not is_plain:
                self.disarm()
            try:
                result = original(tensor, *args, **options)
            except BaseException as error:
                leave_out_caller(error)
                raise
            finally:
                if not is_plain and not self._covered:
                    self._put()
            if begin >= 0:
                self._ends(begin, tensor, result)
            return result

        copy.__name__ = copy.__qualname__ = name
        return not_compiled(copy)

    @never_compiled
    def _begins(self, tensor: Any) -> int:
        """The mark before a copy, or −1 if it is not timed."""
        tracker = self._tracker
        try:
            if not tracker.recorder.recording:
                self.disarm()
                return -1
            if self._left == 0 or threading.get_ident() != tracker.recorder.thread or not tracker.wants_copies():
                return -1
            return tracker.recorder.mark()
        except Exception as error:
            tracker.failed(error)
            return -1

    @never_compiled
    def _ends(self, begin: int, tensor: Any, result: Any) -> None:
        tracker = self._tracker
        try:
            if self._is_copy(tensor.device, result.device):
                self._left -= 1
                tracker.copied(begin)
        except Exception as error:
            tracker.failed(error)


def _as(wrapper: Callable[..., Any]) -> Callable[[object], Callable[..., Any]]:
    return lambda _: wrapper
