"""Why is my PyTorch training slow, and what do I change? The command line and its answers as Python objects."""

from __future__ import annotations

__version__ = "0.1.0"
