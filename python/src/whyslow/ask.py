"""Runs the command line and returns what it printed. Its errors become exceptions with the same sentences."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Sequence

from .errors import InputError, WhyslowError
from .node import command_line

BAD_INPUT = 2
# 3: no verdict could be given. The report says what to record next.
ANSWERED = (0, 3)
PREFIX = "whyslow: "

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def paths_of(given: Paths) -> list[str]:
    """One path or several. A path that begins with a dash would be an option."""
    several = [given] if isinstance(given, str | os.PathLike) else list(given)
    paths = [os.fspath(path) for path in several]
    if not paths:
        raise InputError("name at least one file or folder")
    return [os.path.join(".", path) if path.startswith("-") else path for path in paths]


def ask(arguments: Sequence[str], *, timeout: float | None = None) -> str:
    """`arguments` of whyslow. Ctrl-C and a timeout end it as well."""
    command = [*command_line(), *arguments]
    environment = {**os.environ, "NO_COLOR": "1"}
    environment.pop("FORCE_COLOR", None)
    try:
        ran = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, env=environment, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        raise WhyslowError(f"whyslow did not answer within {timeout:g} s") from None
    except OSError as error:
        raise WhyslowError(f"cannot start {command[0]}: {error.strerror}") from None
    if ran.returncode in ANSWERED:
        return ran.stdout.decode("utf-8", "replace")
    message = _sentence(ran.stderr.decode("utf-8", "replace"))
    if ran.returncode == BAD_INPUT:
        raise InputError(message or "whyslow could not read that")
    raise WhyslowError(message or f"whyslow ended with exit code {ran.returncode}")


def _sentence(errors: str) -> str:
    """Without the name of the program, and without notes that came before."""
    lines = errors.strip().splitlines()
    starts = [at for at, line in enumerate(lines) if line.startswith((PREFIX, "error: "))]
    text = "\n".join(line for line in lines[starts[-1] if starts else 0 :] if not line.startswith("(--help"))
    return text.removeprefix(PREFIX).removeprefix("error: ")
