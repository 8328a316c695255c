"""Finds the job's models among all objects of the process."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

import torch

Module = torch.nn.Module


def all_modules() -> list[Module]:
    """
    Every module in the process. Compares types, because `isinstance` would resolve lazy proxies. Takes 0.1 to 0.3 µs
    per object, and torch alone has 300,000, so this runs only once or twice per job, in its first steps.
    """
    kinds = subclasses(Module)
    # Skips modules whose __init__ has not run, and script modules, which keep their children elsewhere.
    return [
        thing
        for thing in gc.get_objects()
        if type(thing) in kinds and "_modules" in thing.__dict__ and "_parameters" in thing.__dict__
    ]


def subclasses(kind: type) -> set[type]:
    found = {kind}
    waiting = [kind]
    while waiting:
        below: list[type] = type.__subclasses__(waiting.pop())
        new = [k for k in below if k not in found]
        found.update(new)
        waiting += new
    return found


class KnownModules:
    """The modules found by the last search. Keeps no model alive."""

    def __init__(self) -> None:
        self._found: list[weakref.ref[Module]] = []
        self.searches = 0

    def search(self) -> list[Module]:
        self.searches += 1
        self._found = [weakref.ref(module) for module in all_modules()]
        return self.get()

    def get(self) -> list[Module]:
        return [module for reference in self._found if (module := reference()) is not None]


def children(module: Module) -> Iterator[Module]:
    for child in (module.__dict__.get("_modules") or {}).values():
        if child is not None:
            yield child


def tree(module: Module) -> Iterator[Module]:
    seen: set[int] = set()
    waiting = [module]
    while waiting:
        current = waiting.pop()
        if id(current) not in seen:
            seen.add(id(current))
            yield current
            waiting.extend(children(current))


def parameters_below(module: Module) -> Iterator[Any]:
    for part in tree(module):
        for parameter in (part.__dict__.get("_parameters") or {}).values():
            if parameter is not None:
                yield parameter


def roots(modules: Iterable[Module], of: set[int] | None) -> list[Module]:
    """Modules inside no other module that have a parameter with an id in `of`, or a trainable one if `of` is None."""
    modules = list(modules)
    inner = {id(child) for module in modules for child in children(module)}
    return [
        module
        for module in modules
        if id(module) not in inner
        and any(p.requires_grad if of is None else id(p) in of for p in parameters_below(module))
    ]
