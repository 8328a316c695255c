"""The check whether windows leave the job slower: its statistics, which steps it times, and when it warns."""

from __future__ import annotations

import random
import time
from math import log
from pathlib import Path

import pytest
from trace_support import make_tier, train

from whyslow_capture.problems import ProblemLog
from whyslow_capture.trace import afterwards
from whyslow_capture.trace.afterwards import LOOK_EVERY, NEVER, SETTLING, WATCHED, Afterwards
from whyslow_capture.trace.change import Change, change, drift, quantile
from whyslow_capture.trace.report import WindowReport
from whyslow_capture.trace.schedule import WindowPlan


def noisy(count: int, chance: random.Random, alike: float = 0.0, spread: float = 0.05) -> list[float]:
    """Step times with a spread of 5 %. `alike`: correlation of neighbours."""
    values, error = [], chance.gauss(0, 1)
    for _ in range(count):
        error = alike * error + (1 - alike**2) ** 0.5 * chance.gauss(0, 1)
        values.append(10 * (1 + spread * error))
    return values


# From tables of Student's t.
@pytest.mark.parametrize(("freedom", "table"), [(3, 3.182), (4, 2.776), (10, 2.228), (18, 2.101), (1e9, 1.960)])
def test_quantiles(freedom: float, table: float) -> None:
    assert quantile(freedom) == pytest.approx(table, rel=0.01)


@pytest.mark.parametrize("alike", [0.0, 0.5])
def test_intervals_contain_the_truth(alike: float) -> None:
    chance, hits, trials = random.Random(1), 0, 400
    for _ in range(trials):
        before = noisy(WATCHED, chance, alike)
        after = [1.1 * ms for ms in noisy(WATCHED, chance, alike)]
        found = change(before, after)
        assert found is not None
        low, _, high = found.interval
        hits += low <= 0.1 <= high
    # 95 % if steps are independent. Neighbours that are alike in blocks of four leave the blocks a little alike.
    assert hits / trials > (0.92 if alike == 0 else 0.84)


def test_rare_long_steps_do_not_matter() -> None:
    before, after = [10.0] * WATCHED, [10.0] * WATCHED
    after[5] = after[20] = 500.0
    found = change(before, after)
    assert found is not None
    assert found.interval == pytest.approx((0, 0, 0))


def test_few_steps_are_not_compared() -> None:
    assert change([1.0] * 11, [1.0] * 40) is None
    assert change([1.0] * 40, [1.0] * 11) is None


def test_changes_add_up() -> None:
    total = Change(0.1, 0.0003, 10).plus(Change(-0.1, 0.0001, 20))
    assert total.log_ratio == 0
    assert total.variance == pytest.approx(0.0004)
    assert 10 < total.freedom < 30


def test_a_job_that_slows_down_anyway() -> None:
    """One percent slower every ten steps."""
    series = [10 * 1.001**step for step in range(100)]
    before, after = series[:40], series[50:90]
    found = change(before, after)
    assert found is not None
    assert found.log_ratio == pytest.approx(log(1.001) * 50)
    assert drift(before, after, 10) == pytest.approx(found.log_ratio, rel=0.01)
    assert drift(after[::-1], after, 10) == 0


class Job:
    """A job on a fake clock with windows of three steps, and the check."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.step, self.problems = 0, 0, ProblemLog()
        self.compressing_until = 0
        monkeypatch.setattr(afterwards, "perf_counter_ns", lambda: self.now)
        self.check = Afterwards(self.problems, lambda: self.step < self.compressing_until)
        self.calls = 0
        self.wanted = 0

    def steps(self, count: int, ms: float, chance: random.Random, next_window: int = NEVER) -> None:
        for _ in range(count):
            self._begin(next_window)
            self.now += int(1e6 * ms * (1 + 0.02 * chance.gauss(0, 1)))
            self.step += 1

    def _begin(self, next_window: int) -> None:
        if self.step >= self.wanted:
            self.calls += 1
            self.check.begin_step(self.step)
            self.check.step_begun(self.step)
            self.wanted = self.check.wanted_at(self.step, next_window)

    def window(self, detached: bool = True) -> WindowReport:
        self.check.begin_step(self.step)
        self.check.window_opens()
        report = WindowReport(WindowPlan("train_overall", self.step + 1, 3, 1), None, self.step + 3, None)
        report.detached = detached
        self.step += 4
        self.now += 10**9
        self.check.window_ended(report)
        self.wanted = 0
        return report


def test_a_slower_job_is_reported(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    chance, job = random.Random(2), Job(monkeypatch)
    job.steps(100, 5.0, chance, next_window=100)
    report = job.window(detached=False)
    job.steps(100, 7.0, chance)
    found = report.afterwards
    assert (found["steps_before"], found["steps_after"], found["slower"]) == (WATCHED, WATCHED, True)
    assert found["before_ms"] == pytest.approx(5, rel=0.02)
    assert found["after_ms"] == pytest.approx(7, rel=0.02)
    assert found["change"]["low"] < 0.4 < found["change"]["high"]  # type: ignore[index]
    assert job.problems.counts == {"trace_slower": 1}
    said = capsys.readouterr().err
    assert "since the profiler window for steps 101 to 103 this rank's steps take 3" in said
    assert said.endswith("longer: the GPU profiler stays attached\n")


def test_only_the_steps_around_windows_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    chance, job = random.Random(3), Job(monkeypatch)
    job.steps(1000, 5.0, chance, next_window=1000)
    assert job.calls == WATCHED + 1
    job.window()
    job.steps(1000, 5.0, chance)
    # The steps to time, those that settle, and one look at the compression.
    assert job.calls <= 2 * WATCHED + SETTLING + 4


def test_the_check_waits_for_the_compression(monkeypatch: pytest.MonkeyPatch) -> None:
    chance, job = random.Random(4), Job(monkeypatch)
    job.steps(50, 5.0, chance, next_window=50)
    job.compressing_until = 250
    calls = job.calls
    report = job.window()
    job.steps(196, 9.0, chance)
    assert not report.afterwards
    assert job.calls - calls <= 196 / LOOK_EVERY + 1
    job.steps(100, 5.0, chance)
    assert report.afterwards["slower"] is False


def test_later_windows_count_what_earlier_ones_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first window leaves 40 %, the second nothing more. In between the job itself gets twice as slow."""
    chance, job = random.Random(5), Job(monkeypatch)
    job.steps(60, 5.0, chance, next_window=60)
    first = job.window()
    job.steps(100, 7.0, chance, next_window=1000)
    job.steps(1000 - job.step, 14.0, chance, next_window=1000)
    second = job.window()
    job.steps(600, 14.0, chance)
    for report in (first, second):
        assert report.afterwards["change"]["likely"] == pytest.approx(0.4, abs=0.03)  # type: ignore[index]
    assert job.problems.counts == {"trace_slower": 2}


def test_false_alarms_are_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    alarms = 0
    for seed in range(60):
        chance, job = random.Random(seed), Job(monkeypatch)
        job.steps(60, 5.0, chance, next_window=60)
        job.window()
        job.steps(60, 5.0, chance)
        alarms += "trace_slower" in job.problems.counts
    assert alarms == 0


def test_a_busy_host_that_calms_down_is_no_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps take half as long again for three seconds after the window, then again as long as before."""
    chance, job = random.Random(7), Job(monkeypatch)
    job.steps(60, 5.0, chance, next_window=60)
    report = job.window()
    calls = job.calls
    job.steps(400, 7.5, chance)
    assert not report.afterwards
    job.steps(5000, 5.0, chance)
    assert report.afterwards["slower"] is False
    assert report.afterwards["after_ms"] == pytest.approx(5, rel=0.05)
    assert job.problems.counts == {}
    # Waiting for the next look costs little, and ends.
    assert job.calls - calls < 500


def test_what_stays_slower_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    chance, job = random.Random(8), Job(monkeypatch)
    job.steps(60, 5.0, chance, next_window=60)
    report = job.window()
    job.steps(100, 7.5, chance)
    assert not report.afterwards
    job.steps(9000, 7.5, chance)
    assert report.afterwards["slower"] is True
    assert job.problems.counts == {"trace_slower": 1}


def test_a_few_steps_before_are_no_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    """The default window comes at step 20."""
    chance, job = random.Random(10), Job(monkeypatch)
    job.steps(20, 5.0, chance, next_window=20)
    report = job.window()
    job.steps(9000, 7.5, chance)
    assert report.afterwards["slower"] is False


def test_slower_once_is_not_slower_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    chance, job = random.Random(9), Job(monkeypatch)
    job.steps(60, 5.0, chance, next_window=60)
    report = job.window()
    job.steps(100, 7.5, chance)
    job.check.close()
    assert report.afterwards["slower"] is False
    assert report.afterwards["change"]["likely"] == pytest.approx(0.5, abs=0.03)  # type: ignore[index]


def test_a_failed_window_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    chance, job = random.Random(6), Job(monkeypatch)
    job.steps(60, 5.0, chance, next_window=60)
    report = job.window()
    job.steps(60, 5.0, chance)
    found = dict(report.afterwards)
    job.check.window_opens()
    job.check.window_ended(report)  # nothing newer
    job.steps(60, 50.0, chance)
    assert report.afterwards == found


def test_a_failing_check_does_not_reach_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(afterwards, "change", fail)
    problems = ProblemLog()
    tier = make_tier(tmp_path, problems, period=20, repeat=1)
    train(tier, range(100), lambda step: time.sleep(0.3 if step == 20 else 0.001))
    tier.close()
    assert problems.counts == {"trace_check": 1}
    assert len(list(tmp_path.rglob("*-trace.json.gz"))) == 1


def test_with_real_windows(tmp_path: Path) -> None:
    problems = ProblemLog()
    tier = make_tier(tmp_path, problems, period=20, repeat=1)
    # Wait for the compression right after the window, so that all further steps count.
    train(tier, range(80), lambda step: time.sleep(0.3 if step == 20 else 0.002))
    tier.close()
    (window,) = tier.summary()["windows"]  # type: ignore[misc]
    found = window["afterwards"]  # type: ignore[index]
    assert found["steps_before"] == 13
    assert found["steps_after"] == WATCHED
    assert found["before_ms"] > 1.5
    assert found["change"]["low"] <= found["change"]["likely"] <= found["change"]["high"]
