"""Objects of the set-up are taken out of garbage collection, and the job's own calls of gc.collect() are left out."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from .base import Fix

if TYPE_CHECKING:
    from ..trial import Trial

# The first steps make objects that stay: optimizer state, compiled code, iterators.
AFTER_STEPS = 3


class GcFrozen(Fix):
    name = "gc-frozen"

    def install(self, trial: Trial) -> None:
        def freeze(count: int) -> None:
            if count == AFTER_STEPS:
                gc.collect()
                gc.freeze()
                trial.apply(self.name, f"{gc.get_freeze_count():,} objects frozen")
                gc.collect = left_out

        def left_out(generation: int = 2) -> int:
            trial.apply(self.name, "gc.collect() left out")
            return 0

        trial.at_step_end.append(freeze)
