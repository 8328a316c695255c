"""Faults around a window: the job goes on, one warning appears, and no partial files are left."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import run_torch_program
from trace_support import files_in, make_tier, steps_in, train, work

from whyslow_capture.problems import ProblemLog
from whyslow_capture.trace import export, profiler
from whyslow_capture.trace.profiler_use import torch_profiler_enabled

HERE = Path(__file__).parent


def warnings_in(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("whyslow_capture")]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 40 MB, if this user may mount. Otherwise the test limits the size of files instead."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", folder], capture_output=True)
    yield folder
    if mounted.returncode == 0:
        subprocess.run(["umount", folder], check=True)


class Full:
    """Leaves `left` bytes on the small disk, or limits file sizes if there is no such disk."""

    def __init__(self, folder: Path, left: int) -> None:
        self._folder, self._left = folder, left
        self._limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def __enter__(self) -> None:
        if os.path.ismount(self._folder):
            free = shutil.disk_usage(self._folder).free
            (self._folder / "filler").write_bytes(b"x" * (free - self._left))
        else:
            resource.setrlimit(resource.RLIMIT_FSIZE, (self._left, self._limits[1]))

    def __exit__(self, *_: object) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, self._limits)
        (self._folder / "filler").unlink(missing_ok=True)


def after(tier: Any, folder: Path, problems: ProblemLog, err: str, about: str) -> None:
    """One warning, no leftovers, and the tier works again once the problem is gone."""
    assert not torch_profiler_enabled()
    (warning,) = warnings_in(err)
    assert about in warning
    assert sum(problems.counts.values()) == 1
    assert files_in(folder) == []
    train(tier, range(5, 9))
    tier.close()
    assert [steps_in(path) for path in folder.rglob("*.gz")] == [[7]], tier.summary()


def test_the_disk_is_full_when_the_trace_is_written(
    small_disk: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Neither before it is written nor, on a busy machine, while the disk fills up.
    for check in ("refuse_export", "look"):
        monkeypatch.setattr(f"whyslow_capture.trace.budget.WindowBudget.{check}", lambda _: None)
    problems = ProblemLog()
    tier = make_tier(small_disk, problems, period=4, active=1, budget_mb=64)
    train(tier, range(4))
    with Full(small_disk, left=20_000):
        tier.begin_step(4)
    after(tier, small_disk, problems, capfd.readouterr().err, "disk full")


def test_a_trace_that_will_not_fit_is_not_written(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from test_trace_budget import FakeHost

    host, problems = FakeHost(), ProblemLog()
    tier = make_tier(tmp_path, problems, period=4, active=1, tier={"new_budget": lambda *_: host.budget()})
    train(tier, range(4))
    host.now += 4
    tier._driver._budget.learn(100_825, 1.0, is_whole_step=True)
    whole, host.disk = host.disk, (100 << 20, 1 << 40)
    tier.begin_step(4)
    host.disk = whole
    after(tier, tmp_path, problems, capfd.readouterr().err, "100 MB left, and the trace needs about 200 MB")


def test_a_file_size_limit_acts_like_a_full_disk(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    problems = ProblemLog()
    tier = make_tier(tmp_path, problems, period=4, active=1)
    train(tier, range(4))
    with Full(tmp_path, left=20_000):
        tier.begin_step(4)
    after(tier, tmp_path, problems, capfd.readouterr().err, "disk full")


def test_complete_and_truncated_traces(tmp_path: Path) -> None:
    """Endings of traces as torch 2.3, 2.6 and 2.13 write them, and as a full disk truncates them."""
    file = tmp_path / "trace.json"
    for text, is_whole in (
        ('{\n  "traceEvents": [\n  {\n    "ph": "X"\n  }\n  ],\n  "traceName": "x"\n}', True),
        ('{\n  "traceEvents": [\n  {\n    "ph": "X"\n  }\n  ],\n  "baseTimeNanoseconds": 179\n}\n', True),
        ('{\n  "traceEvents": [\n  {\n    "ph": "X"\n  }\n  ],"traceName": "x" }', True),
        ('{\n  "traceEvents": [\n  {\n    "ph": "X"\n  }', False),
        ('{\n  "traceEvents": [\n  {\n    "ph": "X"\n  }\n  ],\n  "traceName": "x"\n', False),
        ('{\n  "traceEvents": [\n  {\n    "ph": "X', False),
        ("", False),
    ):
        file.write_text(text)
        assert profiler._is_whole(str(file)) == is_whole, text


def test_the_disk_is_full_when_the_trace_is_compressed(
    small_disk: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = export.Exporter._compress

    # A file size limit also applies to the file that stderr goes to.
    left = 0 if os.path.ismount(small_disk) else 1_000

    def fills_up(self: Any, task: Any) -> Any:
        with Full(small_disk, left):
            return real(self, task)

    problems = ProblemLog()
    tier = make_tier(small_disk, problems, period=4, active=1, budget_mb=64)
    with monkeypatch.context() as patch:
        patch.setattr(export.Exporter, "_compress", fills_up)
        train(tier, range(5))
        wait_for(lambda: problems.counts)
    # A deleted file frees its blocks a little later.
    wait_for(lambda: not files_in(small_disk) and shutil.disk_usage(small_disk).free > 30 << 20)
    after(tier, small_disk, problems, capfd.readouterr().err, "compressing it failed")


def test_the_disk_is_too_small_for_any_trace(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", tmp_path], capture_output=True)
    options: dict[str, Any] = {}
    if mounted.returncode != 0:
        from test_trace_budget import FakeHost

        host = FakeHost()
        host.disk = (2 << 20, 2 << 20)
        options = {"tier": {"new_budget": lambda *_: host.budget()}}
    try:
        tier = make_tier(tmp_path, period=4, active=1, **options)
        train(tier, range(9))
        tier.close()
        (warning,) = warnings_in(capfd.readouterr().err)
        assert "2.0 MB left" in warning
        assert files_in(tmp_path) == []
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", tmp_path], check=True)


def wait_for(condition: Any, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_trace_folder_that_cannot_be_created(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file"
    file.write_text("in the way")
    tier = make_tier(file / "out", period=2, active=1)
    train(tier, range(7))
    tier.close()
    (warning,) = warnings_in(capfd.readouterr().err)
    assert "NotADirectoryError" in warning
    assert files_in(tmp_path) == ["file"]
    assert tier.summary()["counts"] == {"failed": 4}


def test_a_read_only_folder(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may write anywhere except on a read-only mount, which most containers do not allow."""
    traces = tmp_path / "traces"
    traces.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", traces], capture_output=True)
    if mounted.returncode != 0:
        traces.chmod(0o500)
        if os.access(traces, os.W_OK):

            def refused(*_: object, **__: object) -> None:
                raise PermissionError(errno.EACCES, "Permission denied")

            monkeypatch.setattr(Path, "mkdir", refused)
    try:
        tier = make_tier(tmp_path, period=2, active=1)
        train(tier, range(7))
        tier.close()
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", traces], check=True)
    (warning,) = warnings_in(capfd.readouterr().err)
    assert "Read-only" in warning or "Permission" in warning
    assert files_in(tmp_path) == []


def test_a_deleted_trace_folder_is_created_again(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    tier = make_tier(out, period=4, active=1)
    train(tier, range(4))
    shutil.rmtree(out)
    train(tier, range(4, 9))
    tier.close()
    assert warnings_in(capfd.readouterr().err) == []
    assert [steps_in(path) for path in sorted(out.rglob("*.gz"))] == [[3], [7]]


def test_a_trace_folder_that_is_deleted_for_good(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    problems, out = ProblemLog(), tmp_path / "out"
    tier = make_tier(out, problems, period=4, active=1)
    train(tier, range(4))
    shutil.rmtree(out)
    out.write_text("a file now")
    tier.begin_step(4)
    out.unlink()
    after(tier, tmp_path, problems, capfd.readouterr().err, "NotADirectoryError")


def test_profiler_failures_do_not_reach_the_job(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for method in ("prepare", "start"):
        problems = ProblemLog()
        tier = make_tier(tmp_path, problems, period=4, active=1)
        with monkeypatch.context() as patch:

            def fails(self: object) -> None:
                raise RuntimeError("no such luck")

            patch.setattr(f"whyslow_capture.trace.profiler.WindowProfiler.{method}", fails)
            train(tier, range(5))
        (warning,) = warnings_in(capfd.readouterr().err)
        assert "no such luck" in warning
        assert not torch_profiler_enabled()
        tier.close()
        assert files_in(tmp_path) == []
    # A profiler that was only prepared does not block the next window.
    tier = make_tier(tmp_path, period=2, active=1)
    train(tier, range(3))
    tier.close()
    assert len(files_in(tmp_path)) == 1


def test_no_time_to_compress(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    may_end = threading.Event()
    real = export.compress

    def slow(*args: Any) -> int:
        size = real(*args)
        assert may_end.wait(60)
        return size

    monkeypatch.setattr(export, "compress", slow)
    tier = make_tier(tmp_path, period=2, active=1)
    train(tier, range(3))
    tier.close(timeout=0.3)
    may_end.set()
    (warning,) = warnings_in(capfd.readouterr().err)
    assert "the job ended before it was compressed" in warning
    assert tier.summary()["windows"][0]["status"] == "failed"
    compressing = tier._delivery.exporter._thread
    assert compressing is not None
    compressing.join(60)  # it has a low priority on a busy machine
    assert not compressing.is_alive() and files_in(tmp_path) == []


# -- real processes ---------------------------------------------------------------------------------------------------

PRELUDE = f"""
    import os, sys, time, threading
    sys.path.insert(0, {str(HERE)!r})
    from pathlib import Path
    import torch
    from torch.profiler import profile, schedule, ProfilerActivity
    from trace_support import make_tier, resident, train, work, steps_in, read_trace
    from whyslow_capture.problems import ProblemLog
    out = Path(sys.argv[1])
    problems = ProblemLog()
    def theirs(**options):
        import torch._inductor.config  # otherwise the profiler imports it while it records
        return profile(activities=[ProfilerActivity.CPU], **options)
    def exported(p, name):
        p.export_chrome_trace(str(out / name))
        import json
        return sum(e.get("name") == "aten::add" for e in json.loads((out / name).read_text())["traceEvents"])
"""


def test_the_job_has_its_own_profiler(tmp_path: Path) -> None:
    """torch crashes if two profilers are started. Here the job's and ours must both survive."""
    program = (
        PRELUDE
        + """
    # The job's profiler runs, so no window opens.
    tier = make_tier(out, problems, period=4, active=1)
    with theirs() as p:
        train(tier, range(5))
    print("running:", exported(p, "a.json"), problems.counts)

    # The job's profiler warms up (nothing is enabled yet), so no window opens either.
    ready = lambda p: print("theirs:", exported(p, "b.json"))
    p = theirs(schedule=schedule(wait=0, warmup=3, active=2), on_trace_ready=ready)
    p.start()
    for step in range(5, 10):
        tier.begin_step(step)
        work()
        p.step()
    p.stop()
    print(problems.counts)

    # Between its cycles our window may open. When its profiler begins inside our window, ours ends.
    tier.begin_step(10)
    tier.begin_step(11)
    work(7)
    with theirs() as p:
        work(9)
        tier.begin_step(12)
    print("during ours:", exported(p, "c.json"), tier.busy, problems.counts)

    # The same with emit_itt, which raises if a profiler is on.
    tier.begin_step(14)
    tier.begin_step(15)
    work(3)
    with torch.autograd.profiler.emit_itt():
        work()
    # After all that our windows still work.
    train(tier, range(16, 21))
    tier.close()
    print(sorted(steps_in(p) for p in out.rglob("*.gz")), tier.summary()["counts"])
    """
    )
    result = run_torch_program(program, tmp_path)
    assert result.stdout.splitlines() == [
        "running: 100 {'trace_rival': 1}",
        "theirs: 40",
        "{'trace_rival': 2}",
        "during ours: 9 False {'trace_rival': 3}",
        "[[11], [15], [19]] {'failed': 2, 'cut': 2, 'done': 1}",
    ]
    assert len(warnings_in(result.stderr)) == 1


def test_the_job_profiles_in_another_thread(tmp_path: Path) -> None:
    program = (
        PRELUDE
        + """
    watches = []
    tier = make_tier(out, problems, period=4, active=1, tier={"recorder_watch_setter": watches.append})
    train(tier, range(4))
    def elsewhere():
        with theirs() as p:
            work(9)
        print("theirs:", exported(p, "a.json"))
    thread = threading.Thread(target=elsewhere)
    thread.start()
    while thread.is_alive():
        work(1)
        time.sleep(0.001)
        if watches[-1] is not None:
            watches[-1]()   # a phase ends
    print(tier.busy)
    train(tier, range(4, 9))
    tier.close()
    print(sorted(steps_in(p) for p in out.rglob("*.gz")), tier.summary()["counts"])

    # Ours cannot be ended, because its thread waits for the job's. It is abandoned, and nothing crashes.
    from whyslow_capture.trace import window_driver
    window_driver.GIVE_WAY_S = 0.5
    tier = make_tier(out, problems, period=4, active=1, tier={"on_demand": True})
    train(tier, range(4))
    thread = threading.Thread(target=lambda: time.sleep(0.5) or elsewhere())
    thread.start()
    thread.join()
    train(tier, range(4, 20))
    tier.close()
    ours = [t for t in threading.enumerate() if t.name.startswith("whyslow")]
    for thread in ours:
        thread.join(20)  # ends the next time it runs
    print(tier.summary()["counts"], [t.name for t in ours if t.is_alive()])
    work(30_000)
    before = resident()
    work(30_000)
    print("recorded on:", resident() - before > 4_000_000)
    """
    )
    result = run_torch_program(program, tmp_path)
    assert result.stdout.splitlines() == [
        "theirs: 9",
        "False",
        "[[3], [7]] {'cut': 1, 'done': 1}",
        "theirs: 9",
        "{'failed': 1} []",
        "recorded on: False",
    ]


def test_a_fork_inside_a_window(tmp_path: Path) -> None:
    """A child such as a DataLoader worker must not record, write or stop anything."""
    program = (
        PRELUDE
        + """
    tier = make_tier(out, problems, period=4, active=1)
    os.register_at_fork(after_in_child=tier.after_fork_in_child)
    train(tier, range(4))
    child = os.fork()
    if child == 0:
        before = resident()
        work(30_000)
        grown = resident() - before
        train(tier, range(4, 40))
        tier.close()
        os._exit(0 if grown < 4_000_000 and not tier.busy else 1)
    print(os.waitpid(child, 0)[1], tier.busy)
    train(tier, range(4, 9))
    tier.close()
    print(sorted(steps_in(p) for p in out.rglob("*.gz")))
    """
    )
    result = run_torch_program(program, tmp_path)
    assert result.stdout.splitlines() == ["0 True", "[[3], [7]]"]
    assert len(files_in(tmp_path)) == 2


def test_leftovers_of_a_killed_process_are_cleaned_up(tmp_path: Path) -> None:
    program = (
        PRELUDE
        + """
    from whyslow_capture.trace import export
    def killed(*args):
        print(os.getpid(), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    export.compress = killed
    tier = make_tier(out, problems, period=2, active=1)
    train(tier, range(3))
    time.sleep(60)
    """
    )
    result = run_torch_program("    import signal\n" + program, tmp_path, check=False)
    assert result.returncode == -signal.SIGKILL, result.stderr
    pid = int(result.stdout)
    (left,) = files_in(tmp_path)
    assert f"-{pid}-x" in left
    folder = (tmp_path / left).parent
    # Files of another rank, another host or a living process must stay.
    kept = [
        left.replace("rank-0-", "rank-1-"),
        left.replace(f"-{pid}-x", f"-{os.getppid()}-x"),
        str(Path(left).with_name(".rank-0-coord-0-trace.json.gz.partial-elsewhere-1.json")),
    ]
    for name in kept:
        (tmp_path / name).write_text("")
    # An earlier process with our id: containers reuse process ids.
    same = folder / f".rank-0-coord-0-trace.json.gz.partial-{os.uname().nodename}-{os.getpid()}.json.tmp"
    same.write_text("")
    os.utime(same, (1, 1))
    problems = ProblemLog()
    make_tier(tmp_path, problems, period=2, active=1).close()
    assert files_in(tmp_path) == sorted(kept)
    assert problems.counts == {"trace_stale_files": 2}


def test_exit_inside_a_window_flushes_and_a_crash_keeps_its_exit_code(tmp_path: Path) -> None:
    program = (
        PRELUDE
        + """
    import atexit
    tier = make_tier(out, problems, period=8, active=4)
    atexit.register(tier.close)
    train(tier, range(6))
    sys.exit(9)
    """
    )
    result = run_torch_program(program, tmp_path, check=False)
    assert result.returncode == 9
    assert [steps_in(path) for path in tmp_path.rglob("*.gz")] == [[4, 5]]
    assert len(files_in(tmp_path)) == 1
    assert warnings_in(result.stderr) == []


def test_a_job_that_trains_in_a_thread_can_end_inside_a_window(tmp_path: Path) -> None:
    """A profiler left on when the process ends crashes it."""
    program = (
        PRELUDE
        + """
    tier = make_tier(out, problems, period=8, active=4)
    thread = threading.Thread(target=train, args=(tier, range(6)))
    thread.start()
    thread.join()
    tier.close()
    print(tier.summary()["counts"])

    tier = make_tier(out, problems, period=8, active=4)
    is_recording = threading.Event()
    def endless():
        for step in range(10**9):
            tier.begin_step(min(step, 6))
            if step == 6:
                is_recording.set()
            time.sleep(0.05)
    threading.Thread(target=endless, daemon=True).start()
    assert is_recording.wait(60)
    tier.close()   # called by the main thread, waits for the next step
    print(tier.summary()["counts"])
    """
    )
    result = run_torch_program(program, tmp_path)
    assert result.stdout.splitlines() == ["{'failed': 1}", "{'cut': 1}"]
    assert files_in(tmp_path) == ["traces/step_4/rank-0-coord-0-trace.json.gz"]


def test_ctrl_c_at_any_point_of_a_window_passes_and_leaves_no_files(tmp_path: Path) -> None:
    """Interrupted in stop, export or release, KeyboardInterrupt passes, the window is over, and torch still works."""
    from whyslow_capture.trace import window as module

    for method in ("stop", "save", "release", "next_step", "record"):
        out = tmp_path / method
        tier = make_tier(out, period=4, active=2)
        real = getattr(module.Window, method)
        raised: list[int] = []

        def interrupted(self: Any, *args: Any, real: Any = real, raised: Any = raised) -> Any:
            if not raised:
                raised.append(1)
                real(self, *args)
                raise KeyboardInterrupt
            return real(self, *args)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module.Window, method, interrupted)
            with pytest.raises(KeyboardInterrupt):
                train(tier, range(6))
            tier.close()
        assert not torch_profiler_enabled(), method
        assert not any(".partial-" in name for name in files_in(out)), method
    tier = make_tier(tmp_path / "again", period=2, active=1)
    train(tier, range(3), lambda _: work())
    tier.close()
    assert len(files_in(tmp_path / "again")) == 1
