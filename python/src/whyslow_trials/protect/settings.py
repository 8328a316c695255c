"""What Node asks for, as JSON."""

from __future__ import annotations

from typing import TypedDict


class Settings(TypedDict):
    layers: str
    """For what the job writes. A new folder."""
    writable: list[str]
    """Folders of whyslow itself, which the job's processes really write to."""
    network: bool
    """False: only loopback."""
