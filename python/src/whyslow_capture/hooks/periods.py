"""Finds what the loop repeats when one iteration has several optimizer steps: a rollout, then some updates."""

from __future__ import annotations

from collections import deque

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
        self.from_round = 0
        """The first round of the first such iteration."""
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
            self.from_round = self.rounds
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
            self.from_round = self.rounds
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
