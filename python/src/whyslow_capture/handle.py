"""What `capture()` returns: the calls that a training loop makes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import torch
    from typing_extensions import Self

Batch = TypeVar("Batch")


class CaptureHandle:
    """
    The capture of this process, as the training loop sees it. It begins with `with` or `start()`. In this class no
    method does anything, except that `to_device` copies: capture is off.
    """

    def start(self) -> Self:
        """Begins the capture; `with` does so too. If another one is on in this process, this one joins it."""
        return self

    def step(self, number: int | None = None) -> None:
        """Ends the current training step. Pass its number if the job counts steps itself."""

    def phase(self, name: str) -> AbstractContextManager[None]:
        """`with cap.phase("rollout"):` times the block, in recorded steps."""
        return nullcontext()

    def lap(self, name: str) -> None:
        """`cap.lap("forward")` names the time since the previous lap, or since the step began."""

    def data(self, loader: Iterable[Batch]) -> Iterator[Batch]:
        """Times the wait for each item of any iterable. A DataLoader is timed without this call."""
        return iter(loader)

    def micro_step(self) -> None:
        """Starts the next micro-batch of the current step. Only needed with `auto_phases=False`."""

    def to_device(self, batch: Batch, device: torch.device | str | int) -> Batch:
        """Copies a batch to the device without waiting for it, see `whyslow_capture.to_device`."""
        from .siblings import reach

        reach("whyslow_training")
        from whyslow_training.copies import to_device

        return to_device(batch, device)

    def step_callback(self, target: str) -> Callable[[], None] | None:
        """Returns a function to call at the end of each step of `target`; None if that target is not traced."""
        return None

    def set_mesh(self, mesh: object) -> None:
        """Takes a DeviceMesh or ``{axis: (size, coordinate of this rank)}``. Trace files are named after it."""

    def close(self) -> None:
        """Writes what is left and removes all hooks. Calling it twice does no harm."""

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class DisabledCapture(CaptureHandle):
    """What `capture()` returns when capture is off."""
