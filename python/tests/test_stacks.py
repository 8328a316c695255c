from __future__ import annotations

import asyncio
import queue
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from whyslow_capture.stack_waits import wait_kind
from whyslow_capture.stacks import MAKES_BATCH, StackSampler


def sample(work: object, looks: int = 30, seconds: float = 60, **options: object) -> dict:
    sampler = StackSampler(1.0, **options)  # type: ignore[arg-type]
    watch(sampler, work, looks, seconds)
    return sampler.summary() or {}


def watch(sampler: StackSampler, work: Any, looks: int, seconds: float = 60) -> None:
    """Until it has looked this often, however long that takes on a busy machine."""
    ended = threading.Event()

    def run() -> None:
        while not ended.is_set():
            work()

    thread = threading.Thread(target=run)
    thread.start()
    sampler.start(thread.ident or 0)
    end = time.monotonic() + seconds
    while sampler._looks < looks and time.monotonic() < end:
        time.sleep(0.02)
    sampler.stop()
    ended.set()
    thread.join()


def busy(seconds: float) -> None:
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


def uneven() -> None:
    busy(0.06)
    time.sleep(0.01)


class TestSampler:
    def test_names_the_lines_in_proportion(self) -> None:
        found = sample(uneven, 40)
        assert found["samples"] >= 40
        inside = [line for line in found["lines"] if line["function"] in ("busy", "uneven")]
        slow = sum(line["samples"] for line in inside if line["function"] == "busy")
        assert slow > 0.5 * found["samples"]
        sources = {line["source"] for line in inside}
        assert {"while time.perf_counter() < until:"} <= sources
        assert {Path(line["file"]).name for line in inside} == {"test_stacks.py"}

    def test_folds_library_frames_into_the_users_line(self) -> None:
        torch = pytest.importorskip("torch")
        weights = [torch.ones(300, 300, requires_grad=True) for _ in range(20)]
        optimizer = torch.optim.Adam(weights, foreach=False)
        for weight in weights:
            weight.grad = torch.ones_like(weight)

        def work() -> None:
            optimizer.step()

        found = sample(work)
        top = found["lines"][0]
        assert (top["function"], top["source"]) == ("work", "optimizer.step()")
        assert any(name.startswith("torch.") for name in top["calls"])

    def test_waits_while_a_profiler_runs(self) -> None:
        assert sample(uneven, seconds=0.5, is_disturbed=lambda: True) == {}

    def test_bounds_what_it_remembers(self) -> None:
        sampler = StackSampler(1.0)
        for i in range(5000):
            sampler._counts[("f", i, "g", "")] = 1
        sampler._count(sys._getframe())
        assert len(sampler._counts) == 5000
        assert sampler._others == 1

    def test_does_not_touch_the_jobs_random_numbers(self) -> None:
        random.seed(7)
        expected = random.random()
        random.seed(7)
        sample(uneven, 5)
        assert random.random() == expected

    def test_keeps_within_its_share(self) -> None:
        sampler = StackSampler(0.005)
        sampler._looks, sampler._spent_s = 100, 100 * 200e-6
        assert min(sampler._pause_s() for _ in range(100)) >= 0.5 * 200e-6 / (0.2 * 0.005)

    def test_ends_with_the_thread_it_watches(self) -> None:
        thread = threading.Thread(target=lambda: None)
        thread.start()
        thread.join()
        sampler = StackSampler(1.0)
        sampler.start(thread.ident or 0)
        watcher = sampler._thread
        assert watcher is not None
        watcher.join(5)
        assert not watcher.is_alive()


class SlowItems:
    def __iter__(self) -> SlowItems:
        return self

    def __next__(self) -> int:
        busy(0.02)
        return 1


def generated() -> Iterator[int]:
    while True:
        busy(0.02)
        yield 1


@pytest.mark.parametrize("items", [generated, SlowItems])
def test_input_is_what_the_loop_waits_for(items: Any) -> None:
    source = iter(items())

    def step() -> None:
        next(source)
        busy(0.02)  # the model

    for work, is_input in ((step, True), (lambda: busy(0.02), False)):
        sampler = StackSampler(1.0)
        watch(sampler, work, 40)
        found = sampler.input_summary()
        assert (found is not None) == is_input
        if found is not None:
            assert found["function"] == "busy"
            assert 0.2 < found["samples"] / found["of"] < 0.8


def test_a_function_named_after_batches_makes_input() -> None:
    def get_train_batch() -> int:
        busy(0.02)
        return 1

    def total() -> None:
        busy(0.02)

    def step(make: Callable[[], object]) -> Callable[[], None]:
        def run() -> None:
            make()
            busy(0.02)  # the model

        return run

    for work, is_input in ((step(get_train_batch), True), (step(total), False)):
        sampler = StackSampler(1.0)
        watch(sampler, work, 40)
        found = sampler.input_summary()
        assert (found is not None) == is_input


def test_names_of_functions_that_make_batches() -> None:
    for name in ("get_batch", "next_train_batch", "sample_minibatch", "_load_batch", "getBatch", "make_batches"):
        assert MAKES_BATCH.fullmatch(name)
    for name in ("train_batch", "forward_batch", "batch_norm", "on_train_batch_end", "process_batch", "get_batch_loss"):
        assert not MAKES_BATCH.fullmatch(name)


def test_a_look_that_waits_for_a_core_costs_what_it_computes() -> None:
    sampler = StackSampler(0.005)
    sampler._background.count = lambda *_: time.sleep(0.05)  # type: ignore[method-assign]
    watch(sampler, lambda: busy(0.02), 10, seconds=12)
    assert sampler._looks >= 10


class TestWaits:
    def test_names_what_the_loop_waits_for(self) -> None:
        """Each waits until released, so that its stack can be looked at."""
        items: queue.Queue[int] = queue.Queue()

        async def awaits() -> None:
            await asyncio.get_running_loop().run_in_executor(None, items.get)

        waits: dict[str, Callable[[], object]] = {
            "queue": items.get,
            "future": lambda: pool.submit(items.get).result(),
            "await": lambda: asyncio.run(awaits()),
        }
        with ThreadPoolExecutor(1) as pool:
            for kind, wait in waits.items():
                thread = threading.Thread(target=wait)
                thread.start()
                found = None
                deadline = time.monotonic() + 10
                while found is None and time.monotonic() < deadline:
                    frame = sys._current_frames().get(thread.ident or 0)
                    found = None if frame is None else wait_kind(frame)
                items.put(1)
                thread.join()
                assert found == kind
        assert wait_kind(sys._getframe()) is None

    def test_lists_lines_of_other_threads(self) -> None:
        ended = threading.Event()

        def aggregate() -> None:
            while not ended.is_set():
                busy(0.001)

        thread = threading.Thread(target=aggregate, name="metrics")
        thread.start()
        found = sample(uneven, 20)
        ended.set()
        thread.join()
        assert {line["thread"] for line in found["background"]} >= {"metrics"}
