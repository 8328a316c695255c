"""A drop-in for slime's `TrainProfiler`, from a package of its own."""

from whyslow_dropins.slime import TrainProfiler

__all__ = ["TrainProfiler"]
