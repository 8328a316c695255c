"""Ways to time the phases of a training step on a GPU. For capture-overhead.py."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from gpu_job import Job, plain_step, timed
from torch.optim.optimizer import _global_optimizer_post_hooks, _global_optimizer_pre_hooks

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "src"))
from whyslow_capture.config import CaptureConfig
from whyslow_capture.hooks import install
from whyslow_capture.session import Capture
from whyslow_capture.touched import GROUPS

ALWAYS: dict[str, Any] = {"record_every_n_steps": 1, "max_overhead": 1.0}


class Naive:
    """As lmms-engine does it: fresh events around host_to_device, training_step, training_metrics; read at a flush."""

    def __init__(self, every: int) -> None:
        self.every = every
        self.pending: list[tuple[str, int, torch.cuda.Event, torch.cuda.Event]] = []
        self.sink = tempfile.TemporaryFile("w")  # noqa: SIM115 (open while the loop runs)

    def __call__(self, job: Job, steps: int) -> float:
        return timed(steps, lambda i: self.step(job, i))

    def flush(self) -> None:
        for name, step, begin, end in self.pending:
            end.synchronize()
            row = {"name": name, "step": step, "rank": 0, "duration_ms": begin.elapsed_time(end)}
            self.sink.write(json.dumps(row) + "\n")
        self.sink.flush()
        self.pending.clear()

    def phase(self, name: str, i: int, work: Callable[[], object]) -> object:
        if i % self.every:
            return work()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        result = work()
        end.record()
        self.pending.append((name, i, begin, end))
        return result

    def step(self, job: Job, i: int) -> None:
        x = self.phase("host_to_device", i, lambda: job.batch(i).to("cuda", non_blocking=True))

        def train() -> None:
            loss = job.forward(x)  # type: ignore[arg-type]
            loss.backward()
            job.optimizer.step()
            job.optimizer.zero_grad(set_to_none=True)

        self.phase("training_step", i, train)
        self.phase("training_metrics", i, lambda: None)
        if i % 10 == 9:
            self.flush()


class Ours:
    """Seven phases: data_wait, host_to_device, forward, backward, optimizer, training_metrics, training_step."""

    def __init__(self, **config: object) -> None:
        self.capture = Capture(CaptureConfig(out=tempfile.mkdtemp(), auto_phases=False, **config))  # type: ignore[arg-type]
        self.opened = False

    def open(self) -> None:
        if not self.opened:
            self.capture.open()
            self.opened = True

    def __call__(self, job: Job, steps: int) -> float:
        self.open()
        return timed(steps, lambda i: self.step(job, i))

    def step(self, job: Job, i: int) -> None:
        cap = self.capture
        with cap.phase("data_wait"):
            x = job.batch(i)
        with cap.phase("host_to_device"):
            x = x.to("cuda", non_blocking=True)
        with cap.phase("forward"):
            loss = job.forward(x)
        with cap.phase("backward"):
            loss.backward()
        with cap.phase("optimizer"):
            job.optimizer.step()
            job.optimizer.zero_grad(set_to_none=True)
        with cap.phase("training_metrics"):
            pass
        cap.step()


class Laps(Ours):
    """The same phases, each named when it is over."""

    def step(self, job: Job, i: int) -> None:
        lap = self.capture.lap
        x = job.batch(i)
        lap("data_wait")
        x = x.to("cuda", non_blocking=True)
        lap("host_to_device")
        loss = job.forward(x)
        lap("forward")
        loss.backward()
        lap("backward")
        job.optimizer.step()
        job.optimizer.zero_grad(set_to_none=True)
        lap("optimizer")
        lap("training_metrics")
        self.capture.step()


class Automatic(Ours):
    """Phases found by hooks. They are in place only while this variant runs: the others must not feel them."""

    def __call__(self, job: Job, steps: int) -> float:
        self.open()
        uninstall = install(self.capture, steps="manual", groups=frozenset(GROUPS))
        self.capture.recorder.abandon_step()
        self.capture.recorder.start_step()
        try:
            return timed(steps, lambda i: self.step(job, i))
        finally:
            uninstall()

    def step(self, job: Job, i: int) -> None:
        plain_step(job, i)
        self.capture.step()


def hooks_at_rest(job: Job) -> tuple[Callable[[int], None], Callable[[], None]]:
    """
    A step with hooks that is not recorded, and how to end that. Once hooks know how the job goes round, what they leave
    in such a step is a hook behind the optimizer, which this puts in place for its own turns. (And a function around
    the DataLoader's, which is not here.)
    """
    capture = Automatic(record_every_n_steps=1 << 40).capture.open("optimizer")
    uninstall = install(capture, steps="optimizer", groups=frozenset(GROUPS))
    for i in range(40):
        plain_step(job, i)
    hooks = _global_optimizer_post_hooks
    (key, hook), *others = hooks.items()
    assert not others and not _global_optimizer_pre_hooks, "hooks are not at rest"
    del hooks[key]

    def step(i: int) -> None:
        hooks[key] = hook
        plain_step(job, i)
        del hooks[key]

    def close() -> None:
        uninstall()
        capture.close()

    return step, close
