"""The name of a run: the same on all ranks, and different from earlier runs in the same folder."""

from __future__ import annotations

import os
import sys
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

from . import layout, process
from .config import CaptureConfig
from .own_files import OwnFile, create, make_folders, partial_path, read_json

# How often this process has named a run, by folder. A job may record several times; all ranks do so equally often.
_named: Counter[str] = Counter()
# By process id, so that a forked child gets its own.
_tokens: dict[int, str] = {}
# Between a run's name and what distinguishes it from another of that name. Not allowed in names that the user chooses.
CHANGED = "+"


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
    # Without a common name, readers match the ranks' logs by time.
    return _exchange(f"{key}/{_named[key]}", own) or own


def own_run(config: CaptureConfig, run: str, out: Path, rank: int, token: str | None) -> str:
    """
    Returns `run`, or a changed name if another job already uses `run` in this folder: a script that starts several
    trainings in one environment, one after the other or at once. All ranks of one job change the name in the same way.
    `token`: of this job.
    """
    if _given(config) is None:
        return run
    if token is None:
        return _own_run_of_rank(run, layout.rank_file(out, rank))
    holder = _claim(layout.claim_file(out, run), token)
    return run if holder == token else f"{run}{CHANGED}{token[:8]}"


def job_token() -> str | None:
    """The same on all ranks of this job, and different in every other job. None if the ranks cannot agree on one."""
    if process.world_size() < 2:
        return _process_token()
    if not process.group_is_up():
        return None
    return _exchange("whyslow/job", _process_token())


def _process_token() -> str:
    return _tokens.setdefault(os.getpid(), uuid.uuid4().hex)


def _exchange(key: str, own: str) -> str | None:
    """What the first rank stored under this key, through the store of the process group. Waits for nobody."""
    try:
        distributed: Any = sys.modules["torch"].distributed
        store = distributed.distributed_c10d._get_default_store()
        return bytes(store.compare_set(key, "", own)).decode() or own
    except Exception:  # the store cannot do this
        return None


def _claim(file: Path, token: str) -> str:
    """The token of the job that has this name. A file that cannot be used claims nothing."""
    try:
        make_folders(file.parent)
        partial = partial_path(file)
        with create(partial) as new:
            new.write(token.encode())
        try:
            # Fails if it exists, and never shows half a file.
            os.link(partial, file)
            return token
        except FileExistsError:
            with OwnFile(file, os.O_RDONLY) as old:
                return old.read(100).decode("ascii", "replace")
        finally:
            partial.unlink()
    except OSError:
        return token


def _own_run_of_rank(run: str, rank_file: Path) -> str:
    """For ranks that cannot agree: each looks whether an earlier process of its rank had this name."""
    try:
        before = read_json(rank_file)
        if before["run"] != run or before["pid"] == os.getpid():
            return run
    except (OSError, ValueError, KeyError):
        return run
    return f"{run}{CHANGED}{os.environ.get('MASTER_PORT') or os.getpid()}"


def _given(config: CaptureConfig) -> str | None:
    base = config.run or os.environ.get("TORCHELASTIC_RUN_ID") or ""
    if base in ("", "none"):
        return None
    restart = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return base if restart in ("", "0") else f"{base}.{restart}"
