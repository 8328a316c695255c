"""Which phase time belongs to, by a fake clock; and on a GPU, what a phase waits for that is not its own."""

from __future__ import annotations

import sys

import fake_clock
import fake_cuda
import pytest
from fake_clock import MS, Clock

from whyslow_capture.events.budget import OverheadBudget
from whyslow_capture.events.recorder import Recorder
from whyslow_capture.job import JobClock
from whyslow_capture.problems import ProblemLog


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return fake_clock.install(monkeypatch, tick_ns=0)


def started() -> tuple[JobClock, Recorder]:
    recorder = Recorder(OverheadBudget(1, 1.0), ProblemLog())
    recorder.start_step()
    job = JobClock(ProblemLog())
    job.start(recorder)
    return job, recorder


def ms_of(job: JobClock) -> dict[str, int]:
    return {name: total.ns // MS for name, total in job.phases.items()}


def test_time_belongs_to_the_innermost_phase(clock: Clock) -> None:
    job, _ = started()
    evaluation = job.enter("evaluation", "evaluate")
    clock.pause(10)
    saving = job.enter("checkpoint", "Trainer._save_checkpoint")
    clock.pause(2)
    inner = job.enter("checkpoint", "torch.save")
    clock.pause(20)
    job.leave(inner)
    job.leave(saving)
    clock.pause(5)
    job.leave(evaluation)
    assert ms_of(job) == {"checkpoint": 22, "evaluation": 15}
    assert job.phases["checkpoint"].count == 1
    assert job.phases["checkpoint"].longest == 22 * MS
    assert job.phases["checkpoint"].calls == {"torch.save": 20 * MS, "Trainer._save_checkpoint": 2 * MS}
    assert job.totals() == (("checkpoint", 22 * MS), ("evaluation", 15 * MS))


def test_a_phase_that_an_exception_left_open_ends_with_the_outer_one(clock: Clock) -> None:
    job, _ = started()
    outer = job.enter("evaluation", "evaluate")
    lost = job.enter("logging", "log")
    clock.pause(3)
    job.leave(outer)
    job.leave(lost)
    assert ms_of(job) == {"logging": 3, "evaluation": 0}


def test_what_was_measured_before_training_is_start_up(clock: Clock) -> None:
    job = JobClock(ProblemLog())
    assert job.enter("checkpoint", "torch.save") is None
    job, recorder = started()
    saving = job.enter("checkpoint", "torch.save")
    clock.pause(7)
    job.leave(saving)
    recorder.finish_step()
    summary = job.summary(origin_ns=0)
    assert summary is not None and summary["tail_ms"] == 0 and summary["steps"] == 1
    job.stop()
    assert job.enter("checkpoint", "torch.save") is None


@pytest.mark.parametrize(("takes_ms", "counted_ms"), [(80, 30), (20, 0)])
def test_on_a_gpu_a_phase_begins_when_earlier_work_is_done(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, takes_ms: int, counted_ms: int
) -> None:
    device = fake_cuda.install(monkeypatch, clock)
    job, recorder = started()
    # The device has 50 ms of work queued. Printing a tensor waits for it, but it is training.
    device.lag_ns = 50 * MS
    printing = job.enter("logging", "print(tensor)")
    clock.pause(takes_ms)
    job.leave(printing)
    assert ms_of(job) == {"logging": counted_ms}
    free = len(recorder._device.free) if recorder._device else 0
    device.is_capturing = True  # a CUDA graph is being captured: no event may be recorded
    job.leave(job.enter("logging", "print(tensor)"))
    assert recorder._device is not None and len(recorder._device.free) == free


def test_a_forked_child_neither_asks_nor_frees_an_event(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    device = fake_cuda.install(monkeypatch, clock)
    job, _ = started()
    printing = job.enter("logging", "print(tensor)")
    assert printing is not None and printing.busy_until is not None
    references = sys.getrefcount(printing)
    job.abandon()
    assert sys.getrefcount(printing) == references + 1
    recorded = device.recorded
    assert job.enter("logging", "print(tensor)") is None
    assert device.recorded == recorded
