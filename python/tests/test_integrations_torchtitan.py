"""torchtitan passes the path of a trace it has exported. Its classes are fakes here, the traces are real."""

from __future__ import annotations

import copy
import gzip
import json
import os
import pickle
import sys
import threading
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from support import make

from whyslow_capture import layout
from whyslow_capture.integrations import torchtitan
from whyslow_capture.integrations.torchtitan import TraceFiler, trace_post_processor

STEP, RANK = 20, 3


def export(base: Path, suffix: str) -> Path:
    """Like torchtitan's Profiler, with its folder and file names."""
    folder = base / "profiling" / "traces" / f"iteration_{STEP}"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"rank{RANK}_trace{suffix}"
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        torch.ones(8) @ torch.ones(8)
    profiler.export_chrome_trace(str(file))
    return file


def filed_in(out: Path, coordinates: tuple[int, ...] = ()) -> Path:
    return layout.trace_dir(out, STEP) / layout.trace_name(RANK, coordinates, ".json.gz")


def events_in(file: Path) -> list[dict[str, Any]]:
    with gzip.open(file) as stream:
        return json.load(stream)["traceEvents"]


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_a_trace_is_filed_beside_torchtitans_own(tmp_path: Path, suffix: str):
    exported = export(tmp_path, suffix)
    filer = TraceFiler()
    filer(str(exported))
    filer.wait()
    out = tmp_path / "profiling" / "whyslow"
    filed = filed_in(out)
    assert any(event.get("name") == "aten::dot" for event in events_in(filed))
    # torchtitan's trace is still there, compressed, and filing it takes no extra space.
    theirs = exported.with_name(f"rank{RANK}_trace.json.gz")
    assert os.path.samefile(theirs, filed)
    assert [file.name for file in theirs.parent.iterdir()] == [theirs.name], "nothing raw, nothing half"
    assert [file.name for file in filed.parent.iterdir()] == [filed.name]
    manifest = json.loads(layout.rank_file(out, RANK).read_text())
    assert (manifest["rank"], manifest["pid"]) == (RANK, os.getpid())
    assert not layout.run_file(out).exists(), "rank 0 writes it"


def test_rank_0_describes_the_run(tmp_path: Path):
    exported = export(tmp_path, ".json.gz")
    first = exported.with_name("rank0_trace.json.gz")
    exported.rename(first)
    filer = TraceFiler(tmp_path / "out")
    filer(first)
    filer.wait()
    run = json.loads(layout.run_file(tmp_path / "out").read_text())
    rank = json.loads(layout.rank_file(tmp_path / "out", 0).read_text())
    assert run["whyslow"] == 1 and run["run"] == rank["run"]


def test_an_active_capture_sets_folder_and_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    capture = make(tmp_path / "capture")
    capture.mesh = {"dp": (4, 1), "tp": (2, 0)}
    monkeypatch.setattr(torchtitan, "active_session", lambda: capture)
    filer = TraceFiler()
    filer(export(tmp_path, ".json.gz"))
    filer.wait()
    capture.close()
    assert filed_in(tmp_path / "capture", (1, 0)).exists()


def test_file_systems_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def no_links(*_: object) -> None:
        raise OSError("not permitted")

    monkeypatch.setattr(os, "link", no_links)
    filer = TraceFiler(tmp_path / "out")
    filer(export(tmp_path, ".json"))
    filer.wait()
    assert events_in(filed_in(tmp_path / "out"))


def test_the_training_thread_does_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    go = threading.Event()
    threads: list[int] = []

    def slow(raw: Path, target: Path) -> None:
        threads.append(threading.get_ident())
        assert go.wait(60)
        target.write_bytes(gzip.compress(raw.read_bytes()))

    monkeypatch.setattr(torchtitan, "compress_in_place", slow)
    filer = TraceFiler(tmp_path / "out")
    filer(export(tmp_path, ".json"))
    assert not filed_in(tmp_path / "out").exists()
    go.set()
    filer.wait()
    assert filed_in(tmp_path / "out").exists() and threads != [threading.get_ident()]


def test_failures_warn_once_and_do_not_reach_the_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "file").write_text("not a folder")
    filer = TraceFiler(tmp_path / "file")
    for _ in range(2):
        exported = export(tmp_path, ".json")
        filer(exported)
        filer.wait()
    filer(tmp_path / "vanished.json")
    filer.wait()
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1 and "filing" in printed
    assert exported.with_name(exported.name + ".gz").exists(), "what torchtitan wrote is still there"


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Like torchtitan.config.function.Function: a config whose build() returns a function that takes the path."""

    class Function:
        @dataclass(kw_only=True, slots=True)
        class Config:
            fn: Callable[..., Any]

            def build(self) -> Function:
                return Function(self)

        def __init__(self, config: Function.Config) -> None:
            self.fn = config.fn

        def __call__(self, *args: Any) -> Any:
            return self.fn(*args)

    for name in ("torchtitan", "torchtitan.config", "torchtitan.config.function"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    sys.modules["torchtitan.config.function"].Function = Function  # type: ignore[attr-defined]


def test_as_torchtitan_uses_it(stand_in: None, tmp_path: Path):
    config = copy.deepcopy(trace_post_processor(tmp_path / "out"))
    post_processor = config.build()
    assert post_processor(str(export(tmp_path, ".json.gz"))) is None
    config.fn.wait()
    assert filed_in(tmp_path / "out").exists()
    assert isinstance(pickle.loads(pickle.dumps(config.fn)), TraceFiler)


def test_traces_with_other_names_are_filed_too(tmp_path: Path):
    file = tmp_path / "my.json"
    file.write_text('{"traceEvents": []}')
    filer = TraceFiler()
    filer(file)
    filer.wait()
    assert list((tmp_path / "whyslow" / "traces" / "step_0").iterdir())
