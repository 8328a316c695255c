"""
Lightning, imported as `lightning` or as `pytorch_lightning`:

    trainer = Trainer(..., callbacks=[WhyslowCallback()])

Writes to ``<default_root_dir>/whyslow`` unless `out` is set. When training ends it prints the verdict and logs it to
W&B, MLflow and TensorBoard, if the job uses them. Keywords are those of `whyslow_capture.capture`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..config import Settings
from ..handle import CaptureHandle
from .framework_steps import FrameworkSteps, missing_base

if TYPE_CHECKING:
    from typing_extensions import Unpack


def _callback_class() -> Any:
    """The base class from the package that the job uses. The two packages have different ones."""
    names = ["lightning.pytorch", "pytorch_lightning"]
    if "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules:
        names.reverse()
    try:
        try:
            return import_module(names[0]).Callback
        except ModuleNotFoundError:
            return import_module(names[1]).Callback
    except Exception as error:  # a broken installation can raise anything
        return missing_base(__name__, "lightning or pytorch_lightning", "lightning", error)


class WhyslowCallback(_callback_class()):  # type: ignore[misc]
    def __init__(self, **settings: Unpack[Settings]) -> None:
        self._steps = FrameworkSteps(settings)
        self._optimizer_steps = 0

    @property
    def capture(self) -> CaptureHandle | None:
        """The capture while training runs, otherwise None."""
        return self._steps.capture

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self._optimizer_steps = trainer.global_step
        # Not trainer.log_dir: reading that broadcasts among ranks.
        self._steps.open(trainer.default_root_dir, trainer.global_step)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        # The count does not change while gradients accumulate, and grows by more than one with several optimizers.
        if trainer.global_step == self._optimizer_steps:
            self._steps.micro_step()
            return
        self._optimizer_steps = trainer.global_step
        self._steps.step()

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        self._steps.disturbed()

    def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        self._steps.disturbed()

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self._steps.finish(_opened(trainer))

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._steps.close()

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self._steps.close()


def _opened(trainer: Any) -> Iterator[tuple[str, Any]]:
    """What the trainer logs to. Asking a logger may open it, so this comes last."""
    for logger in trainer.loggers:
        kinds = {kind.__name__ for kind in type(logger).__mro__}
        if "WandbLogger" in kinds:
            yield "wandb", logger.experiment
        elif "MLFlowLogger" in kinds:
            yield "mlflow", (logger.experiment, logger.run_id)
        elif "TensorBoardLogger" in kinds:
            yield "tensorboard", logger.experiment
