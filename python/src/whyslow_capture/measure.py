"""Measures whatever trains inside a block, as `whyslow run` measures a whole job. `%%whyslow` in notebooks uses it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from .api import RUN_DEFAULTS, active_session, open_session
from .config_sources import load_config
from .needs_torch import needs_torch


class Measured:
    has_trained = False


@contextmanager
def measured(out: str | os.PathLike[str], *, trace: bool = True) -> Iterator[Measured]:
    """Writes to `out`. When the block ends, the process is as it was before: no hooks, no threads."""
    if active_session() is not None:
        raise RuntimeError("a capture is already on in this process")
    defaults = {**RUN_DEFAULTS, "trace.enabled": trace}
    config = load_config({"out": os.fspath(out), "defaults": defaults})
    with needs_torch("measuring"):
        from .session import Capture
    seen = Measured()
    capture = open_session(Capture(config), steps="optimizer")
    try:
        yield seen
    finally:
        capture.close()
        seen.has_trained = capture.files.begun
