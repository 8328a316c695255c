"""torch is imported late, and pip does not install it: many sites use a build of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needs_torch(user: str) -> Iterator[None]:
    """Around imports of modules that import torch: if torch is missing, says which call needs it and what to do."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ImportError(
            f"{user} needs torch 2.3 or newer, which is not installed in this Python: install the build for your "
            "machine (https://pytorch.org/get-started/locally)"
        ) from error
