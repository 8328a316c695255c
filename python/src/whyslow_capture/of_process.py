"""The capture of this process: at most one at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

from .config import load_config
from .problems import ProblemLog
from .session import Capture

Batch = TypeVar("Batch")


class DisabledCapture:
    """What a job gets when capture is off: the same methods, none of which does anything."""

    def step(self, number: int | None = None) -> None:
        pass

    def phase(self, name: str) -> AbstractContextManager[None]:
        return nullcontext()

    def lap(self, name: str) -> None:
        pass

    def data(self, loader: Iterable[Batch]) -> Iterator[Batch]:
        return iter(loader)

    def micro_step(self) -> None:
        pass

    def to_device(self, batch: Batch, device: object) -> Batch:
        from .copies import to_device

        return to_device(batch, device)  # type: ignore[arg-type]

    def step_callback(self, target: str) -> Callable[[], None] | None:
        return None

    def set_mesh(self, mesh: object) -> None:
        pass

    def close(self) -> None:
        pass

    def __enter__(self) -> DisabledCapture:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class InnerCapture:
    """A second `capture()` while one is on: the same capture, which its first owner closes."""

    def __init__(self, outer: Capture) -> None:
        self._outer = outer

    def __getattr__(self, name: str) -> object:
        return getattr(self._outer, name)

    def close(self) -> None:
        pass

    def __enter__(self) -> InnerCapture:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class _Holder:
    """Of the process, not of a run: which capture is on."""

    current: Capture | None = None


def active() -> Capture | None:
    current = _Holder.current
    return None if current is None or current._closed else current


def capture(out: str | os.PathLike[str] | None = None, **config: object) -> Capture | DisabledCapture | InnerCapture:
    """
    Starts measuring this process. `out` is where files go; all other names are those of the configuration, each of
    which can be given by environment (`WHYSLOW_*`) or JSON as well.
    """
    if out is not None:
        config["out"] = os.fspath(out)
    problems = ProblemLog()
    loaded = load_config(config, problems=problems)
    if not loaded.enabled:
        return DisabledCapture()
    running = active()
    if running is not None:
        running.manual_steps()
        running.problems.warn("second-capture", f"capture is on already, into {running.out}; this call joins it")
        return InnerCapture(running)
    started = Capture(loaded, problems)
    _Holder.current = started
    return started.open()


def open_capture(started: Capture, steps: str) -> Capture:
    """For those who made one themselves (injection): it becomes the process's."""
    _Holder.current = started
    return started.open(steps)


def _forget_in_child() -> None:
    current, _Holder.current = _Holder.current, None
    if current is not None:
        current.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
