"""Which optimizer step ends an iteration. Sees only the order of calls, so that all ranks come to the same answer."""

from __future__ import annotations

# An optimizer that comes this seldom (in groups, see below) is not what the loop goes round by.
MAX_CYCLE = 16


class IterationTracker:
    """
    Optimizer steps with no backward pass between them are one group (Muon and AdamW side by side; DeepSpeed, one call
    for each part of the parameters). Groups form a cycle: of one optimizer in most jobs, D then G in a GAN, D five
    times then G. An iteration ends with the last step of the last group of the cycle, as the cycle before has shown it.
    In the first one nothing is known, and every group of the first optimizer ends one.
    """

    def __init__(self) -> None:
        self.backward_since_step = False
        """Set by who sees a backward pass begin."""
        self._backward_ever = False
        self._steady: int | None = None
        # The group under way: its first optimizer, steps so far, and the steps that groups of that optimizer have.
        self._kind: int | None = None
        self._steps = 0
        self._sizes: dict[int, int] = {}
        self._larger: dict[int, int] = {}
        # The cycle: which optimizer begins it, whose group ends it, and how long the last one was, in groups.
        self._first: int | None = None
        self._last: int | None = None
        self._groups_in_cycle = 0
        self._groups_since_end = 0
        self._cycle = 1

    def is_steady(self, optimizer: int) -> bool:
        """Every step of this optimizer, the only one, ends an iteration: so it has been for a whole one."""
        return optimizer == self._steady

    def stepped(self, optimizer: int) -> bool:
        """A step of this optimizer has ended (ids tell them apart); whether the iteration has, too."""
        if optimizer == self._steady and self.backward_since_step:
            self.backward_since_step = False
            self._groups_in_cycle += 1
            self._sizes[optimizer] = self._larger[optimizer] = 1
            return True
        self._steady = None
        if self.backward_since_step:
            self._backward_ever = True
        # Where backward passes cannot be seen every step is a group.
        if self._kind is None or self.backward_since_step or not self._backward_ever:
            self._end_group()
            self._begin_group(optimizer)
        self.backward_since_step = False
        self._steps += 1
        if self._last is None or self._kind != self._last or self._steps != self._sizes.get(self._last, 1):
            return False
        self._groups_since_end = 0
        # One optimizer, one step an iteration: most jobs, every time.
        self._steady = optimizer if self._first == self._last and self._steps == 1 else None
        return True

    def _end_group(self) -> None:
        """Learns how many steps the group had. One odd group with more changes nothing: fewer would then never end."""
        kind, steps = self._kind, self._steps
        if kind is None:
            return
        known = self._sizes.get(kind)
        if known is None or steps < known or (steps > known and self._larger.get(kind) == steps):
            self._sizes[kind] = steps
        self._larger[kind] = steps

    def _begin_group(self, kind: int) -> None:
        before, self._kind, self._steps = self._kind, kind, 0
        self._groups_in_cycle += 1
        self._groups_since_end += 1
        if self._first is None:
            self._first = self._last = kind
        elif kind == self._first and before != kind:
            length = self._groups_in_cycle - 1
            if length <= MAX_CYCLE:
                self._last, self._cycle = before, length
            self._groups_in_cycle = 1
        if self._groups_since_end > 2 * self._cycle and kind != self._last:
            # What used to end iterations is gone: what there is does from now on.
            self._first = self._last = kind
            self._cycle, self._groups_in_cycle = 1, 1
