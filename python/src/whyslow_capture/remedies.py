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

TITLES: dict[TrialId, str] = {
    "tf32": "fp32 matrix products in TF32",
    "cudnn-benchmark": "cuDNN searches for the fastest convolution",
    "anomaly-off": "anomaly detection off",
    "loader-workers": "more DataLoader workers, kept alive",
    "loader-persistent": "DataLoader workers live through epochs",
    "loader-prefetch": "DataLoader workers prefetch more batches",
    "pinned-copies": "copies to the GPU from pinned memory, without waiting",
    "fused-optimizer": "fused optimizer (foreach if there is no fused one)",
    "channels-last": "channels_last layout for convolutions",
    "bf16-autocast": "bf16 autocast around forward pass and loss",
    "compile": "torch.compile of the model",
    "compile-graphs": "torch.compile with CUDA graphs (reduce-overhead)",
    "fused-attention": "fused attention kernels",
    "gc-frozen": "objects of the set-up out of garbage collection, no gc.collect() in the steps",
    "keep-cache": "no torch.cuda.empty_cache() in the steps",
    "expandable-segments": "allocator segments that grow",
    "omp-threads": "as many operator threads as this rank has cores",
    "numa-binding": "process bound to the cores next to its GPU",
    "ddp-bucket-view": "DDP: gradients are views of the buckets",
    "ddp-bucket-size": "DDP: larger buckets",
    "ddp-static-graph": "DDP: static graph, no search for unused parameters",
    "fsdp-prefetch": "FSDP: all-gathers start earlier",
    "larger-micro-batch": "larger micro-batches, less accumulation",
}
"""Fixes that a trial can apply, in the order in which `whyslow try --all` runs them."""

LOOPS: tuple[tuple[str, str], ...] = (
    ("transformers.trainer", "transformers"),
    ("lightning.", "lightning"),
    ("pytorch_lightning", "lightning"),
    ("skorch.", "skorch"),
    ("ultralytics.", "ultralytics"),
    ("fastai.", "fastai"),
    ("keras.", "keras"),
    ("torchtitan.", "torchtitan"),
    ("deepspeed.", "deepspeed"),
    ("accelerate.data_loader", "accelerate"),
)
"""Modules whose calls show that a framework runs the training loop. One that uses another comes before it."""
