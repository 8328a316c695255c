"""Marks in a GPU job: how many events are used, by which step, and that none is reused too early."""

from __future__ import annotations

from itertools import pairwise

import fake_clock
import fake_cuda
import pytest
from fake_clock import MS, Clock
from support import taken

from whyslow_capture.events import device as device_module
from whyslow_capture.events import step_buffer
from whyslow_capture.events.budget import OverheadBudget
from whyslow_capture.events.recorder import Recorder
from whyslow_capture.events.sample import Phase, ResolvedSample
from whyslow_capture.problems import ProblemLog

PHASES = ("host_to_device", "forward", "backward", "optimizer")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return fake_clock.install(monkeypatch, tick_ns=100)


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> fake_cuda.Device:
    return fake_cuda.install(monkeypatch, clock)


def make_recorder(every: int = 1) -> Recorder:
    return Recorder(OverheadBudget(every, 1.0), ProblemLog())


def train(recorder: Recorder, clock: Clock, steps: int) -> None:
    """Runs phases of 1, 2, 3 and 4 ms in a step that has begun, then begins the next step."""
    for _ in range(steps):
        for i, name in enumerate(PHASES):
            recorder.begin(name)
            clock.now += (i + 1) * MS
            recorder.end(name)
        next_step(recorder)


def next_step(recorder: Recorder, flush_at: int = 1 << 62) -> None:
    """Like `Capture.step`."""
    step = recorder.current_step
    if step + 1 < recorder.quiet_until and recorder.next_in_row(step):
        recorder.current_step = step + 1
        return
    recorder.finish_step()
    recorder.start_step(flush_at=flush_at)


def check(samples: list[ResolvedSample], steps: list[int]) -> None:
    assert [s.step for s in samples] == steps
    for sample in samples:
        assert sample.device_ns is not None and sample.anchored
        lengths = {
            name: (sample.device_ns[end] - sample.device_ns[begin]) / MS for name, begin, end, _ in sample.phases
        }
        expected = {"host_to_device": 1, "forward": 2, "backward": 3, "optimizer": 4, "training_step": 10}
        assert lengths == pytest.approx(expected, abs=0.01)


def test_consecutive_steps_share_a_mark(device: fake_cuda.Device, clock: Clock) -> None:
    recorder = make_recorder()
    recorder.start_step()
    steps = 1 + step_buffer.MAX_STEPS + 4
    train(recorder, clock, steps)
    # Four phases have four ends. The begin is the previous step's end, except for the first step of a buffer; the first
    # step has its own buffer. Plus one anchor.
    assert device.recorded == steps * 4 + 3 + 1 + device_module.RECORD_TRIES
    recorder.finish_step()
    samples = taken(recorder)[:-1]
    check(samples, list(range(steps)))
    for before, after in pairwise(samples):
        assert before.device_ns is not None and after.device_ns is not None
        begins, ends = last_of(after)[1], last_of(before)[2]
        assert after.device_ns[begins] == pytest.approx(before.device_ns[ends], abs=1000)


def test_back_to_back_phases_share_a_mark(device: fake_cuda.Device, clock: Clock) -> None:
    """For any number of phases, as long as each follows the last one closely."""
    recorder = make_recorder()
    recorder.start_step()
    next_step(recorder)
    before = device.recorded
    for name in ("a", "b", "c", "d"):
        clock.now += step_buffer.SAME_MOMENT_NS - 500
        recorder.begin(name)
        clock.now += step_buffer.EMPTY_NS - 500
        recorder.end(name)
    assert device.recorded == before
    clock.now += step_buffer.SAME_MOMENT_NS
    recorder.begin("later")
    clock.now += step_buffer.EMPTY_NS
    recorder.end("later")
    assert device.recorded == before + 2


def test_nested_phases_that_end_together_share_a_mark(device: fake_cuda.Device, clock: Clock) -> None:
    recorder = make_recorder()
    recorder.start_step()
    next_step(recorder)
    clock.now += MS
    recorder.begin("outer")
    recorder.begin("inner")
    clock.now += MS
    recorder.end("inner")
    before = device.recorded
    clock.now += step_buffer.SAME_MOMENT_NS - 500
    recorder.end("outer")
    assert device.recorded == before
    # A phase that begins here gets its own end: one call can launch a lot of work.
    recorder.begin("other")
    clock.now += step_buffer.SAME_MOMENT_NS - 500
    recorder.end("other")
    assert device.recorded == before + 1


@pytest.mark.parametrize(("takes", "slowness"), [(300, 1.0), (1400, 1.4), (9000, device_module.MOST_SLOWNESS)])
def test_a_slow_host_merges_marks_over_longer_gaps(
    device: fake_cuda.Device, clock: Clock, takes: int, slowness: float
) -> None:
    device.takes_ns = takes
    recorder = make_recorder()
    recorder.start_step()
    next_step(recorder)
    assert recorder.buffer.same_moment_ns == pytest.approx(step_buffer.SAME_MOMENT_NS * slowness, rel=0.2)
    assert recorder.buffer.empty_ns == pytest.approx(step_buffer.EMPTY_NS * slowness, rel=0.2)


def last_of(sample: ResolvedSample) -> Phase:
    return sample.phases[-1]


def test_steps_with_many_micro_batches_are_complete(device: fake_cuda.Device, clock: Clock) -> None:
    recorder = make_recorder()
    recorder.start_step()
    for _ in range(12):
        for _ in range(30):
            for name in PHASES:
                recorder.begin(name)
                clock.now += 20_000
                recorder.end(name)
            recorder.next_micro()
        next_step(recorder)
    samples = taken(recorder)
    assert [len(s.phases) for s in samples] == [121] * len(samples) and len(samples) >= 10


def test_long_steps_do_not_share_a_buffer(device: fake_cuda.Device, clock: Clock) -> None:
    """The clocks of host and device drift, so each long step needs its own anchor."""
    recorder = make_recorder()
    recorder.start_step()
    for _ in range(5):
        clock.now += 600 * MS
        next_step(recorder)
    assert len(taken(recorder)) == 5
    assert device.recorded == 6 * 2 + 5 + device_module.RECORD_TRIES


def test_steps_with_gaps_do_not_share_marks(device: fake_cuda.Device, clock: Clock) -> None:
    recorder = make_recorder(every=3)
    recorder.start_step()
    train(recorder, clock, 9)
    check(taken(recorder), [0, 3, 6])


def test_events_in_flight_are_not_reused(device: fake_cuda.Device, clock: Clock) -> None:
    device.lag_ns = 205 * MS  # twenty steps behind
    recorder = make_recorder()
    recorder.start_step()
    samples = []
    for _ in range(30):
        train(recorder, clock, 3)
        recorder.finish_step()
        samples += taken(recorder)
        recorder.start_step()
    clock.now += 300 * MS
    samples += taken(recorder)
    check([s for s in samples if s.step % 4 < 3], [n for n in range(119) if n % 4 < 3])
    assert device.made < 64 + 10 + 30 * 5


def test_a_device_far_behind_drops_the_oldest_samples(device: fake_cuda.Device, clock: Clock) -> None:
    device.lag_ns = 10_000 * MS
    recorder = make_recorder()
    recorder.start_step()
    train(recorder, clock, 10 * step_buffer.MAX_STEPS)
    assert taken(recorder) == []
    # Enough for the samples that may wait and those in the buffer, but not for all.
    assert device.made < 64 + 10 + 5 * (device_module.MAX_PENDING + step_buffer.MAX_STEPS)
    clock.now += 20_000 * MS
    (first, *_), last = taken(recorder), 10 * step_buffer.MAX_STEPS
    assert (
        last - device_module.MAX_PENDING - step_buffer.MAX_STEPS
        <= first.step
        < last - device_module.MAX_PENDING + step_buffer.MAX_STEPS
    )


def test_an_abandoned_step_keeps_the_steps_before_it(device: fake_cuda.Device, clock: Clock) -> None:
    device.lag_ns = 100 * MS
    recorder = make_recorder()
    recorder.start_step()
    train(recorder, clock, 2)
    recorder.begin("never-ended")
    for _ in range(40):  # would reuse one of their events if it had been returned to the pool
        recorder.abandon_step()
        recorder.start_step()
        recorder.begin("x")
        clock.now += MS // 10
        recorder.end("x")
    recorder.abandon_step()
    clock.now += 200 * MS
    check(taken(recorder), [0, 1])
    made = device.made
    recorder.start_step()
    train(recorder, clock, 2)
    recorder.finish_step()
    clock.now += 200 * MS
    assert len(taken(recorder)) == 3
    assert device.made == made


def test_a_failing_event_does_not_reach_the_job(
    device: fake_cuda.Device, clock: Clock, capfd: pytest.CaptureFixture[str]
) -> None:
    recorder = make_recorder()
    recorder.start_step()
    train(recorder, clock, 1)
    recorder.begin("forward")
    clock.now += MS
    device.fails = True
    recorder.end("forward")
    next_step(recorder)
    recorder.finish_step()
    assert "recording a CUDA event failed" in capfd.readouterr().err
    check(taken(recorder)[:1], [0])


def test_a_phase_in_an_inner_loop_stops_recording_the_step(device: fake_cuda.Device, clock: Clock) -> None:
    recorder = make_recorder()
    recorder.start_step()
    for _ in range(2 * step_buffer.MAX_ENTRIES):
        recorder.begin("x")
        recorder.end("x")
    next_step(recorder)
    train(recorder, clock, 2)
    recorder.finish_step()
    first, *others = taken(recorder)
    assert 500 < len(first.phases) <= step_buffer.MAX_ENTRIES // 2 + 1
    assert first.phases[-1][0] == "training_step"
    check(others[:2], [1, 2])


def test_nothing_is_recorded_during_cuda_graph_capture(device: fake_cuda.Device, clock: Clock) -> None:
    recorder = make_recorder()
    recorder.start_step()
    recorder.begin("forward")
    clock.now += MS
    device.is_capturing = True
    recorder.end("forward")
    recorder.begin("backward")
    clock.now += MS
    recorder.end("backward")
    recorder.finish_step()
    recorder.start_step()
    assert not recorder.is_sampling and not recorder.recording
    assert taken(recorder) == []
    device.is_capturing = False
    recorder.finish_step()
    recorder.start_step()
    train(recorder, clock, 2)
    recorder.finish_step()
    first, *others = taken(recorder)
    assert first.phases == [], "what had no mark is not made up"
    check(others[:2], [2, 3])


def test_a_sample_waits_for_all_its_streams(device: fake_cuda.Device, clock: Clock) -> None:
    recorder = make_recorder(every=2)
    recorder.start_step()
    recorder.begin("forward")
    clock.now += MS
    device.stream, device.lag_ns = 8, 500 * MS
    recorder.end("forward")
    clock.now += MS
    device.stream, device.lag_ns = 7, 0
    recorder.finish_step()
    recorder.start_step()
    assert taken(recorder) == []
    clock.now += 600 * MS
    assert len(taken(recorder)) == 1


def test_device_times_are_on_the_hosts_clock(device: fake_cuda.Device, clock: Clock) -> None:
    recorder = make_recorder()
    recorder.start_step()
    device.lag_ns = 3 * MS
    train(recorder, clock, 3)
    recorder.finish_step()
    clock.now += 10 * MS
    *_, sample = taken(recorder)
    assert sample.device_ns is not None
    for host, on_device in [*zip(sample.host_ns, sample.device_ns, strict=True)][1:]:
        assert on_device - host == pytest.approx(3 * MS, abs=MS // 10)


def test_without_working_cuda_events_the_host_times_phases(
    monkeypatch: pytest.MonkeyPatch, device: fake_cuda.Device
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no device")

    monkeypatch.setattr(device_module.torch.cuda, "Event", fail)
    recorder = make_recorder()
    recorder.start_step()
    recorder.begin("forward")
    recorder.end("forward")
    recorder.finish_step()
    (sample,) = taken(recorder)
    assert sample.device_ns is None and sample.host_ns
