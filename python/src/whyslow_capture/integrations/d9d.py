"""A drop-in for d9d's `Profiler`, from a package of its own."""

from whyslow_dropins.d9d import Profiler

__all__ = ["Profiler"]
