"""Tasks on a Ray cluster."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable
from typing import Any

from engine import RETRIES, NoCluster, first_line, must_answer

# What Ray calls what happened.
KNOWN = {
    "WorkerCrashedError": f"its worker died {RETRIES + 1} times",
    "NodeDiedError": "its node went away",
    "OutOfMemoryError": "the node had no memory left",
    "TaskUnschedulableError": "the node with the file went away",
    "ActorUnschedulableError": "the node with the file went away",
}


def connect(given: str | None) -> OnRay:
    """Without an address: RAY_ADDRESS, or the cluster of this machine. Never a new one: it would see no other node."""
    import ray

    address = given or os.environ.get("RAY_ADDRESS") or "auto"
    try:
        host, _, port = address.removeprefix("ray://").rpartition(":")
        if host and port.isdigit():
            must_answer(host.strip("[]"), int(port))
        ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False, configure_logging=True)
    except Exception as error:
        raise NoCluster("this machine" if address == "auto" else address, first_line(error)) from error
    return OnRay(ray)


class OnRay:
    """An `Engine`. Its hosts are Ray's nodes, by their ids."""

    def __init__(self, ray: Any) -> None:
        self.ray = ray

    def hosts(self) -> dict[str, str]:
        nodes = [node for node in self.ray.nodes() if node["Alive"]]
        return {node["NodeID"]: node.get("NodeManagerHostname") or node["NodeID"] for node in nodes}

    def slots(self) -> int:
        return int(self.ray.cluster_resources().get("CPU", 1))

    def share(self, data: Any) -> Any:
        return self.ray.put(data)

    def start(self, function: Callable[..., Any], arguments: Iterable[Any], hosts: list[str] | None) -> Any:
        # Where several have the file, another may take it when the first is gone.
        place = on_node(hosts[0], soft=len(hosts) > 1) if hosts else "DEFAULT"
        task = self.ray.remote(function).options(
            num_cpus=1, max_retries=RETRIES, retry_exceptions=True, scheduling_strategy=place
        )
        return task.remote(*arguments)

    def start_soon(self, function: Callable[..., Any], arguments: Iterable[Any], host: str) -> Any:
        task = self.ray.remote(function).options(
            num_cpus=0, max_retries=RETRIES, retry_exceptions=True, scheduling_strategy=on_node(host, soft=False)
        )
        return task.remote(*arguments)

    def next_done(self, tasks: Iterable[Any]) -> Any:
        return self.ray.wait(list(tasks), num_returns=1)[0][0]

    def result(self, task: Any) -> Any:
        return self.ray.get(task)

    def why(self, error: BaseException) -> str:
        cause = getattr(error, "cause", None) or error
        return KNOWN.get(type(cause).__name__) or first_line(cause)

    def close(self) -> None:
        self.ray.shutdown()


def on_node(node: str, *, soft: bool) -> Any:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return NodeAffinitySchedulingStrategy(node, soft=soft)
