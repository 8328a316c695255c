"""Fixes that are arguments of a DataLoader, wherever the script or a framework makes one."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from whyslow_capture.cores import cores
from whyslow_capture.loader_settings import batches_of, splits_by_worker

from .base import Fix, change_arguments

if TYPE_CHECKING:
    from ..trial import Trial

# More rarely help, and each takes memory.
MOST_WORKERS = 16


class _LoaderFix(Fix):
    def install(self, trial: Trial) -> None:
        from torch.utils.data import DataLoader

        change_arguments(DataLoader, "__init__", lambda _, arguments: self.change(trial, arguments))

    def change(self, trial: Trial, arguments: dict[str, Any]) -> None:
        raise NotImplementedError


class LoaderWorkers(_LoaderFix):
    name = "loader-workers"

    def change(self, trial: Trial, arguments: dict[str, Any]) -> None:
        from torch.utils.data import IterableDataset

        before = arguments["num_workers"]
        wanted = int(self.settings.get("value") or default_workers())
        dataset = arguments["dataset"]
        if isinstance(dataset, IterableDataset) and not splits_by_worker(arguments["worker_init_fn"], dataset):
            if before:
                return trial.refuse(self.name, "an IterableDataset may give every worker the same data")
            wanted = 1
        if wanted <= before:
            return trial.refuse(self.name, f"there are {before} workers already")
        arguments["num_workers"], arguments["persistent_workers"] = wanted, True
        trial.apply(self.name, f"num_workers {before} → {wanted}, persistent_workers")
        return None


class LoaderPersistent(_LoaderFix):
    name = "loader-persistent"

    def change(self, trial: Trial, arguments: dict[str, Any]) -> None:
        if not arguments["num_workers"]:
            return trial.refuse(self.name, "the DataLoader has no workers")
        if arguments["persistent_workers"]:
            return trial.refuse(self.name, "workers are persistent already")
        arguments["persistent_workers"] = True
        trial.apply(self.name, "persistent_workers on")
        return None


class LoaderPrefetch(_LoaderFix):
    name = "loader-prefetch"

    def change(self, trial: Trial, arguments: dict[str, Any]) -> None:
        if not arguments["num_workers"]:
            return trial.refuse(self.name, "the DataLoader has no workers")
        before = arguments["prefetch_factor"] or 2
        wanted = int(self.settings.get("value") or max(4 * before, 8))
        if wanted <= before:
            return trial.refuse(self.name, f"prefetch_factor is {before} already")
        arguments["prefetch_factor"] = wanted
        trial.apply(self.name, f"prefetch_factor {before} → {wanted}")
        return None


def default_workers() -> int:
    """One core stays for the training process."""
    known = cores()
    shared = min(float(str(known["allowed"] or 1)), float(str(known["quota"] or "inf")))
    return int(max(1, min(MOST_WORKERS, shared / int(str(known["ranks"])) - 1)))


def watch_queues(trial: Trial) -> None:
    """The warm-up must outlast the batches that workers hold ready. At the start of an epoch they hold none."""
    from torch.utils.data import dataloader

    owner: Any = dataloader._BaseDataLoaderIter
    original = owner.__init__

    @functools.wraps(original)
    def __init__(self: Any, loader: Any, *args: Any, **options: Any) -> None:
        original(self, loader, *args, **options)
        workers, factor = loader.num_workers, loader.prefetch_factor or 2
        trial.have("loader-workers", workers)
        batches = batches_of(self)
        if batches:  # no epoch keeps more workers busy
            trial.most["loader-workers"] = max(trial.most.get("loader-workers", 0), batches)
        if workers:
            trial.have("loader-prefetch", factor)
            trial.queue = max(trial.queue, min(workers * factor, batches or workers * factor))

    owner.__init__ = __init__
