"""What an older torch cannot do by itself. Nothing is skipped with the newest, where CI takes that for a failure."""

from __future__ import annotations

import pytest
import torch


def is_before(version: str) -> bool:
    """Of torch, by major and minor number."""
    return _numbers(torch.__version__) < _numbers(version)


def needs_torch(version: str, why: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(is_before(version), reason=f"torch before {version}: {why}")


def _numbers(version: str) -> tuple[int, int]:
    major, minor, *_ = version.split(".")
    return int(major), int(minor)
