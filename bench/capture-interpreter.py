"""
What the events tier costs the interpreter, without a GPU: a device is put in place whose calls do nothing, so that only
our own Python is left. Variants take turns from step to step, in a loop that the host paces.

    python bench/capture-interpreter.py [--steps 3000] [--against ../older/python/src]

`--against`: the package of another checkout, measured in the same run. The driver's part is in
bench/capture-overhead.py, which needs a GPU.
"""

from __future__ import annotations

import argparse
import importlib
import json
import operator
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from small_job import Job
from turns import take_turns

HERE = Path(__file__).resolve().parents[1] / "python" / "src"
PACKAGE = "whyslow_capture"
Step = Callable[[int], None]


class Event(float):
    """Its methods are functions of C that return at once, as the driver's would be if it had nothing to do."""

    __slots__ = ()

    def __new__(cls, enable_timing: bool = False) -> Event:
        return float.__new__(cls, 1.0)

    elapsed_time = float.__sub__
    query = float.__bool__


class WrappedEvent(Event):
    """With the layers of Python that torch.cuda.Event has."""

    __slots__ = ()

    def record(self, stream: object = None) -> None:
        operator.is_(self, torch.cuda.current_stream() if stream is None else stream)

    def elapsed_time(self, later: WrappedEvent) -> float:  # type: ignore[override]
        return super().elapsed_time(later)

    def synchronize(self) -> None:
        super().query()


class Calls:
    record = staticmethod(operator.is_)
    elapsed_time = staticmethod(operator.sub)
    query = staticmethod(bool)


class Stream:
    def __init__(self, *_: object) -> None:
        pass


def put_device_in_place() -> None:
    stream = Stream()
    replaced: dict[str, object] = {
        "is_initialized": lambda: True,
        "current_device": lambda: 0,
        "current_stream": lambda *_: stream,
        "is_current_stream_capturing": lambda: False,
        "Stream": Stream,
        "Event": Event,
    }
    for name, value in replaced.items():
        setattr(torch.cuda, name, value)
    torch._C._CudaEventBase = Calls  # type: ignore[attr-defined,misc,assignment]
    torch._C._cuda_getCurrentRawStream = abs  # type: ignore[attr-defined]
    torch._C._cuda_isCurrentStreamCapturing = bool  # type: ignore[attr-defined]


def plain_events(job: Job) -> Step:
    """Two fresh events a phase, 3 phases, read and written at every tenth step: as lmms-engine does it."""
    pending: list[tuple[str, int, WrappedEvent, WrappedEvent]] = []
    sink = tempfile.TemporaryFile("w")  # noqa: SIM115 (open while the loop runs)

    def phase(name: str, i: int, work: Callable[[], Any]) -> Any:
        begin, end = WrappedEvent(enable_timing=True), WrappedEvent(enable_timing=True)
        begin.record()
        result = work()
        end.record()
        pending.append((name, i, begin, end))
        return result

    def step(i: int) -> None:
        x = phase("host_to_device", i, job.copied)

        def train() -> None:
            job.loss(x).backward()
            job.optimize()

        phase("training_step", i, train)
        phase("training_metrics", i, lambda: None)
        if i % 10 == 9:
            for name, number, begin, end in pending:
                end.synchronize()
                row = {"name": name, "step": number, "rank": 0, "duration_ms": begin.elapsed_time(end)}
                sink.write(json.dumps(row) + "\n")
            sink.flush()
            pending.clear()

    return step


def recorded(job: Job, source: Path, *, laps: bool = False, **config: object) -> tuple[Step, Callable[[], None]] | None:
    """Seven phases with the package that is at `source`, in blocks or as laps; None: it has none, it is older."""
    for name in [name for name in sys.modules if name.split(".")[0] == PACKAGE]:
        del sys.modules[name]
    sys.path.insert(0, str(source))
    session = importlib.import_module(f"{PACKAGE}.session")
    make_config = importlib.import_module(f"{PACKAGE}.config").CaptureConfig
    # What it imports later must be its own too.
    importlib.import_module(f"{PACKAGE}.trace.tier")
    sys.path.remove(str(source))
    cap = session.Capture(make_config(out=tempfile.mkdtemp(), auto_phases=False, **config)).open()
    if laps and not hasattr(cap, "lap"):
        cap.close()
        return None

    def step(_: int) -> None:
        with cap.phase("data_wait"):
            pass
        with cap.phase("host_to_device"):
            x = job.copied()
        with cap.phase("forward"):
            loss = job.loss(x)
        with cap.phase("backward"):
            loss.backward()
        with cap.phase("optimizer"):
            job.optimize()
        with cap.phase("training_metrics"):
            pass
        cap.step()

    def step_of_laps(_: int) -> None:
        cap.lap("data_wait")
        x = job.copied()
        cap.lap("host_to_device")
        loss = job.loss(x)
        cap.lap("forward")
        loss.backward()
        cap.lap("backward")
        job.optimize()
        cap.lap("optimizer")
        cap.lap("training_metrics")
        cap.step()

    chosen = step_of_laps if laps else step
    # A first step makes it import the rest.
    chosen(0)
    return chosen, cap.close


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--against", type=Path)
    options = parser.parse_args()
    put_device_in_place()
    job = Job()
    variants: dict[str, Step] = {"off": job.plain, "off again": job.plain, "plain events, 3 phases": plain_events(job)}
    closing = []
    for label, source in (("before", options.against), ("whyslow", HERE)):
        if source is not None:
            always = {"record_every_n_steps": 1, "max_overhead": 1.0}
            ways: dict[str, dict[str, Any]] = {
                "recorded, 7 phases": always,
                "recorded, 7 phases as laps": {"laps": True, **always},
                "not recorded, 7 phases": {"record_every_n_steps": 1 << 40},
            }
            for what, config in ways.items():
                made = recorded(job, source.resolve(), **config)
                if made is not None:
                    variants[f"{label}, {what}"], close = made
                    closing.append(close)
    print(f"torch {torch.__version__}, Python {sys.version.split()[0]}, {time.strftime('%Y-%m-%d')}")
    take_turns(variants, options.steps)
    for close in closing:
        close()


if __name__ == "__main__":
    main()
