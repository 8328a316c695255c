"""How many parameters the job trains, by number format: a trace of the CPU does not show formats."""

from __future__ import annotations

from collections import Counter


class ParameterTypes:
    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, optimizer: object) -> None:
        """Called once for each optimizer."""
        for group in getattr(optimizer, "param_groups", None) or []:
            for parameter in group["params"]:
                self._counts[str(parameter.dtype).removeprefix("torch.")] += parameter.numel()

    def summary(self) -> dict[str, int] | None:
        return dict(self._counts) or None
