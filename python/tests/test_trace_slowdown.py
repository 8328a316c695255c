"""The check whether windows leave the job slower: its statistics, which steps it times, and when it warns."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from trace_support import make_tier, train

from whyslow_capture.problems import ProblemLog
from whyslow_capture.trace import slowdown
from whyslow_capture.trace.report import WindowReport
from whyslow_capture.trace.schedule import WindowPlan
from whyslow_capture.trace.slowdown import GROUPS, LOOK_EVERY, NEVER, PAUSE_S, WATCHED, SlowdownCheck, change
from whyslow_capture.trace.tier import TraceTier

MINUTE_S = 64.0


def test_the_fastest_groups_count() -> None:
    before = [[level] * WATCHED for level in (14.0, 10.0, 10.2, 14.1, 10.1, 13.9)]
    assert change(before, [[14.0] * WATCHED, [10.1] * WATCHED]).likely == pytest.approx(0.01)
    assert change(before, [[14.0] * WATCHED]).low == pytest.approx(1.4 / 1.1 - 1)


def test_rare_long_steps_do_not_matter() -> None:
    quiet = [[10.0] * WATCHED] * 4
    found = change(quiet, [[10.0] * (WATCHED - 2) + [500.0, 500.0]])
    assert (found.low, found.likely, found.high) == (0, 0, 0)


class Job:
    """A job on a fake clock with windows of three steps, and the check."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seed: int = 1) -> None:
        self.now, self.step, self.problems = 0, 0, ProblemLog()
        self.chance = random.Random(seed)
        self.compressing_until = 0
        monkeypatch.setattr(slowdown, "perf_counter_ns", lambda: self.now)
        self.check = SlowdownCheck(self.problems, lambda: self.step < self.compressing_until)
        self.calls = 0
        self.wanted = 0
        self.next_window = NEVER - 1

    def steps(self, count: int, ms: float) -> None:
        for _ in range(count):
            if self.step >= self.wanted:
                self.calls += 1
                self.check.begin_step(self.step)
                self.check.step_begun(self.step)
                self.wanted = self.check.wanted_at(self.step, self.next_window)
            self.now += int(1e6 * ms * (1 + 0.02 * self.chance.gauss(0, 1)))
            self.step += 1

    def seconds(self, seconds: float, ms: float) -> None:
        self.steps(int(seconds * 1e3 / ms), ms)

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


def test_an_attached_profiler_is_reported_at_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    job = Job(monkeypatch)
    job.steps(50, 5.0)
    report = job.window(detached=False)
    job.steps(50, 7.0)
    found = report.afterwards
    assert (found["steps_before"], found["steps_after"], found["slower"]) == (WATCHED, WATCHED, True)
    assert found["before_ms"] == pytest.approx(5, rel=0.02)
    assert found["after_ms"] == pytest.approx(7, rel=0.02)
    assert found["change"]["low"] < 0.4 < found["change"]["high"]  # type: ignore[index]
    assert job.problems.counts == {"trace_slower": 1}
    printed = capsys.readouterr().err
    assert "since the profiler window for steps 51 to 53 this rank's steps take 2" in printed
    assert printed.endswith("longer: the GPU profiler stays attached\n")


def test_few_steps_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job(monkeypatch)
    job.seconds(MINUTE_S, 5.0)
    # A group every four seconds, and a call where it begins.
    assert job.calls <= (MINUTE_S / PAUSE_S + 1) * (WATCHED + 2)


def test_no_steps_are_timed_while_no_window_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job(monkeypatch)
    job.next_window = NEVER
    job.seconds(MINUTE_S, 5.0)
    assert job.calls == 1


def test_the_check_waits_for_the_compression(monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job(monkeypatch)
    job.steps(50, 5.0)
    job.compressing_until = 250
    calls = job.calls
    report = job.window()
    job.steps(196, 9.0)
    assert not report.afterwards
    assert job.calls - calls <= 196 / LOOK_EVERY + 4
    job.steps(100, 5.0)
    assert report.afterwards["slower"] is False


def test_later_windows_count_what_earlier_ones_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first window leaves 40%, the second nothing more. In between the job itself gets twice as slow."""
    job = Job(monkeypatch)
    job.seconds(MINUTE_S, 5.0)
    first = job.window()
    job.seconds(2 * MINUTE_S, 7.0)
    job.seconds(2 * MINUTE_S, 14.0)
    second = job.window()
    job.seconds(2 * MINUTE_S, 14.0)
    assert first.afterwards["slower"] is True
    for report in (first, second):
        assert report.afterwards["change"]["likely"] == pytest.approx(0.4, abs=0.03)  # type: ignore[index]


SLOW, FAST = 31.0, 22.0


def judged(monkeypatch: pytest.MonkeyPatch, seed: int, factor: float) -> bool:
    """
    A host that alternates between two speeds every few seconds, as the one in docs/internal/measurements.md does, and
    a window that leaves steps slower by `factor`.
    """
    job = Job(monkeypatch, seed)

    def train(seconds: float, factor: float) -> None:
        while seconds > 0:
            spell = min(seconds, job.chance.uniform(1, 6))
            job.seconds(spell, factor * (SLOW if job.chance.random() < 0.57 else FAST))
            seconds -= spell

    train(1.2 * MINUTE_S, 1.0)
    report = job.window()
    train(1.5 * MINUTE_S, factor)
    job.check.close()
    return bool(report.afterwards["slower"])


def test_false_alarms_are_rare_on_a_host_of_two_speeds(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sum(judged(monkeypatch, seed, 1.0) for seed in range(50)) <= 1


def test_a_slowdown_by_a_quarter_is_found_there(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sum(judged(monkeypatch, seed, 1.25) for seed in range(40)) >= 38


def test_a_busy_host_that_calms_down_is_no_change(monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job(monkeypatch)
    job.seconds(MINUTE_S, 5.0)
    report = job.window()
    job.seconds(20, 7.5)
    assert not report.afterwards
    job.seconds(20, 5.0)
    assert report.afterwards["slower"] is False
    assert report.afterwards["after_ms"] == pytest.approx(5, rel=0.05)
    assert job.problems.counts == {}


def test_few_steps_before_are_no_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    """The default window comes at step 17."""
    job = Job(monkeypatch)
    job.steps(20, 5.0)
    report = job.window()
    job.seconds(2 * MINUTE_S, 7.5)
    assert report.afterwards["slower"] is False
    assert report.afterwards["steps_after"] == GROUPS * WATCHED


def test_slower_for_some_seconds_is_not_slower_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job(monkeypatch)
    job.seconds(MINUTE_S, 5.0)
    report = job.window()
    job.seconds(30, 7.5)
    job.check.close()
    assert report.afterwards["slower"] is False
    assert report.afterwards["change"]["likely"] == pytest.approx(0.5, abs=0.03)  # type: ignore[index]


def test_a_failed_window_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job(monkeypatch)
    job.steps(60, 5.0)
    report = job.window()
    job.steps(60, 5.0)
    found = dict(report.afterwards)
    job.check.window_opens()
    job.check.window_ended(report)  # nothing newer
    job.steps(60, 50.0)
    assert report.afterwards == found


def steps_of(tier: TraceTier, seconds: float) -> Callable[[int], None]:
    """Steps of a job that waits for the compression right after its window, so that all further steps count."""

    def work(step: int) -> None:
        time.sleep(seconds)
        end = time.monotonic() + 30
        while step == 20 and tier._delivery.exporter.pending_bytes > 0 and time.monotonic() < end:
            time.sleep(0.01)

    return work


def test_a_failing_check_does_not_reach_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(slowdown, "change", fail)
    problems = ProblemLog()
    tier = make_tier(tmp_path, problems, period=20, repeat=1)
    train(tier, range(100), steps_of(tier, 0.001))
    tier.close()
    assert problems.counts == {"trace_check": 1}
    assert len(list(tmp_path.rglob("*-trace.json.gz"))) == 1


def test_with_real_windows(tmp_path: Path) -> None:
    problems = ProblemLog()
    tier = make_tier(tmp_path, problems, period=20, repeat=1)
    train(tier, range(80), steps_of(tier, 0.002))
    tier.close()
    (window,) = tier.summary()["windows"]  # type: ignore[misc]
    found = window["afterwards"]  # type: ignore[index]
    assert found["steps_before"] == 13
    assert found["steps_after"] == WATCHED
    assert found["before_ms"] > 1.5
    assert found["change"]["low"] <= found["change"]["likely"] <= found["change"]["high"]
