"""Runs `whyslow facts` on a cluster, near the files. `whyslow facts --on ray` and `--on dask` start it.

What runs on the nodes is here; what runs on this machine is in driver.py. The nodes do not have these files. Functions
of the main program travel by value, those of any other module by name: so this is the main program, and its functions
use nothing else of ours but each other.

A task gives an answer, also where a file cannot be read (`why`): that would fail again. What it raises may work at
another try, and the engine repeats it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any


class NoNode(ValueError):
    """There is no usable Node.js on the node."""


def find_node(least: list[int]) -> str:
    """Node.js on this machine: WHYSLOW_NODE, or the one on PATH."""
    program = os.environ.get("WHYSLOW_NODE") or shutil.which("node") or "node"
    try:
        printed = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60).stdout.strip()
        version = [int(part) for part in printed.removeprefix("v").split(".")[:2]]
    except (OSError, ValueError, subprocess.SubprocessError):
        printed, version = "", []
    if version >= least:
        return program
    found = f"it has {printed}" if version else "there is none on the PATH of its workers"
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
    """What it prints. Raises ValueError for what would fail again."""
    command = [find_node(least), str(unpacked(program, key) / entry), *arguments]
    # The worker's environment may hold settings of the driver's machine.
    ran = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if ran.returncode < 0:
        raise RuntimeError(f"whyslow was ended by signal {-ran.returncode}; was there memory left?")
    if ran.returncode != 0:
        lines = ran.stderr.strip().removeprefix("whyslow: ").splitlines()
        raise ValueError(lines[0] if lines else f"whyslow ended with {ran.returncode}")
    return ran.stdout


def list_files(paths: list[str], *program: Any) -> dict[str, Any]:
    """`files` that this node sees under the paths; none where a path is not there."""
    try:
        return {"files": json.loads(run_whyslow(["facts", *paths, "--list"], *program))}
    except NoNode as error:
        return {"why": str(error)}
    except ValueError:
        return {"files": []}


def facts_of(path: str, options: list[str], *program: Any) -> dict[str, Any]:
    """`files`: what `whyslow facts` says about each that it wrote, and its bytes. `ignored`: what it does not know."""
    with tempfile.TemporaryDirectory(prefix="whyslow-") as out:
        try:
            report = json.loads(run_whyslow(["facts", path, "-o", out, "--json", "--jobs", "1", *options], *program))
        except ValueError as error:
            return {"why": str(error)}
        files = []
        for written in report["written"]:
            data = Path(written["path"]).read_bytes()
            files.append(({**written, "path": os.path.relpath(written["path"], out)}, data))
        return {"files": files, "ignored": report["ignored"]}


if __name__ == "__main__":
    from driver import run

    sys.exit(run(sys.argv[1], list_files, facts_of))
