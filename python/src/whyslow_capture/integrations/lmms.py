"""A drop-in for lmms-engine's `CudaEventProfiler`, from a package of its own."""

from whyslow_capture.siblings import reach

reach("whyslow_dropins")

from whyslow_dropins.lmms import CudaEventProfiler  # noqa: E402

__all__ = ["CudaEventProfiler"]
