"""Skips tests that an older torch cannot pass. With the newest torch nothing is skipped, which CI requires."""

from __future__ import annotations

import pytest
import torch


def is_before(version: str) -> bool:
    """Compares torch's major and minor version."""
    return _numbers(torch.__version__) < _numbers(version)


def needs_torch(version: str, why: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(is_before(version), reason=f"torch before {version}: {why}")


def _numbers(version: str) -> tuple[int, int]:
    major, minor, *_ = version.split(".")
    return int(major), int(minor)
