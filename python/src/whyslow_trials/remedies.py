"""Written by `npm run remedies` from src/remedies, the catalog of fixes. Do not edit."""

from __future__ import annotations

from typing import Literal

TrialId = Literal[
    "tf32",
    "cudnn-benchmark",
    "anomaly-off",
    "loader-workers",
    "loader-persistent",
    "loader-prefetch",
    "pinned-copies",
    "fused-optimizer",
    "channels-last",
    "bf16-autocast",
    "compile",
    "compile-graphs",
    "fused-attention",
    "gc-frozen",
    "keep-cache",
    "expandable-segments",
    "omp-threads",
    "numa-binding",
    "ddp-bucket-view",
    "ddp-bucket-size",
    "ddp-static-graph",
    "fsdp-prefetch",
    "larger-micro-batch",
]
"""Fixes that a trial can apply, in the order in which `whyslow try --all` runs them."""
