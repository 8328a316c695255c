"""The part of facts_on_nodes.py that runs on this machine, the same for every engine.

Reads one JSON object from the standard input (see `Job`) and prints one JSON object a line on the standard output:
`listed` once, then `done` or `failed` for each file, and `end`. What stops the whole is `error`; the exit status is 1.
Needs only the engine here, and Node.js on the nodes: the program itself travels with the tasks.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

from engine import Engine, NoCluster, first_line

# Beyond what the cluster can run at once: tasks wait in the engine's queue instead of for us.
AHEAD = 2

Function = Callable[..., dict[str, Any]]


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


class File(TypedDict):
    """A file that some hosts see."""

    path: str
    size: int
    # Named by the user, not found in a directory.
    explicit: bool
    hosts: list[str]
    # All hosts see it.
    shared: bool
    # Where its facts go, below the folder of all.
    folder: str


def say(**message: Any) -> None:
    print(json.dumps(message), flush=True)


def run(name: str, list_files: Function, facts_of: Function) -> int:
    job: Job = json.load(sys.stdin)
    try:
        engine: Engine = importlib.import_module(f"on_{name}").connect(job["address"])
    except ModuleNotFoundError:
        say(type="error", code="not-installed")
        return 1
    except NoCluster as error:
        say(type="error", code="no-cluster", address=error.address, why=error.why)
        return 1
    try:
        return run_job(engine, job, list_files, facts_of)
    finally:
        engine.close()


def run_job(engine: Engine, job: Job, list_files: Function, facts_of: Function) -> int:
    data = {name: Path(path).read_bytes() for name, path in job["program"].items()}
    digest = hashlib.sha256()
    for name in sorted(data):
        digest.update(name.encode() + b"\0" + data[name])
    program = (engine.share(data), digest.hexdigest()[:16], job["entry"], job["node_version"])
    files = find_files(engine, engine.hosts(), list_files, (job["paths"], *program))
    if files is None:
        return 1
    say(type="listed", files=[{"path": f["path"], "size": f["size"]} for f in files])
    collect(engine, job, files, facts_of, program)
    say(type="end")
    return 0


def find_files(
    engine: Engine, hosts: dict[str, str], list_files: Function, arguments: tuple[Any, ...]
) -> list[File] | None:
    """Asks every host, because a disk may be local. A file that several see alike is shared. None: no host works."""
    answers = ask_all(engine, hosts, list_files, arguments)
    failures = [f"{name}: {answers[host]['why']}" for host, name in hosts.items() if "why" in answers[host]]
    if len(failures) == len(hosts):
        say(type="error", code="no-node", why=failures[0] if failures else "it has no workers")
        return None
    for failure in failures:
        say(type="note", text=failure)
    # By path, size and time: the path alone is not enough, because every host may have its own /tmp/trace.json.
    seen: dict[tuple[str, int, int], list[str]] = {}
    named = set()
    for host in hosts:
        for file in answers[host].get("files", []):
            seen.setdefault((file["path"], file["size"], file["modified"]), []).append(host)
            if file["explicit"]:
                named.add(file["path"])
    if not seen:
        say(type="error", code="no-files")
        return None
    of_path = Counter(path for path, _, _ in seen)
    files = [
        File(
            path=path,
            size=size,
            explicit=path in named,
            hosts=there,
            # Not where a host cannot run whyslow: the engine might choose that one.
            shared=len(there) == len(hosts),
            # Different files with the same path are on different hosts: a folder for each.
            folder="" if of_path[path] == 1 else folder_of(there[0], hosts),
        )
        for (path, size, _), there in seen.items()
    ]
    # The largest first, so that no long one is left at the end.
    return sorted(files, key=lambda file: -file["size"])


def ask_all(
    engine: Engine, hosts: dict[str, str], function: Function, arguments: tuple[Any, ...]
) -> dict[str, dict[str, Any]]:
    """The answer of each host."""
    running = {engine.start_soon(function, arguments, host): host for host in hosts}
    answers = {}
    while running:
        task = engine.next_done(running)
        answers[running.pop(task)] = answer_of(engine, task)
    return answers


def answer_of(engine: Engine, task: Any) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = engine.result(task)
        return answer
    except Exception as error:
        return {"why": engine.why(error)}


def folder_of(host: str, hosts: dict[str, str]) -> str:
    name = hosts[host].replace("/", "-")
    return name if Counter(hosts.values())[hosts[host]] == 1 else f"{name}-{host[:8]}"


def collect(engine: Engine, job: Job, files: list[File], facts_of: Function, program: tuple[Any, ...]) -> None:
    waiting = iter(enumerate(files))
    running: dict[Any, File] = {}
    most = AHEAD * max(1, engine.slots())
    options = [*job["options"], "--root", common_folder([file["path"] for file in files])]

    def start_more() -> None:
        while len(running) < most:
            index, file = next(waiting, (0, None))
            if file is None:
                return
            found = [] if file["explicit"] else ["--found"]
            # A file of a shared disk may be read anywhere; another only where it is.
            first = index % len(file["hosts"])
            hosts = None if file["shared"] else file["hosts"][first:] + file["hosts"][:first]
            running[engine.start(facts_of, (file["path"], [*options, *found], *program), hosts)] = file

    start_more()
    while running:
        task = engine.next_done(running)
        file = running.pop(task)
        report(job["out"], file, answer_of(engine, task))
        del task
        start_more()


def report(out: str, file: File, answer: dict[str, Any]) -> None:
    """Saves what came back, and says so."""
    try:
        if "why" not in answer:
            written = [save(os.path.join(out, file["folder"]), made, data) for made, data in answer["files"]]
            say(type="done", size=file["size"], written=written, ignored=answer["ignored"])
            return
        why = answer["why"]
    except OSError as error:
        why = first_line(error)
    say(type="failed", path=file["path"], size=file["size"], why=why)


def common_folder(paths: list[str]) -> str:
    """What all paths begin with, up to a slash. Also for addresses such as s3://."""
    first, last = min(paths), max(paths)
    # What the first and the last have in common, those between have too.
    same = next((i for i, letter in enumerate(first) if last[i : i + 1] != letter), len(first))
    return first[: first.rfind("/", 0, same) + 1]


def save(out: str, made: dict[str, Any], data: bytes) -> dict[str, Any]:
    """Writes a file below `out`, whole or not at all."""
    path = Path(out) / made["path"]
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
    return {**made, "path": str(path)}
