"""The settings of a DataLoader, read from its iterator, and whose training loop asks it for batches."""

from __future__ import annotations

import sys
from contextlib import suppress
from types import CodeType, FunctionType
from typing import Any

from .loops import LOOPS

# Packages whose iterable datasets give each worker its own part.
SPLIT_BY_WORKER = ("datasets", "webdataset", "torchdata", "streaming", "litdata", "keras")
MAX_FRAMES = 48
MAX_DEPTH = 4


def settings_of(iterator: Any) -> dict[str, object]:
    """Never fails: what a version of torch does not have is None."""
    dataset = getattr(iterator, "_dataset", None)
    is_iterable = _is_iterable(dataset)
    return {
        "num_workers": _number(getattr(iterator, "_num_workers", None)),
        "prefetch_factor": _number(getattr(iterator, "_prefetch_factor", None)),
        "pin_memory": _flag(getattr(iterator, "_pin_memory", None)),
        "persistent_workers": _flag(getattr(iterator, "_persistent_workers", None)),
        "batch_size": _number(getattr(getattr(iterator, "_index_sampler", None), "batch_size", None)),
        "batches": None if is_iterable else batches_of(iterator),
        "iterable": is_iterable,
        "split_by_worker": splits_by_worker(getattr(iterator, "_worker_init_fn", None), dataset)
        if is_iterable
        else None,
        "framework": _framework(dataset),
    }


def batches_of(iterator: Any) -> int | None:
    """Of an epoch. Asks only samplers of torch, which ask for the length of the dataset at each epoch anyway."""
    sampler: Any = getattr(iterator, "_index_sampler", None)
    inner = getattr(sampler, "sampler", sampler)
    if not all(type(s).__module__.startswith("torch.utils.data") for s in (sampler, inner)):
        return None
    with suppress(Exception):
        return _number(len(sampler))
    return None


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _is_iterable(dataset: Any) -> bool:
    from torch.utils.data import IterableDataset

    return isinstance(dataset, IterableDataset)


def splits_by_worker(worker_init_fn: Any, dataset: Any) -> bool | None:
    """Whether each worker yields its own part. False if nothing in the dataset asks which worker it is in."""
    for _ in range(MAX_DEPTH):
        kind = type(dataset)
        if kind.__module__.partition(".")[0] in SPLIT_BY_WORKER or _asks_for_worker(kind):
            return True
        # A wrapper, such as accelerate's.
        inner = getattr(dataset, "dataset", None)
        if inner is None:
            break
        dataset = inner
    # It may set the datasets of workers up.
    return None if worker_init_fn is not None else False


def _asks_for_worker(kind: type) -> bool:
    for cls in kind.__mro__[:16]:
        if cls.__module__.startswith("torch.utils.data"):
            continue
        functions = [f for f in list(vars(cls).values()) if isinstance(f, FunctionType)]
        if any(_names(f.__code__, MAX_DEPTH) for f in functions):
            return True
    return False


def _names(code: CodeType, depth: int) -> bool:
    if "get_worker_info" in code.co_names:
        return True
    return depth > 0 and any(_names(c, depth - 1) for c in code.co_consts if isinstance(c, CodeType))


def _framework(dataset: Any) -> str | None:
    """Whose training loop this is, from the calls that led here. Keras makes a loader of its own around PyDatasets."""
    if type(dataset).__module__.startswith("keras."):
        return "keras"
    return framework_of(sys._getframe(1), MAX_FRAMES)


def framework_of(frame: Any, frames: int) -> str | None:
    """The first framework of the list that made one of these calls: transformers, not the Accelerate that it uses."""
    modules: set[str] = set()
    for _ in range(frames):
        if frame is None:
            break
        modules.add(str(frame.f_globals.get("__name__", "")))
        frame = frame.f_back
    for prefix, framework in LOOPS:
        if any(module.startswith(prefix) for module in modules):
            return framework
    return None
