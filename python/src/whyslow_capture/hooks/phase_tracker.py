"""Combines what the hooks see: passes it on to the marks of a recorded step, and finds out when the step is over."""

from __future__ import annotations

from collections import Counter
from time import perf_counter_ns
from typing import TYPE_CHECKING

import torch

from ..layout import BACKWARD, DATA_WAIT, OPTIMIZER
from ..problems import describe
from .iterations import IterationTracker, LoopPeriod, PassSteps
from .modules import KnownModules
from .no_grad_regions import NoGradRegions
from .optimizer import attached, set_pre_hook
from .optimizer_roles import OptimizerRoles
from .step_marks import StepMarks

if TYPE_CHECKING:
    from ..session import Capture
    from .backward import BackwardWatch
    from .copies import CopyTimer
    from .forward import ForwardEntry
    from .gradient_sync import GradientSync

# Data waits per step. More than this is a validation loop, or a loop that skips batches.
MAX_DATA_WAITS = 64
# Optimizers whose models we search for. A job with one optimizer per parameter steps them inside backward.
MAX_OPTIMIZERS = 4
# After this many equal iterations we take the job's loop as known.
ENOUGH_ALIKE = 4
# Keys of iterations that no optimizer of their own ends: optimizers inside a backward pass, and backward passes.
IN_BACKWARD = -1
BY_PASS = -2


class PhaseTracker:
    def __init__(self, capture: Capture, *, ends_steps: bool) -> None:
        self.recorder = capture.recorder
        self.problems = capture.problems
        self.loaders = capture.loaders
        self._end_step = capture.optimizer_step if ends_steps else None
        # An attribute instead of a method: one Python call less per step.
        self.end_quiet_step = capture.end_quiet_step
        self.plain_optimizer = 0
        self._iteration_changed = capture.iteration_changed
        self.iterations = IterationTracker()
        self.roles = OptimizerRoles()
        self.pass_steps = PassSteps()
        self.loop = LoopPeriod()
        self.marks = StepMarks(capture.recorder)
        self.copied = self.marks.copied
        self.no_grad_regions = NoGradRegions(self, capture.job_clock)
        self.modules = KnownModules()
        self.parameters = capture.parameters
        self.collectives = capture.collectives
        self.messages = capture.messages
        # None if the user left their hooks out.
        self.backward: BackwardWatch | None = None
        self.copies: CopyTimer | None = None
        self.forward: ForwardEntry | None = None
        self.gradient_sync: GradientSync | None = None
        self.is_installed = True
        """False after the capture has ended, which the job may do inside an optimizer step."""
        self.in_backward = False
        self.stepped_in_backward = False
        self._seen: set[int] = set()
        self._known: set[int] = set()
        self.sees_steps = False
        """An optimizer has called its step hooks, so its step() is not compiled."""
        self._has_loader = False
        self.in_data = False
        self._stream: int | None = None
        # Consecutive iterations that ended with one step of one optimizer; and the id of that optimizer while nothing
        # else needs to be watched, with its role.
        self._steady = self._quiet = self._quiet_role = 0
        # Backward passes in the previous iteration, and so far in this one.
        self.usual_passes = self.passes = 0
        # Optimizer steps in the previous round, and in this one by optimizer.
        self.steps_per_round: Counter[int] = Counter()
        self._steps_so_far: Counter[int] = Counter()
        self._data_waits = 0

    def failed(self, error: Exception) -> None:
        self.problems.warn("hooks", f"timing a phase failed, training goes on: {describe(error)}")

    def _arm(self) -> None:
        """Installs the hooks that find copies and the call of the model, in recorded steps."""
        if not self.recorder.is_sampling:
            return
        started = perf_counter_ns()
        if self.copies is not None:
            self.copies.arm()
        if self.forward is not None:
            self.forward.arm()
        self.recorder.add_cost(perf_counter_ns() - started)

    def _arm_again(self) -> None:
        """
        After a backward pass, if another one is expected. Otherwise the step ends, and the model must have no hooks.
        """
        if self.passes < self.usual_passes:
            self._arm()

    def disarm(self) -> None:
        started = perf_counter_ns()
        if self.copies is not None:
            self.copies.disarm()
        if self.forward is not None:
            self.forward.disarm()
        self.recorder.add_cost(perf_counter_ns() - started)

    def sample_begins(self) -> None:
        """A recorded step begins."""
        try:
            self.marks.begin_step()
            self._data_waits = 0
            self.in_data = False
            self._watch(True)
            if self.loop.is_plain and self.recorder.budget.is_uneven:
                self.loop.expect_rare()
            self._stream = current_stream()
            # A loop without a DataLoader gives no other signal between steps.
            if not self._has_loader and self._known:
                self._arm()
        except Exception as error:
            self.failed(error)

    def is_on_side_stream(self) -> bool:
        """Whether the current stream is not the one the step began on."""
        return self._stream is not None and current_stream() != self._stream

    # -- data --------------------------------------------------------------------------------------------------------

    def data_begins(self) -> bool:
        """Whether this wait is recorded."""
        self._has_loader = self.loop.has_loader = True
        if self._data_waits >= MAX_DATA_WAITS:
            self.problems.count("data-waits-not-recorded")
            self.disarm()
            return False
        self._data_waits += 1
        self.marks.end_micro()
        self.in_data = True
        self.recorder.begin(DATA_WAIT)
        return True

    def data_ends(self, *, got: bool) -> None:
        self.in_data = False
        self.recorder.end(DATA_WAIT)
        if got:
            self.marks.loaded()
            self._arm()

    # -- copies, forward and backward --------------------------------------------------------------------------------

    def wants_copies(self) -> bool:
        return not self.in_backward and not self.in_data and self.marks.want_copies()

    def forward_begins(self) -> None:
        """A model was called. Only the first call of a micro-batch counts."""
        if self.in_backward or self.in_data or self.marks.is_in_forward:
            return
        self.marks.end_micro()
        self.disarm()
        self.marks.forward_begins()

    def backward_begins(self, root: object) -> None:
        if self.forward is not None and not self.marks.is_in_forward:
            self.forward.missed()
        self.disarm()
        self.no_grad_regions.end(is_certain=False)
        self.marks.end_copies()
        if self.gradient_sync is not None:
            self.gradient_sync.before(root)
        self.marks.backward_begins()

    def backward_ends(self) -> None:
        if self.recorder.recording:
            was_in_closure = self.marks.backward_ends()
            if self.gradient_sync is not None:
                self.gradient_sync.after()
            if was_in_closure:
                self._arm()
            else:
                self._arm_again()
        if self.stepped_in_backward:
            self.stepped_in_backward = False
            self._find_models(None, IN_BACKWARD)
            self._end_iteration(IN_BACKWARD)
        else:
            self.pass_ends()

    def pass_ends(self) -> None:
        """A pass ended, outside any optimizer. It ends the step if nothing else does."""
        if self.pass_steps.is_open and self.pass_steps.pass_ends_step():
            if self.recorder.recording and self.recorder.is_open(BACKWARD):
                self.marks.backward_ends()
            self._find_models(None, BY_PASS)
            self._end_iteration(BY_PASS)

    # -- optimizer ---------------------------------------------------------------------------------------------------

    def optimizer_begins(self, optimizer: object) -> None:
        """Called in recorded steps. Of nested optimizers (wrappers) the outermost counts."""
        if not self.in_backward and not self.recorder.is_open(OPTIMIZER):
            self.marks.optimizer_begins(id(optimizer))

    def optimizer_ends(self, optimizer: object) -> None:
        """Called in every step, since it may end the step."""
        if self._quiet and id(optimizer) != self._quiet and self.roles.of(optimizer) == self._quiet_role:
            self._quiet = id(optimizer)  # made anew
        if id(optimizer) == self._quiet:
            if not self.loop.is_plain:
                self._round_ends()
            elif self._end_step is not None:
                self._end_step()
                self.plain_optimizer = self._quiet
            if self.recorder.recording:
                self._watch(True)
            return
        if self._quiet:
            # Another optimizer. We did not see what came before it, so watch everything from now on.
            self._watch(True)
            return
        if self.in_backward:
            # This may be one of autograd's threads, so only set the flag.
            self.stepped_in_backward = True
            return
        if self.marks.optimizer_ends(id(optimizer)):
            self.disarm()
        key = self.roles.of(optimizer)
        if key not in self._known and len(self._known) < MAX_OPTIMIZERS:
            self._find_models(optimizer, key)
        self._end_iteration(key, optimizer)

    def gradients_zeroed(self, holder: object) -> bool:
        """
        A compiled step() does not call its hooks, and neither does an update without torch.optim; then this call marks
        the end of an iteration. `holder`: the optimizer or model whose gradients they are. False if steps are seen
        anyway.
        """
        if self.sees_steps:
            return False
        if self.iterations.backward_since_step and not self.in_backward:
            optimizer = holder if isinstance(holder, torch.optim.Optimizer) else None
            key = id(holder) if optimizer is None else self.roles.of(optimizer)
            self._find_models(optimizer, key)
            self._end_iteration(key)
        return True

    def _find_models(self, optimizer: object, key: int) -> None:
        """
        Searches for the optimizer's models. Not in its first step if that is recorded, because the search is slow.
        """
        if key in self._known:
            return
        if self.recorder.recording and key not in self._seen:
            self._seen.add(key)
            return
        self._known.add(key)
        self.parameters.add(optimizer)
        if self.forward is not None:
            self.forward.look_for_models(optimizer)

    def _end_iteration(self, key: int, optimizer: object = None) -> None:
        if key != BY_PASS and self.pass_steps.is_open:
            if self.pass_steps.is_on:
                # The first step made many passes. They are no part of the cycle.
                self.iterations = IterationTracker()
            self.pass_steps.close()
        iterations = self.iterations
        is_over = iterations.stepped(key)
        self._steps_so_far[key] += 1
        if is_over:
            self.steps_per_round, self._steps_so_far = self._steps_so_far, Counter()
            self._round_ends()
        elif self.recorder.recording:
            self._arm_again()
        # A loop around one optimizer needs no more watching. A compiled step() does: there is no other signal.
        self._steady = self._steady + 1 if is_over and iterations.is_steady(key) else 0
        is_known = self._steady >= ENOUGH_ALIKE and self.sees_steps and key in self._known and optimizer is not None
        self._watch(self.recorder.recording or not is_known, id(optimizer), key)

    def _round_ends(self) -> None:
        """Each optimizer has made its steps. In most jobs that is the iteration."""
        loop, forward = self.loop, self.forward
        was_on = loop.is_on
        self.no_grad_regions.end(is_certain=False)
        is_over = loop.round_ended()
        if loop.is_on != was_on and self._end_step is not None:
            self._iteration_changed(loop.usual)
        if is_over:
            if not self._quiet:
                self.usual_passes = self.passes
            self.passes = 0
            if self._end_step is not None:
                self._end_step()
        if self.recorder.is_sampling and (not is_over or self._end_step is None):
            self._arm()
        elif forward is not None:
            if loop.wants_calls():
                forward.watch()
            else:
                forward.disarm()

    def leaves_micro(self) -> None:
        """Something other than training begins: copies that were launched for the model are complete."""
        self.marks.end_micro()
        if self.copies is not None:
            self.copies.disarm()

    def _watch(self, wanted: bool, optimizer: int = 0, role: int = 0) -> None:
        """Whether to watch backward passes and optimizer begins. `optimizer`: the id of the one that needs none."""
        self.plain_optimizer = 0
        if not self.is_installed:
            return
        if wanted:
            self._quiet = 0
            if self.backward is not None:
                self.backward.arm()
        else:
            self._quiet, self._quiet_role = optimizer, role
            if self.backward is not None:
                self.backward.disarm()
        if attached() is self:
            set_pre_hook(wanted)


def current_stream() -> int | None:
    if not torch.cuda.is_initialized():
        return None
    return int(torch.cuda.current_stream().cuda_stream)
