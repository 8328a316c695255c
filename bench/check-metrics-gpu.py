"""
MetricsGather and to_device on a real GPU: right numbers, and nothing waits where nothing should.

    python bench/check-metrics-gpu.py
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "src"))

from whyslow_capture import to_device
from whyslow_training import copies, metrics_exchange
from whyslow_training.metrics import MetricsGather
from whyslow_capture.problems import ProblemLog

SPIN = 200_000_000  # cycles: about 100 ms


def busy() -> None:
    torch.cuda._sleep(SPIN)


def check_numbers(pipelined: bool) -> None:
    gather = MetricsGather(pipelined=pipelined)
    for step in range(4):
        loss = torch.full((), 1.5 + step, device="cuda", requires_grad=True) * 2
        gather.add("loss", loss)
        gather.add("tokens", 2**24 + 1 + step, op="sum")
        gather.add("half", torch.tensor(0.5, device="cuda", dtype=torch.bfloat16), ops=("min", "max"))
        gather.add("count", torch.tensor([2**40 + step], device="cuda"), op="max")
        gather.add("cpu", torch.tensor(7.0))
        for extra in range(40 if step >= 2 else 0):
            gather.add(f"m{extra}", torch.full((), float(extra), device="cuda") if extra % 2 else extra)
        found = gather.gather()
        if pipelined:
            assert (found is None) == (step == 0)
            found = gather.flush() if step == 3 else found
            step = step if step == 3 else step - 1
        if found is not None:
            wanted = {"loss": 3.0 + 2 * step, "tokens": 2.0**24 + 1 + step, "half/min": 0.5, "half/max": 0.5}
            wanted |= {"count": 2.0**40 + step, "cpu": 7.0}
            wanted |= {f"m{extra}": float(extra) for extra in range(40 if step >= 2 else 0)}
            assert found == wanted, (step, found)
    print(f"numbers are right, pipelined={pipelined}")


def check_pipelined_does_not_wait() -> None:
    gather = MetricsGather(pipelined=True)
    loss = torch.ones((), device="cuda")

    def step(number: float) -> float:
        began = time.perf_counter()
        gather.add("loss", loss)
        gather.add("number", number)
        gather.gather()
        return time.perf_counter() - began

    for number in range(3):
        step(float(number))
    torch.cuda.synchronize()
    # torch itself raises at whatever it knows to synchronize: item(), blocking copies, …
    torch.cuda.set_sync_debug_mode("error")
    try:
        step(3.0)  # what is returned here is there already
        busy()
        took = step(4.0)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert took < 0.02, f"took {took * 1e3:.1f} ms behind 100 ms of work"
    torch.cuda.synchronize()
    assert gather.flush() == {"loss": 1.0, "number": 4.0}
    print(f"pipelined: {took * 1e6:.0f} µs behind 100 ms of work, no synchronization")


def check_copies() -> None:
    trouble = copies._PROBLEMS = ProblemLog()
    pinned = {"x": torch.ones(1 << 20).pin_memory(), "more": [torch.zeros(8).pin_memory()]}
    to_device(pinned, "cuda")
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        busy()
        began = time.perf_counter()
        moved = to_device(pinned, "cuda")
        took = time.perf_counter() - began
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert moved["x"].is_cuda and moved["more"][0].is_cuda and took < 0.02, took
    assert trouble.counts == {}
    to_device({"x": torch.ones(4)}, "cuda")
    to_device({"x": torch.ones(4)}, "cuda")
    assert trouble.counts == {"unpinned-copy": 1}
    print(f"to_device: {took * 1e6:.0f} µs behind 100 ms of work; one warning for memory that is not pinned")


def main() -> None:
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    for pipelined in (False, True):
        check_numbers(pipelined)
    check_pipelined_does_not_wait()
    with tempfile.TemporaryDirectory() as scratch:
        dist.init_process_group("nccl", init_method=f"file://{scratch}/store", rank=0, world_size=1)
        metrics_exchange.COLLECTIVE_IN_GROUP_OF_ONE = True
        for pipelined in (False, True):
            check_numbers(pipelined)
        check_pipelined_does_not_wait()
        dist.destroy_process_group()
    check_copies()


if __name__ == "__main__":
    main()
