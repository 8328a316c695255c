"""
What ends an iteration of the job's loop: an optimizer step, the first of several after a rollout, or a backward pass.
Decided from the order of calls alone, so that all ranks agree.
"""

from __future__ import annotations

import gc
from collections import deque
from typing import Any

import torch

from .modules import subclasses

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


# Rounds of an iteration. A loop that calls the model without gradients less often than this evaluates it.
MAX_ROUNDS = 64
# The period is looked for in this many rounds, in which every rank sees the same calls. Afterwards step numbers stay.
LEARNING_ROUNDS = 3 * MAX_ROUNDS
# Numbers of rounds that count as the same iteration differ at most by this factor: some stop early.
ALIKE = 2
# After this many times the usual number of rounds without a rollout the loop has become another one.
LOST = 4
# Iterations of the same length after which the next one is expected to be as long.
STEADY = 3
# Rounds before the expected end at which to look again.
LOOK_AHEAD = 2
# After this many rounds without a rare no-grad region, stop looking for them.
FORGET_AFTER = 1000


class LoopPeriod:
    """
    A round ends with one step of each optimizer (`IterationTracker`). In most jobs it is the whole iteration. Others
    call the model for a while without gradients, to collect data, and train on that for several rounds. There an
    iteration ends with the first round after such a region: that is certain at once, even if the number of rounds
    varies, and from one such moment to the next everything happens once. Decides by the order of calls alone, so ranks
    agree.
    """

    def __init__(self) -> None:
        self.is_on = False
        """Iterations have several rounds."""
        self.is_plain = False
        """Nothing more to learn: each round is an iteration and no no-grad region is expected."""
        self.has_loader = False
        """The job reads from a DataLoader. No-grad regions then evaluate the model, unless they feed it."""
        self.may_watch = False
        """Models may have hooks between steps."""
        self.rounds = 0
        self._had_no_grad = False
        # Rounds since the last one that a no-grad region preceded. Round 0 may follow one that nobody saw.
        self._since = -1
        self._gaps: deque[int] = deque(maxlen=STEADY)
        # The last gap may be an iteration, as far as loaders go; and a loader was begun in the current one.
        self._last_fits = self._began_loader = False
        self._in_every_round = False
        self._rare_until = 0

    @property
    def usual(self) -> int:
        """Rounds of an iteration."""
        return sorted(self._gaps)[len(self._gaps) // 2] if self.is_on else 1

    @property
    def varies(self) -> bool:
        return len(set(self._gaps)) > 1

    def loader_began(self) -> None:
        """The job begins to iterate over a DataLoader, with gradients enabled. The first time says nothing."""
        self._began_loader = self.rounds > 0

    def no_grad_begins(self) -> bool:
        """The model is called without gradients. Whether the loop repeats that, so that it is part of its steps."""
        self._had_no_grad = True
        if self.is_on or self._in_every_round or self._since == 0:
            return True
        if self._is_learning and self._fits_loader and self._since < MAX_ROUNDS:
            return True
        self.expect_rare()
        return False

    def expect_rare(self) -> None:
        """No-grad regions may come at any time: watch for them."""
        self._rare_until = self.rounds + FORGET_AFTER
        self.is_plain = False

    def round_ended(self) -> bool:
        """Whether the iteration ended too."""
        self.rounds += 1
        self._since += 1
        if self._had_no_grad:
            self._had_no_grad = False
            self._end_gap()
            return True
        if self.is_on and self._since > LOST * self.usual:
            self.is_on = False
        if not self.is_on and self.rounds >= max(LEARNING_ROUNDS, self._rare_until):
            self.is_plain = True
        return not self.is_on

    def _end_gap(self) -> None:
        self._gaps.append(self._since)
        self._since = 0
        fits = self._fits_loader and self._last_fits
        self._last_fits, self._began_loader = self._fits_loader, False
        if self.is_on or not self._is_learning or len(self._gaps) < 2:
            return
        last = [self._gaps[-2], self._gaps[-1]]
        self._in_every_round = last == [1, 1]
        if fits and min(last) >= 2 and max(last) <= min(MAX_ROUNDS, ALIKE * min(last)):
            self.is_on = True
            self._gaps = deque(last, maxlen=STEADY)

    @property
    def _is_learning(self) -> bool:
        return self.rounds < LEARNING_ROUNDS

    @property
    def _fits_loader(self) -> bool:
        return self._began_loader or not self.has_loader

    def wants_calls(self) -> bool:
        """Whether to watch for calls of the model until the next round ends, in steps that are not recorded."""
        if not self.may_watch:
            return False
        if not self.is_on:
            return self.rounds < max(LEARNING_ROUNDS, self._rare_until)
        is_steady = len(self._gaps) == STEADY and not self.varies
        return not is_steady or self._since >= self._gaps[-1] - LOOK_AHEAD


# Passes after which an optimizer is looked for that is yet to step, which takes up to 0.1 s: once if there is none, and
# once more if there is one without gradients. A step may make a pass for each sample (DP-SGD with torch.autograd.grad).
UNANNOUNCED = 3
ONE_PER_SAMPLE = 128


class PassSteps:
    """
    Steps of a job whose updates nobody announces: it calls no torch.optim optimizer and clears no gradients with
    `zero_grad()` (fastai, torch.func, updates by hand). There each backward pass ends a step.
    """

    def __init__(self) -> None:
        self.is_open = True
        """Passes may end steps: nothing else has ended one."""
        self.is_on = False
        """They do."""
        self._passes = 0

    def close(self) -> None:
        """Something else ends steps."""
        self.is_open = self.is_on = False

    def pass_ends_step(self) -> bool:
        if self.is_open and not self.is_on:
            self._passes += 1
            if self._passes in (UNANNOUNCED, ONE_PER_SAMPLE):
                optimizers = _optimizers()
                if any(_has_gradients(optimizer) for optimizer in optimizers):
                    self.close()
                else:
                    self.is_on = not optimizers or self._passes == ONE_PER_SAMPLE
        return self.is_on


def _optimizers() -> list[Any]:
    """Compares types: `isinstance` would resolve lazy proxies."""
    kinds = subclasses(torch.optim.Optimizer)
    return [thing for thing in gc.get_objects() if type(thing) in kinds]


def _has_gradients(optimizer: Any) -> bool:
    groups = optimizer.__dict__.get("param_groups", [])
    return any(getattr(parameter, "grad", None) is not None for group in groups for parameter in group["params"])
