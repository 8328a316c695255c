"""What a trace does not show about a DataLoader: its settings, how many batches were ready, and what its workers do."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter_ns
from typing import Any

from .loader_settings import settings_of
from .scheduling import NO_TIME, RunTime, ThreadClock, run_time_of

# Loaders that a job trains from in turn. More are counted with the first.
MAX_LOADERS = 4
# Reading what the workers used takes about 20 µs for each.
WORKERS_EVERY_NS = 1_000_000_000
MAX_WORKERS = 64
# The kernel counts processor time at its ticks, of up to 10 ms: shares of less time are chance.
LEAST_NS = 100_000_000


class LoaderWatch:
    """Sums over the fetches of recorded steps. The training thread adds, the writer thread reads."""

    def __init__(self) -> None:
        self._loaders: dict[int, Loader] = {}
        self._current: Loader | None = None

    def fetch_begins(self, iterator: Any) -> None:
        loader = self._current
        if loader is None or loader.iterator() is not iterator:
            loader = self._current = self._loader_of(iterator)
        loader.fetch_begins(iterator)

    def fetch_ends(self, *, got: bool) -> None:
        if self._current is not None:
            self._current.fetch_ends(got=got)

    def started(self, loader: object, iterator: Any, wall_ns: int) -> None:
        """A training loop asked a DataLoader for an iterator, which took so long. Called for every epoch."""
        self._loader_of(iterator).started(loader, iterator, wall_ns)

    def summary(self) -> dict[str, object] | None:
        """Of the loader that was waited for longest."""
        loaders = [loader for loader in list(self._loaders.values()) if loader.fetches]
        return max(loaders, key=lambda loader: loader.wall_ns).summary() if loaders else None

    def _loader_of(self, iterator: Any) -> Loader:
        dataset = getattr(iterator, "_dataset", None)
        key = id(dataset)
        loader = self._loaders.get(key)
        if loader is None or not loader.reads(dataset):
            settings = settings_of(iterator)
            loader = self._successor(dataset, settings)
            if loader is None and len(self._loaders) >= MAX_LOADERS:
                loader = next(iter(self._loaders.values()))
            elif loader is None:
                loader = Loader(settings, ThreadClock())
            self._loaders[key] = loader
            loader.read_from(dataset)
        if loader.iterator() is not iterator:
            loader.follow(iterator)
        return loader

    def _successor(self, dataset: object, settings: dict[str, object]) -> Loader | None:
        """One that read a dataset of the same kind which is gone: the job makes its loaders anew."""
        for key, loader in list(self._loaders.items()):
            if loader.replaces(dataset, settings):
                del self._loaders[key]
                return loader
        return None


class Loader:
    def __init__(self, settings: dict[str, object], clock: ThreadClock) -> None:
        self._settings, self._clock = settings, clock
        self.fetches = 0
        self.wall_ns = 0
        # What the training thread did in them. None: unknown.
        self._thread: RunTime | None = NO_TIME
        # Fetches whose number of ready batches is known, their sum, and how many of them found none.
        self._counted = self._ready = self._found_none = 0
        self._began_ns = 0
        self._thread_began: RunTime | None = None
        # What the workers did so far, and over how much time of all of them.
        self._workers_ran, self._workers_ns = NO_TIME, 0
        self._workers: list[int] = []
        self._sampled_ns = 0
        self._sampled: RunTime | None = None
        self.iterator: Callable[[], Any] = _nothing
        # None: it cannot be watched, as a list cannot. Then its address must do.
        self._dataset: Callable[[], Any] | None = None
        self._kind: type = object
        # Iterators that were made and that started workers, DataLoader objects that made them, and how long it took.
        self._starts = self._made = self._start_ns = 0
        self._last_maker: Callable[[], Any] = _nothing
        # The first requests of iterators, of those that were timed.
        self._is_first = False
        self._firsts = self._first_ns = 0
        # The requests that found an epoch at its end: workers that do not persist are waited for.
        self._exhausted = self._exhausted_ns = 0

    def reads(self, dataset: object) -> bool:
        return self._dataset is None or self._dataset() is dataset

    def read_from(self, dataset: object) -> None:
        self._kind = type(dataset)
        with suppress(TypeError):
            self._dataset = weakref.ref(dataset)

    def replaces(self, dataset: object, settings: dict[str, object]) -> bool:
        is_gone = self._dataset is not None and self._dataset() is None
        return is_gone and self._kind is type(dataset) and self._settings == settings

    def started(self, maker: object, iterator: Any, wall_ns: int) -> None:
        if self._last_maker() is not maker:
            self._made += 1
            self._last_maker = weakref.ref(maker)
        self._is_first = True
        # Persistent workers are asked for the next epoch by the iterator that they have.
        if not getattr(iterator, "_persistent_workers", False) or self._starts == 0:
            self._starts += 1
            self._start_ns += wall_ns

    def follow(self, iterator: Any) -> None:
        """An epoch begins. A weak reference, because an iterator's workers end with it."""
        self.iterator = weakref.ref(iterator)
        processes = getattr(iterator, "_workers", None) or []
        self._workers = [p.pid for p in processes[:MAX_WORKERS] if isinstance(p.pid, int)]
        self._sampled = None

    def fetch_begins(self, iterator: Any) -> None:
        ready = batches_ready(iterator)
        if ready is not None:
            self._counted += 1
            self._ready += ready
            self._found_none += ready == 0
        self._thread_began, self._began_ns = self._clock.read(), perf_counter_ns()

    def fetch_ends(self, *, got: bool) -> None:
        now = perf_counter_ns()
        if not got:
            self._exhausted += 1
            self._exhausted_ns += now - self._began_ns
            return
        self.wall_ns += now - self._began_ns
        if self._is_first:
            self._is_first = False
            self._firsts += 1
            self._first_ns += now - self._began_ns
        after, before, so_far = self._clock.read(), self._thread_began, self._thread
        self._thread = None if so_far is None or before is None or after is None else so_far + after.since(before)
        self.fetches += 1
        if self._workers and now - self._sampled_ns > WORKERS_EVERY_NS:
            self._sample_workers(now)

    def _sample_workers(self, now: int) -> None:
        ran, before = run_time_of(self._workers), self._sampled
        if ran is None:
            self._workers = []  # no /proc, or a worker has ended
            return
        if before is not None:
            self._workers_ran += ran.since(before)
            self._workers_ns += (now - self._sampled_ns) * len(self._workers)
        self._sampled_ns, self._sampled = now, ran

    def summary(self) -> dict[str, object]:
        found = {
            **self._settings,
            "fetches": self.fetches,
            "fetch_ms": round(self.wall_ns / self.fetches / 1e6, 4),
        }
        if self._thread is not None and self.wall_ns >= LEAST_NS:
            found["fetch_ran"] = _share(self._thread.ran, self.wall_ns)
            found["fetch_queued"] = _share(self._thread.queued, self.wall_ns)
        if self._starts:
            found["starts"], found["made"] = self._starts, self._made
            found["start_ms"] = round(self._start_ns / self._starts / 1e6, 4)
        if self._firsts:
            found["first_ms"] = round(self._first_ns / self._firsts / 1e6, 4)
            if self.fetches > self._firsts:
                later = (self.wall_ns - self._first_ns) / (self.fetches - self._firsts)
                found["later_ms"] = round(later / 1e6, 4)
        if self._exhausted:
            found["end_ms"] = round(self._exhausted_ns / self._exhausted / 1e6, 4)
        if self._counted:
            found["ready"] = round(self._ready / self._counted, 3)
            found["found_none"] = _share(self._found_none, self._counted)
        if self._workers_ns > 0:
            found["workers_ran"] = _share(self._workers_ran.ran, self._workers_ns)
            found["workers_queued"] = _share(self._workers_ran.queued, self._workers_ns)
        return found


def _nothing() -> None:
    return None


def _share(part: int, whole: int) -> float:
    return round(min(1.0, max(0.0, part / max(1, whole))), 4)


def batches_ready(iterator: Any) -> int | None:
    """
    Batches that workers have finished. None without workers, or if this torch version does not show it. Batches
    that came out of order wait in `_task_info`, which has their data as a second element.
    """
    tasks = getattr(iterator, "_task_info", None)
    queue = getattr(iterator, "_data_queue", None)
    if not isinstance(tasks, dict) or queue is None:
        return None
    try:
        ready = sum([len(task) == 2 for task in tasks.values()])
        ready += queue.qsize()
        finished = getattr(iterator, "_worker_result_queue", queue)
        return int(ready if finished is queue else ready + finished.qsize())  # the rest is still to be pinned
    except (NotImplementedError, OSError, TypeError, ValueError, AttributeError):  # macOS; a queue that was closed
        return None
