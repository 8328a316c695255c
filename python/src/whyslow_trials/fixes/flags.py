"""Fixes that are a global switch of torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import Fix

if TYPE_CHECKING:
    from ..trial import Trial


class _Switch(Fix):
    """Set at the start, and once more at the first backward pass: the job may have set it meanwhile."""

    def install(self, trial: Trial) -> None:
        self.switch(trial)
        done = False

        def again() -> None:
            nonlocal done
            if not done:
                done = True
                self.switch(trial)

        trial.at_backward.append(again)

    def switch(self, trial: Trial) -> None:
        raise NotImplementedError


def tf32_is_on() -> bool:
    """
    For matrix products on the GPU. torch has three settings for it since 2.9. Reading one of the older two fails once
    they disagree, as after `set_float32_matmul_precision` and then `allow_tf32`.
    """
    import torch

    matmul = torch.backends.cuda.matmul
    try:
        precision = getattr(matmul, "fp32_precision", "none")
        return bool(matmul.allow_tf32) if precision == "none" else precision == "tf32"
    except RuntimeError:
        return False


class Tf32(_Switch):
    name = "tf32"

    def switch(self, trial: Trial) -> None:
        import torch

        if not torch.cuda.is_available():
            return trial.refuse(self.name, "the job has no CUDA device")
        if torch.cuda.is_initialized() and torch.cuda.get_device_capability()[0] < 8:
            return trial.refuse(self.name, "this GPU has no TF32")
        if not tf32_is_on():
            torch.set_float32_matmul_precision("high")
            trial.apply(self.name, "fp32 matrix products in TF32")
        elif self.name not in trial.applied:
            trial.refuse(self.name, "TF32 is on already")
        return None


class CudnnBenchmark(_Switch):
    name = "cudnn-benchmark"

    def switch(self, trial: Trial) -> None:
        import torch

        if not torch.cuda.is_available() or not torch.backends.cudnn.is_available():
            return trial.refuse(self.name, "the job has no CUDA device with cuDNN")
        if not torch.backends.cudnn.benchmark:
            torch.backends.cudnn.benchmark = True
            trial.apply(self.name, "cudnn.benchmark on")
        elif self.name not in trial.applied:
            trial.refuse(self.name, "cudnn.benchmark is on already")
        return None


class AnomalyOff(_Switch):
    name = "anomaly-off"

    def switch(self, trial: Trial) -> None:
        import torch

        if torch.is_anomaly_enabled():
            torch.autograd.set_detect_anomaly(False)
            trial.apply(self.name, "anomaly detection off")
        else:
            trial.refuse(self.name, "anomaly detection is off already")
