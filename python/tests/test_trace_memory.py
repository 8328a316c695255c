"""How much memory a process holds and a host has left, drawn and for real."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from support import run_program

from whyslow_capture.config import TraceConfig
from whyslow_capture.trace.budget import MB, WindowBudget
from whyslow_capture.trace.memory import HeapReader, HostMemory, MemoryReader

GB = 1024 * MB


def draw_host(root: Path, cgroup: str, files: dict[str, str]) -> MemoryReader:
    proc = root / "proc"
    (proc / "self").mkdir(parents=True)
    (proc / "meminfo").write_text("MemTotal:       16777216 kB\nMemFree: 1 kB\nMemAvailable:    8388608 kB\n")
    (proc / "self/statm").write_text("90000 5000 1000 1 0 1 0\n")
    (proc / "self/cgroup").write_text(cgroup)
    for name, content in files.items():
        (root / "cgroup" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "cgroup" / name).write_text(content)
    return MemoryReader(proc, root / "cgroup")


def test_the_machine_alone(tmp_path: Path) -> None:
    reader = draw_host(tmp_path, "0::/\n", {"memory.stat": ""})
    assert reader.host() == HostMemory(16 * GB, 8 * GB)
    assert reader.resident() == 4000 * 4096


def test_a_container_with_cgroup_v2(tmp_path: Path) -> None:
    files = {
        "memory.max": f"{4 * GB}\n",
        "memory.current": f"{3 * GB}\n",
        "memory.stat": f"anon 1\ninactive_file {GB}\n",
    }
    # Its path is the host's; in here only the root exists.
    reader = draw_host(tmp_path, "0::/kubepods/pod1\n", files)
    assert reader.host() == HostMemory(4 * GB, 2 * GB)


def test_a_limit_on_a_group_above(tmp_path: Path) -> None:
    files = {
        "slurm/job/memory.max": f"{2 * GB}\n",
        "slurm/job/memory.current": f"{GB}\n",
        "slurm/job/memory.stat": "inactive_file 0\n",
        "slurm/job/step/memory.max": "max\n",
        "slurm/job/step/memory.current": "1\n",
    }
    assert draw_host(tmp_path, "0::/slurm/job/step\n", files).host() == HostMemory(2 * GB, GB)


def test_cgroup_v1(tmp_path: Path) -> None:
    files = {
        "memory/docker/memory.limit_in_bytes": f"{GB}\n",
        "memory/docker/memory.usage_in_bytes": f"{GB // 2}\n",
        "memory/docker/memory.stat": f"cache 5\ntotal_inactive_file {GB // 4}\n",
        "memory/memory.limit_in_bytes": "9223372036854771712\n",
        "memory/memory.usage_in_bytes": "1\n",
    }
    cgroup = "5:cpu,cpuacct:/docker\n4:memory:/docker\n0::/\n"
    assert draw_host(tmp_path, cgroup, files).host() == HostMemory(GB, 3 * GB // 4)


def test_elsewhere_than_linux_nothing_is_known(tmp_path: Path) -> None:
    reader = MemoryReader(tmp_path / "no", tmp_path / "nowhere")
    assert reader.host() is None and reader.resident() is None
    budget = WindowBudget(TraceConfig(), tmp_path, own_memory=reader.resident, host_memory=reader.host)
    assert budget.refuse() is None
    budget.begin()
    budget.next_step()
    assert budget.look() is None


def test_this_host_for_real() -> None:
    # In a process of its own, here and below: in this one, what other tests left is collected at any moment.
    program = """
    from whyslow_capture.trace.memory import MemoryReader

    MB = 1 << 20
    host = MemoryReader().host()
    assert host is not None and 0 < host.available <= host.total, host
    for measure in (MemoryReader.own, MemoryReader.resident):
        reader = MemoryReader()
        before = measure(reader)
        held = b"x" * (64 * MB)
        reader._heap._next_at = 0.0  # It may not count again so soon.
        after = measure(reader)
        assert before is not None and after is not None
        assert 60 * MB < after - before < 70 * MB, (measure, before, after)
        del held
    """
    run_program(program)


def test_what_goes_into_free_memory_of_the_process_counts_too() -> None:
    """After a first big window (or data set) the heap has room: what is recorded next does not show as resident."""
    program = """
    from whyslow_capture.trace.memory import MemoryReader

    MB = 1 << 20
    reader = MemoryReader()
    heap = [bytes(1000) for _ in range(100_000)]
    kept = heap[::20]
    del heap  # its pages stay, as something is left on each
    resident, own = reader.resident(), reader.own()
    heap = [bytes(1000) for _ in range(50_000)]
    assert reader.resident() - resident < 10 * MB, (resident, reader.resident())
    reader._heap._next_at = 0.0
    assert reader.own() - own > 40 * MB, (own, reader.own())
    """
    run_program(program)


def test_with_another_allocator_the_resident_memory_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HeapReader, "in_use", lambda self: 12345)
    reader = MemoryReader()
    assert not HeapReader().is_in_charge
    assert (reader.own() or 0) > 50 * MB


def test_what_a_reader_tries_out_at_first_is_not_counted() -> None:
    program = """
    from whyslow_capture.trace.memory import HeapReader

    HeapReader.SHARE = 1e-9  # It does not count again.
    first = [HeapReader().in_use() for _ in range(5)]
    HeapReader.SHARE = 1e9  # It always does.
    again = [HeapReader().in_use() for _ in range(5)]
    assert max(first + again) - min(first + again) < 100_000, (first, again)
    """
    run_program(program)


@pytest.mark.parametrize(("own_share", "times"), [(1.0, 3), (0.001, 100)])
def test_counting_the_heap_is_limited(own_share: float, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By what it takes itself: while it waits for the interpreter's lock nothing is counted."""
    reader = HeapReader()
    now, own = [time.monotonic() + 100], [0.0]
    monkeypatch.setattr("whyslow_capture.trace.memory.time.monotonic", lambda: now[0])
    monkeypatch.setattr("whyslow_capture.trace.memory.time.thread_time", lambda: own[0])
    real, asked = reader._ask, []

    def slow() -> object:
        asked.append(now[0])
        now[0] += 0.08
        own[0] += own_share * 0.08
        return real()

    reader._ask = slow
    for _ in range(100):  # 20 s, looked at 5 times a second
        assert reader.in_use() is not None
        now[0] += 0.2
    assert len(asked) == times
