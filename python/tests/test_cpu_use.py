"""What capture records about the processor time that the job got."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from hooked import Job, batches, capturing

from whyslow_capture import cpu_use
from whyslow_capture.cores import Throttling, affinity, cores, throttling
from whyslow_capture.cpu_use import CpuUse

needs_proc = pytest.mark.skipif(not os.path.exists("/proc/thread-self/schedstat"), reason="only Linux tells")


def busy(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def used_by(work: Any) -> dict[str, Any]:
    cpu = CpuUse()
    cpu.read()
    cpu.summary()
    work()
    cpu.read()
    found = cpu.summary()
    assert found is not None
    return found


def test_a_job_has_it_in_its_manifest(tmp_path: Path) -> None:
    job, before = Job(), torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with capturing(tmp_path) as capture:
            for x in batches(6):
                job.step(x)
                busy(0.01)
    finally:
        torch.set_num_threads(before)
    assert not capture.problems.counts
    manifest = json.loads((tmp_path / "ranks" / "rank_0.json").read_text())
    assert manifest["cores"]["allowed"] >= 1
    assert manifest["cpu"]["threads"] == 1
    assert manifest["cpu"]["used_s"] >= 0.05
    assert manifest["cpu"]["wall_s"] > 0


@needs_proc
def test_computing_is_told_from_sleeping() -> None:
    computing, sleeping = used_by(lambda: busy(0.2)), used_by(lambda: time.sleep(0.2))
    # On a busy machine the thread waits for a core, but it never sleeps.
    assert computing["thread_ran"] + computing["thread_queued"] > 0.8
    assert sleeping["thread_ran"] < 0.3
    assert computing["used_s"] >= 0.2


@needs_proc
def test_more_threads_than_cores_wait_for_one() -> None:
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("threads cannot be pinned here")
    core = min(os.sched_getaffinity(0))

    def pinned() -> None:
        os.sched_setaffinity(0, {core})  # of this thread only
        # Sums of large numbers run without the interpreter's lock, so that all three want the core.
        while not found.is_set():
            large.sum()

    # Large enough that a thread which loses the core rarely holds the lock, for which the others would sleep.
    large, found = torch.ones(1 << 21), threading.Event()
    threads = [threading.Thread(target=pinned) for _ in range(3)]
    for thread in threads:
        thread.start()
    # The kernel adds a wait when it ends. On a busy machine it may take longer than a short look.
    for seconds in (0.4, 2, 8):
        used = used_by(lambda seconds=seconds: time.sleep(seconds))
        if used["queued"] > 0.5:
            break
    found.set()
    for thread in threads:
        thread.join()
    assert used["queued"] > 0.5


def test_nothing_is_said_before_time_has_passed() -> None:
    cpu = CpuUse()
    assert cpu.summary() is None
    cpu.read()
    assert cpu.summary() is None


def test_the_share_of_throttled_periods(monkeypatch: pytest.MonkeyPatch) -> None:
    counters = [{"/a": Throttling(100, 10), "/": Throttling(5, 0)}, {"/a": Throttling(300, 160), "/": Throttling(5, 0)}]
    monkeypatch.setattr(cpu_use, "throttling", lambda: counters.pop(0))
    assert used_by(lambda: time.sleep(0.01))["throttled"] == 0.75


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("usage_usec 5\nnr_periods 40\nnr_throttled 4\nthrottled_usec 9\n", [Throttling(40, 4)]),
        ("nr_periods 40\nnr_throttled 4\nthrottled_time 9000\n", [Throttling(40, 4)]),
        ("nr_periods 0\nnr_throttled 0\n", []),
        ("usage_usec 5\n", []),
        ("nonsense", []),
        ("nr_periods x\nnr_throttled 1\n", []),
    ],
)
def test_the_counters_of_a_container(tmp_path: Path, text: str, expected: list[Throttling]) -> None:
    (tmp_path / "cpu.stat").write_text(text)
    (tmp_path / "self").write_text("0::/\n")
    assert list(throttling(str(tmp_path / "self"), tmp_path).values()) == expected


@pytest.mark.parametrize(
    ("allowed", "text"),
    [({0, 1, 2, 3}, "0-3"), ({0, 2, 3, 9}, "0,2-3,9"), (set(range(0, 4000, 2)), None)],
)
def test_which_cores_are_allowed(monkeypatch: pytest.MonkeyPatch, allowed: set[int], text: str | None) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: allowed, raising=False)
    assert cores()["allowed"] == len(allowed)
    assert affinity() == text if text else len(affinity()) == 200
