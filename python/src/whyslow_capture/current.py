"""The running capture, for parts that work without one as well. Loads nothing: where none was started, none runs."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .session import Capture


def running() -> Capture | None:
    if f"{__package__}.session" not in sys.modules:
        return None
    from .of_process import active

    return active()


def phase(name: str) -> AbstractContextManager[None]:
    """The phase of that name of the running capture, or nothing."""
    capture = running()
    return nullcontext() if capture is None else capture.phase(name)
