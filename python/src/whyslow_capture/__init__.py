"""
Measurements of PyTorch training that you can leave on.

    with whyslow_capture.capture("runs/mine") as cap:
        for batch in loader:
            ...
            optimizer.step()
            cap.step()
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ._version import VERSION as __version__

if TYPE_CHECKING:
    from .config import CaptureConfig, TraceConfig
    from .copies import to_device
    from .metrics import MetricsGather
    from .of_process import DisabledCapture, active, capture
    from .session import Capture

# Loaded when first used: a job that only copies batches needs no profiler.
_HOMES = {
    "Capture": "session",
    "CaptureConfig": "config",
    "DisabledCapture": "of_process",
    "MetricsGather": "metrics",
    "TraceConfig": "config",
    "active": "of_process",
    "capture": "of_process",
    "to_device": "copies",
}

__all__ = [
    "Capture",
    "CaptureConfig",
    "DisabledCapture",
    "MetricsGather",
    "TraceConfig",
    "__version__",
    "active",
    "capture",
    "to_device",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value
