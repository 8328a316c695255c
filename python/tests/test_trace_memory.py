"""Memory of a host, simulated and real."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from whyslow_capture.config import TraceConfig
from whyslow_capture.trace.budget import MB, HostMemory, WindowBudget, host_memory

GB = 1024 * MB


def draw_host(root: Path, cgroup: str, files: dict[str, str]) -> Callable[[], HostMemory | None]:
    proc = root / "proc"
    (proc / "self").mkdir(parents=True)
    (proc / "meminfo").write_text("MemTotal:       16777216 kB\nMemFree: 1 kB\nMemAvailable:    8388608 kB\n")
    (proc / "self/cgroup").write_text(cgroup)
    for name, content in files.items():
        (root / "cgroup" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "cgroup" / name).write_text(content)
    return lambda: host_memory(proc, root / "cgroup")


def test_limits_of_the_machine(tmp_path: Path) -> None:
    draw = draw_host(tmp_path, "0::/\n", {"memory.stat": ""})
    assert draw() == HostMemory(16 * GB, 8 * GB)


def test_a_container_with_cgroup_v2(tmp_path: Path) -> None:
    files = {
        "memory.max": f"{4 * GB}\n",
        "memory.current": f"{3 * GB}\n",
        "memory.stat": f"anon 1\ninactive_file {GB}\n",
    }
    # Its path is the host's; in the container only the root exists.
    draw = draw_host(tmp_path, "0::/kubepods/pod1\n", files)
    assert draw() == HostMemory(4 * GB, 2 * GB)


def test_a_limit_on_a_parent_group(tmp_path: Path) -> None:
    files = {
        "slurm/job/memory.max": f"{2 * GB}\n",
        "slurm/job/memory.current": f"{GB}\n",
        "slurm/job/memory.stat": "inactive_file 0\n",
        "slurm/job/step/memory.max": "max\n",
        "slurm/job/step/memory.current": "1\n",
    }
    assert draw_host(tmp_path, "0::/slurm/job/step\n", files)() == HostMemory(2 * GB, GB)


def test_cgroup_v1(tmp_path: Path) -> None:
    files = {
        "memory/docker/memory.limit_in_bytes": f"{GB}\n",
        "memory/docker/memory.usage_in_bytes": f"{GB // 2}\n",
        "memory/docker/memory.stat": f"cache 5\ntotal_inactive_file {GB // 4}\n",
        "memory/memory.limit_in_bytes": "9223372036854771712\n",
        "memory/memory.usage_in_bytes": "1\n",
    }
    cgroup = "5:cpu,cpuacct:/docker\n4:memory:/docker\n0::/\n"
    assert draw_host(tmp_path, cgroup, files)() == HostMemory(GB, 3 * GB // 4)


def test_nothing_is_known_outside_linux(tmp_path: Path) -> None:
    assert host_memory(tmp_path / "no", tmp_path / "nowhere") is None
    budget = WindowBudget(TraceConfig(), tmp_path, memory=lambda: None)
    assert budget.refuse() is None
    budget.begin()
    assert budget.look() is None


def test_this_real_host() -> None:
    host = host_memory()
    assert host is not None and 0 < host.available <= host.total
