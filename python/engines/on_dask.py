"""Tasks on a Dask cluster."""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from engine import RETRIES, NoCluster, first_line, must_answer

# A nanny starts a dead worker again within seconds. Dask itself would wait forever for a host that is gone.
GONE_AFTER_S = 30.0
LOOK_EVERY_S = 1.0
# A busy scheduler may take a while to greet.
GREETED_WITHIN_S = 15


class HostGone(Exception):
    """No worker is left on the hosts that have a file."""


def connect(given: str | None) -> OnDask:
    """Without an address: DASK_SCHEDULER_ADDRESS, or Dask's settings. Never a new one: it would see no other node."""
    import dask
    from distributed import Client

    address = given or dask.config.get("scheduler-address", None)
    if not address:
        raise NoCluster(None)
    try:
        scheduler = address_in(address)
        at = urlsplit(scheduler if "://" in scheduler else f"tcp://{scheduler}")
        # Others, such as ucx, need not listen to TCP.
        if at.scheme in ("tcp", "tls", "ws", "wss") and at.hostname and at.port:
            must_answer(at.hostname, at.port)
        client = within(GREETED_WITHIN_S, lambda: Client(scheduler, timeout=GREETED_WITHIN_S, set_as_default=False))
    except MemoryError as error:
        # Dask takes the letters of another protocol for an enormous number.
        why = "what answers there is no Dask scheduler; is it the port of the dashboard?"
        raise NoCluster(address, why) from error
    except Exception as error:
        raise NoCluster(address, first_line(error)) from error
    return OnDask(client)


def within(seconds: float, make: Callable[[], Any]) -> Any:
    """What `make` returns. Dask waits forever for a greeting from whoever listens, its timeout notwithstanding."""
    made: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue()

    def try_to() -> None:
        try:
            made.put((make(), None))
        except BaseException as error:
            made.put((None, error))

    threading.Thread(target=try_to, daemon=True).start()
    try:
        result, error = made.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError(f"no Dask scheduler answered within {seconds:g} s") from None
    if error is not None:
        raise error
    return result


def address_in(given: str) -> str:
    """The address itself, or the one in a scheduler file."""
    is_file = given.endswith(".json") or Path(given).is_file()
    return str(json.loads(Path(given).read_text())["address"]) if is_file else given


class OnDask:
    """An `Engine`. Its hosts are those of the workers' addresses: a worker that is started again gets another port."""

    def __init__(self, client: Any) -> None:
        self.client = client
        # By key: the future, and the hosts that it may run on.
        self.tasks: dict[str, tuple[Any, list[str] | None]] = {}
        self.done: queue.Queue[str] = queue.Queue()
        # By key: since when it has had no worker.
        self.alone: dict[str, float] = {}
        self.gone: set[str] = set()

    def hosts(self) -> dict[str, str]:
        from distributed.comm.addressing import get_address_host

        hosts = sorted({get_address_host(address) for address in self.client.nthreads()})
        return {host: host for host in hosts}

    def slots(self) -> int:
        return sum(self.client.nthreads().values())

    def share(self, data: Any) -> Any:
        # Not scattered: what a worker holds is lost with it. The result of a task is made again.
        return self.client.submit(lambda: data, pure=False, retries=RETRIES)

    def start(self, function: Callable[..., Any], arguments: Iterable[Any], hosts: list[str] | None) -> str:
        return self._submit(function, arguments, hosts, priority=0)

    def start_soon(self, function: Callable[..., Any], arguments: Iterable[Any], host: str) -> str:
        return self._submit(function, arguments, [host], priority=1)

    def _submit(
        self, function: Callable[..., Any], arguments: Iterable[Any], hosts: list[str] | None, priority: int
    ) -> str:
        # Not `allow_other_workers`: Dask would also let idle workers steal the task that cannot see the file.
        future = self.client.submit(function, *arguments, workers=hosts, pure=False, retries=RETRIES, priority=priority)
        key: str = future.key
        self.tasks[key] = (future, hosts)
        future.add_done_callback(lambda done: self.done.put(done.key))
        return key

    def next_done(self, tasks: Iterable[Any]) -> str:
        waiting = set(tasks)
        while True:
            try:
                key = self.done.get(timeout=LOOK_EVERY_S)
            except queue.Empty:
                key = self._without_workers(waiting)
            if key in waiting:
                return key

    def _without_workers(self, waiting: set[str]) -> str:
        """A task that has had no worker for too long, or nothing."""
        there = self.hosts()
        now = time.monotonic()
        for key in waiting:
            hosts = self.tasks[key][1]
            if any(host in there for host in (hosts or there)):
                self.alone.pop(key, None)
            elif now - self.alone.setdefault(key, now) >= GONE_AFTER_S:
                self.gone.add(key)
                return key
        return ""

    def result(self, task: str) -> Any:
        future, hosts = self.tasks.pop(task)
        if task not in self.gone:
            return future.result()
        future.cancel()
        raise HostGone("the node with the file went away" if hosts else "the cluster has no workers any more")

    def why(self, error: BaseException) -> str:
        if type(error).__name__ == "KilledWorker":
            return f"its worker died {getattr(error, 'allowed_failures', RETRIES) + 1} times"
        if "Cancelled" in type(error).__name__:
            return "the connection to the scheduler was lost"
        return first_line(error)

    def close(self) -> None:
        self.client.close()
