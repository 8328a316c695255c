"""MetricsGather in one process: without a process group, inside a capture, and with wrong arguments."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from support import run_torch_program

import whyslow_capture
from whyslow_capture import layout
from whyslow_training.metrics import MetricsGather
from whyslow_training.metrics_exchange import Exchange
from whyslow_training.metrics_reduce import Column, reduce_columns


@pytest.mark.parametrize("pipelined", [False, True])
def test_without_a_process_group(pipelined: bool):
    gather = MetricsGather(pipelined=pipelined)
    gather.add("loss", torch.tensor(2.5, requires_grad=True) * 2, ops=["avg", "sum", "min", "max", "argmax"])
    gather.add("count", torch.tensor([2**53 - 1]), op="sum")
    for i in range(50):
        gather.add(f"n{i}", i)
    found = gather.gather() or gather.flush()
    assert found is not None
    assert [found[f"loss/{op}"] for op in ("avg", "sum", "min", "max", "argmax")] == [5.0, 5.0, 5.0, 5.0, 0.0]
    assert found["count"] == 2**53 - 1
    assert [found[f"n{i}"] for i in range(50)] == list(map(float, range(50)))
    assert gather.flush() is None


def test_nan_and_infinity_are_gathered():
    gather = MetricsGather()
    gather.add("nan", float("nan"))
    gather.add("inf", float("inf"), op="max")
    found = gather.gather()
    assert found is not None and found["nan"] != found["nan"] and found["inf"] == float("inf")


def test_nothing_added():
    gather = MetricsGather()
    assert gather.gather() == {}
    assert MetricsGather(every_n=2).gather() is None


def test_misuse_raises_with_what_is_allowed():
    gather = MetricsGather()
    with pytest.raises(ValueError, match=r"op='median' must be one of avg, sum, min, max"):
        gather.add("a", 1, op="median")
    with pytest.raises(ValueError, match="'a' needs at least one operation"):
        gather.add("a", 1, ops=())
    with pytest.raises(ValueError, match=r"'a' must be one number, not a tensor of shape \(2,\)"):
        gather.add("a", torch.ones(2))
    gather.add("a", 1)
    with pytest.raises(ValueError, match="'a' was added twice"):
        gather.add("a", 1, op="max")
    with pytest.raises(ValueError, match="every_n=0"):
        MetricsGather(every_n=0)
    assert gather.gather() == {"a": 1.0}


def test_buffers_made_in_inference_mode_work_outside_it():
    with torch.inference_mode():
        exchange = Exchange(None, torch.device("cpu"), None)
    for _ in range(2):
        exchange.send([1.0, 3.0, 0.0], [torch.tensor(7.0)], [2])
        rows, headers = exchange.receive()
        assert rows[0][:3] == [1.0, 3.0, 7.0] and headers == [[1.0, 3.0]]


def test_tensors_of_several_dtypes_keep_their_positions():
    exchange = Exchange(None, torch.device("cpu"), None)
    tensors = [torch.tensor(1.5, dtype=torch.bfloat16), torch.tensor(2**40 + 1), torch.tensor(0.1)]
    exchange.send([9.0, 7.0, 0.0, 5.0, 0.0, 6.0, 0.0], tensors, [2, 4, 6])
    rows, _ = exchange.receive()
    assert rows[0][:7] == [9.0, 7.0, 1.5, 5.0, float(2**40 + 1), 6.0, pytest.approx(0.1)]


def test_small_and_large_tables_reduce_alike():
    ops = ("avg", "sum", "min", "max", "argmin", "argmax")
    columns = [Column(name, ops, True) for name in ("random", "equal", "with nan", "with inf")]
    table = torch.randn(7, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    table[:, 3] = 2.0
    table[4, 4] = table[5, 4] = float("nan")
    table[2, 5] = float("inf")
    few, many = (reduce_columns(given, 2, columns) for given in (table.tolist(), table))
    assert list(few) == [f"{c.name}/{op}" for c in columns for op in ops] and set(few) == set(many)
    assert few == pytest.approx(many, rel=1e-15, nan_ok=True)
    assert few["random/argmax"] == table[:, 2].argmax() and few["equal/argmin"] == 0 and few["with nan/argmin"] == 4


def test_a_capture_records_it_as_training_metrics(tmp_path: Path):
    gather = MetricsGather()
    with whyslow_capture.capture(tmp_path, record_every_n_steps=1, auto_phases=False, max_overhead=1) as cap:
        for step in range(4):
            gather.add("step", step)
            gather.gather()
            cap.step()
    lines = [json.loads(line) for line in layout.events_file(tmp_path, 0).read_text().splitlines()]
    steps = [line["step"] for line in lines if line.get("name") == layout.TRAINING_METRICS]
    assert steps == [0, 1, 2, 3]


def test_usable_without_loading_the_rest():
    """A job that only gathers metrics and copies batches loads no recorder and no profiler."""
    code = (
        "import sys, torch, whyslow_capture as w\n"
        "g = w.MetricsGather(); g.add('a', 1); assert g.gather() == {'a': 1.0}\n"
        "assert w.to_device([torch.ones(1)], 'meta')[0].is_meta\n"
        "print([m for m in sys.modules if m.startswith('whyslow_capture.') and ('session' in m or 'trace' in m)])"
    )
    assert run_torch_program(code).stdout.strip() == "[]"
