"""Saves of libraries that write with compiled code, or that delete earlier checkpoints: to the scratch folder."""

from __future__ import annotations

import functools
import os
from types import ModuleType
from typing import Any

import torch

from whyslow_capture.job.imports import after_import

from .redirect import map_argument
from .sandbox import Sandbox

Path = (str, os.PathLike)


def install(sandbox: Sandbox) -> None:
    def saved(what: str) -> Any:
        return lambda path: sandbox.saved(path, what) if isinstance(path, Path) else path

    def folder(what: str) -> Any:
        return lambda path: sandbox.folder(path, what) if isinstance(path, Path) else path

    for module in (torch, torch.serialization):
        map_argument(module, "save", "f", saved("torch.save"))
        map_argument(module, "load", "f", sandbox.found)

    def safetensors(module: ModuleType) -> None:
        for name in ("save_file", "save_model"):
            map_argument(module, name, "filename", saved("safetensors"))
        for name in ("load_file", "load_model"):
            map_argument(module, name, "filename", sandbox.found)

    def distributed(module: ModuleType) -> None:
        for name in ("FileSystemWriter", "_FileSystemWriter"):
            if hasattr(module, name):
                map_argument(getattr(module, name), "__init__", "path", folder("torch.distributed.checkpoint"))
                # `save` sets the folder once more.
                map_argument(getattr(module, name), "reset", "checkpoint_id", folder("torch.distributed.checkpoint"))

    def lightning(module: ModuleType) -> None:
        here = lambda path: sandbox.folder(path or os.getcwd(), "Lightning")  # noqa: E731
        map_argument(module.Trainer, "__init__", "default_root_dir", here)
        map_argument(module.Trainer, "save_checkpoint", "filepath", saved("Lightning"))

    def checkpoint_callback(module: ModuleType) -> None:
        map_argument(module.ModelCheckpoint, "__init__", "dirpath", folder("Lightning"))

    after_import(
        {
            "safetensors.torch": safetensors,
            "safetensors.numpy": safetensors,
            "torch.distributed.checkpoint.filesystem": distributed,
            "transformers.training_args": lambda module: _training_arguments(module, sandbox),
            "transformers.trainer": lambda module: _trainer(module),
            **{
                f"{package}.{name}": action
                for package in ("lightning.pytorch", "pytorch_lightning")
                for name, action in (
                    ("trainer.trainer", lightning),
                    ("callbacks.model_checkpoint", checkpoint_callback),
                )
            },
        }
    )


# The output folder that the script gave, by that of the trial.
_given: dict[str, str] = {}


def _training_arguments(module: ModuleType, sandbox: Sandbox) -> None:
    """The Trainer deletes old checkpoints in its folder, and uploads to the Hub."""
    owner = module.TrainingArguments
    original = owner.__post_init__

    @functools.wraps(original)
    def __post_init__(self: Any, *args: Any, **options: Any) -> None:
        asked = self.output_dir or "trainer_output"
        self.output_dir = sandbox.folder(asked, "Trainer")
        _given[self.output_dir] = str(asked)
        if isinstance(getattr(self, "logging_dir", None), str):
            self.logging_dir = sandbox.folder(self.logging_dir, "Trainer")
        self.report_to, self.push_to_hub = "none", False
        original(self, *args, **options)

    owner.__post_init__ = __post_init__


def _trainer(module: ModuleType) -> None:
    """`resume_from_checkpoint=True` means the last one in the folder that the script gave."""

    def resolve(given: Any) -> Any:
        if given is not True:
            return given
        from transformers.trainer_utils import get_last_checkpoint

        folders = (get_last_checkpoint(folder) for folder in _given.values() if os.path.isdir(folder))
        return next((found for found in folders if found), None)

    map_argument(module.Trainer, "train", "resume_from_checkpoint", resolve)
