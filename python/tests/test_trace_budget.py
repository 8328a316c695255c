"""A window is bounded before it opens, refused if the host has no room, and keeps what it has recorded."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support import run_torch_program
from trace_support import make_tier, read_trace, steps_in, train, work

from whyslow_capture.config import TraceConfig
from whyslow_capture.problems import ProblemLog
from whyslow_capture.trace.budget import EVENT_BYTES, MB, HostMemory, WindowBudget, free_disk, ranks_sharing_host

GB = 1024 * MB


class FakeHost:
    """A simulated host."""

    def __init__(self) -> None:
        self.memory, self.disk = HostMemory(64 * GB, 32 * GB), (500 * GB, 1000 * GB)
        self.now = 100.0

    def budget(self, sharers: int = 1, **options: object) -> WindowBudget:
        return WindowBudget(
            TraceConfig(**{"budget_mb": 2048, **options}),  # type: ignore[arg-type]
            Path("/out"),
            sharers,
            memory=lambda: self.memory,
            disk=lambda _: self.disk,
            now=lambda: self.now,
        )


def test_before_a_window_the_host_must_have_room() -> None:
    host = FakeHost()
    assert host.budget().refuse() is None
    host.memory = HostMemory(64 * GB, 3 * GB)  # 3.2 GB must stay free
    refusal = host.budget().refuse()
    assert refusal is not None and "3,072 MB" in refusal and "3,277 MB" in refusal
    host.memory = HostMemory(64 * GB, 4 * GB)
    assert host.budget().refuse() is None
    refusal = host.budget(sharers=16).refuse()
    assert refusal is not None and "16 ranks share" in refusal


def test_before_a_window_the_disk_must_have_room() -> None:
    host = FakeHost()
    host.disk = (70 * MB, 1000 * GB)
    refusal = host.budget().refuse()
    assert refusal is not None and "70 MB left" in refusal
    host.disk = (100 * MB, 1000 * GB)
    assert host.budget().refuse() is None


def test_a_window_that_could_not_end_in_time_is_refused() -> None:
    host = FakeHost()
    assert host.budget().refuse(longest_gap_s=20) is None
    refusal = host.budget().refuse(longest_gap_s=2700)
    assert refusal is not None and "for 2700 s" in refusal and "cap.phase()" in refusal


def test_the_warm_up_shows_how_long_a_window_may_record() -> None:
    host = FakeHost()
    budget = host.budget()
    assert budget.refuse() is None
    budget.learn(50_000, 2.0, is_whole_step=True)
    assert budget.limit_s == pytest.approx(2048 * MB / EVENT_BYTES / 25_000)
    assert "25,000 events per second" in budget.describe() and "the limit is 2,048 MB" in budget.describe()
    rich = host.budget(record_shapes=True)
    rich.learn(50_000, 2.0, is_whole_step=True)
    assert rich.limit_s < 0.4 * budget.limit_s
    # Half a step may be all waiting.
    budget.learn(0, 10.0, is_whole_step=False)
    assert 20 < budget.limit_s < 100
    budget.learn(0, 10.0, is_whole_step=True)
    assert budget.limit_s > 100_000


def test_a_window_ends_before_a_step_that_would_be_too_much() -> None:
    host = FakeHost()
    budget = host.budget()
    budget.learn(134_217, 1.0, is_whole_step=True)  # 10 s use the budget up
    budget.begin()
    host.now += 4
    assert budget.look(next_step_s=4) is None
    host.now += 4
    assert budget.look() is None
    assert "the limit is" in (budget.look(next_step_s=4) or "")
    host.now += 4
    assert "the limit is" in (budget.look() or "")


def test_a_host_that_runs_out_of_memory_ends_the_window() -> None:
    host = FakeHost()
    budget, shared = host.budget(), host.budget(sharers=8)
    for each in (budget, shared):
        each.learn(65_536, 1.0, is_whole_step=True)
        each.begin()
    host.memory = HostMemory(64 * GB, int(3.5 * GB))
    assert budget.look() is None  # asked at most five times per second
    host.now += 6
    reason = budget.look()
    assert reason is not None and "3,584 MB" in reason and "600 MB" in reason
    # 8 ranks stop at the same time.
    host.memory = HostMemory(64 * GB, 7 * GB)
    host.now += 0.3
    assert budget.look() is None
    assert "on each of 8 ranks" in (shared.look() or "")


def test_little_memory_means_a_shorter_window() -> None:
    host = FakeHost()
    host.memory = HostMemory(64 * GB, int(3.2 * GB) + 210 * MB)
    budget = host.budget()
    assert budget.refuse() is None
    assert "(trace.budget_mb is 2048)" in budget.describe()
    assert budget.limit_s < 0.11 * host.budget().limit_s


def test_a_disk_that_fills_up() -> None:
    host = FakeHost()
    budget = host.budget()
    budget.learn(100_825, 1.0, is_whole_step=True)  # 50 MB per second
    budget.begin()
    host.now += 4
    host.disk = (250 * MB, 1000 * GB)
    reason = budget.look()
    assert reason is not None and "250 MB" in reason and "200 MB" in reason
    assert budget.refuse_export() is None
    host.disk = (100 * MB, 1000 * GB)
    refusal = budget.refuse_export()
    assert refusal is not None and "100 MB left" in refusal and "200 MB" in refusal


def test_ranks_that_share_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "8")
    assert [ranks_sharing_host(recording) for recording in (1, 2, 64)] == [1, 2, 8]


def test_free_disk_of_a_missing_folder(tmp_path: Path) -> None:
    # Free space changes all the time.
    (free, total), (_, same) = free_disk(tmp_path / "a/b/c"), free_disk(tmp_path)
    assert total == same and 0 <= free <= total


# -- in a tier ---------------------------------------------------------------------------------------------------------


def tight(events: int) -> Callable[[Path, object], WindowBudget]:
    """A budget for this many events."""
    return lambda folder, _: _Tight(events, folder)


class _Tight(WindowBudget):
    def __init__(self, events: int, folder: Path) -> None:
        super().__init__(TraceConfig(), folder)
        self._allowance = events * EVENT_BYTES


def test_no_window_without_memory(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    host = FakeHost()
    host.memory = HostMemory(64 * GB, GB)
    tier = make_tier(tmp_path, period=2, active=1, tier={"new_budget": lambda *_: host.budget()})
    train(tier, range(9))
    tier.close()
    warnings = [line for line in capfd.readouterr().err.splitlines() if "no profiler window" in line]
    assert len(warnings) == 1 and "1,024 MB of memory left" in warnings[0]
    assert list(tmp_path.iterdir()) == []
    assert tier.summary()["counts"] == {"failed": 5}


def test_a_window_records_as_many_steps_as_fit(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Each step makes about 2,450 events."""
    problems = ProblemLog()
    tier = make_tier(tmp_path, problems, period=60, active=50, tier={"new_budget": tight(26_000)})

    train(tier, range(8, 60), lambda _: work(490) if tier.busy else None)
    tier.close()
    (window,) = tier.summary()["windows"]
    (path,) = tmp_path.rglob("*.gz")
    recorded = steps_in(path)
    assert recorded[0] == 10 and 4 <= len(recorded) <= 11
    assert window["status"] == "cut" and window["last_step"] == recorded[-1]
    assert read_trace(path)["whyslow_cut"] == window["message"]
    assert "events per second" in window["message"]
    assert problems.counts == {"trace_cut": 1}
    assert "is cut short" in capfd.readouterr().err


def test_a_step_that_is_too_much_is_cut_at_a_phase(tmp_path: Path) -> None:
    watches: list[Callable[[], None] | None] = []
    given = {"new_budget": tight(2_000), "recorder_watch_setter": watches.append}
    tier = make_tier(tmp_path, period=10, active=1, tier=given)

    def phases(number: int) -> None:
        for _ in range(10):
            work(500)
            watch = watches[-1] if watches else None
            if watch is not None:
                watch()
            if number == 9 and not tier.busy:
                return

    train(tier, (7, 8, 9), phases)
    assert watches[-1] is None and not tier.busy
    train(tier, (10, 11))
    tier.close()
    (window,) = tier.summary()["windows"]
    assert window["status"] == "cut" and "events per second" in window["message"]
    (path,) = tmp_path.rglob("*.gz")
    assert steps_in(path) == [9]


def test_a_step_that_is_too_much_and_has_no_phases_is_not_recorded(tmp_path: Path) -> None:
    tier = make_tier(tmp_path, period=10, active=1, tier={"new_budget": tight(2_000)})
    train(tier, range(7, 11), lambda _: work(5_000))
    tier.close()
    (window,) = tier.summary()["windows"]
    assert window["status"] == "missed" and "has no phases at which it could end" in window["message"]
    assert not list(tmp_path.rglob("*.gz"))


def test_the_step_before_a_window_shows_whether_it_could_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the host had hardly any memory to spare: then a fifth of a second without a phase is too long."""
    monkeypatch.setattr("whyslow_capture.trace.budget.MOST_EVENTS_PER_S", 10**9)

    def spin() -> None:
        end = time.thread_time() + 0.2
        while time.thread_time() < end:
            pass

    for slow, status in ((7, "failed"), (6, "done")):
        tier = make_tier(tmp_path / str(slow), period=10, active=1)
        train(tier, range(5, 11), lambda number, slow=slow: spin() if number == slow else work())
        tier.close()
        (window,) = tier.summary()["windows"]
        assert window["status"] == status
        assert ("phase begins or ends" in window["message"]) == (status == "failed")


def test_memory_is_returned_to_the_host(tmp_path: Path) -> None:
    program = f"""
    import sys
    sys.path.insert(0, {str(Path(__file__).parent)!r})
    from pathlib import Path
    from trace_support import make_tier, resident, train, work
    tier = make_tier(Path(sys.argv[1]), period=2, warmup=0, active=1)
    train(tier, (0, 1))
    before = resident()
    work(40_000)
    tier.begin_step(2)
    tier.close()
    print((resident() - before) >> 20)
    """
    # 80,000 events, about 100 MB in torch.
    assert int(run_torch_program(program, tmp_path).stdout) < 30


def test_a_window_ends_right_after_a_backward_pass(tmp_path: Path) -> None:
    """autograd restores its thread state at the end of the pass, so a profiler stopped inside would be on again."""
    program = f"""
    import json, sys
    sys.path.insert(0, {str(Path(__file__).parent)!r})
    from pathlib import Path
    import torch
    from test_trace_budget import tight
    from trace_support import make_tier, train, work
    from whyslow_capture.trace.profiler_use import torch_profiler_enabled
    watches, seen = [], []
    class Slow(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2
        @staticmethod
        def backward(ctx, gradient):
            work(5_000)
            if watches[-1] is not None:
                watches[-1]()
            seen.append(tier.busy)
            return gradient * 2
    given = {{"new_budget": tight(1_000), "recorder_watch_setter": watches.append}}
    tier = make_tier(Path(sys.argv[1]), period=9, active=1, tier=given)
    def step(number):
        Slow.apply(torch.ones(4, requires_grad=True)).sum().backward()
        if number == 8:
            watches[-1]()
            seen.append(tier.busy)
    train(tier, (6, 7, 8), step)
    print(json.dumps([seen, torch_profiler_enabled(), tier.summary()["counts"]]))
    """
    seen, is_on, _ = json.loads(run_torch_program(program, tmp_path).stdout)
    assert seen == [False, True, True, False]
    assert not is_on


def test_sys_exit_when_a_window_ends_is_not_swallowed(tmp_path: Path) -> None:
    program = f"""
    import os, signal, sys
    sys.path.insert(0, {str(Path(__file__).parent)!r})
    from pathlib import Path
    from trace_support import make_tier, train, work
    from whyslow_capture.trace import window
    def handler(*_):
        raise SystemExit(17)
    signal.signal(signal.SIGTERM, handler)
    real = window.Window.save
    def save(self, raw):
        os.kill(os.getpid(), signal.SIGTERM)
        for _ in range(1000):
            pass
        return real(self, raw)
    window.Window.save = save
    tier = make_tier(Path(sys.argv[1]), period=2, active=1)
    try:
        train(tier, range(4))
    finally:
        print("out of the loop", tier.busy)
        tier.close()
    """
    result = run_torch_program(program, tmp_path, check=False)
    assert result.returncode == 17, result.stderr
    assert result.stdout == "out of the loop False\n"
    assert not list(tmp_path.rglob("*.json*"))
