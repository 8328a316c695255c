"""Capture for frameworks that own the training loop. Each module can be imported without its framework."""
