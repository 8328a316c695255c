"""The place of this rank in a job of several nodes. `whyslow run` joins what they measured (src/launch/nodes.ts)."""

from __future__ import annotations

import os
from pathlib import Path

from . import layout, process
from .config import Ranks
from .own_files import write_json

# Launchers that do not say how many ranks a node has give such an address to jobs of one node.
_THIS_NODE = ("127.0.0.1", "localhost", "::1")


def state_place(out: Path, rank: int, measured: Ranks, job: str | None) -> None:
    """For a job of several nodes under `whyslow run`. `job` is what its ranks agreed on: it names the folder."""
    launch = os.environ.get("WHYSLOW_LAUNCH", "")
    world, local = process.world_size(), process.local_world_size()
    first_node = os.environ.get("MASTER_ADDR")
    is_one_node = first_node in _THIS_NODE if local is None else local >= world
    if not launch.isalnum() or job is None or world < 2 or is_one_node:
        return
    place: dict[str, object] = {
        "rank": rank,
        "local_rank": process.local_rank(),
        "world_size": world,
        "local_world_size": local,
        "first_node": first_node,
        "measured": None if measured is None else list(measured),
    }
    write_json(layout.place_file(out, job, launch, rank), place)
