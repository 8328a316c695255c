"""The kernel keeps the user's files as they are, whatever a trial's job does."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import SRC
from trial_support import LOOP, tried

PROTECT = [sys.executable, "-I", "-S", "-B", str(SRC / "whyslow_trials/protect")]

# Ways in which jobs change files. Each once got past a replacement of Python's own functions.
CHANGES = """
import ctypes, gzip, io, mmap, os, pathlib, shutil, sqlite3, subprocess, sys
def change(f):
    try: f()
    except OSError as error: print("denied", type(error).__name__)
    except sqlite3.OperationalError: print("denied")
def text(path, how="w"):
    with open(path, how) as file: file.write("new")
def mapped():
    with open("mapped", "r+b") as file, mmap.mmap(file.fileno(), 0) as m: m[:3] = b"new"
def linked():
    os.link("linked", "other-name"); text("other-name")
def in_folder():
    folder = os.open(".", os.O_RDONLY); os.close(os.open("in-folder", os.O_WRONLY | os.O_TRUNC, dir_fd=folder))
def table():
    with sqlite3.connect("base") as base: base.execute("insert into t values (2)")
c = ctypes.CDLL(None)
change(lambda: text("opened"))
change(lambda: text("appended", "a"))
change(lambda: pathlib.Path("by-pathlib").write_text("new"))
change(lambda: pathlib.Path("unlinked").unlink())
change(lambda: pathlib.Path("replacing").replace("replaced"))
change(lambda: io.FileIO("raw", "w").close())
change(lambda: os.truncate("truncated", 0))
change(lambda: os.close(os.open("read-and-truncated", os.O_RDONLY | os.O_TRUNC)))
change(lambda: gzip.open("zipped", "w").close())
change(mapped)
change(linked)
change(in_folder)
change(table)
change(lambda: os.remove("removed"))
change(lambda: shutil.move("moved", "moved-away"))
change(lambda: shutil.rmtree("folder"))
change(lambda: text("link/outside"))
change(lambda: subprocess.run(["cp", "opened", "by-program"]))
change(lambda: subprocess.run("echo new > by-shell; rm removed-by-shell", shell=True))
change(lambda: subprocess.run([sys.executable, "-S", "-c", "open('by-child', 'w').write('new')"]))
change(lambda: c.truncate(b"by-library", 0))
change(lambda: os.chmod("mode", 0o777))
change(lambda: os.utime("time", (1, 1)))
change(lambda: text(f"/proc/{os.getppid()}/root{os.getcwd()}/by-parent"))
change(lambda: subprocess.run(["nsenter", "-t", str(os.getppid()), "-m", "rm", os.path.abspath("by-nsenter")]))
change(lambda: os.ftruncate(int(sys.argv[1]), 0))
change(lambda: os.close(os.open("in-open-folder", os.O_WRONLY | os.O_TRUNC, dir_fd=int(sys.argv[2]))))
print("the end")
"""


def names() -> list[str]:
    found = (
        "opened appended by-pathlib unlinked replacing replaced raw truncated read-and-truncated zipped mapped linked"
    )
    more = "in-folder removed moved folder/file by-program by-shell removed-by-shell by-child by-library"
    others = "mode time by-parent by-nsenter left-open in-open-folder"
    return [*found.split(), *more.split(), *others.split()]


def contents(folder: Path) -> dict[str, tuple[object, ...]]:
    def known(path: Path) -> tuple[object, ...]:
        found = path.lstat()
        fixed = (found.st_ino, found.st_mode, found.st_nlink, found.st_uid)
        # The scratch folder is in one of the folders.
        return (*fixed, found.st_mtime_ns, path.read_bytes()) if path.is_file() else fixed[:2]

    return {str(path.relative_to(folder)): known(path) for path in sorted(folder.rglob("*"))}


@pytest.fixture
def places(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """The folder of a job, and a scratch folder on whatever can be one here."""
    job = tmp_path / "job"
    (job / "folder").mkdir(parents=True)
    for name in names():
        (job / name).write_text("precious")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/outside").write_text("precious")
    (job / "link").symlink_to(tmp_path / "outside")
    import sqlite3

    with sqlite3.connect(job / "base") as base:
        base.execute("create table t (x)")
    base.close()
    yield job, tmp_path / "scratch"


def find(*ways: str, network: bool = True) -> dict[str, Any]:
    wanted = {"ways": ways, "bases": ["/tmp", "/var/tmp", "/dev/shm"], "network": network}
    said = subprocess.run([*PROTECT, json.dumps(wanted)], capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(said.stdout)
    return found


def started(
    how: str, job: Path, scratch: Path, *command: str, pass_fds: tuple[int, ...] = (), **given: Any
) -> subprocess.CompletedProcess[str]:
    settings = {"how": how, "layers": str(scratch), "writable": [], "network": True, **given}
    words = [*PROTECT, json.dumps(settings), *command]
    return subprocess.run(words, cwd=job, capture_output=True, text=True, timeout=200, pass_fds=pass_fds)


@pytest.mark.parametrize("how", ["overlay", "landlock"])
def test_nothing_that_a_job_does_changes_the_users_files(how: str, places: tuple[Path, Path]) -> None:
    job, scratch = places
    found = find(how)
    if found["how"] is None:
        # This machine does not offer it. Then the job must not start.
        assert found["reasons"]
        ran = started(how, job, scratch, "touch", "opened")
        assert ran.returncode == 87
        assert "its files could not be protected" in ran.stderr
        return
    if how == "overlay" and found["base"] != "/tmp":
        scratch = Path(found["base"]) / f"whyslow-test-{os.getpid()}"
    before = contents(job.parent)
    # As a shell leaves them open to its programs.
    left_open = (os.open(job / "left-open", os.O_RDWR), os.open(job, os.O_RDONLY))
    try:
        numbers = [str(number) for number in left_open]
        ran = started(how, job, scratch, sys.executable, "-c", CHANGES, *numbers, pass_fds=left_open)
        after = {path: known for path, known in contents(job.parent).items() if not path.startswith("scratch")}
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.endswith("the end\n")
        assert after == before
        denied = ran.stdout.count("denied")
        # Through the parent's root and through what was left open.
        assert denied == 3 if how == "overlay" else denied > 15
        if how == "overlay":
            assert json.loads((scratch / "layers.json").read_text())["overlays"]
    finally:
        for number in left_open:
            os.close(number)
        subprocess.run(["chmod", "-R", "u+rwx", scratch], check=False)
        shutil.rmtree(scratch, ignore_errors=True)


@pytest.mark.parametrize("how", ["overlay", "landlock"])
def test_files_in_shared_memory_stay_as_they_are(how: str, places: tuple[Path, Path]) -> None:
    job, scratch = places
    found = find(how)
    if found["how"] is None or not os.access("/dev/shm", os.W_OK):
        assert found["reasons"] or how
        return
    if how == "overlay":
        scratch = Path(found["base"]) / f"whyslow-test-{os.getpid()}"
    staged = Path(f"/dev/shm/staged-data-{os.getpid()}")
    staged.write_text("precious")
    try:
        ran = started(how, job, scratch, "sh", "-c", f"echo new > {staged}; rm {staged}; chmod 777 {staged}")
        assert staged.read_text() == "precious", ran.stderr
        read_only = json.loads((scratch / "layers.json").read_text())["read_only"]
        assert (str(staged) in read_only) == (how == "landlock")
    finally:
        staged.unlink()
        subprocess.run(["chmod", "-R", "u+rwx", scratch], check=False)
        shutil.rmtree(scratch, ignore_errors=True)


@pytest.mark.parametrize("how", ["overlay", "landlock"])
def test_a_protected_job_has_its_environment_shared_memory_and_devices(how: str, places: tuple[Path, Path]) -> None:
    job, scratch = places
    found = find(how)
    if found["how"] is None:
        assert found["reasons"]
        return
    if how == "overlay":
        scratch = Path(found["base"]) / f"whyslow-test-{os.getpid()}"
    look = """
import mmap, os, multiprocessing.shared_memory as shared
memory = shared.SharedMemory(create=True, size=4096)
memory.buf[0] = 7
memory.close(); memory.unlink()
open("/dev/null", "w").write("x")
open("results/mine", "w").write("kept")
print(os.getcwd(), os.environ["MINE"], os.getuid(), os.path.exists("/proc/self/status"))
"""
    (job / "results").mkdir()
    os.environ["MINE"] = "yes"
    try:
        ran = started(how, job, scratch, sys.executable, "-c", look, writable=[str(job / "results")])
    finally:
        del os.environ["MINE"]
        subprocess.run(["chmod", "-R", "u+rwx", scratch], check=False)
        shutil.rmtree(scratch, ignore_errors=True)
    if how == "landlock" and any(Path("/dev/shm").iterdir()) and ran.returncode:
        # Someone's data is there, which must not change.
        assert "PermissionError" in ran.stderr
        return
    assert ran.stdout.split() == [str(job), "yes", str(os.getuid()), "True"], ran.stderr
    assert (job / "results/mine").read_text() == "kept"


def test_without_network_the_job_reaches_this_machine_only(places: tuple[Path, Path]) -> None:
    job, _ = places
    found = find("overlay", network=False)
    if found["how"] is None:
        assert found["reasons"]
        return
    scratch = Path(found["base"]) / f"whyslow-test-{os.getpid()}"
    reach = """
import errno, socket
server = socket.create_server(("127.0.0.1", 0))
socket.create_connection(server.getsockname()).close()
try: socket.create_connection(("192.0.2.1", 80), timeout=5)
except OSError as error: print(errno.errorcode[error.errno])
"""
    try:
        ran = started("overlay", job, scratch, sys.executable, "-c", reach, network=False)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    assert ran.stdout == "ENETUNREACH\n", ran.stderr


def test_landlock_does_not_stop_a_network(places: tuple[Path, Path]) -> None:
    job, scratch = places
    assert find("landlock", network=False)["how"] is None
    assert started("landlock", job, scratch, "true", network=False).returncode == 87


def test_hosts_that_the_job_contacts_are_listed(tmp_path: Path) -> None:
    reach = "import socket\ntry: socket.getaddrinfo('tracker.invalid', 80)\nexcept OSError: pass\n"
    assert tried(reach + LOOP, tmp_path).result["reached"] == {"tracker.invalid": 1}


def test_writes_that_are_denied_are_listed(tmp_path: Path) -> None:
    source = "open('log.txt', 'w').close()\n" + LOOP
    result = tried(source, tmp_path, writable=[str(tmp_path / "turn-0"), "/dev"]).result
    assert list(result["denied"]) == [str(tmp_path / "job/log.txt")]


def test_a_large_file_is_not_copied_because_numpy_maps_it(tmp_path: Path) -> None:
    source = """
import numpy
with open("tokens", "wb") as file: file.truncate(64 << 20)
large = numpy.memmap("tokens", dtype=numpy.uint16)
large[0] = 1
large.flush()
assert open("tokens", "rb").read(2) == bytes(2), large.mode
small = numpy.memmap("small", numpy.uint8, "w+", shape=(4,))
small[0] = 1
assert open("small", "rb").read(1) == bytes([1])
"""
    assert tried(source + LOOP, tmp_path).result["steps"] == 9


def test_trackers_are_offline_whatever_the_script_says(tmp_path: Path) -> None:
    package = tmp_path / "job/wandb"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("def init(project=None, mode=None): print('mode', mode)\n")
    show = """
import os, sys
sys.path.insert(0, os.getcwd())
print(os.environ["WANDB_MODE"], os.environ["MLFLOW_TRACKING_URI"])
os.environ["WANDB_MODE"] = "online"
import wandb
wandb.init("p"), wandb.init("p", mode="online"), wandb.init("p", mode="disabled")
"""
    turn = tried(show + LOOP, tmp_path)
    lines = turn.process.stdout.splitlines()
    assert lines == [f"offline {(turn.folder / 'mlruns').as_uri()}", "mode offline", "mode offline", "mode disabled"]
