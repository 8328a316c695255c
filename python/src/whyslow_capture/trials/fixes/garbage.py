"""Objects of the set-up are taken out of garbage collection, so that collections have little to walk."""

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

        trial.at_step_end.append(freeze)
