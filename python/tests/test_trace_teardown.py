"""CUPTI is detached after our windows where that is safe, and steps are marked where it is not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hooked import injected, run_warm_script
from support import run_torch_program
from torch.profiler.profiler import _KinetoProfile
from trace_support import make_tier, train, work

from whyslow_capture import process
from whyslow_capture.problems import ProblemLog
from whyslow_capture.trace import profiler, profiler_use, tier, window, window_driver
from whyslow_capture.trace.profiler_use import PROFILER_USE
from whyslow_capture.trace.teardown import VARIABLE, CuptiTeardown, decide

CUDA_12_4 = "before CUDA 12.6 (this is 12.4) detaching it can crash a job that uses CUDA graphs"


@pytest.mark.parametrize(
    ("cuda", "given", "detaches", "is_news"),
    [
        ("13.0", None, True, False),
        ("12.6", None, True, False),
        ("12.10", None, True, False),
        ("12.4", None, False, True),
        ("11.8", None, False, True),
        (None, None, False, True),
        ("a build of my own", None, False, True),
        ("13.0", "0", False, False),
        ("13.0", "", False, False),
        ("12.4", "1", True, False),
    ],
)
def test_the_cuda_version_decides_unless_the_user_did(
    cuda: str | None, given: str | None, detaches: bool, is_news: bool
) -> None:
    decision = decide(cuda, given)
    assert (decision.detaches, decision.is_news) == (detaches, is_news)
    if given is not None:
        assert decision.why == f"TEARDOWN_CUPTI={given} is set"


class FakeGpu:
    """
    A process in which windows record the GPU as far as our code knows: torch on a CPU ignores that activity. Notes
    the environment whenever a profiler stops, which is when Kineto reads it.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, cuda: str) -> None:
        # Of windows, without the recordings of their warm-up.
        self.at_stop: list[str | None] = []
        self.settled = 0
        self.environ: dict[str, str] = {}
        teardown = self.teardown = CuptiTeardown(self.environ)
        for module in (profiler, profiler_use, tier, window, window_driver):
            monkeypatch.setattr(module, "TEARDOWN", teardown)
        monkeypatch.setattr(teardown, "settle", self._settle)
        monkeypatch.setattr(torch.version, "cuda", cuda)
        monkeypatch.setattr(process, "uses_cuda", lambda: True)
        stop = _KinetoProfile.stop_trace

        def noted(profile: Any) -> None:
            if not (counts and counts.pop()):
                self.at_stop.append(self.environ.get(VARIABLE))
            stop(profile)

        # Whether the profiler that stops next only counts.
        counts: list[bool] = []
        stop_ours = profiler.WindowProfiler.stop

        def stop_one(ours: Any, another_follows: bool) -> None:
            counts.append(ours.is_counting)
            stop_ours(ours, another_follows)

        monkeypatch.setattr(profiler.WindowProfiler, "stop", stop_one)

        monkeypatch.setattr(_KinetoProfile, "stop_trace", noted)

    def _settle(self) -> None:
        self.settled += 1


@pytest.fixture(autouse=True)
def no_profiler_yet() -> Iterator[None]:
    PROFILER_USE.is_attached = False
    yield
    PROFILER_USE.is_attached = False


pytestmark = pytest.mark.filterwarnings("ignore:CUDA is not available")


def windows_of(trace: Any) -> list[bool | None]:
    return [window["detached"] for window in trace.summary()["windows"]]


def test_a_window_detaches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = FakeGpu(monkeypatch, "13.0")
    trace = make_tier(tmp_path, period=30, warmup=1, active=2)
    seen: dict[int, str | None] = {}
    train(trace, range(62), lambda step: seen.__setitem__(step, PROFILER_USE.disturbance))
    assert gpu.at_stop == ["1", "1"]
    assert gpu.settled == 2
    assert {seen[step] for step in (0, 26, 30, 56, 61)} == {None}
    assert seen[29] == "recording"
    assert windows_of(trace) == [True, True]
    assert trace.summary()["teardown"] == {"detaches": True, "why": "CUDA 13.0"}
    trace.close()


def test_an_old_cuda_stays_attached_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gpu = FakeGpu(monkeypatch, "12.4")
    problems = ProblemLog()
    trace = make_tier(tmp_path, problems, period=30, warmup=1, active=2)
    train(trace, range(62))
    assert (gpu.at_stop, gpu.settled, gpu.environ) == ([None, None], 0, {})
    assert PROFILER_USE.disturbance == "attached"
    assert windows_of(trace) == [False, False]
    assert problems.counts == {"trace_attached": 2}
    printed = capsys.readouterr().err.splitlines()
    assert len(printed) == 1
    assert CUDA_12_4 in printed[0]
    trace.close()


def test_the_users_value_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = FakeGpu(monkeypatch, "13.0")
    gpu.environ[VARIABLE] = "0"
    problems = ProblemLog()
    trace = make_tier(tmp_path, problems, period=5, warmup=1, active=2)
    train(trace, range(7))
    trace.close()
    assert (gpu.at_stop, gpu.environ) == (["0"], {VARIABLE: "0"})
    assert PROFILER_USE.disturbance == "attached"
    assert problems.counts == {}


def test_torch_may_overrule_us(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """torch before 2.8 sets the variable to 0 in start_trace if inductor uses CUDA graphs."""
    gpu = FakeGpu(monkeypatch, "12.6")
    start = profiler._LeanProfile.start_trace

    def overruled(profile: Any) -> None:
        start(profile)
        gpu.environ[VARIABLE] = "0"

    monkeypatch.setattr(profiler._LeanProfile, "start_trace", overruled)
    monkeypatch.setattr(_KinetoProfile, "start_trace", overruled)
    trace = make_tier(tmp_path, period=5, warmup=1, active=2)
    train(trace, range(7))
    assert windows_of(trace) == [False]
    assert (PROFILER_USE.disturbance, gpu.settled) == ("attached", 0)
    gpu.teardown.give_back()
    assert gpu.environ == {VARIABLE: "0"}  # not ours any more
    trace.close()


def test_adjacent_windows_stay_attached_in_between(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = FakeGpu(monkeypatch, "13.0")
    trace = make_tier(tmp_path, period=6, warmup=1, active=3, repeat=3)
    seen: dict[int, str | None] = {}
    train(trace, range(30), lambda step: seen.__setitem__(step, PROFILER_USE.disturbance))
    trace.close()
    assert gpu.at_stop == ["0", "0", "1"]
    assert seen[7] == "attached"
    assert seen[29] is None


def test_the_jobs_own_profiler_finds_its_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = FakeGpu(monkeypatch, "13.0")
    trace = make_tier(tmp_path, period=30, warmup=1, active=2)
    train(trace, range(35))
    assert gpu.environ == {VARIABLE: "1"}
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        assert gpu.environ == {}
        assert PROFILER_USE.disturbance == "recording"
        work()
    assert PROFILER_USE.disturbance is None  # it did not record the GPU
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    ) as own:
        work()
    assert PROFILER_USE.disturbance in (None, "attached")
    assert own.events() is not None
    trace.close()


def test_a_window_that_gives_way_to_the_jobs_profiler_stays_attached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Detached now, the job's profiler would record no GPU activity."""
    gpu = FakeGpu(monkeypatch, "13.0")
    trace = make_tier(tmp_path, period=30, warmup=1, active=10)

    def job(step: int) -> None:
        if step == 22:
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
                work()

    train(trace, range(30), job)
    trace.close()
    assert gpu.at_stop[0] == "0"
    assert gpu.settled == 0
    assert gpu.environ == {}


JOB = """
import json, os, torch
import whyslow_capture
from whyslow_capture import process
torch.version.cuda, process.uses_cuda, process.device = {cuda!r}, lambda: True, lambda: None
torch.cuda.Event = type("Event", (), {{"record": lambda self, stream: None}})
torch.cuda.Stream = object
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
with whyslow_capture.capture({out!r}, record_every_n_steps=1, max_overhead=1, trace_period=8, trace_repeat=1) as cap:
    for step in range(40):
        if step == 30:
            value = os.environ.get("TEARDOWN_CUPTI")
            own = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
            own.start()
        if step == 32:
            own.stop()
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
        cap.step()
print(value, os.environ.get("TEARDOWN_CUPTI"))
"""


@pytest.mark.parametrize(("cuda", "value", "marked"), [("13.0", "1", False), ("12.4", "None", True)])
def test_the_log_marks_the_steps_of_an_attached_profiler(tmp_path: Path, cuda: str, value: str, marked: bool) -> None:
    """torch was imported long before; that is early enough."""

    result = run_torch_program(JOB.format(cuda=cuda, out=str(tmp_path)))
    # The job's own profiler finds its environment as it was.
    assert result.stdout.split()[-2:] == [value, "None"]
    lines = (tmp_path / "cuda_event_profiler/cuda_events_rank_0.jsonl").read_text().splitlines()[1:]
    marks: dict[int, set[str | None]] = {}
    for record in map(json.loads, lines):
        marks.setdefault(record["step"], set()).add(record.get("profiler"))
    # Steps 4 to 7 warm up and record.
    assert set(marks) == {*range(4), *range(8, 40)}
    assert all(marks[step] == {None} for step in range(4))
    after = {"attached"} if marked else {None}
    # Up to 16 consecutive steps share a buffer and its mark.
    assert all(marks[step] == after for step in (*range(8, 15), *range(33, 40)))
    assert marks[30] == marks[31] == {"recording"}
    manifest = json.loads((tmp_path / "ranks/rank_0.json").read_text())
    assert [window["detached"] for window in manifest["trace"]["windows"]] == [not marked]
    assert manifest["trace"]["teardown"]["detaches"] is not marked


INJECTED = """
import os, torch
torch.version.cuda = "13.0"
torch.cuda.Event = type("Event", (), {"record": lambda self, stream: None})
torch.cuda.Stream = object
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(20):
    if step == 3:  # whyslow_capture was imported by now, and not by this job
        from whyslow_capture import process
        process.uses_cuda, process.device = lambda: True, lambda: None
    optimizer.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
print(os.environ.get("TEARDOWN_CUPTI"))
"""


def test_injected_into_a_job(tmp_path: Path) -> None:
    result = run_warm_script(INJECTED, tmp_path, env=injected(tmp_path / "out", trace_period=8, trace_repeat=1))
    assert result.stdout.split() == ["1"], result.stderr
    manifest = json.loads((tmp_path / "out/ranks/rank_0.json").read_text())
    assert [window["detached"] for window in manifest["trace"]["windows"]] == [True]
