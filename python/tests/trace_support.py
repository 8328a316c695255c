"""For tests of the trace tier: a tier in this process, steps of real torch work, and readers of traces."""

from __future__ import annotations

import gzip
import json
import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch

from whyslow_capture.config import CaptureConfig, TraceConfig
from whyslow_capture.problems import ProblemLog
from whyslow_capture.trace.tier import TraceTier


def make_tier(
    out: Path, problems: ProblemLog | None = None, rank: int = 0, world: int = 1, **options: Any
) -> TraceTier:
    """Takes trace options by name, other settings as `config`, and arguments of the tier as `tier`."""
    config, tier = options.pop("config", {}), options.pop("tier", {})
    given = {"on_demand": False, **tier}
    full = CaptureConfig(out=str(out), trace=TraceConfig(**options), **config)
    return TraceTier(full, rank, world, out, problems or ProblemLog(), **given)


def work(operations: int = 20) -> torch.Tensor:
    x = torch.ones(4)
    for _ in range(operations):
        x = x + 1
    return x


def train(tier: TraceTier, steps: Iterable[int], each: Callable[[int], object] = lambda _: work()) -> None:
    """Begins each of these steps and works in it, except in the last, which only begins."""
    for step in steps:
        tier.begin_step(step)
        each(step)


def resident() -> int:
    """Bytes of this process in memory, without files and shared memory."""
    _, pages, shared = Path("/proc/self/statm").read_text().split()[:3]
    return (int(pages) - int(shared)) * 4096


def files_in(folder: Path) -> list[str]:
    """All files, including hidden ones."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def read_trace(path: Path) -> dict[str, Any]:
    if path.name.endswith(".tar.gz"):
        with tarfile.open(path) as archive:
            (member,) = archive.getmembers()
            content = archive.extractfile(member)
            assert content is not None
            return json.load(content)
    with gzip.open(path) as file:
        return json.load(file)


def steps_in(path: Path) -> list[int]:
    events = read_trace(path)["traceEvents"]
    names = {event["name"] for event in events if event.get("name", "").startswith("ProfilerStep#")}
    return sorted(int(name.split("#")[1]) for name in names)


def operations_in(path: Path, name: str = "aten::add") -> int:
    return sum(event.get("name") == name for event in read_trace(path)["traceEvents"])
