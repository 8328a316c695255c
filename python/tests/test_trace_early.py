"""The one window of `trace=True`: sooner where steps are slow, and a message where the job ends before it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from trace_support import make_tier, train

from whyslow_capture.config import CaptureConfig, TraceConfig
from whyslow_capture.problems import ProblemLog
from whyslow_capture.trace import early_start

ONE_WINDOW = {"enabled": True, "period": 27, "repeat": 1}


def recorded(out: Path, monkeypatch: pytest.MonkeyPatch, steps: range, seconds: float, **tier: Any) -> list[int]:
    """The first steps of the windows of a job with steps this long."""
    now = [100.0]
    monkeypatch.setattr(early_start.time, "monotonic", lambda: now[0])

    def work(_: int) -> None:
        now[0] += seconds

    made = make_tier(out, **{**ONE_WINDOW, **tier})
    train(made, steps, work)
    made.close()
    return [window["first_step"] for window in made.summary()["windows"]]  # type: ignore[index,attr-defined]


@pytest.mark.parametrize(
    ("seconds", "first"),
    [(2.0, 5), (0.5, 5), (0.34, 24), (0.01, 24)],
)
def test_slow_steps_bring_the_window_forward(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, first: int
) -> None:
    assert recorded(tmp_path, monkeypatch, range(1, 40), seconds) == [first]


@pytest.mark.parametrize(("active", "seconds", "steps"), [(6, 0.01, 6), (6, 0.1, 3), (6, 2.0, 3), (8, 0.1, 8)])
def test_long_steps_make_the_window_shorter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, active: int, seconds: float, steps: int
) -> None:
    now = [100.0]
    monkeypatch.setattr(early_start.time, "monotonic", lambda: now[0])

    def work(_: int) -> None:
        now[0] += seconds

    made = make_tier(tmp_path, **ONE_WINDOW, active=active)
    train(made, range(1, 40), work)
    made.close()
    (window,) = made.summary()["windows"]  # type: ignore[misc]
    assert window["last_step"] - window["first_step"] + 1 == steps  # type: ignore[index]


def test_a_single_slow_step_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(early_start.time, "monotonic", lambda: now[0])

    def work(step: int) -> None:
        now[0] += 2.0 if step % 5 == 0 else 0.1  # it saves

    made = make_tier(tmp_path, **ONE_WINDOW)
    train(made, range(1, 40), work)
    made.close()
    assert [window["first_step"] for window in made.summary()["windows"]] == [24]  # type: ignore[index,attr-defined]


def test_a_resumed_job_has_a_window_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert recorded(tmp_path, monkeypatch, range(1001, 1012), 0.5) == [1005]


@pytest.mark.parametrize("tier", [{"world": 2, "ranks": None}, {"period": 30}, {"config": {"start_step": 3}}])
def test_ranks_that_must_agree_and_chosen_schedules_keep_their_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tier: dict[str, Any]
) -> None:
    period, start = tier.get("period", 27), tier.get("config", {}).get("start_step", 0)
    assert recorded(tmp_path, monkeypatch, range(1, 40), 2.0, **tier) == [start + period - 3]


@pytest.mark.parametrize(("cuda", "may"), [("12.1", False), ("12.8", True)])
def test_not_where_the_profiler_stays_attached(monkeypatch: pytest.MonkeyPatch, cuda: str, may: bool) -> None:
    monkeypatch.delenv("TEARDOWN_CUPTI", raising=False)
    monkeypatch.setattr(early_start.process, "uses_cuda", lambda: True)
    monkeypatch.setattr(early_start.torch.version, "cuda", cuda)
    config = CaptureConfig(trace=TraceConfig(**ONE_WINDOW))  # type: ignore[arg-type]
    assert early_start.may_start_early(config, 1) == may


@pytest.mark.parametrize(
    ("steps", "advice"), [(10, "set --trace-period 7"), (2, "takes 4 steps, 1 of them to warm up")]
)
def test_a_job_that_ends_before_its_window_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], steps: int, advice: str
) -> None:
    tier = make_tier(tmp_path, ProblemLog(), **ONE_WINDOW, tier={"current_step": lambda: steps})
    train(tier, range(1, steps + 1))
    tier.close()
    printed = capsys.readouterr().err
    assert f"no trace was recorded: the job ended after {steps} steps" in printed
    assert advice in printed
