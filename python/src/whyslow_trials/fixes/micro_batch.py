"""Larger micro-batches with less accumulation: the same samples in every update. Where a framework does both."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from .base import Fix

if TYPE_CHECKING:
    from types import ModuleType

    from ..trial import Trial


class LargerMicroBatch(Fix):
    name = "larger-micro-batch"

    def install(self, trial: Trial) -> None:
        from whyslow_capture.job.imports import after_import

        trial.refuse(self.name, "no framework accumulates gradients here")

        def patch(module: ModuleType) -> None:
            owner = module.TrainingArguments
            original = owner.__post_init__

            @functools.wraps(original)
            def __post_init__(self_: Any, *args: Any, **options: Any) -> None:
                self.change(trial, self_)
                original(self_, *args, **options)

            owner.__post_init__ = __post_init__

        after_import({"transformers.training_args": patch})

    def change(self, trial: Trial, arguments: Any) -> None:
        accumulated = int(arguments.gradient_accumulation_steps)
        factor = int(self.settings.get("value") or 2)
        if accumulated % factor:
            trial.refused[self.name] = f"gradient_accumulation_steps={accumulated} is not a multiple of {factor}"
            return
        before = arguments.per_device_train_batch_size
        arguments.per_device_train_batch_size = before * factor
        arguments.gradient_accumulation_steps = accumulated // factor
        trial.apply(
            self.name, f"batch {before} → {before * factor}, accumulation {accumulated} → {accumulated // factor}"
        )
