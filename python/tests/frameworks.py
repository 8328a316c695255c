"""Frameworks the adapters are for. Where one is missing its tests are skipped, which in CI counts as a failure."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import pytest


def framework(name: str) -> Any:
    """The module; a broken installation is an error, not a reason to skip."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.split(".")[0] or os.environ.get("CI"):
            raise
        pytest.skip(f"{name} is not installed", allow_module_level=True)
