"""What one trial is to do. Written by the program that starts the job."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

VARIABLE = "WHYSLOW_TRIAL"


@dataclass(frozen=True)
class TrialSpec:
    results: Path
    """Folder for the results of the ranks. Nothing else uses it."""
    scratch: Path
    """Folder for whatever the job saves."""
    fixes: tuple[dict[str, Any], ...] = ()
    """Fixes to apply: `name`, and settings where a fix has some."""
    warmup: int = 10
    """Steps that are not measured. More where workers of a DataLoader hold batches ready."""
    steps: int = 40
    seconds: float | None = None
    """Ends the measurement early, after so many seconds of measured steps."""
    seed: int = 0
    capture: bool = False
    """Also record, as `whyslow run` does."""
    protected: tuple[Path, ...] = field(default_factory=tuple)
    """Folders whose files the job may not change, although they are among temporary files."""


def read_spec() -> TrialSpec:
    given: dict[str, Any] = json.loads(Path(os.environ[VARIABLE]).read_text())
    for name in ("results", "scratch"):
        given[name] = Path(given[name])
    given["fixes"] = tuple(given.get("fixes", ()))
    given["protected"] = tuple(Path(path) for path in given.get("protected", ()))
    return TrialSpec(**given)
