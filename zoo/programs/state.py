"""Puts PyTorch's global switches, caches and memory back, so that no case leaks into the next."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch._dynamo

from registry import Settings


def apply(settings: Settings) -> None:
    torch.backends.cuda.matmul.allow_tf32 = settings.tf32
    torch.backends.cudnn.benchmark = settings.cudnn_benchmark
    torch.autograd.set_detect_anomaly(settings.detect_anomaly)


def release_memory(device: str) -> None:
    gc.collect()
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


@contextmanager
def clean_state(settings: Settings, device: str) -> Iterator[None]:
    torch.manual_seed(0)
    release_memory(device)
    dynamo: dict[str, object] = {"automatic_dynamic_shapes": settings.automatic_dynamic_shapes}
    if settings.recompile_limit:
        dynamo["recompile_limit"] = settings.recompile_limit
        dynamo["accumulated_recompile_limit"] = settings.recompile_limit
    apply(settings)
    try:
        with torch._dynamo.config.patch(dynamo):
            yield
    finally:
        apply(Settings())
        # Compiled code and the CUDA graphs it holds belong to the case that made them.
        torch.compiler.reset()
