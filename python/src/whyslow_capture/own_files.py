"""
Files in OUT, which others can write to as well, and descriptors, which the job can close at any time.

We read only small regular files, follow no links, and never wait for a pipe. We write to files that we created under an
unpredictable name, and check before each use that a descriptor still belongs to our file: after `os.closerange` the
number may belong to a file of the job.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import socket
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

# The largest legitimate file is a request that lists its ranks: 100,000 ranks take 700 kB.
MAX_BYTES = 1 << 20
# Ours have 4 levels. A manifest of 50 windows has about 250 brackets.
MAX_DEPTH, MAX_BRACKETS = 32, 20_000
# Times in ns have 19 digits.
MAX_DIGITS = 40

# Windows has none of these.
_CLOSE_ON_EXEC = getattr(os, "O_CLOEXEC", 0)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")

DISK_IS_FULL = (errno.ENOSPC, errno.EDQUOT)


def _modes() -> tuple[int, int]:
    """
    Of folders and of files. Recordings hold stacks, source lines and command lines: only their owner reads them, or
    with WHYSLOW_SHARE=1 (`whyslow run --share`) the owner's group, too.
    """
    return (0o750, 0o640) if os.environ.get("WHYSLOW_SHARE") == "1" else (0o700, 0o600)


def make_folders(path: Path) -> None:
    """Those that are missing, for the owner. What is there stays as it is."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        with suppress(FileExistsError):
            folder.mkdir(_modes()[0])
    path.mkdir(exist_ok=True)  # says why if something else has the name


class LostDescriptorError(OSError):
    """The job closed our descriptor. Its number may belong to another file now."""


class OwnFile:
    """A file that we opened. Never touches a descriptor that is no longer ours, not even to close it."""

    def __init__(self, path: str | Path, flags: int) -> None:
        """Raises OSError if `path` is not a regular file. `flags` as for os.open."""
        self._fd = os.open(path, flags | _CLOSE_ON_EXEC | _NO_FOLLOW | _NO_WAIT, _modes()[1])
        try:
            status = os.fstat(self._fd)
        except OSError:
            self._fd = -1
            raise
        self.identity = (status.st_dev, status.st_ino)
        if not stat.S_ISREG(status.st_mode):
            self.close()
            raise OSError(errno.EINVAL, f"{path} is not a regular file")

    def __enter__(self) -> OwnFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_ours(self) -> bool:
        return self._status() is not None

    def status(self) -> os.stat_result:
        status = self._status()
        if status is None:
            raise LostDescriptorError("the job closed the descriptor of our file")
        return status

    def fileno(self) -> int:
        self.status()
        return self._fd

    def close(self) -> None:
        fd, is_ours, self._fd = self._fd, self.is_ours, -1
        if is_ours:
            os.close(fd)

    def read(self, size: int = MAX_BYTES) -> bytes:
        return os.read(self.fileno(), size)

    def read_at(self, size: int, at: int) -> bytes:
        return os.pread(self.fileno(), size, at)

    def write(self, data: bytes) -> int:
        view = memoryview(data)
        while view:
            view = view[os.write(self.fileno(), view) :]
        return len(data)

    def write_at(self, data: bytes, at: int) -> None:
        view = memoryview(data)
        while view:
            written = os.pwrite(self.fileno(), view, at)
            view, at = view[written:], at + written

    def truncate(self, size: int) -> None:
        os.ftruncate(self.fileno(), size)

    def _status(self) -> os.stat_result | None:
        if self._fd < 0:
            return None
        try:
            status = os.fstat(self._fd)
        except OSError:
            return None
        return status if (status.st_dev, status.st_ino) == self.identity else None


def create(path: str | Path) -> OwnFile:
    """A new file. Raises FileExistsError if there is anything of that name, even a link to nowhere."""
    return OwnFile(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)


def read_json(path: Path) -> dict[str, Any]:
    """Raises OSError or ValueError, and nothing else."""
    with OwnFile(path, os.O_RDONLY) as file:
        data = _read_small(file, path)
    brackets = data.translate(None, delete=_NO_BRACKETS)
    if len(brackets) > MAX_BRACKETS or _depth(brackets) > MAX_DEPTH:
        raise ValueError(f"{path.name} is nested too deeply")
    try:
        content = json.loads(data, parse_int=_parse_int)
    except RecursionError:  # the job may have lowered the limit
        raise ValueError(f"{path.name} is nested too deeply") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path.name} is not a JSON object")
    return content


def _read_small(file: OwnFile, path: Path) -> bytes:
    data = b""
    while piece := file.read(MAX_BYTES + 1 - len(data)):
        data += piece
        if len(data) > MAX_BYTES:
            raise ValueError(f"{path.name} is larger than {MAX_BYTES >> 20} MB")
    return data


def _depth(brackets: bytes) -> int:
    depth = deepest = 0
    for byte in brackets:
        depth += 1 if byte in b"[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _parse_int(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError("a number is too long")
    return int(digits)


def partial_path(path: Path, suffix: str = "") -> Path:
    """
    A hidden file next to `path`, to be renamed once it is complete. Host and process id show whether its process still
    runs. The rest is random, so nobody can plant a link under that name.
    """
    return path.with_name(f".{path.name}.partial-{socket.gethostname()}-{os.getpid()}-x{secrets.token_hex(8)}{suffix}")


def write_json(path: Path, content: dict[str, object]) -> None:
    write_bytes(path, (json.dumps(content, indent=1, default=str) + "\n").encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Readers see the old file or the new one, never half of one. A link of that name is replaced, not followed."""
    make_folders(path.parent)
    partial = partial_path(path)
    try:
        with create(partial) as file:
            file.write(content)
        os.replace(partial, path)
    except BaseException:
        with suppress(OSError):
            partial.unlink()
        raise


def is_full_disk(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in DISK_IS_FULL
