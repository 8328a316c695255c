"""The name of a run: the same on all ranks, and different from earlier runs in the same folder."""

from __future__ import annotations

import json
import os
import sys
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

from . import process
from .config import CaptureConfig

# How often this process has named a run, by folder. A job may record several times; all ranks do so equally often.
_named: Counter[str] = Counter()


def run_id(config: CaptureConfig) -> str:
    """The name set by the user or the launcher, otherwise a random one. A restart after a failure gets its own name."""
    return _given(config) or uuid.uuid4().hex[:12]


def agreed_run_id(config: CaptureConfig, own: str, out: Path) -> str:
    """
    If nobody named the run (plain torchrun calls every run "none"), all ranks take the random name of one of them. They
    exchange it through the store of the job's process group, without waiting for each other.
    """
    if _given(config) is not None or process.world_size() < 2 or not process.group_is_up():
        return own
    key = f"whyslow/run/{out}"
    _named[key] += 1
    try:
        distributed: Any = sys.modules["torch"].distributed
        store = distributed.distributed_c10d._get_default_store()
        return bytes(store.compare_set(f"{key}/{_named[key]}", "", own)).decode() or own
    except Exception:  # the store cannot do this; readers match the ranks' logs by time instead
        return own


def own_run(run: str, rank_file: Path) -> str:
    """
    Returns `run`, or a changed name if an earlier process already used `run` for this rank. That happens when a script
    starts several trainings in one environment. All ranks of one training change the name in the same way.
    """
    try:
        before = json.loads(rank_file.read_text())
        if before["run"] != run or before["pid"] == os.getpid():
            return run
    except (OSError, ValueError, KeyError, TypeError):
        return run
    suffix = os.environ.get("MASTER_PORT") if process.world_size() > 1 else None
    return f"{run}-{suffix or os.getpid()}"


def _given(config: CaptureConfig) -> str | None:
    base = config.run or os.environ.get("TORCHELASTIC_RUN_ID") or ""
    if base in ("", "none"):
        return None
    restart = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return base if restart in ("", "0") else f"{base}.{restart}"
