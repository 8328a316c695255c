"""A window is refused or cut short before it harms the host, and keeps what it has recorded."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from old_torch import is_before
from support import run_torch_program
from trace_support import files_in, make_tier, read_trace, steps_in, train

from whyslow_capture.config import TraceConfig
from whyslow_capture.trace.budget import MB, WindowBudget, free_disk, ranks_sharing_host
from whyslow_capture.trace.memory import HeapReader, HostMemory

GB = 1024 * MB


class FakeHost:
    """A simulated host."""

    def __init__(self) -> None:
        self.own, self.memory, self.disk = 1 * GB, HostMemory(64 * GB, 32 * GB), (500 * GB, 1000 * GB)
        self.now = 0.0

    def budget(self, sharers: int = 1, **options: object) -> WindowBudget:
        return WindowBudget(
            TraceConfig(**{"budget_mb": 2048, **options}),  # type: ignore[arg-type]
            Path("/out"),
            sharers,
            own_memory=lambda: self.own,
            host_memory=lambda: self.memory,
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


def test_the_memory_needed_at_stop_counts() -> None:
    host = FakeHost()
    budget = host.budget()
    assert budget.refuse() is None
    budget.begin()
    host.own += 280 * MB
    budget.next_step()
    assert budget.look() is None
    host.own += 20 * MB  # 300 MB recorded need 2.1 GB at stop
    budget.next_step()
    verdict = budget.look()
    assert verdict is not None and not verdict.is_critical
    assert "300 MB" in verdict.reason and "the limit is 2,048 MB" in verdict.reason
    rich = host.budget(record_shapes=True)
    host.own -= 300 * MB
    rich.begin()
    host.own += 240 * MB
    rich.next_step()
    assert rich.look() is not None
    assert host.budget().look() is None  # recording has not begun


def test_the_jobs_working_memory_does_not_count() -> None:
    """A CPU job holds activations within a step and frees them before the next."""
    host = FakeHost()
    budget = host.budget()
    budget.begin()
    for _ in range(5):
        host.now += 0.5
        host.own += 10 * GB
        assert budget.look() is None
        host.own -= 10 * GB
        budget.next_step()
    # In a long step, memory seen during warm-up counts as the job's own.
    seen = host.budget()
    seen.learn()
    host.own += 10 * GB
    seen.learn()
    host.own -= 10 * GB
    seen.learn()
    seen.begin()
    host.now += 60
    host.own += 10 * GB + 200 * MB
    assert seen.look() is None
    host.own += 200 * MB
    verdict = seen.look()
    assert verdict is not None and "400 MB" in verdict.reason


def test_working_memory_counts_from_the_begin_of_a_step() -> None:
    """The first reading in the warm-up may come when the job has already allocated some of it."""
    host = FakeHost()
    budget = host.budget()
    host.own += GB
    budget.learn()
    host.own += GB
    budget.learn()
    host.own -= 2 * GB
    budget.begin()
    host.now += 60
    host.own += 2 * GB
    assert budget.look() is None


def test_a_reading_within_a_step_is_not_used_at_a_boundary(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting a fragmented heap is slow, so it is done rarely and the last value is returned in between."""
    held, now = [GB], [time.monotonic() + 100]
    monkeypatch.setattr("whyslow_capture.trace.memory.time.monotonic", lambda: now[0])

    def in_use(reader: HeapReader) -> int:
        if now[0] >= reader._next_at:
            reader._last, reader._next_at = held[0], now[0] + 8
        return reader._last

    monkeypatch.setattr(HeapReader, "_counts", lambda _: True)
    budget = WindowBudget(TraceConfig(budget_mb=2048), Path("/out"), disk=lambda _: (GB, GB), now=lambda: now[0])
    monkeypatch.setattr(HeapReader, "in_use", in_use)
    held[0] += 2 * GB
    budget.learn()
    held[0], now[0] = held[0] - 2 * GB, now[0] + 9
    budget.begin()
    held[0], now[0] = held[0] + 2 * GB + 100 * MB, now[0] + 9
    assert budget.look() is None
    held[0], now[0] = held[0] - 2 * GB, now[0] + 1
    budget.next_step()
    assert budget.look() is None


def test_a_host_without_memory_is_critical() -> None:
    host = FakeHost()
    budget = host.budget()
    budget.begin()
    host.own += 100 * MB
    host.now += 3  # a long step
    host.memory = HostMemory(64 * GB, int(3.7 * GB))
    verdict = budget.look()
    assert verdict is not None and verdict.is_critical
    assert "3,789 MB" in verdict.reason and "600 MB" in verdict.reason
    # 8 ranks stop at the same time.
    host.memory = HostMemory(64 * GB, 7 * GB)
    assert budget.look() is None
    shared = host.budget(sharers=8)
    host.own -= 100 * MB
    shared.begin()
    host.own += 100 * MB
    shared.next_step()
    verdict = shared.look()
    assert verdict is not None and "on each of 8 ranks" in verdict.reason


def test_little_memory_means_a_smaller_allowance() -> None:
    host = FakeHost()
    host.memory = HostMemory(64 * GB, int(3.2 * GB) + 210 * MB)
    budget = host.budget()
    assert budget.refuse() is None
    budget.begin()
    host.own += 31 * MB
    budget.next_step()
    verdict = budget.look()
    assert verdict is not None and "trace.budget_mb is 2048" in verdict.reason


def test_a_disk_that_fills_up() -> None:
    host = FakeHost()
    budget = host.budget()
    budget.begin()
    host.own += 100 * MB
    budget.next_step()
    host.disk = (250 * MB, 1000 * GB)
    verdict = budget.look()
    assert verdict is not None and "250 MB" in verdict.reason and "200 MB" in verdict.reason
    # After stop the process has grown to seven times the recording.
    host.own += 600 * MB
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


def tight(allowed_growth: int) -> Callable[[Path, object], WindowBudget]:
    """A budget that is used up when this process grows by this much, also within a step of half a second."""
    options = TraceConfig(budget_mb=max(1, 7 * allowed_growth // MB))
    return lambda folder, _: WindowBudget(options, folder, long_step_s=0.5)


def test_no_window_without_memory(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    host = FakeHost()
    host.memory = HostMemory(64 * GB, GB)
    tier = make_tier(tmp_path, period=2, active=1, tier={"new_budget": lambda *_: host.budget()})
    train(tier, range(9))
    tier.close()
    warnings = [line for line in capfd.readouterr().err.splitlines() if line.startswith("whyslow_capture")]
    assert len(warnings) == 1 and "1,024 MB of memory left" in warnings[0]
    assert list(tmp_path.iterdir()) == []
    assert tier.summary()["counts"] == {"failed": 5}


# -- real memory: in separate processes, because in this one the garbage collector may run at any time --------------

PRELUDE = f"""
    import json, sys, time
    sys.path.insert(0, {str(Path(__file__).parent)!r})
    from pathlib import Path
    import torch
    from trace_support import make_tier, train, work
    from test_trace_budget import tight, MB
    from whyslow_capture.trace.memory import MemoryReader
    from whyslow_capture.trace.profiler_use import torch_profiler_enabled
    from whyslow_capture.problems import ProblemLog
    out = Path(sys.argv[1])
"""


def test_cut_at_the_next_step(tmp_path: Path) -> None:
    program = (
        PRELUDE
        + """
    problems = ProblemLog()
    tier = make_tier(out, problems, period=1000, active=900, tier={"new_budget": tight(4 * MB)})
    tier.begin_step(99)
    for step in range(100, 1000):
        tier.begin_step(step)
        if not tier.busy and step > 101:
            break
        work(2_000)
    tier.close()
    print(json.dumps([step, problems.counts, tier.summary()["windows"]]))
    """
    )
    result = run_torch_program(program, tmp_path)
    after, counts, (window,) = json.loads(result.stdout)
    (path,) = tmp_path.rglob("*.gz")
    recorded = steps_in(path)
    assert recorded == list(range(100, after)) and 1 < len(recorded) < 800
    warnings = [line for line in result.stderr.splitlines() if line.startswith("whyslow_capture")]
    assert len(warnings) == 1 and "cut short" in warnings[0] and "the limit is" in warnings[0]
    assert counts == {"trace_cut": 1}
    assert window["status"] == "cut" and window["last_step"] == recorded[-1]
    assert read_trace(path)["whyslow_cut"] == window["message"]


def test_memory_of_the_job_does_not_cut_the_window(tmp_path: Path) -> None:
    program = (
        PRELUDE
        + """
    from whyslow_capture.trace.budget import WindowBudget
    learn, learned = WindowBudget.learn, [0]
    def counted(self):
        learn(self)
        learned[0] += 1
    WindowBudget.learn = counted
    tier = make_tier(out, period=10, active=4, tier={"new_budget": tight(4 * MB)})
    def step(number):
        activations = [torch.full((16 * MB,), 1.0) for _ in range(3)]  # 192 MB
        enough, end = learned[0] + 2, time.monotonic() + 60
        while number == 5 and learned[0] < enough and time.monotonic() < end:
            time.sleep(0.01)  # warming up, in a step long enough for the watchdog to see its peak
        time.sleep(0.3)
    train(tier, range(4, 11), step)
    tier.close()
    print(tier.summary()["counts"])
    """
    )
    assert run_torch_program(program, tmp_path).stdout == "{'done': 1}\n"


def test_cut_at_the_next_phase(tmp_path: Path) -> None:
    program = (
        PRELUDE
        + """
    watches = []
    given = {"new_budget": tight(4 * MB), "recorder_watch_setter": watches.append}
    tier = make_tier(out, period=10, active=1, tier=given)
    train(tier, (8, 9))
    (watch,) = watches
    x, end = torch.ones(4), time.monotonic() + 60
    while tier.busy and time.monotonic() < end:
        for _ in range(100):
            x.add_(1)
        time.sleep(0.001)
        watch()
    assert watches == [watch, None]
    assert not torch_profiler_enabled()
    train(tier, (10, 11))
    tier.close()
    print(tier.summary()["counts"])
    """
    )
    assert run_torch_program(program, tmp_path).stdout == "{'cut': 1}\n"
    (path,) = tmp_path.rglob("*.gz")
    assert steps_in(path) == [9]


def test_memory_is_returned_to_the_host(tmp_path: Path) -> None:
    program = (
        PRELUDE
        + """
    reader = MemoryReader()
    tier = make_tier(out, period=2, warmup=0, active=1)
    train(tier, (0, 1))
    before = reader.resident()
    work(40_000)
    tier.begin_step(2)
    tier.close()
    print((reader.resident() - before) // MB)
    """
    )
    # 80,000 events, about 100 MB in torch.
    assert int(run_torch_program(program, tmp_path).stdout) < 30


# -- inside a step that never ends -------------------------------------------------------------------------------------

LONG_STEP = (
    PRELUDE
    + """
    def go(body, **options):
        tier = make_tier(Path(sys.argv[1]), period=2, active=1, tier={"new_budget": tight(4 * MB)}, **options)
        tier.begin_step(0)
        tier.begin_step(1)
        assert torch_profiler_enabled()
        body(tier)
        assert not torch_profiler_enabled()
        tier.begin_step(2)
        tier.begin_step(3)   # the next window still works
        torch.ones(3) + 1
        tier.begin_step(4)
        tier.close()
        print(dict(sorted(tier.summary()["counts"].items())))
"""
)


def test_cut_inside_a_step_that_does_not_end(tmp_path: Path) -> None:
    program = (
        LONG_STEP
        + """
    def endless(tier):
        x, end = torch.ones(4), time.monotonic() + 60
        with torch.profiler.record_function("rollout"):
            while tier.busy and time.monotonic() < end:
                for _ in range(10):
                    x.add_(1)
                time.sleep(0.001)
    go(endless)
    """
    )
    result = run_torch_program(program, tmp_path)
    assert result.stdout == "{'cut': 1, 'done': 1, 'missed': 1}\n"
    assert files_in(tmp_path) == [f"traces/step_{n}/rank-0-coord-0-trace.json.gz" for n in (1, 3)]
    path = tmp_path / "traces/step_1/rank-0-coord-0-trace.json.gz"
    assert steps_in(path) == [1]
    events = read_trace(path)["traceEvents"]
    assert sum(event["name"] == "aten::add_" for event in events) > 5_000
    (rollout,) = [event for event in events if event["name"] == "rollout" and event["ph"] == "X"]
    # torch 2.3 writes only the begin of operations that have not ended.
    assert rollout["dur"] > 0 or is_before("2.4")
    assert steps_in(tmp_path / "traces/step_3/rank-0-coord-0-trace.json.gz") == [3]


def test_cut_right_after_a_backward_pass(tmp_path: Path) -> None:
    """autograd restores its thread state at the end of the pass, so a profiler stopped inside would be on again."""
    program = (
        LONG_STEP
        + """
    class Slow(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2
        @staticmethod
        def backward(ctx, gradient):
            for _ in range(25_000):
                gradient = gradient + 0
            end = time.monotonic() + 2.5   # longer than the watchdog's patience
            while time.monotonic() < end:
                time.sleep(0.001)
            print("still open", tier_of[0].busy)
            return gradient * 2
    tier_of = []
    def body(tier):
        tier_of.append(tier)
        Slow.apply(torch.ones(4, requires_grad=True)).sum().backward()
        end = time.monotonic() + 30
        while tier.busy and time.monotonic() < end:
            pass
    go(body)
    """
    )
    result = run_torch_program(program, tmp_path)
    assert result.stdout == "still open True\n{'cut': 1, 'done': 1, 'missed': 1}\n"


def test_sys_exit_during_a_cut_is_not_swallowed(tmp_path: Path) -> None:
    program = (
        LONG_STEP
        + """
    import os, signal
    def handler(*_):
        raise SystemExit(17)
    signal.signal(signal.SIGTERM, handler)
    from whyslow_capture.trace import window
    real = window.Window.save
    def save(self, raw):
        os.kill(os.getpid(), signal.SIGTERM)
        for _ in range(1000):
            pass
        return real(self, raw)
    window.Window.save = save
    def body(tier):
        x = torch.ones(4)
        try:
            while True:
                for _ in range(10):
                    x.add_(1)
                time.sleep(0.001)
        finally:
            print("out of the loop", tier.busy)
            tier.close()
    go(body)
    """
    )
    result = run_torch_program(program, tmp_path, check=False)
    assert result.returncode == 17, result.stderr
    assert result.stdout == "out of the loop False\n"
    assert files_in(tmp_path) == []
