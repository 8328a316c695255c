"""Runs a function on several real gloo ranks and returns their results."""

from __future__ import annotations

import gc
import multiprocessing
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch

# A rank that hangs must fail the test. The limit is generous, because a busy machine can be ten times slower:
# a test of 5 s took 52 s there.
PATIENCE_S = 240
# How long ranks wait for a slow one.
GLOO_S = 120


def run_ranks(work: Callable[..., Any], world: int, *args: object) -> list[Any]:
    """Runs `work(rank, *args)` in `world` processes. An exception in one of them is raised here, with its traceback."""
    context = multiprocessing.get_context("forkserver")
    # The first optimizer of a process imports torch._dynamo, which takes a second.
    context.set_forkserver_preload(["torch", "torch.distributed", "torch._dynamo"])
    with tempfile.TemporaryDirectory() as scratch:
        results = context.SimpleQueue()
        meeting_point = str(Path(scratch, "store"))
        processes = [
            context.Process(target=_rank, args=(rank, world, meeting_point, results, work, args), daemon=True)
            for rank in range(world)
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join(PATIENCE_S)
        stuck = [rank for rank, process in enumerate(processes) if process.is_alive()]
        for rank in stuck:
            processes[rank].kill()
        found: dict[int, tuple[bool, Any]] = {}
        while not results.empty():
            rank, is_good, value = results.get()
            found[rank] = (is_good, value)
    failed = [str(value) for is_good, value in found.values() if not is_good]
    assert not failed, "\n".join(failed)
    assert not stuck, f"ranks {stuck} hang"
    assert len(found) == world, f"only ranks {sorted(found)} answered"
    return [found[rank][1] for rank in range(world)]


def _rank(rank: int, world: int, store: str, results: Any, work: Callable[..., Any], args: tuple[object, ...]) -> None:
    try:
        gc.freeze()  # the modules are never garbage, but looking through them takes most of a second
        # Daemon processes must not start children, but torch 2.3 does when its compiler is imported.
        os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
        torch.set_num_threads(1)
        torch.distributed.init_process_group(
            "gloo", init_method=f"file://{store}", rank=rank, world_size=world, timeout=timedelta(seconds=GLOO_S)
        )
        answer = (rank, True, work(rank, *args))
        # torch 2.3 can hang here: its thread needs the interpreter lock to free a tensor of the last collective, but
        # the main thread holds the lock while it waits for that thread.
        time.sleep(0.1)
        torch.distributed.destroy_process_group()
    except BaseException:
        answer = (rank, False, f"rank {rank}: {traceback.format_exc()}")
    results.put(answer)
    sys.stdout.flush()
