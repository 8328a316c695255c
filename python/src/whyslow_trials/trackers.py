"""Trackers of experiments: off where they have a switch, else into the scratch folder."""

from __future__ import annotations

import os
from types import ModuleType

from .redirect import map_argument
from .sandbox import Sandbox
from .trial import Trial

# wandb, Comet, Neptune, ClearML, Aim, and the telemetry of libraries.
SWITCHES = {
    "WANDB_MODE": "disabled",
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
    os.environ.update(SWITCHES)
    folder = trial.spec.scratch / "mlruns"
    os.environ["MLFLOW_TRACKING_URI"] = folder.as_uri()
    os.environ["MLFLOW_REGISTRY_URI"] = folder.as_uri()


def redirect(sandbox: Sandbox) -> None:
    from whyslow_capture.job.imports import after_import

    def writers(module: ModuleType) -> None:
        for name in ("SummaryWriter", "FileWriter"):
            owner = getattr(module, name, None)
            if owner is not None:
                map_argument(owner, "__init__", "log_dir", lambda path: sandbox.folder(path or "runs", "tensorboard"))

    def mlflow(module: ModuleType) -> None:
        uri = os.environ["MLFLOW_TRACKING_URI"]
        map_argument(module, "set_tracking_uri", "uri", lambda _: uri)

    after_import(
        {
            "torch.utils.tensorboard.writer": writers,
            "tensorboardX.writer": writers,
            "mlflow": mlflow,
        }
    )
