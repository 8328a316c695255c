"""Runs `whyslow facts` on a Ray cluster, near the files. `whyslow facts --on ray` starts it.

Reads one JSON object from the standard input (see `Job`) and prints one JSON object a line on the standard output:
`listed` once, then `done` or `failed` for each file, and `end`. What stops the whole is `error`; the exit status is 1.
Needs only Ray here, and Node.js on the nodes: the program itself travels with the tasks.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, TypedDict

# A worker that died, a node that went away, a task that the system killed.
RETRIES = 3
# Beyond what the cluster can run at once: tasks wait in Ray's queue instead of for us.
AHEAD = 2


class Job(TypedDict):
    """What whyslow asks for."""

    paths: list[str]
    out: str
    address: str | None
    # More options of `whyslow facts`.
    options: list[str]
    # The program: its files by name, as paths on this machine.
    program: dict[str, str]
    entry: str
    # Oldest Node.js that runs it, e.g. [20, 19].
    node_version: list[int]


class Interrupted(Exception):
    """A signal ended the program: perhaps the node had no memory left. Another try may work."""


class NoNode(Exception):
    """There is no usable Node.js on the node."""


def say(**message: Any) -> None:
    print(json.dumps(message), flush=True)


# -- On the nodes. These functions travel to Ray's workers, so they use nothing else of this file but each other. --


def find_node(least: list[int]) -> str:
    """Node.js on this machine: WHYSLOW_NODE, or the one on PATH."""
    program = os.environ.get("WHYSLOW_NODE") or shutil.which("node") or "node"
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60).stdout.strip()
        version = [int(part) for part in said.removeprefix("v").split(".")[:2]]
    except (OSError, ValueError, subprocess.SubprocessError):
        said, version = "", []
    if version >= least:
        return program
    found = f"it has {said}" if version else "there is none on the PATH of Ray's workers"
    wanted = ".".join(map(str, least))
    raise NoNode(f"Node.js {wanted} or newer is needed on every node: {found}. Install it, or set WHYSLOW_NODE")


def unpacked(program: dict[str, bytes], key: str) -> Path:
    """The program on this machine. Several tasks may unpack it at once: the first to finish wins."""
    # Not one folder for all users: another could put a program there.
    folder = Path(tempfile.gettempdir()) / f"whyslow-{os.getuid()}-{key}"
    if folder.exists() and folder.stat().st_uid == os.getuid():
        return folder
    fresh = Path(tempfile.mkdtemp(prefix="whyslow-"))
    for name, data in program.items():
        (fresh / name).parent.mkdir(parents=True, exist_ok=True)
        (fresh / name).write_bytes(data)
    try:
        fresh.rename(folder)
    except OSError:
        # Another task was first, or the folder is another user's.
        return folder if folder.stat().st_uid == os.getuid() else fresh
    return folder


def run_whyslow(arguments: list[str], program: dict[str, bytes], key: str, entry: str, least: list[int]) -> str:
    command = [find_node(least), str(unpacked(program, key) / entry), *arguments]
    # The worker's environment may hold settings of the driver's machine.
    ran = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if ran.returncode < 0:
        raise Interrupted(f"whyslow was ended by signal {-ran.returncode}; was there memory left?")
    if ran.returncode != 0:
        lines = ran.stderr.strip().removeprefix("whyslow: ").splitlines()
        raise ValueError(lines[0] if lines else f"whyslow ended with {ran.returncode}")
    return ran.stdout


def list_files(paths: list[str], *program: Any) -> list[dict[str, Any]]:
    """The files that this node sees under the paths; none where a path is not there."""
    try:
        listed: list[dict[str, Any]] = json.loads(run_whyslow(["facts", *paths, "--list"], *program))
        return listed
    except ValueError:
        return []


def facts_of(path: str, options: list[str], *program: Any) -> tuple[list[tuple[dict[str, Any], bytes]], list[str]]:
    """What `whyslow facts` says about each file that it wrote, and its bytes. Then files that it does not recognise."""
    with tempfile.TemporaryDirectory(prefix="whyslow-") as out:
        report = json.loads(run_whyslow(["facts", path, "-o", out, "--json", "--jobs", "1", *options], *program))
        files = []
        for written in report["written"]:
            data = Path(written["path"]).read_bytes()
            files.append(({**written, "path": os.path.relpath(written["path"], out)}, data))
        return files, report["ignored"]


# -- On this machine. --


def main() -> int:
    job: Job = json.load(sys.stdin)
    try:
        import ray
    except ImportError:
        say(type="error", code="no-ray", python=sys.executable)
        return 1
    try:
        # Without an address: RAY_ADDRESS, or the cluster of this machine. Never a new one: it would see no other node.
        address = job["address"] or os.environ.get("RAY_ADDRESS") or "auto"
        must_answer(address)
        ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False, configure_logging=True)
    except Exception as error:
        say(type="error", code="no-cluster", why=first_line(error))
        return 1
    try:
        return run_job(ray, job)
    finally:
        ray.shutdown()


def must_answer(address: str) -> None:
    """Raises OSError where nobody listens. Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()


def run_job(ray: Any, job: Job) -> int:
    data = {name: Path(path).read_bytes() for name, path in job["program"].items()}
    digest = hashlib.sha256()
    for name in sorted(data):
        digest.update(name.encode() + b"\0" + data[name])
    program = (ray.put(data), digest.hexdigest()[:16], job["entry"], job["node_version"])
    nodes = [node for node in ray.nodes() if node["Alive"]]
    files = find_files(ray, job["paths"], nodes, program)
    if files is None:
        return 1
    say(type="listed", files=[{"path": f["path"], "size": f["size"]} for f in files], nodes=len(nodes))
    collect(ray, job, files, program)
    say(type="end")
    return 0


def find_files(ray: Any, paths: list[str], nodes: list[dict[str, Any]], program: Any) -> list[dict[str, Any]] | None:
    """Asks every node, because a disk may be local. A file that several see alike is shared. Null: no node works."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On

    task = ray.remote(list_files)
    asked = [
        (node, task.options(num_cpus=0, max_retries=RETRIES, scheduling_strategy=On(node["NodeID"], soft=False)))
        for node in nodes
    ]
    references = [(node, one.remote(paths, *program)) for node, one in asked]
    found: dict[tuple[str, int, int], dict[str, Any]] = {}
    failures = []
    for node, reference in references:
        name = node.get("NodeManagerHostname") or node["NodeID"]
        try:
            listed = ray.get(reference)
        except Exception as error:
            failures.append(f"{name}: {cause_of(error)}")
            continue
        for file in listed:
            # The name alone does not tell: every node may have a /tmp/trace.json of its own.
            key = (file["path"], file["size"], file["modified"])
            found.setdefault(key, {**file, "nodes": []})["nodes"].append(node["NodeID"])
    if failures and len(failures) == len(nodes):
        say(type="error", code="no-node", why=failures[0])
        return None
    for failure in failures:
        say(type="note", text=failure)
    if not found:
        say(type="error", code="no-files")
        return None
    everywhere = len(nodes) - len(failures)
    of_name = Counter(path for path, _, _ in found)
    names = {node["NodeID"]: node.get("NodeManagerHostname") or node["NodeID"] for node in nodes}
    for file in found.values():
        file["shared"] = len(file["nodes"]) == everywhere
        # Different files of the same name lie on different nodes: a folder for each.
        file["folder"] = "" if of_name[file["path"]] == 1 else f"{names[file['nodes'][0]]}-{file['nodes'][0][:8]}"
    # The largest first, so that no long one is left at the end.
    return sorted(found.values(), key=lambda file: -file["size"])


def collect(ray: Any, job: Job, files: list[dict[str, Any]], program: Any) -> None:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On

    task = ray.remote(facts_of)
    waiting = iter(enumerate(files))
    running: dict[Any, dict[str, Any]] = {}
    most = int(AHEAD * max(1, ray.cluster_resources().get("CPU", 1)))
    options = [*job["options"], "--root", common_folder([file["path"] for file in files])]

    def start_more() -> None:
        while len(running) < most:
            index, file = next(waiting, (0, None))
            if file is None:
                return
            # A file of a shared disk may be read anywhere; another only where it is.
            place = "DEFAULT" if file["shared"] else On(file["nodes"][index % len(file["nodes"])], soft=False)
            settings = {"num_cpus": 1, "max_retries": RETRIES, "retry_exceptions": [Interrupted]}
            placed = task.options(scheduling_strategy=place, **settings)
            found = [] if file["explicit"] else ["--found"]
            running[placed.remote(file["path"], [*options, *found], *program)] = file

    start_more()
    while running:
        ready, _ = ray.wait(list(running), num_returns=1)
        file = running.pop(ready[0])
        try:
            folder = os.path.join(job["out"], file["folder"])
            made, ignored = ray.get(ready[0])
            written = [save(folder, report, data) for report, data in made]
            say(type="done", size=file["size"], written=written, ignored=ignored)
        except Exception as error:
            say(type="failed", path=file["path"], size=file["size"], why=cause_of(error))
        del ready
        start_more()


def common_folder(paths: list[str]) -> str:
    """What all paths begin with, up to a slash. Also for addresses such as s3://."""
    first, last = min(paths), max(paths)
    # What the first and the last have in common, those between have too.
    same = next((i for i, letter in enumerate(first) if last[i : i + 1] != letter), len(first))
    return first[: first.rfind("/", 0, same) + 1]


def save(out: str, report: dict[str, Any], data: bytes) -> dict[str, Any]:
    """Writes a file below `out`, whole or not at all."""
    path = Path(out) / report["path"]
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name[:100]}.partial-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    return {**report, "path": str(path)}


def cause_of(error: BaseException) -> str:
    """What went wrong on the node, in one line, without Ray's stack trace."""
    cause = getattr(error, "cause", None) or error
    name = type(cause).__name__
    known = {
        "WorkerCrashedError": f"its worker died {RETRIES + 1} times",
        "NodeDiedError": "its node went away",
        "OutOfMemoryError": "the node had no memory left",
        "TaskUnschedulableError": "the node with the file went away",
        "ActorUnschedulableError": "the node with the file went away",
    }
    return known.get(name) or first_line(cause)


def first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__


if __name__ == "__main__":
    sys.exit(main())
