"""What the job does beyond its files: hosts that it contacts, and writes that Landlock denies."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from .trial import Trial

# By event: the argument that is a path. Opening is looked at by its flags.
_CHANGES = {
    "os.mkdir": 0,
    "os.remove": 0,
    "os.rename": 0,
    "os.rmdir": 0,
    "os.truncate": 0,
    "os.link": 1,
    "os.symlink": 1,
    "sqlite3.connect": 0,
}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_TRUNC
_LOCAL = ("127.", "0.0.0.0", "::1", "::", "localhost")


def watch(trial: Trial) -> None:
    allowed = trial.spec.writable

    def seen(event: str, args: tuple[Any, ...]) -> None:
        try:
            if event in ("socket.getaddrinfo", "socket.connect"):
                host = _host(event, args)
                if host is not None:
                    trial.note(trial.reached, host)
            elif allowed is not None:
                path = _written(event, args)
                if path is not None and not any(Path(path).is_relative_to(folder) for folder in allowed):
                    trial.note(trial.denied, path)
        except Exception:  # an audit hook that raises would fail the job's call
            return

    sys.addaudithook(seen)


def _host(event: str, args: tuple[Any, ...]) -> str | None:
    given = args[0] if event == "socket.getaddrinfo" else args[1][0] if isinstance(args[1], tuple) else None
    host = os.fsdecode(given) if isinstance(given, (str, bytes)) else ""
    return None if not host or host.startswith(_LOCAL) else host


def _written(event: str, args: tuple[Any, ...]) -> str | None:
    if event == "open":
        given = args[0] if isinstance(args[2], int) and args[2] & _WRITING else None
    elif event in _CHANGES:
        given = args[_CHANGES[event]]
    else:
        return None
    return os.path.realpath(os.fsdecode(given)) if isinstance(given, (str, bytes, os.PathLike)) else None
