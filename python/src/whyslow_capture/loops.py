"""Written by `npm run remedies` from src/remedies, the catalog of fixes. Do not edit."""

from __future__ import annotations

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
