"""Frameworks that may not be installed: importing our module works anyway, and using it says what is missing."""

from __future__ import annotations

from typing import Any, NoReturn


def missing_base(module: str, needs: str, install: str, cause: Exception) -> Any:
    """A base class in place of the framework's. Creating an object of it raises a clear ImportError."""

    class Missing:
        def __new__(cls, *_: object, **__: object) -> NoReturn:
            raise_missing(module, needs, install, cause)

    return Missing


def raise_missing(module: str, needs: str, install: str, cause: Exception) -> NoReturn:
    found = "" if isinstance(cause, ModuleNotFoundError) else f" ({type(cause).__name__}: {cause})"
    raise ImportError(f"{module} needs {needs}: pip install {install}{found}") from cause
