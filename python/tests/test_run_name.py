"""Run names: ranks agree, runs differ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from gloo_ranks import run_ranks
from support import header_of, lines_of, make, records_of

from whyslow_capture import layout, process, run_name
from whyslow_capture.config import CaptureConfig
from whyslow_capture.run_name import agreed_run_id, run_id


@pytest.fixture
def unnamed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"):
        monkeypatch.delenv(name, raising=False)


def _train(rank: int, base: str) -> None:
    # One run into its own folder, then two into another: three runs.
    for out in ("first", "again", "again"):
        cap = make(Path(base, out), record_every_n_steps=1)
        for _ in range(3):
            with cap.phase("forward"):
                torch.distributed.all_reduce(torch.ones(1))
            cap.step()
        cap.close()


def test_ranks_without_a_run_name_agree_on_one(tmp_path: Path, unnamed: None) -> None:
    run_ranks(_train, 3, str(tmp_path))
    first = {header_of(tmp_path / "first", rank)["run"] for rank in range(3)}
    assert len(first) == 1
    assert {r["run"] for rank in range(3) for r in records_of(tmp_path / "first", rank)} == first
    manifests = [layout.run_file(tmp_path / "first"), *(layout.rank_file(tmp_path / "first", r) for r in range(3))]
    assert {json.loads(path.read_text())["run"] for path in manifests} == first
    again = [tuple(dict.fromkeys(r["run"] for r in records_of(tmp_path / "again", rank))) for rank in range(3)]
    assert len(set(again)) == 1
    assert len({*again[0], *first}) == 3


def _train_named(rank: int, out: str) -> None:
    for _ in range(2):  # one job may record twice under its name
        with make(Path(out), record_every_n_steps=1, run="named") as cap:
            cap.step()


def test_ranks_of_a_second_job_change_its_name_alike(tmp_path: Path, unnamed: None) -> None:
    for _ in range(2):
        run_ranks(_train_named, 2, str(tmp_path))
    runs = [[line["run"] for line in lines_of(tmp_path, rank) if "whyslow" in line] for rank in range(2)]
    assert runs[0] == runs[1]
    assert runs[0][:2] == ["named", "named"]
    assert runs[0][2] == runs[0][3] and runs[0][2].startswith("named+")


def test_the_launchers_run_name_is_kept(monkeypatch: pytest.MonkeyPatch, unnamed: None) -> None:
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "job-7")
    assert run_id(CaptureConfig()) == "job-7"
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "2")
    assert run_id(CaptureConfig()) == "job-7.2"
    assert run_id(CaptureConfig(run="mine")) == "mine.2"
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    assert run_id(CaptureConfig()) != run_id(CaptureConfig())


class Store:
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def compare_set(self, *_: str) -> bytes:
        if isinstance(self.answer, Exception):
            raise self.answer
        return bytes(self.answer)


@pytest.mark.parametrize(
    ("answer", "expected"), [(b"theirs", "theirs"), (b"", "own"), (RuntimeError("not implemented"), "own")]
)
def test_a_store_without_compare_set(
    answer: Any, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unnamed: None
) -> None:
    monkeypatch.setattr(process, "group_is_up", lambda: True)
    monkeypatch.setattr(process, "world_size", lambda: 4)
    c10d = torch.distributed.distributed_c10d
    monkeypatch.setattr(c10d, "_get_default_store", lambda: Store(answer))
    assert agreed_run_id(CaptureConfig(), "own", tmp_path) == expected
    assert agreed_run_id(CaptureConfig(run="mine"), "mine", tmp_path) == "mine"


def test_the_torchrun_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unnamed: None) -> None:
    store = torch.distributed.TCPStore("127.0.0.1", 0, 1, is_master=True)
    monkeypatch.setattr(process, "group_is_up", lambda: True)
    monkeypatch.setattr(process, "world_size", lambda: 2)
    c10d = torch.distributed.distributed_c10d
    monkeypatch.setattr(c10d, "_get_default_store", lambda: torch.distributed.PrefixStore("default_pg", store))
    answers = []
    for own in ("a", "b"):
        run_name._named.clear()  # each call acts as another rank
        answers.append(agreed_run_id(CaptureConfig(), own, tmp_path))
    assert answers == ["a", "a"]
    assert agreed_run_id(CaptureConfig(), "c", tmp_path) == "c"
