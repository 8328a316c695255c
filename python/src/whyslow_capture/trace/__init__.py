"""The trace tier: torch.profiler windows, scheduled or on demand, within a memory budget, compressed by a thread."""
