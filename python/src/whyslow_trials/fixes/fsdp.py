"""Prefetching of FullyShardedDataParallel. `fully_shard` (FSDP2) prefetches backward by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .base import Fix, change_arguments

if TYPE_CHECKING:
    from types import ModuleType

    from ..trial import Trial


class FsdpPrefetch(Fix):
    name = "fsdp-prefetch"

    def install(self, trial: Trial) -> None:
        from whyslow_capture.job.imports import after_import

        trial.refuse(self.name, "the job has no FullyShardedDataParallel")

        def patch(module: ModuleType) -> None:
            change_arguments(module.FullyShardedDataParallel, "__init__", lambda _, given: self.change(trial, given))

        after_import({"torch.distributed.fsdp.fully_sharded_data_parallel": patch})

    def change(self, trial: Trial, arguments: dict[str, Any]) -> None:
        from torch.distributed.fsdp import BackwardPrefetch

        wanted = {"forward_prefetch": True, "backward_prefetch": BackwardPrefetch.BACKWARD_PRE}
        for name, value in wanted.items():
            if arguments.get(name) != value:
                trial.apply(self.name, f"{name} {arguments.get(name)} → {value}")
                arguments[name] = value
        if self.name not in trial.applied:
            trial.refused[self.name] = "prefetching is on already"
