"""A drop-in for d9d's `Profiler`, from a package of its own."""

from whyslow_capture.siblings import reach

reach("whyslow_dropins")

from whyslow_dropins.d9d import Profiler  # noqa: E402

__all__ = ["Profiler"]
