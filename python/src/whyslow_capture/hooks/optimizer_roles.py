"""Which optimizer replaces another one: a job may make a new one for every client, task or epoch."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

# Optimizers that are remembered, the latest.
MAX_HOLDERS = 16


@dataclass(frozen=True)
class Holder:
    role: int
    optimizer: weakref.ref[Any]
    # Its class, and how many parameters it updates: what is made anew is alike.
    kind: tuple[type, int]

    def has_ended(self) -> bool:
        return self.optimizer() is None

    def updates(self, parameter: object) -> bool:
        optimizer = self.optimizer()
        return optimizer is not None and first_parameter(optimizer) is parameter


class OptimizerRoles:
    """
    Two optimizers have one role if the second is made when the first has ended, or if it updates the same parameters.
    If both of them step, they have a role each.
    """

    def __init__(self) -> None:
        # Each role's holder, the latest last; and those that were replaced.
        self._holders: list[Holder] = []
        self._replaced: list[Holder] = []
        self._roles = 0

    def of(self, optimizer: Any) -> int:
        for holder in self._holders:
            if holder.optimizer() is optimizer:
                return holder.role
        kind = (type(optimizer), sum(len(group["params"]) for group in optimizer.param_groups))
        has_stepped = any(holder.optimizer() is optimizer for holder in self._replaced)
        before = None if has_stepped else self._predecessor(kind, first_parameter(optimizer))
        if before is not None:
            self._holders.remove(before)
            self._replaced = [*self._replaced, before][-MAX_HOLDERS:]
        else:
            self._roles += 1
        role = self._roles if before is None else before.role
        self._holders = [*self._holders, Holder(role, weakref.ref(optimizer), kind)][-MAX_HOLDERS:]
        return role

    def _predecessor(self, kind: tuple[type, int], parameter: object) -> Holder | None:
        ended = [holder for holder in self._holders if holder.has_ended()]
        same = [holder for holder in self._holders if holder.updates(parameter)]
        alike = [holder for holder in ended if holder.kind == kind]
        return next(iter([*same, *alike, *ended]), None)


def first_parameter(optimizer: Any) -> object:
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            return parameter
    return None
