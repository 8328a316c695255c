"""Times `data_wait`: the training loop waiting for its next batch. `LoaderWatch` notes why it waits."""

from __future__ import annotations

import threading
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import dataloader

from ..patching import Patches, leave_out_caller
from .dynamo import never_compiled, not_compiled

if TYPE_CHECKING:
    from .phase_tracker import PhaseTracker


def install(tracker: PhaseTracker, patches: Patches) -> None:
    recorder = tracker.recorder
    get_ident = threading.get_ident
    original_next = dataloader._BaseDataLoaderIter.__next__
    original_iter = dataloader.DataLoader.__iter__
    watch = tracker.loaders
    no_grad_regions = tracker.no_grad_regions

    @never_compiled
    def fetch_begins(iterator: Any) -> bool:
        if not begins():
            return False
        try:
            started = perf_counter_ns()
            watch.fetch_begins(iterator)
            recorder.add_cost(perf_counter_ns() - started)
        except Exception as error:
            tracker.failed(error)
        return True

    @never_compiled
    def fetch_ends(got: bool) -> None:
        try:
            watch.fetch_ends(got=got)
        except Exception as error:
            tracker.failed(error)
        ends(got)

    @never_compiled
    def begins() -> bool:
        """False in validation loops, and in a loader that another loader reads from."""
        if tracker.in_data or tracker.in_backward or get_ident() != recorder.thread:
            return False
        if no_grad_regions.is_open:
            return False
        # In a job that trains, a wait without gradients is validation. In one that only infers it is what matters.
        if not torch.is_grad_enabled() and tracker.iterations.has_trained:
            return False
        try:
            if tracker.forward is not None and tracker.forward.is_evaluating():
                return False
            return tracker.data_begins()
        except Exception as error:
            tracker.failed(error)
            return False

    @never_compiled
    def ends(got: bool) -> None:
        try:
            tracker.data_ends(got=got)
        except Exception as error:
            tracker.failed(error)

    def __next__(self: Any) -> Any:
        try:
            if not recorder.recording or not fetch_begins(self):
                return original_next(self)
            got = False
            try:
                batch = original_next(self)
                got = True
                return batch
            finally:
                fetch_ends(got)
        except BaseException as error:
            leave_out_caller(error)
            raise

    @never_compiled
    def started(loader: Any, iterator: Any, began_ns: int) -> None:
        try:
            watch.started(loader, iterator, perf_counter_ns() - began_ns)
        except Exception as error:
            tracker.failed(error)

    def __iter__(self: Any) -> Any:
        if torch.is_grad_enabled() and get_ident() == recorder.thread:
            tracker.loop.loader_began()
            began_ns = perf_counter_ns()
            iterator = timed_iter(self)
            started(self, iterator, began_ns)
            return iterator
        return timed_iter(self)

    def timed_iter(self: Any) -> Any:
        # Starts the workers, at each epoch unless they are persistent.
        if not recorder.recording or not begins():
            return original_iter(self)
        try:
            return original_iter(self)
        finally:
            ends(False)

    patches.put("torch.utils.data.dataloader._BaseDataLoaderIter.__next__", lambda _: not_compiled(__next__))
    patches.put("torch.utils.data.dataloader.DataLoader.__iter__", lambda _: not_compiled(__iter__))
