"""
Accelerate:

    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    with instrument(accelerator):
        for batch in loader:
            with accelerator.accumulate(model):
                ...
                accelerator.backward(loss)
                optimizer.step()

A step ends when a prepared optimizer really steps, not at each micro-batch of an accumulation.
`accelerator.end_training()` also closes the capture. Then the verdict is printed, and logged to W&B, MLflow and
TensorBoard, if the job uses them. Files go to ``<project_dir>/whyslow`` unless `out` is set. Keywords are those of
`whyslow_capture.capture`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..config import Settings
from ..handle import CaptureHandle
from ..patching import Patches
from ..problems import ProblemLog
from .framework_steps import FrameworkSteps, raise_missing

if TYPE_CHECKING:
    from typing_extensions import Unpack

try:
    import accelerate  # noqa: F401
except Exception as error:  # a broken installation can raise anything
    _missing: Exception | None = error
else:
    _missing = None


class Instrumented:
    """Returned by `instrument`. Closing it closes the capture and restores the accelerator."""

    def __init__(self, accelerator: Any, settings: Settings, steps_done: int) -> None:
        self._accelerator = accelerator
        self._steps = FrameworkSteps(settings)
        self._patches = Patches(ProblemLog())
        self._watched: Any = None
        self._steps.open(accelerator.project_dir, steps_done)
        self._watch_optimizer()
        # If there is no optimizer yet, one of these calls prepares it later.
        self._wrap(accelerator, "Accelerator.prepare", after=self._watch_optimizer)
        self._wrap(accelerator, "Accelerator.prepare_optimizer", after=self._watch_optimizer)
        self._wrap(accelerator, "Accelerator.end_training", before=self.finish)

    @property
    def capture(self) -> CaptureHandle | None:
        """The capture while it is open, otherwise None."""
        return self._steps.capture

    def close(self) -> None:
        self._patches.remove()
        self._steps.close()

    def finish(self) -> None:
        """Closes it, prints the verdict, and logs it to the accelerator's trackers."""
        self._patches.remove()
        self._steps.finish(_opened(self._accelerator))

    def __enter__(self) -> Instrumented:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.finish()
        else:
            self.close()

    def _watch_optimizer(self) -> None:
        # With several optimizers, watching one of them is enough to count steps.
        if self._watched is None and self._accelerator._optimizers:
            self._watched = self._accelerator._optimizers[0]
            self._wrap(self._watched, "AcceleratedOptimizer.step", after=self._stepped)

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
        """On this object only."""

        def make(original: Any) -> Any:
            def wrapper(*args: Any, **kwargs: Any) -> Any:
                if before is not None:
                    before()
                result = original(*args, **kwargs)
                if after is not None:
                    after()
                return result

            return wrapper

        self._patches.put(f"accelerate.{name}", make, owner)


def _opened(accelerator: Any) -> Iterator[tuple[str, Any]]:
    for tracker in accelerator.trackers:
        name, inner = getattr(tracker, "name", ""), getattr(tracker, "tracker", None)
        if name == "mlflow" and inner is not None:
            yield name, (sys.modules["mlflow"].MlflowClient(), inner.info.run_id)
        else:
            yield name, inner


def instrument(accelerator: Any, *, steps_done: int = 0, **settings: Unpack[Settings]) -> Instrumented:
    """`steps_done`: optimizer steps that a resumed job made before this process."""
    if _missing is not None:
        raise_missing(__name__, "accelerate", "accelerate", _missing)
    return Instrumented(accelerator, settings, steps_done)
