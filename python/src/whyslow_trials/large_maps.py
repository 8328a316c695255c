"""
numpy opens a file that it maps for reading and writing unless a script says otherwise, and few scripts do. The kernel
would then copy the whole dataset to the scratch folder. A private map has the same contents and the same speed.
"""

from __future__ import annotations

import functools
import os
from types import ModuleType
from typing import Any

LARGE_BYTES = 64 << 20


def install() -> None:
    from whyslow_capture.job.imports import after_import

    after_import({"numpy": _map_privately})


def _map_privately(module: ModuleType) -> None:
    owner: Any = module.memmap
    original = owner.__new__

    @functools.wraps(original)
    def __new__(
        subtype: Any, filename: Any, dtype: Any = module.uint8, mode: Any = "r+", *args: Any, **more: Any
    ) -> Any:
        if mode in ("r+", "readwrite") and _is_large(filename):
            mode = "c"
        return original(subtype, filename, dtype, mode, *args, **more)

    owner.__new__ = __new__


def _is_large(filename: Any) -> bool:
    return isinstance(filename, (str, bytes, os.PathLike)) and os.path.getsize(filename) >= LARGE_BYTES
