"""What the Python API raises. Each message is the sentence that the command line prints."""

from __future__ import annotations


class WhyslowError(Exception):
    """whyslow cannot answer, and says why."""


class InputError(WhyslowError):
    """There is nothing to read, or it cannot be read, or the selection is empty."""
