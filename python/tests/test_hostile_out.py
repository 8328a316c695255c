"""OUT is a folder that others write to as well. Whatever is there, the job keeps training and its files stay intact."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from support import run_torch_program

from whyslow_capture import layout, own_files
from whyslow_capture.trace.control import ControlFolder

# Trains as under `whyslow run`, and prints what training is worth and what it took.
JOB = """
    import hashlib, os, resource, sys, time
    import torch
    from whyslow_capture.config_sources import load_config
    from whyslow_capture.problems import ProblemLog
    from whyslow_capture.session import Capture

    def train(steps, each=lambda step: None):
        torch.manual_seed(0)
        torch.set_num_threads(1)
        model = torch.nn.Linear(8, 4)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        digest = hashlib.sha256()
        for step in range(steps):
            optimizer.zero_grad()
            loss = model(torch.randn(4, 8)).pow(2).mean()
            loss.backward()
            optimizer.step()
            digest.update(loss.detach().numpy().tobytes())
            each(step)
        digest.update(torch.get_rng_state().numpy().tobytes())
        return digest.hexdigest()

    def start(out, **settings):
        given = {"out": out, "run": "r", "record_every_n_steps": 1, "flush_every_n_steps": 1, "max_overhead": 1.0}
        return Capture(load_config({**given, **settings}), ProblemLog()).open(steps="optimizer")
"""
# Long enough for two looks at the control folder.
MEASURED = (
    JOB
    + """
    alone = train(60)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cap, began = start(sys.argv[1]), time.monotonic()
    assert train(60, lambda step: time.sleep(0.02)) == alone
    seconds = time.monotonic() - began
    cap.close()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
    print(seconds, grown // 1024)
"""
)


def records_in(out: Path) -> dict[str, list[dict[str, Any]]]:
    """By run. Every line of every log must be whole."""
    runs: dict[str, list[dict[str, Any]]] = {}
    for log in (out / "cuda_event_profiler").glob("cuda_events_rank_*.jsonl"):
        if stat.S_ISREG(log.lstat().st_mode):
            lines = [json.loads(line) for line in log.read_text().splitlines()]
            assert "whyslow" in lines[0]
            for line in lines:
                runs.setdefault(line["run"], []).extend([] if "whyslow" in line else [line])
    return runs


def measured(out: Path) -> str:
    """Trains with files planted in `out`. Returns stderr."""
    result = run_torch_program(MEASURED, out, timeout=180)
    seconds, megabytes = map(float, result.stdout.split())
    assert seconds < 30
    assert megabytes < 100
    assert {record["step"] for record in records_in(out)["r"]} == set(range(60))
    return result.stderr


@pytest.mark.parametrize(
    "name",
    [
        "run.json",
        "ranks/rank_0.json",
        "control/plan-a.json",
        "control/request-a.json",
        "cuda_event_profiler/cuda_events_rank_0.jsonl",
        ".whyslow/run-r",
    ],
)
def test_pipes_stop_nobody(name: str, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    os.mkfifo(tmp_path / name)
    measured(tmp_path)


def test_large_files_are_not_read(tmp_path: Path) -> None:
    for folder in ("ranks", "control"):
        (tmp_path / folder).mkdir()
    for name in ("ranks/rank_0.json", "control/plan-a.json", "control/request-b.json"):
        with open(tmp_path / name, "wb") as file:
            file.truncate(300_000_000)  # takes no disk space
    (tmp_path / "control/plan-zero.json").symlink_to("/dev/zero")
    measured(tmp_path)


def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    for folder in ("ranks", "control"):
        (tmp_path / folder).mkdir()
    for name in ("ranks/rank_0.json", "control/plan-a.json", "control/request-b.json"):
        (tmp_path / name).write_text("[" * 200_000)
    # A job may raise Python's own limit.
    program = "    import sys\n    sys.setrecursionlimit(10**6)\n" + MEASURED
    result = run_torch_program(program, tmp_path, timeout=180)
    assert "Traceback" not in result.stderr
    assert len(records_in(tmp_path)["r"]) > 60


@pytest.mark.parametrize(
    "content", ["[" * 200_000, '{"steps":' * 50, "1" * 1000, "nope", "", '{"a": 1' + "0" * 5000 + "}"]
)
def test_odd_content_is_a_value_error(content: str, tmp_path: Path) -> None:
    (tmp_path / "plan-a.json").write_text(content)
    with pytest.raises(ValueError):
        ControlFolder(tmp_path).read_plan("a")


def test_planted_links_are_not_followed(tmp_path: Path) -> None:
    out, precious = tmp_path / "out", tmp_path / "precious"
    precious.write_text("mine")
    for name in ("run.json", "ranks/rank_0.json", "cuda_event_profiler/cuda_events_rank_0.jsonl"):
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).symlink_to(precious)
    # Names of partial files of earlier versions, which held only the process id.
    program = (
        """
    import os, sys
    from pathlib import Path
    for name in ("run.json", "ranks/rank_0.json"):
        path = Path(sys.argv[1], name)
        path.with_name(f".{path.name}.partial-{os.getpid()}").symlink_to(sys.argv[2])
"""
        + MEASURED
    )
    result = run_torch_program(program, out, precious, timeout=180)
    assert precious.read_text() == "mine"
    assert len(records_in(out)["r"]) > 60
    assert json.loads(layout.run_file(out).read_text())["run"] == "r"
    assert "next to it" in result.stderr


def test_a_hard_link_is_not_written_to(tmp_path: Path) -> None:
    out, precious = tmp_path / "out", tmp_path / "precious"
    precious.write_text("mine")
    layout.events_file(out, 0).parent.mkdir(parents=True)
    os.link(precious, layout.events_file(out, 0))
    run_torch_program(MEASURED, out, timeout=180)
    assert precious.read_text() == "mine"


def test_a_file_is_created_only_where_nothing_is(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileExistsError):
        own_files.create(tmp_path / "link")
    names = {own_files.partial_path(tmp_path / "a").name for _ in range(100)}
    assert len(names) == 100


# What daemonizing code does: closes all descriptors and opens its own files, which get the same numbers.
REUSED = (
    JOB
    + """
    files = []
    def each(step):
        time.sleep(0.004)
        if step in (150, 300):
            os.closerange(3, 256)
            for number in range(12):
                files.append((f"{sys.argv[2]}/{step}-{number}", 0))
                fd = os.open(files[-1][0], os.O_RDWR | os.O_CREAT)
                files[-1] = (files[-1][0], fd)
                os.write(fd, b"mine")
    alone = train(800)
    cap = start(sys.argv[1])
    assert train(800, each) == alone
    for name, fd in files[12:]:
        os.write(fd, b" later")  # nobody closed it
    cap.close()
    print(sum(open(name, "rb").read() == (b"mine later" if step else b"mine")
              for step, group in enumerate((files[:12], files[12:])) for name, _ in group))
"""
)


def test_descriptors_that_the_job_closed_and_uses_itself(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    result = run_torch_program(REUSED, tmp_path / "out", tmp_path / "theirs", timeout=120)
    assert result.stdout.strip() == "24"
    steps = {record["step"] for record in records_in(tmp_path / "out")["r"]}
    assert len(steps) > 700  # one flush may be lost each time


def test_our_file_knows_that_its_descriptor_is_gone(tmp_path: Path) -> None:
    file = own_files.create(tmp_path / "ours")
    fd = file.fileno()
    os.close(fd)
    theirs = os.open(tmp_path / "theirs", os.O_RDWR | os.O_CREAT)
    assert theirs == fd
    with pytest.raises(own_files.LostDescriptorError):
        file.write(b"x")
    file.close()
    os.write(theirs, b"still open")
    os.close(theirs)
    assert (tmp_path / "theirs").read_bytes() == b"still open"


SEVERAL = (
    JOB
    + """
    import json
    def child(index):
        cap = start(sys.argv[1], trace={"period": 8, "warmup": 0, "active": 2})
        train(120, lambda step: time.sleep(0.003))
        cap.close()
        os._exit(0)
    children = []
    for index in range(3):
        pid = os.fork()
        if pid == 0:
            child(index)
        children.append(pid)
    print([os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children])
"""
)


def test_several_processes_that_are_rank_0_keep_apart(tmp_path: Path) -> None:
    result = run_torch_program(SEVERAL, tmp_path, timeout=120)
    assert result.stdout == "[0, 0, 0]\n"
    runs = records_in(tmp_path)
    assert len(runs) == 3 and "r" in runs
    assert all(name == "r" or name.startswith("r+") for name in runs)
    for records in runs.values():
        # Steps in a profiler window are not recorded here.
        assert len({record["step"] for record in records}) > 70
    logs = list((tmp_path / "cuda_event_profiler").iterdir())
    assert len(logs) == 3
    assert len({json.loads(path.read_text())["run"] for path in (tmp_path / "ranks").glob("*.json")}) == 3
    # 15 windows in each process, under different names.
    assert len(list((tmp_path / "traces").rglob("*-trace.json.gz"))) == 45
    assert result.stderr.count("next to it") == 2


def test_without_locks_each_run_has_its_own_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lustre without -o flock."""
    import errno

    from whyslow_capture.events import log_file

    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOSYS, "not implemented")

    monkeypatch.setattr(log_file.fcntl, "flock", no_locks)
    first, second = (log_file.LogFile(tmp_path / "log.jsonl") for _ in range(2))
    first.open()
    first.file.write(b"x")
    second.open()
    assert first.path.name == "log.jsonl" and second.path.name == f"log.{second.suffix}.jsonl"
    first.close()
    assert first.open()  # our own, again
    first.close()
    second.close()
    assert os.listdir(tmp_path) == ["log.jsonl"]  # the other one was empty


def test_a_forked_child_does_not_keep_the_log(tmp_path: Path) -> None:
    """A DataLoader worker may outlive the job for a while, and must not make its successor a second process."""
    from whyslow_capture.events.log_file import LogFile

    log = LogFile(tmp_path / "log.jsonl")
    log.open()
    log.file.write(b"x")
    ready, done = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        log.forget()
        os.write(ready[1], b"x")
        os.read(done[0], 1)
        os._exit(0)
    os.read(ready[0], 1)
    contender = LogFile(tmp_path / "log.jsonl")
    contender.open()
    assert contender.is_second  # the parent still has it
    log.forget()  # as if it had been killed
    successor = LogFile(tmp_path / "log.jsonl")
    successor.open()
    assert not successor.is_second and successor.path == tmp_path / "log.jsonl"
    os.write(done[1], b"x")
    os.waitpid(pid, 0)
    for each in (contender, successor):
        each.close()
    for fd in (*ready, *done):
        os.close(fd)
