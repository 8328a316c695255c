"""
Accelerate:

    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    with instrument(accelerator):
        for batch in loader:
            with accelerator.accumulate(model):
                ...
                accelerator.backward(loss)
                optimizer.step()

A step ends where a prepared optimizer has really stepped, not at each micro-batch of an accumulation.
`accelerator.end_training()` closes the capture as well. Files go to ``<project_dir>/whyslow`` unless `out` says
otherwise; keywords are those of `whyslow_capture.capture`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from .framework_steps import FrameworkSteps
from .optional import raise_missing

try:
    import accelerate  # noqa: F401
except Exception as error:  # a broken installation raises what it likes
    _missing: Exception | None = error
else:
    _missing = None


class Instrumented:
    """What `instrument` returns: closes the capture and gives the accelerator back as it was."""

    def __init__(self, accelerator: Any, config: dict[str, object], steps_done: int) -> None:
        self._accelerator = accelerator
        self._steps = FrameworkSteps(config)
        self._restore: list[Callable[[], None]] = []
        self._watched: Any = None
        self._steps.open(accelerator.project_dir, steps_done)
        self._watch_optimizer()
        # Or it is prepared later, by either of these.
        self._wrap(accelerator, "prepare", after=self._watch_optimizer)
        self._wrap(accelerator, "prepare_optimizer", after=self._watch_optimizer)
        self._wrap(accelerator, "end_training", before=self.close)

    @property
    def capture(self) -> Any:
        """The `Capture` while it is open, else None."""
        return self._steps.capture

    def close(self) -> None:
        for restore in reversed(self._restore):
            restore()
        self._restore.clear()
        self._steps.close()

    def __enter__(self) -> Instrumented:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _watch_optimizer(self) -> None:
        # One of several optimizers tells steps apart as well as all of them.
        if self._watched is None and self._accelerator._optimizers:
            self._watched = self._accelerator._optimizers[0]
            self._wrap(self._watched, "step", after=self._stepped)

    def _stepped(self) -> None:
        if self._accelerator.sync_gradients:
            self._steps.step()
        else:
            self._steps.micro_step()

    def _wrap(
        self,
        owner: Any,
        name: str,
        *,
        before: Callable[[], None] | None = None,
        after: Callable[[], None] | None = None,
    ) -> None:
        """On this object only. Others may have put something there before us, which stays."""
        original = getattr(owner, name)
        own = vars(owner).get(name)

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if before is not None:
                before()
            result = original(*args, **kwargs)
            if after is not None:
                after()
            return result

        setattr(owner, name, wrapper)

        def restore() -> None:
            # Unless somebody has wrapped ours: then it stays, and does nothing more.
            if vars(owner).get(name) is not wrapper:
                return
            if own is None:
                delattr(owner, name)
            else:
                setattr(owner, name, own)

        self._restore.append(restore)


def instrument(accelerator: Any, *, steps_done: int = 0, **config: object) -> Instrumented:
    """`steps_done`: optimizer steps before this process, where a job was resumed."""
    if _missing is not None:
        raise_missing(__name__, "accelerate", "accelerate", _missing)
    return Instrumented(accelerator, config, steps_done)
