"""What one trial is to do. Written by the program that starts the job."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VARIABLE = "WHYSLOW_TRIAL"


@dataclass(frozen=True)
class TrialSpec:
    results: Path
    """Folder for the results of the ranks. Nothing else uses it."""
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
    writable: tuple[str, ...] | None = None
    """Writes anywhere else are denied. None: nothing is denied."""


def read_spec() -> TrialSpec:
    given: dict[str, Any] = json.loads(Path(os.environ[VARIABLE]).read_text())
    given["results"] = Path(given["results"])
    given["fixes"] = tuple(given.get("fixes", ()))
    if given.get("writable") is not None:
        given["writable"] = tuple(os.path.realpath(path) for path in given["writable"])
    return TrialSpec(**given)
