"""What capture records about DataLoaders: settings, batches that are ready, and what limits them."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hooked import Job, capturing
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

from whyslow_capture.cores import cores
from whyslow_capture.loader_settings import settings_of
from whyslow_capture.loader_watch import LoaderWatch, batches_ready

needs_proc = pytest.mark.skipif(not os.path.exists("/proc/thread-self/schedstat"), reason="only Linux tells")


class Busy(Dataset[torch.Tensor]):
    """Computes for 5 ms per sample."""

    def __len__(self) -> int:
        return 96_000  # more than any test reads: workers that have nothing left to do would look asleep

    def __getitem__(self, index: int) -> torch.Tensor:
        end = time.thread_time() + 0.005
        while time.thread_time() < end:
            pass
        return torch.ones(8)


class Sleepy(Busy):
    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(0.005)
        return torch.ones(8)


class Stream(IterableDataset[torch.Tensor]):
    def __iter__(self) -> Iterator[torch.Tensor]:
        return iter([torch.ones(8)] * 40)


class Sharded(Stream):
    def __iter__(self) -> Iterator[torch.Tensor]:
        info = get_worker_info()
        first, every = (info.id, info.num_workers) if info else (0, 1)
        return iter([torch.ones(8)] * (40 // every - first))


class Wrapped(IterableDataset[torch.Tensor]):
    def __init__(self, dataset: IterableDataset[torch.Tensor]) -> None:
        self.dataset = dataset

    def __iter__(self) -> Iterator[torch.Tensor]:
        return iter(self.dataset)


def manifest_after(out: Path, loader: DataLoader[Any], *, seconds: float = 0) -> dict[str, Any]:
    """Of a job that reads for so long after its first batch, and one batch more: capture looks when one came."""
    job, end, late = Job(), 0.0, False
    with capturing(out) as capture:
        for step, x in enumerate(loader):
            end = end or time.monotonic() + seconds
            job.step(x)
            if step >= 5 and late:
                break
            late = time.monotonic() > end
    assert not capture.problems.counts
    found: dict[str, Any] = json.loads((out / "ranks" / "rank_0.json").read_text())
    return found


def test_the_settings_of_a_loader(tmp_path: Path) -> None:
    loader = DataLoader(Sleepy(), batch_size=3, num_workers=2, prefetch_factor=3, persistent_workers=True)
    manifest = manifest_after(tmp_path, loader)
    expected = {
        "num_workers": 2,
        "prefetch_factor": 3,
        "pin_memory": False,
        "persistent_workers": True,
        "batch_size": 3,
        "iterable": False,
        "split_by_worker": None,
        "framework": None,
    }
    assert expected.items() <= manifest["loader"].items()
    assert 0 <= manifest["loader"]["ready"] <= 6
    assert manifest["cores"]["allowed"] >= 1
    assert manifest["cores"]["ranks"] == 1


@needs_proc
@pytest.mark.parametrize(("dataset", "runs"), [(Busy(), True), (Sleepy(), False)])
def test_computing_is_told_from_sleeping(tmp_path: Path, dataset: Busy, runs: bool) -> None:
    found = manifest_after(tmp_path, DataLoader(dataset, batch_size=4))["loader"]
    awake = found["fetch_ran"] + found["fetch_queued"]  # on a busy machine the thread waits for a core
    assert found["fetch_ms"] >= 20
    assert awake > 0.8 if runs else found["fetch_ran"] < 0.3
    assert "ready" not in found
    assert "workers_ran" not in found


@needs_proc
@pytest.mark.parametrize(("dataset", "runs"), [(Busy(), True), (Sleepy(), False)])
def test_what_workers_do(tmp_path: Path, dataset: Busy, runs: bool) -> None:
    # Workers may run far ahead, so that they need not wait for the training thread on a busy machine.
    loader = DataLoader(dataset, batch_size=12, num_workers=2, prefetch_factor=100)
    found = manifest_after(tmp_path, loader, seconds=1.5)["loader"]
    if runs:
        assert found["workers_ran"] + found["workers_queued"] > 0.6
    else:
        assert found["workers_ran"] < 0.4
    assert found["fetch_ran"] < 0.5


def test_batches_that_are_ready_are_counted() -> None:
    iterator = iter(DataLoader(torch.zeros(64, 2), batch_size=2, num_workers=2, prefetch_factor=2))
    next(iterator)
    deadline = time.monotonic() + 30
    while batches_ready(iterator) != 4 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert batches_ready(iterator) == 4
    next(iterator)
    assert batches_ready(iterator) in (3, 4)


@pytest.mark.parametrize(
    "broken", [object(), None, type("I", (), {"_task_info": {0: None}, "_data_queue": object()})()]
)
def test_another_version_of_torch_does_no_harm(broken: Any) -> None:
    assert batches_ready(broken) is None
    assert settings_of(broken)["num_workers"] is None


@pytest.mark.parametrize(
    ("dataset", "split"),
    [(Stream(), False), (Sharded(), True), (Wrapped(Sharded()), True), (Wrapped(Stream()), False)],
)
def test_datasets_that_workers_would_duplicate(dataset: IterableDataset[torch.Tensor], split: bool) -> None:
    found = settings_of(iter(DataLoader(dataset, batch_size=4)))
    assert (found["iterable"], found["split_by_worker"]) == (True, split)


def test_an_init_function_may_split_the_data() -> None:
    iterator = iter(DataLoader(Stream(), batch_size=4, num_workers=1, worker_init_fn=print))
    assert settings_of(iterator)["split_by_worker"] is None


def test_a_loader_that_keras_made_is_recognized() -> None:
    kind = type("_IterableDataset", (Stream,), {"__module__": "keras.src.trainers.data_adapters"})
    settings = settings_of(iter(DataLoader(kind(), batch_size=None)))
    assert (settings["framework"], settings["split_by_worker"]) == ("keras", True)


def test_the_training_loop_is_recognized() -> None:
    iterator = iter(DataLoader(torch.zeros(8, 2)))
    loops = {"transformers.trainer": "transformers", "lightning.pytorch.loops": "lightning", "skorch.net": "skorch"}
    for module, framework in loops.items():
        scope = {"__name__": module, "settings_of": settings_of, "iterator": iterator}
        exec("def loop(): return settings_of(iterator)", scope)
        assert scope["loop"]()["framework"] == framework  # type: ignore[operator]


def test_the_loader_that_is_waited_for_longest_counts() -> None:
    watch = LoaderWatch()
    for dataset, size in ((torch.zeros(8, 2), 1), (Sleepy(), 2)):
        iterator = iter(DataLoader(dataset, batch_size=size))  # type: ignore[arg-type]
        for _ in range(3):
            watch.fetch_begins(iterator)
            next(iterator)
            watch.fetch_ends(got=True)
    found = watch.summary()
    assert found is not None
    assert (found["batch_size"], found["fetches"]) == (2, 3)


def test_loaders_made_anew_are_one_loader_that_starts_often() -> None:
    class Items(Dataset[torch.Tensor]):
        def __len__(self) -> int:
            return 4

        def __getitem__(self, index: int) -> torch.Tensor:
            return torch.zeros(2)

    watch = LoaderWatch()
    for _ in range(3):
        loader = DataLoader(Items(), batch_size=2)
        iterator = iter(loader)
        watch.started(loader, iterator, 5_000_000)
        for _ in range(2):
            watch.fetch_begins(iterator)
            next(iterator)
            watch.fetch_ends(got=True)
        del loader, iterator
    found = watch.summary()
    assert found is not None
    assert (found["starts"], found["made"], found["batches"], found["start_ms"]) == (3, 3, 2, 5.0)
    assert found["fetches"] == 6
    assert {"first_ms", "later_ms"} <= found.keys()
    assert "end_ms" not in found


def test_the_request_that_ends_an_epoch_has_a_time_of_its_own() -> None:
    watch = LoaderWatch()
    iterator = iter(DataLoader(torch.zeros(2, 2)))  # type: ignore[arg-type]
    for got in (True, True, False):
        watch.fetch_begins(iterator)
        if got:
            next(iterator)
        else:
            time.sleep(0.02)
        watch.fetch_ends(got=got)
    found = watch.summary()
    assert found is not None
    assert (found["fetches"], float(str(found["end_ms"])) >= 20) == (2, True)


def test_an_iterator_is_not_kept_alive() -> None:
    import gc
    import weakref

    watch = LoaderWatch()
    iterator = iter(DataLoader(torch.zeros(8, 2), num_workers=1))
    watch.fetch_begins(iterator)
    next(iterator)
    watch.fetch_ends(got=True)
    gone = weakref.ref(iterator)
    del iterator
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    ("files", "membership", "quota"),
    [
        ({"cpu.max": "350000 100000"}, "0::/", 3.5),
        ({"cpu.max": "max 100000", "a/b/cpu.max": "200000 100000", "a/cpu.max": "800000 100000"}, "0::/a/b", 2.0),
        ({"cpu/cpu.cfs_quota_us": "150000", "cpu/cpu.cfs_period_us": "100000"}, "4:cpu,cpuacct:/", 1.5),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, "4:cpu:/", None),
        ({"cpu.max": "nonsense"}, "no colons", None),
        ({}, "0::/../../etc", None),
    ],
)
def test_the_quota_of_a_container(tmp_path: Path, files: dict[str, str], membership: str, quota: float | None) -> None:
    for name, text in files.items():
        (tmp_path / "groups" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "groups" / name).write_text(text)
    (tmp_path / "self").write_text(membership + "\n")
    assert cores(str(tmp_path / "self"), tmp_path / "groups")["quota"] == quota


def test_ranks_on_one_machine_share_its_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    assert cores()["ranks"] == 4
