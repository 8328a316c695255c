"""Records are written while the training thread is in the backward pass."""

from __future__ import annotations

import threading
from pathlib import Path

import fake_clock
import pytest
from fake_clock import MS, Clock
from support import make, records_of, run_torch_program

from whyslow_capture.events import writer as lull_module
from whyslow_capture.events.sample import ResolvedSample
from whyslow_capture.events.writer import NextBackward


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock(0)
    monkeypatch.setattr(lull_module, "perf_counter_ns", clock)
    return clock


class Asked(threading.Event):
    """Records the waiting times instead of waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.ms: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.ms.append(round((timeout or 0) * 1e3, 3))
        return False


def step(begin: int, forward: int, backward: int, rest: int) -> ResolvedSample:
    """Marks are in ms after `begin`."""
    marks = [begin, begin + forward, begin + forward + backward, begin + forward + backward + rest]
    entries = [("training_step", 0, 0), ("forward", 0, 1, 0), ("backward", 1, 2, 0), ("training_step", 3)]
    return ResolvedSample(1, [m * MS for m in marks], None, False, list(entries))


def waits(next_backward: NextBackward, clock: Clock, at_ms: float) -> list[float]:
    asked, clock.now = Asked(), int(at_ms * MS)
    next_backward.wait(asked)
    return asked.ms


def test_waits_for_the_next_backward_pass(clock: Clock) -> None:
    # Handed over at 1000 ms, when a step begins: 10 ms forward, 20 ms backward, 40 ms in all.
    next_backward = NextBackward([step(500, 10, 20, 10)], 1000 * MS)
    assert next_backward.length == 20 * MS
    assert waits(next_backward, clock, 1000) == [12]  # a tenth into it
    assert waits(next_backward, clock, 1013) == []  # already in it
    assert waits(next_backward, clock, 1025) == [27]  # nearly over, so wait for the next one
    assert waits(next_backward, clock, 1052) == []


def test_records_do_not_wait_for_long(clock: Clock) -> None:
    patience = lull_module.PATIENCE_NS // MS
    next_backward = NextBackward([step(500, 10, 20, 10)], 1000 * MS)
    assert waits(next_backward, clock, 1000 + patience - 5) == []
    assert waits(NextBackward([step(0, patience, 500, 10)], 1000 * MS), clock, 1000) == []


def test_jobs_without_backward_do_not_wait(clock: Clock) -> None:
    empty = ResolvedSample(1, [0], None, False, [])
    for next_backward in (NextBackward([], 0), NextBackward([empty], 0), NextBackward([step(0, 0, 0, 0)], 0)):
        assert waits(next_backward, clock, 0) == []


def test_the_end_of_the_job_does_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lull_module, "PATIENCE_NS", 1000_000 * MS)
    waiting, wait = threading.Event(), NextBackward.wait

    def noted(self: NextBackward, until: threading.Event) -> None:
        waiting.set()
        wait(self, until)

    monkeypatch.setattr(NextBackward, "wait", noted)
    steps = fake_clock.install(monkeypatch, tick_ns=1000)
    cap = make(tmp_path, record_every_n_steps=1, flush_every_n_steps=1)
    for _ in range(3):
        for name in ("forward", "backward"):
            with cap.phase(name):
                steps.pause(300_000)
        cap.step()
    # To be written in the next backward pass, five minutes from now.
    assert cap.files._writer is not None
    cap.files._flushed_at = 0
    cap.files.flush(keep=True)
    assert waiting.wait(60)
    assert cap.files._writer.rows == 0
    cap.close()
    assert len(records_of(tmp_path)) == 3 * 3


def test_the_interpreter_lock_is_free_in_backward(tmp_path: Path) -> None:
    """In a loop that holds the lock only in the forward pass, records are written in the backward pass."""
    source = """
        import sys, time
        from whyslow_capture import capture
        from whyslow_capture.events import writer

        places, inside = [], [False]
        write = writer.EventsWriter._text
        def noted(self, sample):
            places.append(inside[0])
            return write(self, sample)
        writer.EventsWriter._text = noted
        with capture(sys.argv[1], record_every_n_steps=1, max_overhead=1.0, auto_phases=False) as cap:
            began = time.monotonic()
            # On a busy machine it takes longer until enough is written.
            while (passed := time.monotonic() - began) < 1.2 or (len(places) < 40 and passed < 60):
                with cap.phase("forward"):
                    until = time.perf_counter() + 0.01
                    while time.perf_counter() < until:
                        pass
                with cap.phase("backward"):
                    inside[0] = True
                    time.sleep(0.02)
                    inside[0] = False
                cap.step()
            cap.recorder.enabled = False
            within = places[:]
        print(len(within), sum(within))
    """
    for attempt in range(3):  # on a busy machine a thread may get its core only after the backward pass
        written, in_backward = map(int, run_torch_program(source, tmp_path / f"{attempt}").stdout.split())
        assert written > 20
        if in_backward > 0.3 * written:
            break
    assert in_backward > 0.3 * written  # without waiting it would be hardly any
