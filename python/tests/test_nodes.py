"""Where a rank says that its job has several nodes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from whyslow_capture.manifest import state_place

LAUNCHED = {"WHYSLOW_LAUNCH": "abc123", "MASTER_ADDR": "node-0", "RANK": "9", "LOCAL_RANK": "1", "WORLD_SIZE": "16"}
VARIABLES = (*LAUNCHED, "LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_NTASKS")


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch):
    def set_up(**changes: str | None) -> None:
        for name in VARIABLES:
            monkeypatch.delenv(name, raising=False)
        for name, value in {**LAUNCHED, **changes}.items():
            if value is not None:
                monkeypatch.setenv(name, value)

    return set_up


def stated(out: Path) -> list[Path]:
    return [path for path in out.rglob("*") if path.is_file()]


def test_a_rank_of_several_nodes_says_where_it_is(launched, tmp_path: Path):
    launched(LOCAL_WORLD_SIZE="8")
    state_place(tmp_path, 9, (0, 9), "the job")
    (file,) = stated(tmp_path)
    assert file.name == "abc123-9.json"
    assert json.loads(file.read_text()) == {
        "rank": 9,
        "local_rank": 1,
        "world_size": 16,
        "local_world_size": 8,
        "first_node": "node-0",
        "measured": [0, 9],
    }


@pytest.mark.parametrize(
    "changes",
    [
        {"LOCAL_WORLD_SIZE": "16"},
        {"MASTER_ADDR": "127.0.0.1"},  # no word on how many ranks a node has
        {"WORLD_SIZE": "1"},
        {"WHYSLOW_LAUNCH": None},
        {"WHYSLOW_LAUNCH": "../x"},
    ],
)
def test_no_file_on_one_node_or_without_whyslow_run(launched, tmp_path: Path, changes: dict[str, str | None]):
    launched(**changes)
    state_place(tmp_path, 9, None, "the job")
    assert stated(tmp_path) == []


def test_no_file_where_ranks_could_not_agree(launched, tmp_path: Path):
    launched(LOCAL_WORLD_SIZE="8")
    state_place(tmp_path, 9, None, None)
    assert stated(tmp_path) == []
