"""
The one list of everything of torch, Python and other libraries that capture replaces, or adds a hook to. `patching.py`
installs from it and nothing else does; `docs/what-capture-does.md` is written from it (`npm run what-capture-does`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["replaced", "hook", "on the job's objects", "for good"]


@dataclass(frozen=True)
class Group:
    """Targets that are switched on together."""

    why: str
    # What a report does not have without it.
    without: str
    is_public: bool = False
    # Not chosen by `hooks`: it comes with what the text says.
    comes_with: str = ""


@dataclass(frozen=True)
class Target:
    """`name` in `module`; of a hook, the list that holds it."""

    module: str
    name: str
    group: str
    armed: str
    kind: Kind = "replaced"
    # Modules that offer the same function under their own name.
    also: tuple[str, ...] = ()
    # In torch versions before this one it is not missed.
    since: str = ""
    # How people call it.
    called: str = ""

    @property
    def id(self) -> str:
        return f"{self.module}.{self.name}"


GROUPS = {
    "optimizer": Group(
        "the optimizer's time and the end of a step", "optimizer time, and steps under `whyslow run`", True
    ),
    "dataloader": Group("waits for batches, and why there are any", "waits for data and DataLoader settings", True),
    "model": Group("forward and backward", "forward and backward time, and no-grad regions"),
    "zero_grad": Group(
        "the end of a step whose update calls no hooks (compiled optimizers, Keras, updates by hand)",
        "the steps of such jobs under `whyslow run`",
    ),
    "gradient_sync": Group(
        "how long the backward pass waits for other ranks; needs `model`", "exposed gradient communication"
    ),
    "collectives": Group("synchronous communication and its size", "collectives between the phases of a step"),
    "copies": Group("copies of batches to the GPU; needs `model`", "host-to-device copies"),
    "evaluation": Group("evaluation and inference between steps", "evaluation and inference time"),
    "checkpoint": Group("checkpoints", "checkpoint time"),
    "generation": Group("text generation", "generation time"),
    "logging": Group("logging, printed tensors and progress bars", "logging time"),
    "scheduler": Group("learning rate schedulers", "scheduler time in steps"),
    "metrics": Group("torchmetrics", "metrics time in steps"),
    "gc": Group("full garbage collections", "garbage collection time"),
    "compile": Group("compilation", "compilation time"),
    "imports": Group(
        "libraries that the job imports later", "", comes_with="any group with targets outside torch, until imported"
    ),
    "windows": Group("profiler windows that do not collide with the job's own profiler", "", comes_with="a window"),
    "start": Group(
        "torch is noticed when the job imports it; the first batch or optimizer step then starts the capture",
        "",
        comes_with="`whyslow run`, with the targets of `dataloader`, `optimizer`, `zero_grad` and `model`",
    ),
    "process": Group(
        "forked children get the original torch back; files are closed at exit", "", comes_with="any capture"
    ),
    "accelerate": Group("the end of a step", "", comes_with="`integrations.accelerate.instrument`"),
}

_OPEN = "while a capture is open"
_STEPS = "in recorded steps"
_LATE = f"{_OPEN}, once its module is imported"

_COLLECTIVES = (
    *("all_reduce", "all_gather", "all_gather_into_tensor", "all_gather_object", "reduce_scatter"),
    *("reduce_scatter_tensor", "broadcast", "broadcast_object_list", "barrier", "monitored_barrier", "all_to_all"),
    *("all_to_all_single", "reduce", "gather", "scatter", "send", "recv"),
)
_NEW_COLLECTIVES = ("all_gather_single", "reduce_scatter_single")


def _collective(name: str, since: str = "") -> Target:
    module = "torch.distributed.distributed_c10d"
    return Target(module, name, "collectives", _OPEN, also=("torch.distributed",), since=since)


def _calls(group: str, module: str, *names: str, called: str = "", also: tuple[str, ...] = ()) -> tuple[Target, ...]:
    """`called`: what comes before the names, as people call them."""
    armed = f"{_LATE}; times {'recorded steps only' if group in IN_STEPS else 'calls between steps'}"
    return tuple(
        Target(module, name, group, armed, also=also, called=_CALLED.get(name, f"{called}{name}")) for name in names
    )


# What a loop does in every step. Timed as phases of recorded steps, so that other steps pay nothing.
IN_STEPS = ("scheduler", "metrics")
# Groups of functions whose time is a phase of the job, under the group's name.
TIMED = ("checkpoint", "evaluation", "generation", "logging", *IN_STEPS)
_CALLED = {
    "_str": "print(tensor)",
    "Run.log": "wandb.log",
    "Histogram.__init__": "wandb.Histogram",
    "Image.__init__": "wandb.Image",
    "Table.__init__": "wandb.Table",
}
_ADD = ("scalar", "scalars", "histogram", "image", "images", "figure", "video", "audio", "text", "embedding")

CALLS = (
    *_calls("checkpoint", "torch.serialization", "save", called="torch.", also=("torch",)),
    *_calls(
        *("checkpoint", "torch.distributed.checkpoint.state_dict_saver", "save", "async_save", "save_state_dict"),
        called="dcp.",
        also=("torch.distributed.checkpoint",),
    ),
    *_calls(
        *("checkpoint", "torch.distributed.checkpoint.state_dict", "get_state_dict", "get_model_state_dict"),
        "get_optimizer_state_dict",
        called="dcp.",
    ),
    *_calls("checkpoint", "safetensors.torch", "save_file", "save_model", called="safetensors.torch."),
    *_calls("checkpoint", "transformers.trainer", "Trainer._save_checkpoint", "Trainer.save_model"),
    *_calls("evaluation", "transformers.trainer", "Trainer.evaluate", "Trainer.predict"),
    *_calls("checkpoint", "transformers.modeling_utils", "PreTrainedModel.save_pretrained"),
    *_calls("generation", "transformers.generation.utils", "GenerationMixin.generate"),
    *_calls("checkpoint", "accelerate.accelerator", "Accelerator.save_state", "Accelerator.save_model"),
    *_calls("logging", "accelerate.accelerator", "Accelerator.log"),
    *_calls("checkpoint", "deepspeed.runtime.engine", "DeepSpeedEngine.save_checkpoint"),
    *_calls("generation", "vllm.entrypoints.llm", "LLM.generate", "LLM.chat"),
    *_calls("logging", "torch.utils.tensorboard.writer", *(f"SummaryWriter.add_{kind}" for kind in _ADD)),
    *_calls("logging", "torch.utils.tensorboard.writer", "SummaryWriter.flush"),
    *_calls("logging", "wandb.sdk.wandb_run", "Run.log", "Run.log_artifact", called="wandb."),
    # What is logged is made ready here, which often takes longer than to log it.
    *_calls("logging", "wandb.sdk.data_types.histogram", "Histogram.__init__"),
    *_calls("logging", "wandb.sdk.data_types.image", "Image.__init__"),
    *_calls("logging", "wandb.sdk.data_types.table", "Table.__init__"),
    *_calls(
        *("logging", "mlflow.tracking.fluent", "log_metric", "log_metrics", "log_artifact", "log_artifacts"),
        called="mlflow.",
        also=("mlflow",),
    ),
    *_calls("logging", "tqdm.std", "tqdm.display", "tqdm.write"),
    *_calls("logging", "torch._tensor_str", "_str"),
    *_calls("checkpoint", "lightning.pytorch.trainer.trainer", "Trainer.save_checkpoint"),
    *_calls("checkpoint", "pytorch_lightning.trainer.trainer", "Trainer.save_checkpoint"),
    *_calls("evaluation", "lightning.pytorch.loops.evaluation_loop", "_EvaluationLoop.run"),
    *_calls("evaluation", "pytorch_lightning.loops.evaluation_loop", "_EvaluationLoop.run"),
    *_calls("scheduler", "torch.optim.lr_scheduler", "LRScheduler.step", "ReduceLROnPlateau.step"),
    *_calls("scheduler", "torch.optim.lr_scheduler", "SequentialLR.step", "ChainedScheduler.step"),
    *_calls("metrics", "torchmetrics.metric", "Metric.forward", "Metric._wrap_update", "Metric._wrap_compute"),
)

TARGETS = (
    Target("torch.optim.optimizer", "_global_optimizer_post_hooks", "optimizer", _OPEN, "hook"),
    Target("torch.optim.optimizer", "_global_optimizer_pre_hooks", "optimizer", _STEPS, "hook"),
    Target("torch.utils.data.dataloader", "_BaseDataLoaderIter.__next__", "dataloader", _OPEN),
    Target("torch.utils.data.dataloader", "DataLoader.__iter__", "dataloader", _OPEN),
    Target(
        *("torch.nn", "Module.register_forward_pre_hook", "model"),
        f"{_STEPS}, from the end of loading to the model's first call",
        "on the job's objects",
    ),
    Target("torch.autograd", "backward", "model", f"in the first steps and {_STEPS}"),
    Target("torch.autograd", "grad", "model", "until something else is known to end steps"),
    Target("torch.optim", "Optimizer.zero_grad", "zero_grad", "until optimizer hooks are seen to work"),
    Target("torch.nn", "Module.zero_grad", "zero_grad", "until optimizer hooks are seen to work"),
    Target(
        *("torch", "Tensor.register_hook", "gradient_sync"),
        f"{_STEPS} of DDP and FSDP, on the loss: before its other hooks",
        "on the job's objects",
    ),
    *map(_collective, _COLLECTIVES),
    *(_collective(name, since="2.13") for name in _NEW_COLLECTIVES),
    Target("torch.distributed", "Work.wait", "collectives", _OPEN),
    Target("torch.distributed", "ProcessGroup.send", "collectives", _OPEN),
    Target("torch.distributed", "ProcessGroup.recv", "collectives", _OPEN),
    Target("torch", "Tensor.to", "copies", f"{_STEPS} of GPU jobs, from the end of loading to the model's call"),
    Target("torch", "Tensor.cuda", "copies", f"{_STEPS} of GPU jobs, from the end of loading to the model's call"),
    # torch.jit.script compiles the hooks of a model and cannot compile ours, so they leave before.
    Target("torch.jit._recursive", "get_hook_stubs", "model", _OPEN),
    Target("torch.nn", "Module.eval", "evaluation", _OPEN),
    Target("torch.nn", "Module.train", "evaluation", "from a call of `model.eval()` to the next of `model.train()`"),
    Target("torch", "inference_mode.__enter__", "evaluation", _OPEN),
    Target("torch", "inference_mode.__exit__", "evaluation", _OPEN),
    *CALLS,
    Target("gc", "callbacks", "gc", _OPEN, "hook"),
    Target("torch._dynamo.callback", "callback_handler.start_callbacks", "compile", _LATE, "hook"),
    Target("torch._dynamo.callback", "callback_handler.end_callbacks", "compile", _LATE, "hook"),
    Target("sys", "meta_path", "imports", _OPEN, "hook"),
    Target("torch.autograd.profiler", "_prepare_profiler", "windows", _OPEN),
    Target("torch.autograd.profiler", "_enable_profiler", "windows", _OPEN),
    Target("torch.autograd.profiler", "_disable_profiler", "windows", _OPEN),
    Target("os", "environ[TEARDOWN_CUPTI]", "windows", "from the first window with a GPU", "for good"),
    Target(
        *("importlib", "Loader.exec_module", "imports", "while such a library is imported, on its loader"),
        "on the job's objects",
    ),
    Target(
        *("sys", "modules[sitecustomize]", "start", "at the start of Python: ours comes first, then the one it hides"),
        "for good",
    ),
    Target("sys", "meta_path[AfterImport]", "start", "until torch is imported", "hook"),
    Target("os", "register_at_fork", "process", "once per process; does nothing when no capture is open", "for good"),
    Target("atexit", "register", "process", _OPEN, "hook"),
    Target("accelerate", "Accelerator.prepare", "accelerate", "on that accelerator", "on the job's objects"),
    Target("accelerate", "Accelerator.prepare_optimizer", "accelerate", "on that accelerator", "on the job's objects"),
    Target("accelerate", "Accelerator.end_training", "accelerate", "on that accelerator", "on the job's objects"),
    Target("accelerate", "AcceleratedOptimizer.step", "accelerate", "on its first optimizer", "on the job's objects"),
)
BY_ID = {target.id: target for target in TARGETS}


def groups_of(names: tuple[str, ...]) -> frozenset[str]:
    """The groups of the setting `hooks`. "public" and "all" stand for several."""
    chosen = {name for name in names if name not in SEVERAL}
    for several in (name for name in names if name in SEVERAL):
        chosen |= SEVERAL[several]
    return frozenset(chosen)


_TO_CHOOSE = {name: group for name, group in GROUPS.items() if not group.comes_with}
SEVERAL = {
    "public": frozenset(name for name, group in _TO_CHOOSE.items() if group.is_public),
    "all": frozenset(_TO_CHOOSE),
    "none": frozenset[str](),
}
CHOICES = (*SEVERAL, *_TO_CHOOSE)
