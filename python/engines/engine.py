"""What an engine must do for driver.py, and what all of them need."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable
from typing import Any, Protocol

# A worker that died, a node that went away, a task that the system killed.
RETRIES = 3
# How long whoever listens at an address may take to answer.
ANSWER_WITHIN_S = 5


class NoCluster(Exception):
    """There is none at the address. None: no address was given."""

    def __init__(self, address: str | None, why: str = "") -> None:
        super().__init__(why)
        self.address = address
        self.why = why


class Engine(Protocol):
    """A cluster that is there already. Tasks are anything that a dictionary takes as a key."""

    def hosts(self) -> dict[str, str]:
        """Machines with workers: their names for people, by what `start` takes. Workers of one see the same disks."""

    def slots(self) -> int:
        """How many tasks can run at once."""

    def share(self, data: Any) -> Any:
        """What many tasks need, sent once: they take what this returns as an argument."""

    def start(self, function: Callable[..., Any], arguments: Iterable[Any], hosts: list[str] | None) -> Any:
        """A task, on one of the hosts, the first if it can choose. None: on any."""

    def start_soon(self, function: Callable[..., Any], arguments: Iterable[Any], host: str) -> Any:
        """A short task that does not wait for those of others, where the engine can do that."""

    def next_done(self, tasks: Iterable[Any]) -> Any:
        """Waits for one of the tasks."""

    def result(self, task: Any) -> Any:
        """What a task that is done returned. Raises what it raised."""

    def why(self, error: BaseException) -> str:
        """What went wrong on the node, in one line, without the engine's stack trace."""

    def close(self) -> None:
        """Leaves the cluster as it is."""


def must_answer(host: str, port: int) -> None:
    """Raises OSError where nobody listens. Engines themselves would try for a minute or more."""
    socket.create_connection((host, port), timeout=ANSWER_WITHIN_S).close()


def first_line(error: BaseException) -> str:
    # Without the number.
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    lines = text.strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__
