"""Replaces and restores what `touched.py` lists, and knows what is in place now. Nothing is installed without it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from .problems import ProblemLog
from .touched import BY_ID, GROUPS, Kind, Target

_ABSENT = object()


class ActivePatch(NamedTuple):
    """Something of ours that is in place."""

    target: str
    group: str
    kind: Kind
    why: str
    is_covered: bool
    """The capture was closed, but someone has wrapped ours: it stays, and only passes calls on."""


class Installed:
    def __init__(self, target: Target) -> None:
        self.target = target
        self.is_covered = False
        _in_place.add(self)
        _ever.add(target.id)

    def remove(self) -> bool:
        """False if it had to stay."""
        raise NotImplementedError

    def _is_gone(self) -> None:
        _in_place.discard(self)


_in_place: set[Installed] = set()
# Ids: of all that was ever in place in this process, and of what should be there and is not, with the reason.
_ever: set[str] = set()
_missing: dict[str, str] = {}


def patches() -> list[ActivePatch]:
    """What capture has replaced or hooked in this process now. `docs/what-capture-does.md` lists all there can be."""
    found = {(each.target.id, each.is_covered): each.target for each in list(_in_place)}
    return [
        ActivePatch(id_, target.group, target.kind, GROUPS[target.group].why, is_covered)
        for (id_, is_covered), target in sorted(found.items(), key=lambda item: item[0])
    ]


def installed_so_far() -> dict[str, object]:
    """For the manifest: all that was in place at some time."""
    found: dict[str, object] = {"installed": sorted(_ever)}
    covered = sorted({each.target.id for each in list(_in_place) if each.is_covered})
    if covered:
        found["covered"] = covered
    if _missing:
        found["missing"] = dict(_missing)
    return found


class Hook(Installed):
    """One that its owner has a list for. `remove` takes it out of that list."""

    def __init__(self, target: str, remove: Callable[[], object]) -> None:
        super().__init__(BY_ID[target])
        self._remove = remove

    def remove(self) -> bool:
        self._is_gone()
        self._remove()
        return True


class Patch(Installed):
    """Replaces one attribute. Restores it, unless someone else has replaced ours since."""

    def __init__(self, target: Target, owner: Any, name: str, ours: object) -> None:
        self._owner, self._name, self._ours = owner, name, ours
        # An inherited attribute is not in the owner's own dict; then deleting ours restores it.
        self._before = vars(owner).get(name, _ABSENT)
        self.is_removed = False
        setattr(owner, name, ours)
        super().__init__(target)

    def remove(self) -> bool:
        """False if someone has wrapped ours: it stays, and must do no harm there."""
        if self.is_removed:
            return True
        if vars(self._owner).get(self._name, _ABSENT) is not self._ours:
            self.is_covered = True
            return False
        if self._before is _ABSENT:
            delattr(self._owner, self._name)
        else:
            setattr(self._owner, self._name, self._before)
        self.is_removed = True
        self._is_gone()
        self._uncover()
        return True

    def _uncover(self) -> None:
        """Ours may have wrapped one that should be gone: `whyslow run` arms before a script's own capture."""
        for each in list(_in_place):
            if (
                isinstance(each, Patch)
                and each.is_covered
                and each._owner is self._owner
                and each._name == self._name
                and each._ours is self._before
            ):
                each.remove()
                return


class Patches:
    def __init__(self, problems: ProblemLog) -> None:
        self._problems = problems
        self._made: list[Patch] = []

    def put(self, target: str, make: Callable[[Any], Any], owner: Any = None) -> Patch | None:
        """
        Replaces a target by what `make` makes of it, also where other modules offer it. None if there is no such
        target, or `make` returned None; then it is reported. `owner`: the object of the job that has it.
        """
        known = BY_ID[target]
        holder, name = (owner, known.name.rpartition(".")[2]) if owner is not None else find(known)
        before = _ABSENT if holder is None else getattr(holder, name, _ABSENT)
        if before is _ABSENT:
            self._miss(known, "does not exist")
            return None
        # As it is in its own dict: a static method as such.
        before = vars(holder).get(name, before)
        ours = make(before)
        if ours is None:
            self._miss(known, "is no plain function")
            return None
        patch = Patch(known, holder, name, ours)
        self._made = [*(each for each in self._made if not each.is_removed), patch]
        for alias in known.also:
            other = sys.modules.get(alias)
            if other is not None and vars(other).get(name) is before:
                self._made.append(Patch(known, other, name, ours))
        return patch

    def _miss(self, target: Target, why: str) -> None:
        if target.since and _torch_version() < _version(target.since):
            return
        _missing[target.id] = why
        library = target.module.partition(".")[0]
        version = getattr(sys.modules.get(library), "__version__", "")
        without = GROUPS[target.group].without or "some figures"
        self._problems.warn(
            "hook-missing", f"{target.id} {why} in {library} {version}".rstrip() + f": reports may lack {without}"
        )

    def remove(self) -> bool:
        """Removes all, newest first. False if one of them had to stay."""
        done = True
        while self._made:
            done &= self._made.pop().remove()
        return done


def leave_out_caller(error: BaseException) -> None:
    """
    Takes the function that calls this out of the traceback, so that users see their own frames only: in an `except`
    around what it wraps, followed by a bare `raise`. In Python 3.10 it stays.
    """
    if error.__traceback__ is not None:
        error.__traceback__ = error.__traceback__.tb_next


def find(target: Target) -> tuple[Any, str]:
    """The object that has it, and its name there. None if there is no such object (yet)."""
    path, _, name = target.name.rpartition(".")
    owner: Any = sys.modules.get(target.module)
    for part in path.split(".") if path else ():
        owner = getattr(owner, part, None)
    return owner, name


def _torch_version() -> tuple[int, ...]:
    return _version(str(getattr(sys.modules.get("torch"), "__version__", "0")))


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.partition("+")[0].split(".")[:2] if part.isdigit())
