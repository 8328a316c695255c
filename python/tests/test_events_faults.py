"""Faults around the events file: training goes on, one warning appears, and the file stays readable."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest
from support import lines_of, make, records_of, run_torch_program

from whyslow_capture import layout

LOOP = f"""
    import sys, time
    sys.path.insert(0, {str(Path(__file__).parent)!r})
    from support import make
    from pathlib import Path
    cap = make(Path(sys.argv[1]), record_every_n_steps=1, flush_every_n_steps=1)
"""


def one_warning(stderr: str, about: str) -> None:
    lines = [line for line in stderr.splitlines() if line.startswith("whyslow_capture")]
    assert len(lines) == 1, stderr
    assert about in lines[0]


def test_sigkill_leaves_whole_records(tmp_path: Path) -> None:
    program = (
        LOOP
        + """
    import os, signal, threading
    from whyslow_capture import layout
    print(os.getpid(), flush=True)

    def kill_when_much_is_written():
        file, end = layout.events_file(Path(sys.argv[1]), 0), time.monotonic() + 60
        while not (file.exists() and file.read_bytes().count(b"\\n") > 300) and time.monotonic() < end:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=kill_when_much_is_written).start()
    while True:
        with cap.phase("forward"):
            time.sleep(0.001)
        cap.step()
    """
    )
    result = run_torch_program(program, tmp_path, check=False)
    assert result.returncode == -signal.SIGKILL, result.stderr
    steps = [r["step"] for r in records_of(tmp_path)]  # every line parses
    assert len(set(steps)) > 100
    manifest = json.loads(layout.rank_file(tmp_path, 0).read_text())
    assert manifest["pid"] == int(result.stdout)


def test_half_a_line_of_an_earlier_run_is_ended_first(tmp_path: Path) -> None:
    path = layout.events_file(tmp_path, 0)
    path.parent.mkdir(parents=True)
    path.write_text('{"name":"forward","step":3,"rank":0,"dura')
    with make(tmp_path, record_every_n_steps=1) as cap:
        cap.step()
    torn, header, record = path.read_text().splitlines()
    assert torn.endswith("dura")
    assert "whyslow" in json.loads(header)
    assert json.loads(record)["name"] == "training_step"


def test_a_second_run_is_appended_under_its_own_header(tmp_path: Path) -> None:
    for run in ("first", "second"):
        with make(tmp_path, record_every_n_steps=1, run=run) as cap:
            cap.step()
    lines = lines_of(tmp_path)
    assert [(line["run"], "whyslow" in line) for line in lines] == [
        ("first", True),
        ("first", False),
        ("second", True),
        ("second", False),
    ]


def test_two_trainings_with_one_name_become_two_runs(tmp_path: Path) -> None:
    program = f"""
    import sys
    sys.path.insert(0, {str(Path(__file__).parent)!r})
    from support import make
    from pathlib import Path
    with make(Path(sys.argv[1]), record_every_n_steps=1, run="sweep") as cap:
        cap.step()
    """
    for _ in range(2):
        run_torch_program(program, tmp_path)
    first, second = (line["run"] for line in lines_of(tmp_path) if "whyslow" in line)
    assert first == "sweep"
    assert second.startswith("sweep+")


def test_a_real_full_disk(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48k", "tmpfs", str(small)], capture_output=True)
    if mounted.returncode != 0:
        # If we may not mount, use a file size limit instead.
        limit_file_size(tmp_path)
        return
    try:
        program = (
            LOOP
            + """
    for i in range(1200):
        with cap.phase("forward"):
            pass
        cap.step()
        if i % 200 == 0:
            time.sleep(0.26)  # several writes, not one
    cap.close()
    print(cap.recorder.current_step, cap.problems.counts["records-dropped"])
    """
        )
        result = run_torch_program(program, small / "out")
        steps, dropped = map(int, result.stdout.split())
        assert steps == 1200
        assert dropped > 0
        assert result.stderr.count("disk full: records are lost") == 1
        assert result.stderr.count(f"disk full: {dropped} records lost") == 1
        rows = records_of(small / "out")  # every line parses
        assert rows
        assert len(rows) + dropped == 2 * 1200
    finally:
        subprocess.run(["umount", str(small)], check=True)


def limit_file_size(tmp_path: Path) -> None:
    program = (
        LOOP
        + """
    import resource, signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
    for i in range(1200):
        with cap.phase("forward"):
            pass
        cap.step()
        if i % 200 == 0:
            time.sleep(0.26)
    cap.close()
    print(cap.recorder.current_step, cap.problems.counts["records-dropped"])
    """
    )
    out = tmp_path / "limited"
    result = run_torch_program(program, out)
    steps, dropped = map(int, result.stdout.split())
    assert steps == 1200
    assert dropped > 0
    one_warning(result.stderr, "File too large")
    assert len(records_of(out)) + dropped == 2 * 1200


def test_a_file_size_limit(tmp_path: Path) -> None:
    assert resource.RLIMIT_FSIZE
    limit_file_size(tmp_path)


def test_a_folder_that_cannot_be_created(tmp_path: Path) -> None:
    # Nothing can be created below a regular file, not even by root.
    (tmp_path / "file").write_text("")
    program = (
        LOOP
        + """
    for _ in range(50):
        cap.step()
    cap.close()
    print(cap.recorder.current_step)
    """
    )
    result = run_torch_program(program, tmp_path / "file" / "out")
    assert result.stdout.strip() == "50"
    one_warning(result.stderr, "Not a directory")
    assert "Traceback" not in result.stderr


def test_a_deleted_folder_is_created_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import shutil
    import threading

    from whyslow_capture import files
    from whyslow_capture.events import writer

    monkeypatch.setattr(files, "FLUSH_AT_MOST_EVERY_S", 0.0)
    monkeypatch.setattr(writer, "CHECK_EVERY_S", 0.0)
    out = tmp_path / "out"
    cap = make(out, record_every_n_steps=1, flush_every_n_steps=1)
    for round_ in range(3):
        for _ in range(21):
            cap.step()
        is_written = threading.Event()
        cap.files._writer.submit(is_written.set)  # type: ignore[union-attr]
        assert is_written.wait(60)
        if round_ == 0:
            assert records_of(out)
            shutil.rmtree(out)
    cap.close()
    rows = records_of(out)
    assert lines_of(out)[0]["whyslow"] == 1
    assert {r["step"] for r in rows} >= set(range(25, 60))


def test_a_stuck_disk_does_not_stop_training(tmp_path: Path) -> None:
    program = (
        LOOP
        + """
    import whyslow_capture.files as session, os
    session.WRITE_S = 0.5
    real = os.open
    def waiting(path, *rest, **more):
        if str(path).endswith("jsonl"):
            time.sleep(1000)  # like a dead network disk
        return real(path, *rest, **more)
    os.open = waiting
    began = time.monotonic()
    for _ in range(2000):
        cap.step()
    took = time.monotonic() - began
    cap.close()
    print(took, time.monotonic() - began)
    """
    )
    # Waiting for the disk would take until the test's timeout.
    result = run_torch_program(program, tmp_path, timeout=120)
    took, whole = map(float, result.stdout.split())
    assert took < 30
    assert whole < 60
    one_warning(result.stderr, "is incomplete")


def test_a_forked_child_writes_nothing_and_the_parent_continues(tmp_path: Path) -> None:
    cap = make(tmp_path, record_every_n_steps=1, flush_every_n_steps=1)
    for _ in range(5):
        cap.step()
    pid = os.fork()
    if pid == 0:
        code = 0
        try:
            for _ in range(50):
                with cap.phase("child"):
                    pass
                cap.step()
            cap.close()
        except BaseException:
            code = 1
        os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
    for _ in range(5):
        cap.step()
    cap.close()
    rows = records_of(tmp_path)
    assert {r["name"] for r in rows} == {"training_step"}
    assert [r["step"] for r in rows] == list(range(10))


def test_interpreter_exit_flushes(tmp_path: Path) -> None:
    run_torch_program(
        LOOP
        + """
    for _ in range(7):
        cap.step()
    raise SystemExit(0)
    """,
        tmp_path,
    )
    assert [r["step"] for r in records_of(tmp_path)] == list(range(7))


def test_a_crash_keeps_its_exit_code_its_traceback_and_the_records(tmp_path: Path) -> None:
    result = run_torch_program(
        LOOP
        + """
    for _ in range(7):
        cap.step()
    raise RuntimeError("theirs")
    """,
        tmp_path,
        check=False,
    )
    assert result.returncode == 1
    assert result.stderr.rstrip().endswith("RuntimeError: theirs")
    assert len(records_of(tmp_path)) == 7


def test_a_job_without_steps_writes_no_files(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with make(out):
        pass
    assert not out.exists()


def test_our_own_bug_in_a_step_does_not_reach_the_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cap = make(tmp_path, record_every_n_steps=1)
    cap.recorder.finish_step = None  # type: ignore[assignment, method-assign]
    for _ in range(20):
        cap.step()
    cap.close()
    one_warning(capsys.readouterr().err, "recording a step failed")


# Events print a line when they are freed. In a forked process, freeing a CUDA event would end the process.
FORKING = """
import gc, os, sys
sys.path.insert(0, sys.argv[2])
import fake_cuda, pytest, torch
import whyslow_capture

device = fake_cuda.install(pytest.MonkeyPatch())
parent, freed = os.getpid(), []
torch.cuda.Event.__del__ = lambda event: freed.append(event) if os.getpid() != parent else None
cap = whyslow_capture.capture(sys.argv[1], record_every_n_steps=1, max_overhead=1, auto_phases=False).start()
cap.files._flushed_at = 1e18  # never flush during the loop
for step in range(200):
    if step % 20 == 0:  # needs a new anchor
        cap.recorder._device and setattr(cap.recorder._device, "anchored_at", -(1 << 60))
    if step == 150:  # from here on the device reaches no event
        cap.recorder._pending.resolve()
        device.lag_ns = 1 << 60
    with cap.phase("forward"):
        sum(range(2000))
    cap.step()
pending = cap.recorder._pending
assert pending._read and pending.waiting and cap.recorder.buffer.events
child = os.fork()
if child == 0:
    # As at the end of the process.
    for held in (pending._read, pending.waiting, cap.recorder._device.free):
        held.clear()
    gc.collect()
    os._exit(min(len(freed), 100))
print("freed", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
device.lag_ns = 0
os._exit(0)
"""


def test_a_forked_child_frees_no_event(tmp_path: Path) -> None:
    """Wherever the event is: in the buffer, waiting for the device, about to be written, or in the pool."""
    result = run_torch_program(FORKING, tmp_path, Path(__file__).parent)
    assert result.stdout.split() == ["freed", "0"], result.stdout
