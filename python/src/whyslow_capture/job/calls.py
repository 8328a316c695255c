"""Functions of torch and other libraries whose time is a phase of the job."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ..hooks.dynamo import is_compiling, not_compiled
from ..patches import Patches
from .clock import EVALUATION, JobClock
from .imports import after_import

CHECKPOINT = "checkpoint"
GENERATION = "generation"
LOGGING = "logging"
SCHEDULER = "scheduler"
METRICS = "metrics"

# Module that defines it: names in it (a function, or Class.method), phase. Functions that are also reachable under a
# shorter name (`torch.save`) are replaced there too, see _ALIASES.
_FUNCTIONS: dict[str, tuple[tuple[str, str], ...]] = {
    "torch.serialization": (("save", CHECKPOINT),),
    "torch.distributed.checkpoint.state_dict_saver": (
        ("save", CHECKPOINT),
        ("async_save", CHECKPOINT),
        ("save_state_dict", CHECKPOINT),
    ),
    "torch.distributed.checkpoint.state_dict": (
        ("get_state_dict", CHECKPOINT),
        ("get_model_state_dict", CHECKPOINT),
        ("get_optimizer_state_dict", CHECKPOINT),
    ),
    "safetensors.torch": (("save_file", CHECKPOINT), ("save_model", CHECKPOINT)),
    "transformers.trainer": (
        ("Trainer._save_checkpoint", CHECKPOINT),
        ("Trainer.save_model", CHECKPOINT),
        ("Trainer.evaluate", EVALUATION),
        ("Trainer.predict", EVALUATION),
    ),
    "transformers.modeling_utils": (("PreTrainedModel.save_pretrained", CHECKPOINT),),
    "transformers.generation.utils": (("GenerationMixin.generate", GENERATION),),
    "accelerate.accelerator": (
        ("Accelerator.save_state", CHECKPOINT),
        ("Accelerator.save_model", CHECKPOINT),
        ("Accelerator.log", LOGGING),
    ),
    "deepspeed.runtime.engine": (("DeepSpeedEngine.save_checkpoint", CHECKPOINT),),
    "vllm.entrypoints.llm": (("LLM.generate", GENERATION), ("LLM.chat", GENERATION)),
    "torch.utils.tensorboard.writer": (
        ("SummaryWriter.add_scalar", LOGGING),
        ("SummaryWriter.add_scalars", LOGGING),
        ("SummaryWriter.add_histogram", LOGGING),
        ("SummaryWriter.add_image", LOGGING),
        ("SummaryWriter.add_images", LOGGING),
        ("SummaryWriter.add_figure", LOGGING),
        ("SummaryWriter.add_video", LOGGING),
        ("SummaryWriter.add_audio", LOGGING),
        ("SummaryWriter.add_text", LOGGING),
        ("SummaryWriter.add_embedding", LOGGING),
        ("SummaryWriter.flush", LOGGING),
    ),
    "wandb.sdk.wandb_run": (("Run.log", LOGGING), ("Run.log_artifact", LOGGING)),
    # What is logged is made ready here, which often takes longer than to log it.
    "wandb.sdk.data_types.histogram": (("Histogram.__init__", LOGGING),),
    "wandb.sdk.data_types.image": (("Image.__init__", LOGGING),),
    "wandb.sdk.data_types.table": (("Table.__init__", LOGGING),),
    "mlflow.tracking.fluent": (
        ("log_metric", LOGGING),
        ("log_metrics", LOGGING),
        ("log_artifact", LOGGING),
        ("log_artifacts", LOGGING),
    ),
    "tqdm.std": (("tqdm.display", LOGGING), ("tqdm.write", LOGGING)),
    # The text of a tensor: `print(loss)`.
    "torch._tensor_str": (("_str", LOGGING),),
    **{
        f"{package}.trainer.trainer": (("Trainer.save_checkpoint", CHECKPOINT),)
        for package in ("lightning.pytorch", "pytorch_lightning")
    },
    **{
        f"{package}.loops.evaluation_loop": (("_EvaluationLoop.run", EVALUATION),)
        for package in ("lightning.pytorch", "pytorch_lightning")
    },
}

# What a loop does in every step besides training. Timed only in recorded steps, as phases of those, so that other steps
# pay nothing.
_IN_STEPS: dict[str, tuple[tuple[str, str], ...]] = {
    "torch.optim.lr_scheduler": (
        ("LRScheduler.step", SCHEDULER),
        ("ReduceLROnPlateau.step", SCHEDULER),
        ("SequentialLR.step", SCHEDULER),
        ("ChainedScheduler.step", SCHEDULER),
    ),
    "torchmetrics.metric": (
        ("Metric.forward", METRICS),
        ("Metric._wrap_update", METRICS),
        ("Metric._wrap_compute", METRICS),
    ),
}
# They return the function to time.
_MAKERS = ("_wrap_update", "_wrap_compute")

# How people call them.
_SHORT = {
    "torch.serialization": "torch",
    "torch.distributed.checkpoint.state_dict_saver": "dcp",
    "torch.distributed.checkpoint.state_dict": "dcp",
    "torch._tensor_str": "",
    "wandb.sdk.wandb_run": "wandb",
    "wandb.sdk.data_types.histogram": "wandb",
    "wandb.sdk.data_types.image": "wandb",
    "wandb.sdk.data_types.table": "wandb",
    "mlflow.tracking.fluent": "mlflow",
}
_NAMES = {
    "_str": "print(tensor)",
    "Run.log": "log",
    "Histogram.__init__": "Histogram",
    "Image.__init__": "Image",
    "Table.__init__": "Table",
}
# Modules that offer the same functions under their own name, if they are loaded.
_ALIASES = {
    "torch.serialization": ("torch",),
    "torch.distributed.checkpoint.state_dict_saver": ("torch.distributed.checkpoint",),
    "mlflow.tracking.fluent": ("mlflow",),
}


class CallTimers:
    def __init__(self, clock: JobClock, patches: Patches) -> None:
        self._clock = clock
        self._patches = patches
        self._forget: Callable[[], None] | None = None

    def install(self) -> None:
        self._forget = after_import(dict.fromkeys((*_FUNCTIONS, *_IN_STEPS), self._wrap_all))

    def remove(self) -> None:
        if self._forget is not None:
            self._forget()

    def _wrap_all(self, module: ModuleType) -> None:
        name = module.__name__
        for path, phase in (*_FUNCTIONS.get(name, ()), *_IN_STEPS.get(name, ())):
            with self._clock.problems.guard("job-hooks", f"timing {name}.{path}"):
                self._wrap(module, path, phase)

    def _wrap(self, module: ModuleType, path: str, phase: str) -> None:
        holder, _, name = path.rpartition(".")
        owner = getattr(module, holder, None) if holder else module
        # Of a class only what it defines itself: a method that it inherits may be wrapped where it is defined.
        original = None if owner is None else vars(owner).get(name)
        if module.__name__ in _IN_STEPS:
            wrapped = timed_in_steps(self._clock, original, phase, makes=name in _MAKERS)
        else:
            wrapped = timed(self._clock, original, phase, _called(module.__name__, path))
        if owner is None or wrapped is None:
            return
        self._patches.put(owner, name, wrapped)
        for alias in () if holder else _ALIASES.get(module.__name__, ()):
            other = sys.modules.get(alias)
            if other is not None and vars(other).get(name) is original:
                self._patches.put(other, name, wrapped)


def timed_in_steps(clock: JobClock, function: Any, phase: str, *, makes: bool) -> Any:
    """The same function, timed in recorded steps. `makes`: what it returns is. None if it is no plain function."""
    if not inspect.isfunction(function):
        return None

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        recorder = clock.recorder
        if recorder is None or not recorder.is_sampling or clock.is_in_phase or is_compiling():
            return function(*args, **options)
        recorder.begin(phase)
        try:
            return function(*args, **options)
        finally:
            recorder.end(phase)

    @functools.wraps(function)
    def make(*args: Any, **options: Any) -> Any:
        made = function(*args, **options)
        return timed_in_steps(clock, made, phase, makes=False) or made

    return not_compiled(make if makes else call)


def _called(module: str, path: str) -> str:
    prefix = _SHORT.get(module, "" if "." in path else module)
    name = _NAMES.get(path, path)
    return f"{prefix}.{name}" if prefix else name


def timed(clock: JobClock, original: Any, phase: str, called: str) -> Any:
    """The same function, timed. None if it is no plain function: then it is left alone."""
    kind = type(original) if isinstance(original, (staticmethod, classmethod)) else None
    function = original.__func__ if kind is not None else original
    if (
        not inspect.isfunction(function)
        or inspect.iscoroutinefunction(function)
        or inspect.isgeneratorfunction(function)
    ):
        return None

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        frame = None if is_compiling() else clock.enter(phase, called)
        if frame is None:
            return function(*args, **options)
        try:
            return function(*args, **options)
        finally:
            clock.leave(frame, at=sys._getframe(1))

    wrapper = not_compiled(call)
    return wrapper if kind is None else kind(wrapper)
