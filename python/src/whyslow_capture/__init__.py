"""
Measures PyTorch training at a cost low enough to leave it on.

    with whyslow_capture.capture("runs/mine") as cap:
        for batch in loader:
            ...
            optimizer.step()
            cap.step()

The public API is what ``__all__`` lists, plus the modules in ``whyslow_capture.integrations`` that the README names.
All other modules are internal: they change without notice. Importing this package does not import torch; the names that
need torch load it when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ._version import VERSION as __version__

if TYPE_CHECKING:
    from whyslow_training.copies import to_device
    from whyslow_training.metrics import MetricsGather, MetricsMismatchError

    from .api import active, capture
    from .config import CaptureConfig, TraceConfig
    from .handle import CaptureHandle, DisabledCapture
    from .patching import ActivePatch, patches

_MODULES = {
    "ActivePatch": ".patching",
    "CaptureConfig": ".config",
    "CaptureHandle": ".handle",
    "DisabledCapture": ".handle",
    "MetricsGather": "whyslow_training.metrics",
    "MetricsMismatchError": "whyslow_training.metrics",
    "TraceConfig": ".config",
    "active": ".api",
    "capture": ".api",
    "patches": ".patching",
    "to_device": "whyslow_training.copies",
}

__all__ = [
    "ActivePatch",
    "CaptureConfig",
    "CaptureHandle",
    "DisabledCapture",
    "MetricsGather",
    "MetricsMismatchError",
    "TraceConfig",
    "__version__",
    "active",
    "capture",
    "patches",
    "to_device",
]


def __getattr__(name: str) -> object:
    from .problems import needs_torch
    from .siblings import reach

    home = _MODULES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if home.startswith("whyslow_training"):
        reach("whyslow_training")
    with needs_torch(f"{__name__}.{name}"):
        value = getattr(import_module(home, __name__), name)
    globals()[name] = value
    return value
