"""``run.json`` and ``ranks/rank_<r>.json``: facts about the job that readers need besides the measurements."""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from . import layout, process
from ._version import VERSION
from .config import CaptureConfig, Ranks
from .own_files import write_json
from .redact import command_without_secrets
from .trace.mesh import Mesh

Anchor = dict[str, object]

# Of a long job, the first anchor and the newest ones are kept.
MAX_ANCHORS = 16


def anchor(at: str) -> Anchor:
    """Wall clock and monotonic clock at one moment. Start times in the events file use the monotonic clock."""
    before = time.perf_counter_ns()
    wall = time.time_ns()
    after = time.perf_counter_ns()
    return {"at": at, "wall_ns": wall, "monotonic_ns": (before + after) // 2}


def keep_anchor(anchors: list[Anchor], new: Anchor) -> None:
    anchors.append(new)
    if len(anchors) > MAX_ANCHORS:
        del anchors[1]


def short_command() -> str:
    """Distinguishes the trainings that one script starts. The header of a log has little room."""
    return " ".join(command_without_secrets([os.path.basename(sys.argv[0]), *sys.argv[1:]]))[:120] if sys.argv else ""


# In characters. A longer one is not worth repeating to the user.
MAX_LAUNCH = 1000


def launch_command() -> list[str] | None:
    """What to type to run the whole job again: what `whyslow run` was given, else what started this training."""
    given = os.environ.get("WHYSLOW_COMMAND")
    if not given:
        return own_command()
    with suppress(ValueError):
        return _if_short([str(word) for word in json.loads(given)])
    return None


def own_command() -> list[str] | None:
    """What started this training alone: `whyslow run` may have been given a script that starts several."""
    if process.world_size() > 1:
        return _if_short(_torchrun())
    return _if_short([os.path.basename(sys.orig_argv[0]), *sys.orig_argv[1:]]) if sys.orig_argv else None


def _torchrun() -> list[str] | None:
    """The parent's command, if that is torchrun: it starts all ranks of this machine."""
    try:
        words = Path(f"/proc/{os.getppid()}/cmdline").read_text().split("\0")[:-1]
    except (OSError, ValueError):
        return None
    for i, word in enumerate(words):
        if os.path.basename(word) == "torchrun":
            return ["torchrun", *words[i + 1 :]]
        if word == "torch.distributed.run":
            return [os.path.basename(words[0]), *words[1:]]
    return None


def _if_short(words: list[str] | None) -> list[str] | None:
    return command_without_secrets(words) if words and sum(map(len, words)) <= MAX_LAUNCH else None


def write_run(out: Path, config: CaptureConfig, run: str, mesh: Mesh | None, started_ns: int) -> None:
    import torch

    content = {
        "whyslow": layout.FORMAT,
        "run": run,
        "world_size": process.world_size(),
        "mesh": None if mesh is None else {"axes": list(mesh), "sizes": [size for size, _ in mesh.values()]},
        "schedule": asdict(config),
        "versions": {
            "whyslow_capture": VERSION,
            "torch": str(torch.__version__),
            "cuda": torch.version.cuda,
            "hip": getattr(torch.version, "hip", None),
            "python": sys.version.split()[0],
        },
        "command": command_without_secrets(sys.argv[:64]),
        "launch": launch_command(),
        "started_ns": started_ns,
    }
    write_json(layout.run_file(out), content)


def write_rank(
    path: Path, run: str, rank: int, mesh: Mesh | None, anchors: list[Anchor], extra: dict[str, object]
) -> None:
    content = {
        "whyslow": layout.FORMAT,
        "run": run,
        "rank": rank,
        "local_rank": process.local_rank(),
        "host": process.host(),
        "pid": os.getpid(),
        "launch": own_command(),
        "device": process.device(),
        "coordinates": None if mesh is None else {axis: coordinate for axis, (_, coordinate) in mesh.items()},
        "anchors": anchors,
        **extra,
    }
    write_json(path, content)


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
