"""Step numbers alone decide which steps are profiled, so ranks and resumed jobs agree."""

from __future__ import annotations

import pytest
import torch.profiler
from torch.profiler import ProfilerAction

from whyslow_capture.trace.requests import StepRate
from whyslow_capture.trace.schedule import NEVER, Schedule, WindowPlan, WindowQueue


def recorded(schedule: Schedule, steps: range) -> set[int]:
    """Advances a queue step by step, like the tier."""
    queue, found, window = WindowQueue(schedule), set(), None
    for step in steps:
        if window is not None and step >= window.end:
            window = None
        if window is None:
            window = queue.due(step)
            if window is not None:
                queue.drop(window)
        if window is not None and step >= window.first:
            found.add(step)
    return found


@pytest.mark.parametrize(
    ("period", "warmup", "active", "repeat"), [(10, 1, 3, 0), (7, 2, 2, 3), (4, 1, 3, 2), (5, 0, 1, 0)]
)
def test_windows_are_where_torch_and_d9d_put_them(period: int, warmup: int, active: int, repeat: int) -> None:
    theirs = torch.profiler.schedule(wait=period - warmup - active, warmup=warmup, active=active, repeat=repeat)
    recording = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
    expected = {step for step in range(60) if theirs(step) in recording}
    assert recorded(Schedule("t", period, warmup, active, repeat), range(60)) == expected


@pytest.mark.parametrize("resume", range(31))
def test_a_resumed_job_records_the_same_steps_but_no_part_of_a_window(resume: int) -> None:
    schedule = Schedule("t", period=10, warmup=1, active=3)
    whole = recorded(schedule, range(60))
    resumed = recorded(schedule, range(resume, 60))
    assert resumed == {s for s in whole if (s // 10) * 10 + 7 >= resume}


def test_start_and_end_are_respected() -> None:
    schedule = Schedule("t", period=10, warmup=1, active=3, repeat=2, start=100, last=119)
    assert recorded(schedule, range(300)) == {107, 108, 109, 117, 118, 119}
    # A window that would pass the end does not begin.
    cut = Schedule("t", period=10, warmup=1, active=3, start=100, last=118)
    assert recorded(cut, range(300)) == {107, 108, 109}


def test_a_period_too_short_for_its_window_still_records() -> None:
    assert recorded(Schedule("t", period=2, warmup=1, active=3), range(9)) == {1, 2, 3, 5, 6, 7}


def test_without_a_period_there_is_nothing_to_do() -> None:
    queue = WindowQueue(Schedule("t", period=0, warmup=1, active=3))
    assert queue.due(0) is None
    assert queue.next_event(0) == NEVER


def test_nothing_to_do_until_the_step_before_warm_up() -> None:
    queue = WindowQueue(Schedule("t", period=100, warmup=2, active=3))
    assert queue.next_event(0) == 94
    assert queue.due(94) is None
    plan = queue.due(95)
    assert plan == WindowPlan("t", first=97, steps=3, warmup=2)
    queue.drop(plan)
    assert queue.next_event(95) == 194


def test_a_requested_window_goes_before_the_schedule() -> None:
    queue = WindowQueue(Schedule("t", period=10, warmup=1, active=3))
    queue.add(WindowPlan("t", first=16, steps=3, warmup=1, request="a"))
    requested = queue.due(15)
    assert requested is not None and requested.request == "a"
    # The scheduled window at 17 would overlap, so it is skipped.
    assert queue.due(26) is not None and queue.due(26).first == 27
    assert queue.drop_late(17) == [requested]
    assert queue.drop_late(17) == []


def test_a_plan_avoids_scheduled_windows() -> None:
    queue = WindowQueue(Schedule("t", period=10, warmup=1, active=3))
    wanted = WindowPlan("t", first=7, steps=3, warmup=1, request="a")
    assert queue.free_from(wanted) == 11
    blocked = (WindowPlan("t", first=11, steps=3, warmup=1),)
    assert queue.free_from(wanted, blocked) == 21
    # If no gap is long enough, the schedule gives way.
    assert queue.free_from(WindowPlan("t", first=7, steps=8, warmup=1, request="a")) == 7


@pytest.mark.parametrize(
    ("step_s", "least_s", "most_steps"), [(0.003, 3, 1100), (0.2, 3, 18), (1.5, 3, 5), (60, 60, 3)]
)
def test_the_margin_covers_three_seconds_and_few_long_steps(step_s: float, least_s: float, most_steps: int) -> None:
    rate = StepRate()
    for second in range(200):
        rate.observe(float(second), int(second / step_s))
    ahead = rate.steps_ahead(200.0, 3.0)
    assert ahead * step_s >= least_s
    assert (5 if step_s < 1 else 3) <= ahead <= most_steps


def test_a_faster_job_is_planned_further_ahead() -> None:
    rate = StepRate()
    for second in range(60):  # a slow start, then ten steps per second
        rate.observe(float(second), second // 10 if second < 50 else 5 + 10 * (second - 50))
    assert rate.steps_ahead(59.0, 3.0) >= 30


def test_a_pause_does_not_look_like_slow_steps() -> None:
    rate = StepRate()
    for second in range(20):
        rate.observe(float(second), second * 10)
    assert rate.seconds_per_step(300.0) == pytest.approx(0.1)
    rate.observe(300.0, 3)  # the job started counting again
    assert rate.seconds_per_step(302.0) == pytest.approx(2.0)
