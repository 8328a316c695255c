"""What a run is called: the same on all ranks, and not what the one before it was called."""

from __future__ import annotations

import json
import os
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import torch

from . import process
from .config import CaptureConfig

# Of this process, by directory: a job may record several times, all ranks as often.
_asked: Counter[str] = Counter()


def run_id(config: CaptureConfig) -> str:
    """As the user or the launcher says, else made up. A restart after a failure is a run of its own."""
    return _given(config) or uuid.uuid4().hex[:12]


def agreed_run_id(config: CaptureConfig, own: str, out: Path) -> str:
    """
    Where nobody names the run, what one of the ranks has made up: plain torchrun calls every run "none". Through the
    store that the job's process group has been set up with; nobody waits for anybody.
    """
    if _given(config) is not None or process.world_size() < 2 or not process.group_is_up():
        return own
    key = f"whyslow/run/{out}"
    _asked[key] += 1
    try:
        c10d: Any = torch.distributed.distributed_c10d
        store = c10d._get_default_store()
        return bytes(store.compare_set(f"{key}/{_asked[key]}", "", own)).decode() or own
    except Exception:  # a store that cannot do this: logs tell by their time that they belong together
        return own


def own_run(run: str, described: Path) -> str:
    """
    The run's name; another one where a process that trained before this one has used it for the same rank: a script
    that starts several trainings gives all of them one environment. Ranks of one training come to the same answer.
    """
    try:
        before = json.loads(described.read_text())
        if before["run"] != run or before["pid"] == os.getpid():
            return run
    except (OSError, ValueError, KeyError, TypeError):
        return run
    mark = os.environ.get("MASTER_PORT") if process.world_size() > 1 else None
    return f"{run}-{mark or os.getpid()}"


def _given(config: CaptureConfig) -> str | None:
    base = config.run or os.environ.get("TORCHELASTIC_RUN_ID") or ""
    if base in ("", "none"):
        return None
    restart = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return base if restart in ("", "0") else f"{base}.{restart}"
