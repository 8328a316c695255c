"""
The job's files during a trial. What it writes goes to the scratch folder, at the same path below it, and is found there
when the job reads it again. What it would delete stays. Python's own functions are replaced; libraries that write with
compiled code are redirected by name (`saves.py`), and what still escapes is listed.
"""

from __future__ import annotations

import builtins
import functools
import io
import os
import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from .trial import Trial

_WRITING = frozenset("wax+")
_CACHES = ("XDG_CACHE_HOME", "HF_HOME", "TORCH_HOME", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "CUDA_CACHE_PATH")
_SYSTEM = ("/dev", "/proc", "/sys", "/run")


class Sandbox:
    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self._root = os.path.join(str(trial.spec.scratch), "files")
        self._is_used = False
        """Something is in the scratch folder."""
        self._made: set[str] = set()
        """Folders that the job has made."""
        self._journal = trial.spec.results / "folders"
        self._protected = (os.getcwd(), *(str(path) for path in trial.spec.protected))
        self._free = _folders_left_alone()
        # Ours: the scratch folder itself, the results, and what a recording writes.
        recorded = os.environ.get("WHYSLOW_OUT") if trial.spec.capture else None
        ours = (str(trial.spec.scratch), str(trial.spec.results), *([os.path.abspath(recorded)] if recorded else []))
        self._never = (*ours, *_SYSTEM)
        self._stat, self._mkdir = os.stat, os.mkdir

    def install(self) -> None:
        self._replace_open()
        self._replace_deleting()
        self._replace_moving()
        sys.addaudithook(self._audit)

    def guards(self, path: str) -> bool:
        """Whether the job must not write there."""
        if _below(path, self._never):
            return False
        # A job may live in the folder for temporary files.
        return _below(path, self._protected) or not _below(path, self._free)

    def saved(self, path: Any, what: str) -> str:
        """Where a save goes. The folder is made."""
        return self._move(_absolute(path), what)

    def folder(self, path: Any, what: str) -> str:
        """Where all files of a folder go."""
        target = self._move(_absolute(path), what)
        os.makedirs(target, exist_ok=True)
        return target

    def found(self, path: Any) -> Any:
        """Where a file is that the job reads: in the scratch folder if it was saved in this trial."""
        if not self._is_used or not isinstance(path, (str, bytes, os.PathLike)):
            return path
        absolute = _absolute(path)
        inside = self._inside(absolute)
        return inside if self._exists(inside) else path

    def _inside(self, absolute: str) -> str:
        return self._root + absolute

    def _move(self, absolute: str, what: str) -> str:
        if absolute.startswith(str(self._trial.spec.scratch) + os.sep):
            return absolute
        target = self._inside(absolute)
        self._is_used = True
        self._trial.note(self._trial.redirected, f"{what}: {absolute}")
        os.makedirs(os.path.dirname(target), exist_ok=True)
        return target

    def _exists(self, path: str) -> bool:
        try:
            self._stat(path)
        except (OSError, ValueError):
            return False
        return True

    def _written(self, path: Any, what: str) -> Any:
        """The path to use instead of one that is written."""
        if not isinstance(path, (str, bytes, os.PathLike)):
            return path
        absolute = _absolute(path)
        return self._move(absolute, what) if self.guards(absolute) else path

    def _replace_open(self) -> None:
        original = io.open

        @functools.wraps(original)
        def open(file: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
            if isinstance(file, int):
                return original(file, mode, *args, **options)
            if _WRITING.isdisjoint(mode):
                return original(self.found(file), mode, *args, **options)
            target = self._written(file, "open")
            if target is not file and "w" not in mode:
                self._take_along(file, target)
            return original(target, mode, *args, **options)

        builtins.open = io.open = open
        low_level = os.open

        @functools.wraps(low_level)
        def os_open(path: Any, flags: int, *args: Any, **options: Any) -> int:
            if options.get("dir_fd") is not None:
                return low_level(path, flags, *args, **options)
            if not flags & (os.O_WRONLY | os.O_RDWR):
                return low_level(self.found(path), flags, *args, **options)
            target = self._written(path, "open")
            if target is not path and not flags & os.O_TRUNC:
                self._take_along(path, target)
            return low_level(target, flags, *args, **options)

        os.open = os_open

    def _take_along(self, path: Any, target: str) -> None:
        """The present content of a file that is about to be extended or changed in place."""
        if not self._exists(target) and os.path.isfile(path):
            shutil.copyfile(path, target)

    def _replace_deleting(self) -> None:
        def delete(original: Any) -> Any:
            @functools.wraps(original)
            def call(path: Any, *args: Any, **options: Any) -> None:
                if options.get("dir_fd") is not None or isinstance(path, int):
                    return original(path, *args, **options)
                absolute = _absolute(path)
                if self._exists(inside := self._inside(absolute)):
                    return original(inside, *args, **options)
                if self.guards(absolute) and self._exists(absolute) and not _below(absolute, tuple(self._made)):
                    return self._trial.note(self._trial.kept, absolute)
                return original(path, *args, **options)

            return call

        for owner, name in ((os, "remove"), (os, "unlink"), (os, "rmdir"), (shutil, "rmtree")):
            setattr(owner, name, delete(getattr(owner, name)))

        @functools.wraps(self._mkdir)
        def mkdir(path: Any, *args: Any, **options: Any) -> None:
            self._mkdir(path, *args, **options)
            if options.get("dir_fd") is None and self.guards(absolute := _absolute(path)):
                self._made.add(absolute)
                self._note_folder(absolute)

        os.mkdir = mkdir

        @functools.wraps(self._stat)
        def stat(path: Any, *args: Any, **options: Any) -> Any:
            return self._stat(self.found(path), *args, **options)

        os.stat = stat

    def _note_folder(self, path: str) -> None:
        """Whoever started the trial removes the folder again if it is empty, also when this process is killed."""
        file = os.open(self._journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(file, os.fsencode(path) + b"\0")
        finally:
            os.close(file)

    def _replace_moving(self) -> None:
        def move(original: Any, what: str, takes_source: bool) -> Any:
            @functools.wraps(original)
            def call(source: Any, target: Any, *args: Any, **options: Any) -> Any:
                there = self.found(source)
                if takes_source and there is source and not isinstance(source, int):
                    # A file of the job itself is about to be moved away: a copy goes instead.
                    absolute = _absolute(source)
                    if self.guards(absolute) and self._exists(absolute):
                        self._trial.note(self._trial.kept, absolute)
                        copy = shutil.copytree if os.path.isdir(absolute) else shutil.copyfile
                        return copy(source, self._written(target, what))
                return original(there, self._written(target, what), *args, **options)

            return call

        for owner, name, takes_source in (
            (os, "rename", True),
            (os, "replace", True),
            (shutil, "move", True),
            (shutil, "copyfile", False),
            (shutil, "copymode", False),
            (shutil, "copystat", False),
            (shutil, "copy", False),
            (shutil, "copy2", False),
            (shutil, "copytree", False),
        ):
            setattr(owner, name, move(getattr(owner, name), name, takes_source))
        for name in ("symlink", "link"):
            original = getattr(os, name)

            def call(source: Any, target: Any, *args: Any, _original: Any = original, **options: Any) -> None:
                target = self._written(target, "link")
                if target is not None and os.path.lexists(target) and self.guards(_absolute(target)) is False:
                    os.unlink(target)
                _original(source, target, *args, **options)

            setattr(os, name, functools.wraps(original)(call))

    def _audit(self, event: str, args: tuple[Any, ...]) -> None:
        try:
            if event == "open" and isinstance(args[0], (str, bytes)) and isinstance(args[2], int):
                if args[2] & (os.O_WRONLY | os.O_RDWR) and self.guards(path := _absolute(args[0])):
                    self._trial.note(self._trial.escaped, f"writes {path}")
            elif event == "sqlite3.connect" and args[0] != ":memory:":
                self._trial.note(self._trial.escaped, f"opens the database {os.fsdecode(args[0])}")
            elif event == "socket.connect" and isinstance(args[1], tuple):
                where = str(args[1][0])
                if not where.startswith("127.") and where not in ("::1", "localhost", "0.0.0.0"):
                    self._trial.note(self._trial.escaped, f"connects to {where}")
        except Exception:  # an audit hook that raises would fail the job's call
            return


def _absolute(path: Any) -> str:
    return os.path.abspath(os.fsdecode(path))


def _below(path: str, folders: tuple[str, ...]) -> bool:
    return any(path == folder or path.startswith(folder + os.sep) for folder in folders)


def _folders_left_alone() -> tuple[str, ...]:
    """Temporary files, caches, and what Python has compiled."""
    home = Path.home()
    caches = [str(home / name) for name in (".cache", ".triton", ".nv", ".config", ".local/state")]
    given = [os.environ[name] for name in _CACHES if os.environ.get(name)]
    code = [sys.prefix, sys.base_prefix, sysconfig.get_paths()["purelib"]]
    temporary = [tempfile.gettempdir(), "/tmp", "/var/tmp"]
    return tuple(os.path.abspath(path) for path in (*caches, *given, *code, *temporary))
