"""Imports frameworks. If one is missing its tests are skipped, which fails in CI."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import pytest


def framework(name: str) -> Any:
    """Returns the module. A broken installation is an error, not a reason to skip."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.split(".")[0] or os.environ.get("CI"):
            raise
        pytest.skip(f"{name} is not installed", allow_module_level=True)
