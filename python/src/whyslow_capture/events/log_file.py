"""The events file of one process. Two processes never write to the same one, even if both are rank 0 of one folder."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from ..own_files import OwnFile, create, make_folders

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


# A second try is rare, a third is a file system with odd answers.
TRIES = 3


class LogFile:
    def __init__(self, path: Path) -> None:
        self.path = path
        # Part of the file's name if another process writes to the usual one, or if that is no plain file.
        self.suffix = ""
        # Another process is known to write to the usual file.
        self.is_second = False
        self._wanted = path
        self._file: OwnFile | None = None
        # The file we wrote to last. If it is opened again, it goes on where we were.
        self._identity = (-1, -1)

    @property
    def is_open(self) -> bool:
        return self._file is not None and self._file.is_ours

    @property
    def is_in_place(self) -> bool:
        """Whether the open file is still the one at `path`: its folder may have been moved, deleted or restored."""
        return self._file is not None and self._file.is_ours and self._is_at_path(self._file)

    @property
    def file(self) -> OwnFile:
        if self._file is None:
            raise ValueError(f"{self.path} is not open")
        return self._file

    def open(self) -> bool:
        """
        Opens the file, or another name next to it if that is in use or not a plain file. True if it is the file we
        wrote to before.
        """
        make_folders(self.path.parent)
        file = self._claim()
        for _ in range(TRIES):
            if file is None:
                self.suffix = secrets.token_hex(4)
                self.path = self._wanted.with_suffix(f".{self.suffix}{self._wanted.suffix}")
                file = self._claim()
        if file is None:
            raise OSError(f"cannot create a file next to {self._wanted}")
        is_same = file.identity == self._identity
        self._file, self._identity = file, file.identity
        return is_same

    def close(self) -> None:
        file, self._file = self._file, None
        if file is None:
            return
        if file.is_ours:
            with suppress(OSError):
                if file.status().st_size == 0 and self._is_at_path(file):
                    os.unlink(self.path)  # nothing was recorded
            with suppress(OSError):
                if fcntl is not None:
                    # Forked children share the lock, and would keep it.
                    fcntl.flock(file.fileno(), fcntl.LOCK_UN)
        file.close()

    def forget(self) -> None:
        """For a forked child: the lock is the parent's, and must end with it."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def _is_at_path(self, file: OwnFile) -> bool:
        try:
            there = os.lstat(self.path)
        except OSError:
            return False
        return (there.st_dev, there.st_ino) == file.identity

    def _claim(self, tries: int = TRIES) -> OwnFile | None:
        """None: the name is taken. Raises OSError if nothing can be created here."""
        is_new = True
        try:
            file = create(self.path)
        except FileExistsError:
            is_new = False
            try:
                file = OwnFile(self.path, os.O_RDWR)
            except OSError:  # a link, a pipe, a folder, or another user's
                return None
        is_known = is_new or file.identity == self._identity
        # A second name may be a hard link to a file that is not a log at all.
        if (is_known or file.status().st_nlink <= 1) and self._lock(file, otherwise=is_known):
            if self._is_at_path(file) or tries == 0:
                return file
            file.close()
            return self._claim(tries - 1)  # its owner removed it before we had the lock
        file.close()
        return None

    def _lock(self, file: OwnFile, *, otherwise: bool) -> bool:
        """
        The lock goes with the process, however that ends. `otherwise`: the answer where files cannot be locked (Lustre
        without -o flock).
        """
        if fcntl is None:
            return otherwise
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            self.is_second = True
            return False
        except OSError:
            return otherwise
