"""Decides which steps are recorded and collects their samples. `StepBuffer` records what happens within a step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from threading import get_ident
from time import perf_counter_ns

import torch

from ..layout import TRAINING_STEP
from ..problems import ProblemLog, describe
from .budget import OverheadBudget
from .device import ANCHOR_EVERY_NS, CudaDevice, PendingSamples
from .sample import Sample, micro_of
from .step_buffer import MAX_STEPS, StepBuffer

# Later than any step.
NEVER = 1 << 62
# Cost of a phase besides its marks: about 5 µs on the slow host of bench/capture-overhead, rounded up. Phases have
# become cheaper since; an estimate that is too high only makes us record less.
PHASE_NS = 6_000


class Recorder:
    def __init__(
        self,
        budget: OverheadBudget,
        problems: ProblemLog,
        *,
        first_step: int = 0,
        start: int = 0,
        end: int | None = None,
    ) -> None:
        self.recording = False
        """Hooks check this first, and do nothing else in a step that is not recorded."""
        self.is_sampling = False
        """
        Whether the step is sampled. `recording` is also true if only a profiler window watches; then no marks are made.
        """
        self.thread = get_ident()
        self.current_step = first_step
        self.quiet_until = 0
        """Steps before this one need no work at their end, so `Capture.step` returns early."""
        self.enabled = True
        self.on_recording: Callable[[], None] | None = None
        """Called when `recording` or `watch` changes."""
        self.watch: Callable[[], None] | None = None
        self.disturbance: Callable[[], str | None] = _nothing
        """What a profiler does to the steps right now. None: nothing."""
        self.budget = budget
        self.buffer = StepBuffer(problems)
        # An attribute instead of a method: one Python call less per recorded step.
        self.next_in_row = self.buffer.end_step
        """Ends the given step when the next one is recorded too. False if `finish_step` and `start_step` are needed."""
        self._problems = problems
        self._start, self._end = start, end
        self._device: CudaDevice | None = None
        self._cuda_failed = False
        # (is_sampling, is watched) when `on_recording` was last called.
        self._announced: tuple[bool, bool] = (False, False)
        # When the last sample ended (host time) and at which step, to measure the pace of the steps in between. 0 means
        # that a profiler disturbed them.
        self._sample_ended_at = 0
        self._sample_ended_step = 0
        self._pending = PendingSamples(budget, problems)
        # What disturbs the steps in the buffer.
        self._disturbed_by: str | None = None

    # -- phases ------------------------------------------------------------------------------------------------------

    def begin(self, name: str, at: int = -1) -> None:
        """Opens a phase, now or at the existing mark `at`."""
        if self._counts_here():
            self.buffer.begin(name, at)

    def end(self, name: str, *_: object) -> None:
        """Closes the phase of that name."""
        if self._counts_here():
            self.buffer.end(name)

    def lap(self, name: str) -> None:
        """Names the time since the previous lap, or since the step began."""
        if self._counts_here():
            self.buffer.lap(name)

    def _counts_here(self) -> bool:
        """
        Whether this is the training thread in a recorded step. Also gives an open profiler window a chance to end.
        """
        if not self.recording or get_ident() != self.thread:
            return False
        if self.watch is not None:
            self.watch()
        return True

    def mark(self, *, unlike: int = -1, on_any_thread: bool = False) -> int:
        """
        Makes a mark for a phase that is named later, and returns its index, or −1 if that is not possible. `unlike`:
        the mark at which the phase began, to be reused only if the phase is empty. `on_any_thread`: the training thread
        is waiting for this one.
        """
        if not self.is_sampling or not (on_any_thread or get_ident() == self.thread):
            return -1
        buffer, now = self.buffer, perf_counter_ns()
        since = now - buffer.marked_at
        if since < buffer.empty_ns or (since < buffer.same_moment_ns and buffer.last != unlike):
            buffer.marked_at = now
            return buffer.last
        return buffer.mark(now)

    def mark_phase(self, name: str, begin: int, end: int, micro: int | None = None) -> None:
        """Records a phase between two marks of this step."""
        self.buffer.add(name, begin, end, self.buffer.micro if micro is None else micro)

    def add_cost(self, ns: int) -> None:
        """Adds time that hooks spent in this step besides making marks."""
        self.buffer.spent += ns

    def is_open(self, name: str) -> bool:
        depth = 0
        for entry in self.buffer.of_this_step():
            if entry[0] == name:
                depth = depth + 1 if len(entry) == 3 else max(0, depth - (len(entry) == 2))
        return depth > 0

    def is_in_own_phase(self) -> bool:
        """Whether a phase is open besides the whole step: one that the job has named."""
        opened = Counter[str]()
        for entry in self.buffer.of_this_step():
            opened[entry[0]] += (len(entry) == 3) - (len(entry) == 2)
        return any(count > 0 for name, count in opened.items() if name != TRAINING_STEP)

    def has(self, name: str) -> bool:
        """
        Whether the phase is open or was recorded in this micro-batch. If so, the job records it, and hooks must not.
        """
        micro, entries = self.buffer.micro, self.buffer.of_this_step()
        return self.is_open(name) or any(e[0] == name and len(e) > 2 and micro_of(e) == micro for e in entries)

    def began_since(self, name: str, mark: int) -> bool:
        """Whether a phase of that name began at this mark of the step or later."""
        return any(e[0] == name and len(e) > 2 and e[1] >= mark for e in self.buffer.of_this_step())

    @property
    def micro(self) -> int:
        """The current micro-batch, in recorded steps."""
        return self.buffer.micro

    @micro.setter
    def micro(self, number: int) -> None:
        self.buffer.micro = number

    def next_micro(self) -> None:
        self.buffer.micro += 1

    def set_watch(self, watch: Callable[[], None] | None) -> None:
        """
        `watch` is called at every phase boundary until it is None. An open profiler window checks its memory there.
        """
        self.watch = watch
        self._announce()

    def queued_work(self) -> Callable[[], int | None] | None:
        """Says later when the device finished what is queued now; see `CudaDevice`. None without a GPU."""
        return None if self._device is None else self._device.queued_work()

    # -- steps -------------------------------------------------------------------------------------------------------

    def finish_step(self, number: int | None = None) -> int:
        """Ends the current step and returns the number of the next one. Call `start_step` afterwards."""
        if number is not None:
            self.current_step = number
        if self.is_sampling:
            self._close_sample(self.current_step)
        self.current_step += 1
        return self.current_step

    def start_step(self, *, undisturbed: bool = True, flush_at: int = NEVER) -> None:
        """
        `undisturbed`: no profiler runs, so samples show the job's own speed. `flush_at`: the step at which samples are
        to be written, if there are any.
        """
        step, stride = self.current_step, self.budget.stride
        if not undisturbed:
            self._sample_ended_at = 0
        first = max(self._start, step if undisturbed else step + 1)
        due = self._start + self.budget.due(first - self._start)
        last = NEVER if self._end is None else self._end
        if not self.enabled or due > last:
            due = NEVER
        if due == step:
            self._open_sample(step)
        if self._announced != (self.is_sampling, self.watch is not None):
            self._announce()
        if not undisturbed:
            self.quiet_until = step
        elif not self.is_sampling:
            self.quiet_until = min(due, flush_at if self._pending else NEVER)
        else:
            # Consecutive steps share one buffer. Not the first step, after which CUDA may be in use.
            in_row = stride == 1 and self._sample_ended_at > 0
            self.quiet_until = min(flush_at, last + 1, step + MAX_STEPS) if in_row else step

    def profiler_changed(self) -> None:
        """The job's own profiler starts or stops now. The steps in the buffer count as disturbed, and end here."""
        self._disturbed_by = "recording"
        self.quiet_until = 0

    def abandon_step(self) -> None:
        """Drops the current step."""
        self._take_sample()
        self._announce()
        self._sample_ended_at = 0
        self.quiet_until = 0

    def take_done(self) -> list[Sample]:
        """The samples that the device is done with."""
        self._pending.resolve()
        return self._pending.take()

    def drain(self, wait_s: float) -> list[Sample]:
        return self._pending.drain(wait_s)

    def forget(self) -> None:
        """For a forked child: the events belong to the parent's CUDA context."""
        self.enabled = self.is_sampling = False
        unfinished = self.buffer.take()
        self._announce()
        if self._device is not None:
            self._device.keep_forever([unfinished, *self._pending.waiting], self.buffer.stream)

    # -- internal ----------------------------------------------------------------------------------------------------

    def _announce(self) -> None:
        self._announced = (self.is_sampling, self.watch is not None)
        self.recording = self.is_sampling or self.watch is not None
        if self.on_recording is not None:
            self.on_recording()

    def _open_sample(self, step: int) -> None:
        started = perf_counter_ns()
        device = self._device or self._find_device()
        if device is not None:
            if device.is_capturing():
                return  # a CUDA graph is being captured: skip this step
            if started - device.anchored_at > ANCHOR_EVERY_NS:
                device.renew_anchor()
        between = step - self._sample_ended_step
        if self._sample_ended_at and between > 0:
            self.budget.note_pace((started - self._sample_ended_at) // between)
        buffer = self.buffer
        self._disturbed_by = self.disturbance()
        buffer.start()
        self.thread = buffer.thread
        self.is_sampling = True
        if buffer.on_step is not None:
            self._announce()
            buffer.on_step()
        buffer.spent = perf_counter_ns() - started

    def _close_sample(self, step: int) -> None:
        started, buffer = perf_counter_ns(), self.buffer
        before = buffer.spent
        buffer.end_step(step, goes_on=False)
        if buffer.host_ns and self.budget.every == 1:
            self.budget.note_pace((started - buffer.host_ns[0]) // len(buffer.steps))
        # `recording` changes in start_step, once it is clear whether the next step is recorded too.
        self._sample_ended_step = step + 1
        self._sample_ended_at = after = perf_counter_ns()
        # That includes the last mark.
        buffer.spent = before + after - started
        self._take_sample()

    def _take_sample(self) -> None:
        """Empties the buffer. Its finished steps become a sample."""
        self.is_sampling = False
        sample = self.buffer.take()
        sample.disturbed_by = self._disturbed_by or self.disturbance()
        device = self._device
        if device is not None:
            sample.anchor, sample.anchor_host_ns = device.anchor, device.anchored_at
        if sample.steps:
            sample.spent += PHASE_NS * len(sample.entries) // 2
            self._pending.add(sample)
        elif device is not None:
            device.give_back(sample)

    def _find_device(self) -> CudaDevice | None:
        if self._cuda_failed or not torch.cuda.is_initialized():
            return None
        try:
            device = CudaDevice()
        except Exception as error:
            self._cuda_failed = True
            self._problems.warn(
                "cuda-events", f"CUDA events do not work, so the host's clock times phases: {describe(error)}"
            )
            return None
        # Samples from before have no events and are read without a device.
        self._pending.resolve()
        self._device = self._pending.device = device
        self.budget.slowness = device.slowness
        self.buffer.use(device)
        return device


def _nothing() -> str | None:
    return None
