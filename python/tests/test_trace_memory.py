"""Memory of a process and of a host, simulated and real."""

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


def test_limits_of_the_machine(tmp_path: Path) -> None:
    reader = draw_host(tmp_path, "0::/\n", {"memory.stat": ""})
    assert reader.host() == HostMemory(16 * GB, 8 * GB)
    assert reader.resident() == 4000 * 4096


def test_a_container_with_cgroup_v2(tmp_path: Path) -> None:
    files = {
        "memory.max": f"{4 * GB}\n",
        "memory.current": f"{3 * GB}\n",
        "memory.stat": f"anon 1\ninactive_file {GB}\n",
    }
    # Its path is the host's; in the container only the root exists.
    reader = draw_host(tmp_path, "0::/kubepods/pod1\n", files)
    assert reader.host() == HostMemory(4 * GB, 2 * GB)


def test_a_limit_on_a_parent_group(tmp_path: Path) -> None:
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


def test_nothing_is_known_outside_linux(tmp_path: Path) -> None:
    reader = MemoryReader(tmp_path / "no", tmp_path / "nowhere")
    assert reader.host() is None and reader.resident() is None
    budget = WindowBudget(TraceConfig(), tmp_path, own_memory=reader.resident, host_memory=reader.host)
    assert budget.refuse() is None
    budget.begin()
    budget.next_step()
    assert budget.look() is None


def test_this_real_host() -> None:
    # In a separate process, because here the garbage collector may free memory of other tests at any time.
    program = """
    from whyslow_capture.trace.memory import MemoryReader

    MB = 1 << 20
    host = MemoryReader().host()
    assert host is not None and 0 < host.available <= host.total, host
    for measure in (MemoryReader.own, MemoryReader.resident):
        reader = MemoryReader()
        before = measure(reader)
        held = b"x" * (64 * MB)
        reader._heap._next_at = 0.0  # Allow another count at once.
        after = measure(reader)
        assert before is not None and after is not None
        assert 60 * MB < after - before < 70 * MB, (measure, before, after)
        del held
    """
    run_program(program)


def test_reused_heap_memory_counts() -> None:
    """After a first big window the heap has free memory, so the next recording does not show as resident."""
    program = """
    from whyslow_capture.trace.memory import MemoryReader

    MB = 1 << 20
    reader = MemoryReader()
    heap = [bytes(1000) for _ in range(100_000)]
    kept = heap[::20]
    del heap  # its pages stay, because each still holds something
    resident, own = reader.resident(), reader.own()
    heap = [bytes(1000) for _ in range(50_000)]
    assert reader.resident() - resident < 10 * MB, (resident, reader.resident())
    reader._heap._next_at = 0.0
    assert reader.own() - own > 40 * MB, (own, reader.own())
    """
    run_program(program)


def test_with_another_allocator_resident_memory_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HeapReader, "in_use", lambda self: 12345)
    reader = MemoryReader()
    assert not HeapReader().is_in_charge
    assert (reader.own() or 0) > 50 * MB


def test_the_probe_of_a_reader_is_not_counted() -> None:
    program = """
    from whyslow_capture.trace.memory import HeapReader

    HeapReader.SHARE = 1e-9  # Never counts again.
    first = [HeapReader().in_use() for _ in range(5)]
    HeapReader.SHARE = 1e9  # Always counts again.
    again = [HeapReader().in_use() for _ in range(5)]
    assert max(first + again) - min(first + again) < 100_000, (first, again)
    """
    run_program(program)


@pytest.mark.parametrize(("own_share", "times"), [(1.0, 3), (0.001, 100)])
def test_the_time_for_counting_the_heap_is_limited(
    own_share: float, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Limited by its own CPU time; waiting for the interpreter lock does not count."""
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
    for _ in range(100):  # 20 s with 5 readings a second
        assert reader.in_use() is not None
        now[0] += 0.2
    assert len(asked) == times
