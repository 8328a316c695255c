"""Copies batches to a device. `meta` replaces a GPU: it holds no data, but otherwise behaves the same."""

from __future__ import annotations

import json
import types
from collections import OrderedDict, UserDict, defaultdict, namedtuple
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from frameworks import framework
from torch.nn.utils.rnn import PackedSequence, pack_sequence

import whyslow_capture
from whyslow_capture import layout, to_device
from whyslow_capture.problems import ProblemLog
from whyslow_training import copies

Pair = namedtuple("Pair", ["x", "label"])


class Rows(list[Any]):
    source = "rows"


@dataclass
class Plain:
    x: torch.Tensor
    name: str
    seen: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class Frozen:
    x: torch.Tensor
    length: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", len(self.x))


@dataclass(frozen=True, slots=True)
class Slotted:
    x: torch.Tensor


class Encoding(UserDict[str, Any]):
    """Like transformers' BatchEncoding, whose .to modifies itself."""

    def to(self, device: object) -> Encoding:
        raise AssertionError("the job's own batch would change")


class Graph:
    """Has a .to without non_blocking."""

    def __init__(self, x: torch.Tensor) -> None:
        self.x = x

    def to(self, device: torch.device) -> Graph:
        return Graph(self.x.to(device))


def test_types_are_kept_through_any_nesting():
    x = torch.ones(2)
    batch = {
        "plain": [x, (x + 1, "text", 3)],
        "pair": Pair(x, torch.zeros(1)),
        "ordered": OrderedDict(b=x, a=x),
        "default": defaultdict(list, k=x),
        "rows": Rows([x]),
        "data": Plain(x, "n", [x]),
        "frozen": Frozen(x),
        "slotted": Slotted(x),
        "encoding": Encoding(ids=x),
        "graph": Graph(x),
        "view": types.MappingProxyType({"x": x}),
        "none": None,
        "shape": x.shape,
        "set": {1, 2},
    }
    moved = to_device(batch, "meta")
    assert type(moved) is dict and list(moved) == list(batch)
    for name in batch:
        assert type(moved[name]) is type(batch[name]), name
    tensors = [
        moved["plain"][0],
        moved["plain"][1][0],
        *moved["pair"],
        *moved["ordered"].values(),
        moved["default"]["k"],
        moved["rows"][0],
        moved["data"].x,
        moved["data"].seen[0],
        moved["frozen"].x,
        moved["slotted"].x,
        moved["encoding"]["ids"],
        moved["graph"].x,
        moved["view"]["x"],
    ]
    assert all(t.is_meta for t in tensors)
    assert moved["pair"].label.is_meta and moved["plain"][1][1:] == ("text", 3)
    assert list(moved["ordered"]) == ["b", "a"] and moved["default"].default_factory is list
    assert (moved["data"].name, moved["frozen"].length, moved["rows"].source) == ("n", 2, "rows")
    assert moved["set"] is batch["set"]
    # The job's own batch is unchanged.
    assert not x.is_meta and not batch["encoding"]["ids"].is_meta and not batch["data"].seen[0].is_meta


def test_a_repeated_tensor_is_copied_once():
    x = torch.ones(3)
    moved = to_device({"a": x, "b": [x]}, "meta")
    assert moved["a"] is moved["b"][0]


def test_a_batch_on_the_device_is_returned_unchanged():
    x = torch.ones(2)
    batch = {"x": x, "deep": [(x, {"y": x}), Frozen(x)]}
    assert to_device(batch, "cpu") is batch
    assert to_device(x, "cpu") is x
    mixed = to_device([x, {"m": x.to("meta")}], "meta")
    assert mixed[0].is_meta


def test_recursive_structures_end():
    loop: list[Any] = [torch.ones(1)]
    loop.append(loop)
    table: dict[str, Any] = {"x": torch.ones(1)}
    table["self"] = table
    assert to_device(loop, "meta")[0].is_meta
    assert to_device(table, "meta")["x"].is_meta


def test_packed_sequences_keep_their_sizes_on_the_host():
    packed = pack_sequence([torch.ones(3), torch.ones(2)])
    moved = to_device(packed, "meta")
    assert isinstance(moved, PackedSequence) and moved.data.is_meta and not moved.batch_sizes.is_meta


def test_transformers_batches():
    transformers = framework("transformers")
    batch = transformers.BatchEncoding({"input_ids": torch.ones(1, 4), "length": 4})
    moved = to_device(batch, "meta")
    assert type(moved) is transformers.BatchEncoding
    assert moved["input_ids"].is_meta and moved.input_ids.is_meta and moved["length"] == 4
    assert not batch["input_ids"].is_meta


class Recorded(torch.Tensor):
    """Remembers the arguments of .to."""

    asked: list[Any] = []  # noqa: RUF012

    def to(self, *args: Any, **how: Any) -> Any:
        Recorded.asked.append((args, how))
        return super().to(*args, **how)


@pytest.mark.parametrize("non_blocking", [True, False])
def test_copies_do_not_block_unless_asked(non_blocking: bool):
    Recorded.asked.clear()
    to_device([torch.ones(2).as_subclass(Recorded)], "meta", non_blocking=non_blocking)
    assert Recorded.asked == [((torch.device("meta"),), {"non_blocking": non_blocking})]


@pytest.fixture
def pinning_matters(monkeypatch: pytest.MonkeyPatch) -> ProblemLog:
    """Treats `meta` as a GPU, in a process that has not warned yet."""
    problems = ProblemLog()
    monkeypatch.setattr(copies, "_PROBLEMS", problems)
    monkeypatch.setattr(copies, "gains_from_pinning", lambda device: device.type == "meta")
    return problems


def test_unpinned_memory_warns_once(pinning_matters: ProblemLog, capsys: pytest.CaptureFixture[str]):
    to_device([torch.empty(0)], "meta")
    to_device([torch.ones(1)], "cpu")
    to_device([torch.ones(1)], "meta", non_blocking=False)
    assert capsys.readouterr().err == ""
    for _ in range(3):
        to_device([torch.ones(1), torch.ones(2)], "meta")
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1 and "pin_memory=True" in printed and "meta" in printed
    assert pinning_matters.counts == {"unpinned-copy": 1}


def test_pinned_memory_does_not_warn(
    pinning_matters: ProblemLog, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(torch.Tensor, "is_pinned", lambda self: True)
    to_device([torch.ones(1)], "meta")
    assert capsys.readouterr().err == ""


def test_pinning_matters_only_for_real_devices():
    assert copies.gains_from_pinning(torch.device("cuda", 0))
    assert not copies.gains_from_pinning(torch.device("cpu"))


@pytest.mark.parametrize("by", ["function", "method"])
def test_a_capture_records_it_as_host_to_device(tmp_path: Path, by: str):
    with whyslow_capture.capture(tmp_path, record_every_n_steps=1, auto_phases=False, max_overhead=1) as cap:
        for _ in range(3):
            move = to_device if by == "function" else cap.to_device
            assert move({"x": torch.ones(1)}, "meta")["x"].is_meta
            cap.step()
    lines = [json.loads(line) for line in layout.events_file(tmp_path, 0).read_text().splitlines()]
    assert [line["step"] for line in lines if line.get("name") == layout.HOST_TO_DEVICE] == [0, 1, 2]
