"""Attributes of other people's objects that we replace, and restore later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_ABSENT = object()


class Patch:
    """Replaces one attribute. Restores it, unless someone else has replaced ours since."""

    def __init__(self, owner: Any, name: str, ours: Callable[..., Any]) -> None:
        self._owner, self._name, self._ours = owner, name, ours
        # An inherited attribute is not in the owner's own dict; then deleting ours restores it.
        self._before = vars(owner).get(name, _ABSENT)
        self._removed = False
        setattr(owner, name, ours)

    def remove(self) -> bool:
        """False if someone has wrapped ours: it stays, and must do no harm there."""
        if self._removed:
            return True
        if vars(self._owner).get(self._name, _ABSENT) is not self._ours:
            return False
        if self._before is _ABSENT:
            delattr(self._owner, self._name)
        else:
            setattr(self._owner, self._name, self._before)
        self._removed = True
        return True


class Patches:
    def __init__(self) -> None:
        self._made: list[Patch] = []

    def put(self, owner: Any, name: str, ours: Callable[..., Any]) -> Patch:
        patch = Patch(owner, name, ours)
        self._made.append(patch)
        return patch

    def remove(self) -> bool:
        """Removes all, newest first. False if one of them had to stay."""
        done = True
        while self._made:
            done &= self._made.pop().remove()
        return done
