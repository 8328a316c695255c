"""A drop-in for lmms-engine's `CudaEventProfiler`, from a package of its own."""

from whyslow_dropins.lmms import CudaEventProfiler

__all__ = ["CudaEventProfiler"]
