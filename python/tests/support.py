"""For all tests: a capture without hooks, readers of its files, and programs run in separate processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

from warm_python import warm_python

from whyslow_capture import layout
from whyslow_capture.config import CaptureConfig
from whyslow_capture.events.recorder import Recorder
from whyslow_capture.events.sample import ResolvedSample, steps_of
from whyslow_capture.session import Capture

SRC = Path(__file__).resolve().parents[1] / "src"


def make(out: Path, **config: Any) -> Capture:
    """A capture without hooks and without a budget, which would sample less on a busy machine."""
    given = {"auto_phases": False, "max_overhead": 1.0, **config}
    return Capture(CaptureConfig(out=str(out), **given)).open()


def taken(recorder: Recorder) -> list[ResolvedSample]:
    """What the writer thread would get."""
    return steps_of(recorder.take_done())


def lines_of(out: Path, rank: int = 0) -> list[dict[str, Any]]:
    return [json.loads(line) for line in layout.events_file(out, rank).read_text().splitlines()]


def records_of(out: Path, rank: int = 0) -> list[dict[str, Any]]:
    return [line for line in lines_of(out, rank) if "whyslow" not in line]


def header_of(out: Path, rank: int = 0) -> dict[str, Any]:
    return lines_of(out, rank)[0]


def run_program(
    source: str, *arguments: object, check: bool = True, env: dict[str, str] | None = None, timeout: float = 300
) -> subprocess.CompletedProcess[str]:
    """In a fresh interpreter."""
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source), *map(str, arguments)],
        capture_output=True,
        text=True,
        env=_environment() | (env or {}),
        timeout=timeout,
    )
    return _checked(result) if check else result


def run_torch_program(
    source: str, *arguments: object, check: bool = True, timeout: float = 300
) -> subprocess.CompletedProcess[str]:
    """In a process of its own that has already imported torch, which saves 4 s of a core."""
    result = warm_python().run(
        textwrap.dedent(source), [str(argument) for argument in arguments], _environment(), timeout
    )
    return _checked(result) if check else result


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(SRC), "OMP_NUM_THREADS": "1"}


def _checked(result: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    if result.returncode != 0:
        raise AssertionError(f"exit {result.returncode}\n{result.stdout}\n{result.stderr}")
    return result
