"""Trackers of experiments are offline: they may write files, which land where those of the job do, and send nothing."""

from __future__ import annotations

import functools
import os
from types import ModuleType
from typing import Any

from .redirect import map_argument
from .trial import Trial

# wandb, Comet, Neptune, ClearML, SwanLab, and the telemetry of libraries.
SWITCHES = {
    "WANDB_SILENT": "true",
    "COMET_START_ONLINE": "0",
    "COMET_MODE": "disabled",
    "NEPTUNE_MODE": "debug",
    "CLEARML_OFFLINE_MODE": "1",
    "CLEARML_LOG_MODEL": "0",
    "SWANLAB_MODE": "disabled",
    "HF_HUB_DISABLE_TELEMETRY": "1",
}


def switch_off(trial: Trial) -> None:
    os.environ.update(SWITCHES, WANDB_MODE=_offline(os.environ.get("WANDB_MODE")))
    folder = trial.spec.results.parent / "mlruns"
    os.environ["MLFLOW_TRACKING_URI"] = folder.as_uri()
    os.environ["MLFLOW_REGISTRY_URI"] = folder.as_uri()


def _offline(mode: Any) -> str:
    """Not disabled where the job logs: that would change how long its steps take."""
    return "disabled" if mode == "disabled" else "offline"


def install() -> None:
    from whyslow_capture.job.imports import after_import

    def wandb(module: ModuleType) -> None:
        # The script may have set a mode of its own, which an argument overrules.
        map_argument(module, "init", "mode", lambda mode: _offline(mode or os.environ.get("WANDB_MODE")))

    def mlflow(module: ModuleType) -> None:
        uri = os.environ["MLFLOW_TRACKING_URI"]
        map_argument(module, "set_tracking_uri", "uri", lambda _: uri)

    after_import({"wandb": wandb, "mlflow": mlflow, "transformers.training_args": _no_upload})


def _no_upload(module: ModuleType) -> None:
    owner = module.TrainingArguments
    original = owner.__post_init__

    @functools.wraps(original)
    def __post_init__(self: Any, *args: Any, **options: Any) -> None:
        self.push_to_hub = False
        original(self, *args, **options)

    owner.__post_init__ = __post_init__
