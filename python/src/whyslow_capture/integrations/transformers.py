"""
transformers' Trainer:

    trainer = Trainer(..., callbacks=[WhyslowCallback()])

Writes to ``<output_dir>/whyslow`` unless `out` is set. When training ends it prints the verdict and logs it to W&B,
MLflow and TensorBoard, if the job uses them. Keywords are those of `whyslow_capture.capture`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..config import Settings
from ..handle import CaptureHandle
from .framework_steps import FrameworkSteps, missing_base

if TYPE_CHECKING:
    from typing_extensions import Unpack


def _callback_class() -> Any:
    try:
        from transformers import TrainerCallback
    except Exception as error:  # a broken installation can raise anything
        return missing_base(__name__, "transformers", "transformers", error)
    return TrainerCallback


class WhyslowCallback(_callback_class()):  # type: ignore[misc]
    def __init__(self, **settings: Unpack[Settings]) -> None:
        self._steps = FrameworkSteps(settings)

    @property
    def capture(self) -> CaptureHandle | None:
        """The capture while training runs, otherwise None."""
        return self._steps.capture

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._steps.open(args.output_dir, state.global_step)

    def on_substep_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._steps.micro_step()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._steps.step()

    def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._steps.disturbed()

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._steps.disturbed()

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._steps.finish()
