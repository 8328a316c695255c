"""
Lightning, as `lightning` or as `pytorch_lightning`:

    trainer = Trainer(..., callbacks=[WhyslowCallback()])

Files go to ``<default_root_dir>/whyslow`` unless `out` says otherwise; keywords are those of `whyslow_capture.capture`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from .framework_steps import FrameworkSteps
from .optional import missing_base


def _callback_class() -> Any:
    """Of the one the job uses; with both installed they are different classes."""
    names = ["lightning.pytorch", "pytorch_lightning"]
    if "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules:
        names.reverse()
    try:
        try:
            return import_module(names[0]).Callback
        except ModuleNotFoundError:
            return import_module(names[1]).Callback
    except Exception as error:  # a broken installation raises what it likes
        return missing_base(__name__, "lightning or pytorch_lightning", "lightning", error)


class WhyslowCallback(_callback_class()):  # type: ignore[misc]
    def __init__(self, **config: object) -> None:
        self._steps = FrameworkSteps(config)
        self._optimizer_steps = 0

    @property
    def capture(self) -> Any:
        """The `Capture` while training runs, else None."""
        return self._steps.capture

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self._optimizer_steps = trainer.global_step
        # Not trainer.log_dir: to ask for it is a broadcast among ranks.
        self._steps.open(trainer.default_root_dir, trainer.global_step)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        # Gradients may be accumulated over batches, and with several optimizers the count goes up by more than one.
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
        self._steps.close()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._steps.close()

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self._steps.close()
