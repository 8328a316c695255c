"""Decides which optimizer step ends an iteration, from the order of calls alone, so all ranks agree."""

from __future__ import annotations

# Longest cycle, in groups. An optimizer that steps less often does not define the loop.
MAX_CYCLE = 16
# Groups of others in turn before an optimizer counts as gone. SAC has four or eight between two groups of the first.
PATIENCE = 8


class IterationTracker:
    """
    Optimizer steps without a backward pass between them form a group (Muon and AdamW together; DeepSpeed, with one call
    per part of the parameters). Groups form a cycle: one optimizer in most jobs; D, then G in a GAN; or five times D,
    then G. An iteration ends with the last step of the last group of the cycle, as learned from the previous cycle. In
    the first cycle nothing is known, and every group of the first optimizer ends an iteration.
    """

    def __init__(self) -> None:
        self.backward_since_step = False
        """Set by the backward hook."""
        self._backward_ever = False
        self._steady: int | None = None
        # The current group: its first optimizer, its steps so far, and the known group sizes by first optimizer.
        self._kind: int | None = None
        self._steps = 0
        self._sizes: dict[int, int] = {}
        self._larger: dict[int, int] = {}
        # The cycle: which optimizer begins it, whose group ends it, and how many groups the last cycle had.
        self._first: int | None = None
        self._last: int | None = None
        self._groups_in_cycle = 0
        self._groups_since_end = 0
        self._cycle = 1
        # Groups by first optimizer: of the cycle so far, and how many of `_last` the last cycle had (SAC: two of them).
        self._seen: dict[int, int] = {}
        self._in_row = 0
        self._lasts = 1

    @property
    def has_trained(self) -> bool:
        """Whether a backward pass or an optimizer step was seen. If not, the job may only infer."""
        return self.backward_since_step or self._backward_ever or self._first is not None

    def is_steady(self, optimizer: int) -> bool:
        """Whether each step of this optimizer, the only one, has been ending an iteration."""
        return optimizer == self._steady

    def stepped(self, optimizer: int) -> bool:
        """A step of this optimizer (its id) ended. Returns whether the iteration ended too."""
        if optimizer == self._steady and self.backward_since_step:
            self.backward_since_step = False
            self._groups_in_cycle += 1
            self._sizes[optimizer] = self._larger[optimizer] = 1
            return True
        self._steady = None
        if self.backward_since_step:
            self._backward_ever = True
        # If no backward pass is ever seen, every step is a group.
        if self._kind is None or self.backward_since_step or not self._backward_ever:
            self._end_group()
            self._begin_group(optimizer)
        self.backward_since_step = False
        self._steps += 1
        if self._last is None or self._kind != self._last or self._steps != self._sizes.get(self._last, 1):
            return False
        if self._first != self._last and self._seen.get(self._last, 0) < self._lasts:
            return False
        self._groups_since_end = 0
        # One optimizer with one step per iteration, as in most jobs.
        self._steady = optimizer if self._first == self._last and self._steps == 1 else None
        return True

    def _end_group(self) -> None:
        """
        Learns the size of the group. A single larger group is ignored: if it counted, usual groups would never end.
        """
        kind, steps = self._kind, self._steps
        if kind is None:
            return
        known = self._sizes.get(kind)
        if known is None or steps < known or (steps > known and self._larger.get(kind) == steps):
            self._sizes[kind] = steps
        self._larger[kind] = steps

    def _begin_group(self, kind: int) -> None:
        before, self._kind, self._steps = self._kind, kind, 0
        self._in_row = self._in_row + 1 if kind == before else 1
        self._groups_in_cycle += 1
        self._groups_since_end += 1
        if self._first is None:
            self._first = self._last = kind
        elif kind == self._first and before != kind:
            length = self._groups_in_cycle - 1
            if length <= MAX_CYCLE:
                self._last, self._cycle = before, length
                self._lasts = 1 if before is None else self._seen.get(before, 1)
            self._groups_in_cycle = 1
            self._seen = {}
        is_overdue = self._groups_since_end > 2 * self._cycle and kind != self._last
        if is_overdue and (self._in_row > 2 or self._groups_since_end > PATIENCE):
            # The optimizer that ended iterations no longer steps. The current one takes over.
            self._first = self._last = kind
            self._cycle, self._groups_in_cycle = 1, 1
            self._seen = {}
        self._seen[kind] = self._seen.get(kind, 0) + 1
