"""What is mounted here, and where a job probably writes."""

from __future__ import annotations

import itertools
import os
import stat
import tempfile
from collections.abc import Iterator

MOST_WORDS = 2000
MOST_FOLDERS = 200
MOST_SOCKETS = 256
# Daemons listen here. Those outside of our container are not in the list of sockets.
SOCKETS_IN = "/run"


def mounts_now() -> dict[str, str]:
    """Mount points and their kinds. Of two on top of each other, the upper one."""
    found: dict[str, str] = {}
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            words, _, rest = line.partition(" - ")
            path = words.split(" ")[4].encode("utf-8", "surrogateescape").decode("unicode_escape")
            found[os.fsdecode(path.encode("latin-1"))] = rest.split(" ")[0]
    return found


def is_below(path: str, folders: tuple[str, ...]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except OSError:
        return False


def named_folders(command: list[str]) -> list[str]:
    """Where the job probably writes, by its command and environment."""
    words = [word for text in [*command, *os.environ.values()] for word in text.replace("=", ":").split(":")]
    asked = [os.getcwd(), os.path.expanduser("~"), tempfile.gettempdir(), "/tmp", "/var/tmp"]
    found = [os.path.realpath(path) for path in [*asked, *words[:MOST_WORDS]] if path.startswith("/")]
    below = itertools.islice(folders_below(os.path.realpath(os.getcwd())), MOST_FOLDERS)
    return sorted({*found, *below})


def folders_below(folder: str, depth: int = 3) -> Iterator[str]:
    try:
        inside = [entry.path for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return
    yield from inside
    if depth > 1:
        for path in inside:
            yield from folders_below(path, depth - 1)


def is_of_others(path: str) -> bool:
    known = os.stat(path)
    return known.st_uid != os.geteuid() or known.st_gid != os.getegid()


def sockets() -> list[str]:
    with open("/proc/net/unix") as file:
        listed = {line.split()[-1] for line in file if line.rstrip("\n").split(" ")[-1].startswith("/")}
    folders = itertools.islice(folders_below(SOCKETS_IN), MOST_FOLDERS)
    found = {path for folder in (SOCKETS_IN, *folders) for path in entries(folder)}
    return sorted(path for path in listed | found if is_socket(path))[:MOST_SOCKETS]


def entries(folder: str) -> list[str]:
    try:
        return sorted(os.path.join(folder, name) for name in os.listdir(folder))
    except OSError:
        return []
