"""A drop-in for slime's `TrainProfiler`, from a package of its own."""

from whyslow_capture.siblings import reach

reach("whyslow_dropins")

from whyslow_dropins.slime import TrainProfiler  # noqa: E402

__all__ = ["TrainProfiler"]
