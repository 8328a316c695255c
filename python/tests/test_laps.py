"""`cap.lap(name)` names the time since the previous lap, or since the step began."""

from __future__ import annotations

import threading
from pathlib import Path

import fake_clock
import fake_cuda
import pytest
from fake_clock import Clock
from hooked import Job, batches, capturing
from support import make, records_of
from torch.utils.data import DataLoader

import whyslow_capture
from whyslow_capture.events import step_buffer
from whyslow_capture.events.budget import IDLE_PHASE_NS, OverheadBudget
from whyslow_capture.events.recorder import Recorder
from whyslow_capture.events.sample import LAP, Entry, phases_of
from whyslow_capture.problems import ProblemLog
from whyslow_capture.session import Capture

LENGTHS = {"data_wait": 1.0, "host_to_device": 2.0, "forward": 3.0, "backward": 6.0, "optimizer": 4.0}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return fake_clock.install(monkeypatch, tick_ns=100)


def durations(out: Path, step: int) -> dict[str, float]:
    found = [r for r in records_of(out) if r["step"] == step]
    assert len({r["name"] for r in found}) == len(found), "one record a phase"
    return {r["name"]: r["duration_ms"] for r in found}


def train(cap: Capture, clock: Clock, steps: int) -> None:
    for _ in range(steps):
        for name, length in LENGTHS.items():
            clock.pause(length)
            cap.lap(name)
        cap.step()


@pytest.mark.parametrize("every", [1, 3])
def test_laps_cover_the_whole_step(tmp_path: Path, clock: Clock, every: int) -> None:
    with make(tmp_path, record_every_n_steps=every) as cap:
        train(cap, clock, 10)
    steps = sorted({r["step"] for r in records_of(tmp_path)})
    assert steps == list(range(0, 10, every))
    for step in steps:
        found = durations(tmp_path, step)
        assert found.pop("training_step") == pytest.approx(sum(LENGTHS.values()), abs=0.05)
        assert found == pytest.approx(LENGTHS, abs=0.02)


def test_one_event_per_lap(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, clock: Clock) -> None:
    device = fake_cuda.install(monkeypatch, clock)
    with make(tmp_path, record_every_n_steps=1) as cap:
        train(cap, clock, 2)
        before = device.recorded
        train(cap, clock, 4)
        # The step ends with its last lap, where the next step begins.
        assert device.recorded == before + 4 * len(LENGTHS)
    rows = [r for r in records_of(tmp_path) if r["name"] != "training_step"]
    assert {r["clock"] for r in rows} == {"gpu"}
    assert [r["duration_ms"] for r in rows[-5:]] == pytest.approx(list(LENGTHS.values()), abs=0.02)


def test_empty_laps_need_no_event(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, clock: Clock) -> None:
    device = fake_cuda.install(monkeypatch, clock)
    with make(tmp_path, record_every_n_steps=1) as cap:
        cap.step()
        clock.pause(1)
        cap.lap("optimizer")
        before = device.recorded
        cap.lap("training_metrics")
        cap.step()
        clock.now += step_buffer.SAME_MOMENT_NS - 500
        cap.lap("data_wait")
        assert device.recorded == before
        # A single call can launch a lot of work.
        clock.now += step_buffer.EMPTY_NS
        cap.lap("replay")
        assert device.recorded == before + 1
        cap.step()
    assert durations(tmp_path, 1)["training_metrics"] == 0
    # Begins at the mark that the empty wait shares.
    whole = {"data_wait": 0, "replay": 0.013, "training_step": 0.013}
    assert durations(tmp_path, 2) == pytest.approx(whole, abs=0.002)


def test_a_kept_reference_to_lap_keeps_working(tmp_path: Path, clock: Clock) -> None:
    """`lap = cap.lap` before the loop works in recorded and unrecorded steps."""
    with make(tmp_path, record_every_n_steps=4) as cap:
        taken_when_recording = cap.lap
        cap.step()
        taken_when_not = cap.lap
        for step in range(1, 9):
            clock.pause(1)
            taken_when_recording("a")
            clock.pause(2)
            taken_when_not("b")
            assert not cap.lap("c")
            cap.step()
            assert cap.recorder.recording == ((step + 1) % 4 == 0)
    for step in (4, 8):
        assert durations(tmp_path, step) == pytest.approx({"a": 1, "b": 2, "c": 0, "training_step": 3}, abs=0.01)
    assert {r["step"] for r in records_of(tmp_path)} == {0, 4, 8}


def test_phases_inside_a_lap(tmp_path: Path, clock: Clock) -> None:
    with make(tmp_path, record_every_n_steps=1) as cap:
        for _ in range(2):
            clock.pause(1)
            with cap.phase("rollout"):
                clock.pause(2)
            cap.lap("all_of_it")
            cap.step()
    for step in (0, 1):
        assert durations(tmp_path, step) == pytest.approx({"rollout": 2, "all_of_it": 3, "training_step": 3}, abs=0.01)


def test_micro_batches(tmp_path: Path, clock: Clock) -> None:
    with make(tmp_path, record_every_n_steps=1) as cap:
        for micro in range(3):
            clock.pause(1 + micro)
            cap.lap("forward")
            assert cap.recorder.has("forward")
            cap.micro_step()
            assert not cap.recorder.has("forward")
        cap.step()
    rows = [r for r in records_of(tmp_path) if r["name"] == "forward"]
    assert [(r["micro"], round(r["duration_ms"])) for r in rows] == [(0, 1), (1, 2), (2, 3)]


def test_hooks_do_not_repeat_laps_of_the_job(tmp_path: Path) -> None:
    """From the first step on, before the names of laps are known. Hooks still find the other phases."""
    job = Job()
    with capturing(tmp_path, steps="manual") as cap:
        for x in DataLoader(batches(6), batch_size=None):
            cap.lap("data_wait")
            loss = job.model(x).pow(2).mean()
            cap.lap("forward")
            loss.backward()
            job.optimizer.step()
            job.optimizer.zero_grad()
            cap.step()
    for step in range(6):
        assert {"data_wait", "forward", "backward", "optimizer", "training_step"} <= durations(tmp_path, step).keys()
        found = {r["name"]: r for r in records_of(tmp_path) if r["step"] == step}
        ends = found["data_wait"]["start_ms"] + found["data_wait"]["duration_ms"]
        assert found["forward"]["start_ms"] == pytest.approx(ends, abs=0.001), "the lap's, not the hook's"


def test_results_do_not_change(tmp_path: Path) -> None:
    def losses(out: Path | None) -> list[float]:
        job = Job()
        cap = whyslow_capture.DisabledCapture() if out is None else make(out, record_every_n_steps=2)
        found = []
        for x in batches(8):
            cap.lap("data_wait")
            found.append(job.step(x))
            cap.lap("train")
            cap.step()
        cap.close()
        return found

    assert losses(tmp_path) == losses(None), "bit for bit"


def test_the_budget_counts_laps_as_phases(tmp_path: Path, clock: Clock) -> None:
    """The cost of unrecorded steps depends on the number of phases, whether blocks or laps."""
    for way in ("laps", "blocks"):
        with make(tmp_path / way, record_every_n_steps=2) as cap:
            for _ in range(6):
                for name in LENGTHS:
                    if way == "laps":
                        cap.lap(name)
                    else:
                        with cap.phase(name):
                            pass
                cap.step()
        assert cap.budget.idle_ns == IDLE_PHASE_NS * (len(LENGTHS) + 1)


def test_other_threads_are_ignored(tmp_path: Path, clock: Clock) -> None:
    with make(tmp_path, record_every_n_steps=1) as cap:
        clock.pause(1)
        other = threading.Thread(target=cap.lap, args=("theirs",))
        other.start()
        other.join()
        cap.lap("ours")
        cap.step()
    assert durations(tmp_path, 0) == pytest.approx({"ours": 1, "training_step": 1}, abs=0.01)


def test_a_lap_without_a_mark_is_dropped(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    """No mark during CUDA graph capture. The next lap is dropped too, because its begin is unknown."""
    device = fake_cuda.install(monkeypatch, clock)
    recorder = Recorder(OverheadBudget(1, 1.0), ProblemLog())
    recorder.start_step()
    names = ("a", "captured", "after", "b")
    for name in names:
        clock.pause(1)
        device.is_capturing = name == "captured"
        recorder.lap(name)
        device.is_capturing = False
    recorder.finish_step()
    assert [name for name, *_ in phases_of(recorder.take_done()[0].entries)] == ["a", "b", "training_step"]


def test_a_lap_in_an_inner_loop_stops_recording_the_step(tmp_path: Path) -> None:
    with make(tmp_path, record_every_n_steps=1) as cap:
        for _ in range(3 * step_buffer.MAX_ENTRIES):
            cap.lap("x")
        cap.step()
        cap.lap("y")
        cap.step()
        assert cap.problems.counts == {"phases-not-recorded": 1}
    # Plus the step itself.
    assert sum(r["step"] == 0 for r in records_of(tmp_path)) == step_buffer.MAX_ENTRIES + 1
    assert durations(tmp_path, 1).keys() == {"y", "training_step"}


def test_laps_are_window_boundaries_too(tmp_path: Path) -> None:
    looked = []
    with make(tmp_path, record_every_n_steps=1 << 40) as cap:
        cap.step()
        cap.lap("before")
        cap.recorder.set_watch(lambda: looked.append(1))
        cap.lap("a")
        cap.lap("b")
        cap.recorder.set_watch(None)
        cap.lap("after")
    assert len(looked) == 2


def test_laps_win_over_hooks_of_the_same_name() -> None:
    entries: list[Entry] = [
        ("training_step", 0, 0),
        ("forward", 1, 2, 0),
        ("backward", 2, 0),
        ("backward", 3),
        ("forward", 0, 2, 0, LAP),
        ("collective", 2, 3, 0),
        ("backward", 2, 3, 0, LAP),
        ("forward", 3, 4, 1, LAP),
        ("training_step", 4),
    ]
    assert phases_of(entries) == [
        ("forward", 0, 2, 0),
        ("collective", 2, 3, 0),
        ("backward", 2, 3, 0),
        ("forward", 3, 4, 1),
        ("training_step", 0, 4, 0),
    ]
