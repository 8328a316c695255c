"""Capture for frameworks that own the training loop. Each module imports without its framework, and without torch."""
