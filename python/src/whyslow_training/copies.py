"""
Copies batches to the device without waiting for the copy.

    batch = to_device(batch, "cuda")

Handles dicts, lists, tuples, named tuples, dataclasses and objects with a `.to` method. As with `Tensor.to`, an object
that is already on the device is returned unchanged.
"""

from __future__ import annotations

import copy
from collections import UserDict
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import fields, is_dataclass
from types import MappingProxyType
from typing import Any, TypeVar

import torch

from whyslow_capture.api import active_session, phase
from whyslow_capture.layout import HOST_TO_DEVICE
from whyslow_capture.problems import ProblemLog

Batch = TypeVar("Batch")

# For the whole process, so that the warning about pinned memory comes once, with or without a capture.
_PROBLEMS = ProblemLog()
_UNPINNED = "unpinned-copy"


def to_device(batch: Batch, device: torch.device | str | int, non_blocking: bool = True) -> Batch:
    """
    Returns the batch with its tensors on `device`. Types are kept, and objects without tensors are left alone.

    A copy from pageable memory blocks even with `non_blocking`; then one warning says what to do.
    """
    mover = _Mover(torch.device(device), non_blocking)
    with phase(HOST_TO_DEVICE):
        moved: Batch = mover.move(batch)
    return moved


class _Mover:
    def __init__(self, device: torch.device, non_blocking: bool) -> None:
        self._device = device
        self._non_blocking = non_blocking
        # Objects already moved: a tensor that occurs twice is copied once, and recursive structures end. The originals
        # are kept alive so that their ids stay unique.
        self._moved: dict[int, tuple[object, object]] = {}

    def move(self, value: Any) -> Any:
        kind = type(value)
        if kind in _PLAIN:
            return value
        known = self._moved.get(id(value))
        if known is not None:
            return known[1]
        self._moved[id(value)] = (value, value)
        moved = self._tensor(value) if isinstance(value, torch.Tensor) else self._structure(value)
        self._moved[id(value)] = (value, moved)
        return moved

    def _tensor(self, tensor: torch.Tensor) -> torch.Tensor:
        if self._non_blocking and tensor.device.type == "cpu" and gains_from_pinning(self._device):
            self._warn_if_not_pinned(tensor)
        return tensor.to(self._device, non_blocking=self._non_blocking)

    def _structure(self, value: Any) -> Any:
        # Types such as PackedSequence (a tuple) and TensorDict (a mapping) know best which parts to move. Not UserDict:
        # BatchEncoding.to modifies the batch it is called on.
        own = getattr(value, "to", None)
        if callable(own) and not isinstance(value, (UserDict, type)):
            return self._with_own_method(own)
        if isinstance(value, Mapping):
            return self._mapping(value)
        if isinstance(value, (list, tuple)):
            return self._sequence(value)
        if is_dataclass(value) and not isinstance(value, type):
            return self._dataclass(value)
        return value

    def _with_own_method(self, own: Callable[..., Any]) -> Any:
        try:
            return own(self._device, non_blocking=self._non_blocking)
        except TypeError:  # it does not take non_blocking
            return own(self._device)

    def _mapping(self, value: Mapping[Any, Any]) -> Any:
        changed = {key: moved for key, item in value.items() if (moved := self.move(item)) is not item}
        if not changed:
            return value
        if isinstance(value, MutableMapping):
            clone = copy.copy(value)
            for key, moved in changed.items():
                clone[key] = moved
            return clone
        whole = {**value, **changed}
        return MappingProxyType(whole) if isinstance(value, MappingProxyType) else whole

    def _sequence(self, value: list[Any] | tuple[Any, ...]) -> Any:
        moved = [self.move(item) for item in value]
        if all(new is old for new, old in zip(moved, value, strict=True)):
            return value
        if isinstance(value, tuple):
            # Also right for named tuples, whatever their constructor takes.
            return tuple.__new__(type(value), moved)
        if type(value) is list:
            return moved
        clone = copy.copy(value)
        clone[:] = moved
        return clone

    def _dataclass(self, value: Any) -> Any:
        items = {f.name: getattr(value, f.name) for f in fields(value) if hasattr(value, f.name)}
        changed = {name: moved for name, item in items.items() if (moved := self.move(item)) is not item}
        if not changed:
            return value
        clone = copy.copy(value)
        for name, moved in changed.items():
            object.__setattr__(clone, name, moved)  # works for frozen dataclasses too
        return clone

    def _warn_if_not_pinned(self, tensor: torch.Tensor) -> None:
        capture = active_session()
        problems = _PROBLEMS if capture is None else capture.problems
        if _UNPINNED in problems.counts or _UNPINNED in _PROBLEMS.counts or tensor.numel() == 0 or tensor.is_pinned():
            return
        problems.warn(
            _UNPINNED,
            f"a batch is copied to {self._device} from memory that is not pinned, so every copy blocks: set "
            "pin_memory=True on the DataLoader (or call .pin_memory() on tensors you create yourself)",
        )


def gains_from_pinning(device: torch.device) -> bool:
    return device.type not in ("cpu", "meta")


_PLAIN = frozenset({int, float, bool, str, bytes, type(None)})
