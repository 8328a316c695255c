"""Which steps are recorded and what their records say."""

from __future__ import annotations

import time
from pathlib import Path

import fake_clock
import pytest
from fake_clock import Clock
from support import header_of, lines_of, make, records_of, taken

from whyslow_capture import layout
from whyslow_capture.events.budget import DENSE_STEPS, OverheadBudget
from whyslow_capture.events.recorder import Recorder
from whyslow_capture.problems import ProblemLog

PHASES = ("host_to_device", "training_metrics")


def train(capture: object, steps: int) -> None:
    for _ in range(steps):
        for name in PHASES:
            with capture.phase(name):  # type: ignore[attr-defined]
                pass
        capture.step()  # type: ignore[attr-defined]


def steps_recorded(out: Path) -> list[int]:
    return [r["step"] for r in records_of(out) if r["name"] == "training_step"]


def test_900_steps_of_3_phases_at_one_in_ten_give_270_rows(tmp_path: Path) -> None:
    # On 8 ranks that is 2,160 rows.
    with make(tmp_path) as cap:
        train(cap, 900)
    rows = records_of(tmp_path)
    assert len(rows) == 90 * 3 == 2160 / 8
    assert steps_recorded(tmp_path) == list(range(0, 900, 10))


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"record_every_n_steps": 1}, list(range(12))),
        ({"record_every_n_steps": 5}, [0, 5, 10]),
        ({"record_every_n_steps": 4, "start_step": 3}, [3, 7, 11]),
        ({"record_every_n_steps": 2, "start_step": 2, "end_step": 6}, [2, 4, 6]),
        ({"record_every_n_steps": 2, "resume_step": 101}, [102, 104, 106, 108, 110, 112]),
        ({"ranks": (1, 2)}, None),
        ({"ranks": (0,)}, [0, 10]),
    ],
)
def test_start_end_every_ranks_and_resume(
    tmp_path: Path, config: dict[str, object], expected: list[int] | None
) -> None:
    with make(tmp_path, **config) as cap:
        train(cap, 12)
    if expected is None:
        assert not layout.events_file(tmp_path, 0).exists()
        assert layout.rank_file(tmp_path, 0).exists(), "the rank is still described"
    else:
        assert steps_recorded(tmp_path) == expected


def test_records_have_the_fields_of_the_contract(tmp_path: Path, clock: Clock) -> None:
    with make(tmp_path, record_every_n_steps=1, run='odd "name" % of a run') as cap:
        for micro in range(2):
            with cap.phase("forward"):
                clock.pause(3)
            if micro == 0:
                cap.micro_step()
        with cap.phase('rollout "x" %s'):
            clock.pause(2)
        cap.step()
    first, *rest = lines_of(tmp_path)
    assert first["whyslow"] == 1
    assert first["run"] == 'odd "name" % of a run'
    assert first["anchors"][0]["at"] == "start"
    assert first["anchors"][-1]["at"] == "end"
    assert {r["name"] for r in rest} == {"forward", 'rollout "x" %s', "training_step"}
    assert [(r["micro"]) for r in rest if r["name"] == "forward"] == [0, 1]
    for record in rest:
        assert record["clock"] == "host"
        assert record["rank"] == 0
        assert record["run"] == first["run"]
    forward = rest[0]
    assert 3 <= forward["duration_ms"] < 3.1
    whole = rest[-1]
    assert whole["start_ms"] <= forward["start_ms"]
    assert whole["duration_ms"] >= sum(r["duration_ms"] for r in rest[:-1])


def test_the_jobs_step_numbers_win(tmp_path: Path) -> None:
    with make(tmp_path, record_every_n_steps=5) as cap:
        for number in (100, 101, 102, 103, 104, 105, 106):
            with cap.phase("forward"):
                pass
            cap.step(number)
    # Step 0 was being recorded when the job gave it the number 100.
    assert steps_recorded(tmp_path) == [100, 105]


def test_phases_nest_and_open_ones_are_dropped(tmp_path: Path) -> None:
    with make(tmp_path, record_every_n_steps=1) as cap:
        with cap.phase("outer"), cap.phase("inner"), cap.phase("outer"):
            time.sleep(0.001)
        cap.recorder.begin("never-ended")
        cap.recorder.end("never-begun")
        cap.step()
        cap.step()
    assert sorted(r["name"] for r in records_of(tmp_path) if r["step"] == 0) == ["inner", "outer", "training_step"]


def test_an_exception_passes_through_a_phase_and_closes_it(tmp_path: Path) -> None:
    with make(tmp_path, record_every_n_steps=1) as cap:
        with pytest.raises(KeyError, match="theirs"), cap.phase("forward"):
            raise KeyError("theirs")
        cap.step()
    assert "forward" in {r["name"] for r in records_of(tmp_path)}


def test_an_exception_passes_in_unrecorded_steps_too(tmp_path: Path) -> None:
    with make(tmp_path, record_every_n_steps=1 << 40) as cap:
        cap.step()
        for watch in (None, lambda: None):
            cap.recorder.set_watch(watch)
            with pytest.raises(KeyError, match="theirs"), cap.phase("forward") as nothing:
                assert not nothing
                raise KeyError("theirs")
        cap.recorder.set_watch(None)
        with cap.phase("forward"):
            pass
    assert {r["name"] for r in records_of(tmp_path)} == {"training_step"}


def test_data_times_any_iterable(tmp_path: Path) -> None:
    def slow() -> object:
        for i in range(4):
            time.sleep(0.005)
            yield i

    with make(tmp_path, record_every_n_steps=1) as cap:
        seen = []
        for item in cap.data(slow()):  # type: ignore[arg-type]
            seen.append(item)
            cap.step()
    assert seen == [0, 1, 2, 3]
    waits = [r["duration_ms"] for r in records_of(tmp_path) if r["name"] == "data_wait"]
    assert len(waits) == 4
    assert min(waits) > 4.9


def recorded_by(budget: OverheadBudget, end: int) -> list[int]:
    steps, step = [], budget.due(0)
    while step < end:
        steps.append(step)
        step = budget.due(step + 1)
    return steps


class TestBudget:
    def test_stride_doubles_until_the_cost_fits(self) -> None:
        budget = OverheadBudget(every=10, max_overhead=0.005)
        step_ns, cost_ns, step = 3_000_000, 200_000, 0
        for _ in range(40):
            budget.note_pace(step_ns)
            budget.note_sample(step, cost_ns)
            step += budget.stride
        assert budget.stride in (20, 40)
        assert budget.overhead() is not None
        assert cost_ns / budget.stride / step_ns <= 0.005
        assert budget.summary()["stretched"] is True

    @pytest.mark.parametrize("slowness", [1.0, 1.7])
    @pytest.mark.parametrize("step_ns", [2_000_000, 3_000_000, 10_000_000])
    def test_unrecorded_steps_count_towards_the_cost(self, step_ns: int, slowness: float) -> None:
        budget, cost_ns = OverheadBudget(every=10, max_overhead=0.005), 200_000
        budget.slowness = slowness
        budget.note_phases(7)
        for step in range(40):
            budget.note_pace(step_ns)
            budget.note_sample(step, cost_ns)
        assert budget.idle_ns == pytest.approx(4_900 * slowness)
        overhead = budget.overhead()
        assert overhead is not None
        # Recording uses most of what is left, but not more.
        left = 0.005 * step_ns - budget.idle_ns
        assert cost_ns / budget.stride <= 0.6 * left
        assert budget.stride == 10 or 2 * cost_ns / budget.stride > 0.6 * left
        assert overhead < 0.005

    def test_recording_continues_when_phases_alone_exceed_the_budget(self) -> None:
        budget = OverheadBudget(every=10, max_overhead=0.005)
        budget.note_phases(20)
        for step in range(40):
            budget.note_pace(500_000)
            budget.note_sample(step, 100_000)
        assert budget.idle_ns > 0.005 * 500_000
        assert budget.stride < 10_000
        assert budget.overhead() == pytest.approx((14_000 + 100_000 / budget.stride) / 500_000)

    def test_stride_shrinks_when_steps_get_longer(self) -> None:
        budget = OverheadBudget(every=10, max_overhead=0.005)
        for pace, cost in ((1_000_000, 200_000), (100_000_000, 200_000)):
            for step in range(60):
                budget.note_pace(pace)
                budget.note_sample(step, cost)
        assert budget.stride == 10

    def test_a_cheap_capture_keeps_its_stride(self) -> None:
        budget = OverheadBudget(every=10, max_overhead=0.005)
        for step in range(100):
            budget.note_pace(30_000_000)
            budget.note_sample(step, 150_000)
        assert budget.history == []

    def test_ranks_with_longer_strides_record_a_subset(self) -> None:
        dense, sparse = OverheadBudget(10, 1), OverheadBudget(10, 0.005)
        for step in range(6):
            sparse.note_pace(1_000_000)
            sparse.note_sample(step, 200_000)
        assert sparse.stride == 80
        assert sparse.stride % dense.stride == 0

    def test_spread_steps_pick_one_of_every_ten(self) -> None:
        budget = OverheadBudget(10, 1, spread=True)
        steps = recorded_by(budget, 10_000)
        # A trial of a few steps is recorded in full.
        assert steps[:DENSE_STEPS] == list(range(DENSE_STEPS))
        steps = steps[DENSE_STEPS:]
        assert [step // 10 for step in steps] == list(range(DENSE_STEPS // 10, 1000))
        # Each position is picked equally often, so periodic work is sampled fairly.
        for period in (2, 3, 5, 7, 10, 20, 50, 100):
            share = sum(step % period == 0 for step in steps) / len(steps)
            assert share == pytest.approx(1 / period, rel=0.25)

    def test_spread_steps_of_longer_strides_are_a_subset(self) -> None:
        dense = OverheadBudget(10, 1, spread=True)
        every_tenth = set(recorded_by(dense, 10_000))
        for stretch in (2, 4, 64):
            sparse = OverheadBudget(10, 1, spread=True)
            sparse.stretch, sparse.stride = stretch, 10 * stretch
            steps = recorded_by(sparse, 10_000)[DENSE_STEPS:]
            assert [step // sparse.stride for step in steps] == list(range(1, len(steps) + 1))
            assert every_tenth >= set(steps)
            assert len({step % 10 for step in steps}) > min(8, len(steps) // 4)

    def test_budget_holds_in_a_real_loop(self, tmp_path: Path) -> None:
        with make(tmp_path, max_overhead=0.005, record_every_n_steps=1) as cap:
            for _ in range(1500):
                for name in PHASES:
                    with cap.phase(name):
                        pass
                time.sleep(0.0005)
                cap.step()
        header = header_of(tmp_path)
        assert header["stride"] > 1
        assert header["overhead"]["stretched"] is True
        assert header["overhead"]["measured"] <= 0.005
        assert header["overhead"]["changes"][0][1] == 2


def test_close_marks_are_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = fake_clock.install(monkeypatch, tick_ns=1_000)
    recorder = Recorder(OverheadBudget(1, 1.0), ProblemLog())
    recorder.start_step()
    for name in ("a", "b", "c"):
        recorder.begin(name)
        clock.pause(0.02)
        recorder.end(name)
    recorder.finish_step()
    (sample,) = taken(recorder)
    # The step begins with a, b begins where a ends, and so on.
    assert len(sample.host_ns) == 4
    for _, begin, end, _ in sample.phases:
        assert end > begin


def test_a_short_phase_that_may_have_launched_work_has_its_own_end(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = fake_clock.install(monkeypatch, tick_ns=500)
    recorder = Recorder(OverheadBudget(1, 1.0), ProblemLog())
    recorder.start_step()
    recorder.begin("a")
    clock.pause(0.006)
    recorder.end("a")
    recorder.finish_step()
    (sample,) = taken(recorder)
    (_, begin, end, _) = sample.phases[0]
    assert end > begin


def test_other_threads_are_ignored(tmp_path: Path) -> None:
    import threading

    with make(tmp_path, record_every_n_steps=1) as cap:

        def elsewhere() -> None:
            with cap.phase("elsewhere"):
                pass

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        cap.step()
    assert {r["name"] for r in records_of(tmp_path)} == {"training_step"}
