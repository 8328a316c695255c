"""The hot path: marks around phases of the steps that are sampled, next to nothing in the others."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import perf_counter_ns

import torch

from ..layout import TRAINING_STEP
from ..trouble import Trouble
from .budget import OverheadBudget
from .clock import CudaMarks
from .pending import PendingSamples
from .sample import ResolvedSample, Sample

# Marks so close are one. From the end of one phase to the beginning of the next the interpreter needs 2 µs on a fast
# host, 6 on a slow one; to launch an operation 5 and 15. What is launched in between counts to the later phase.
SAME_MOMENT_NS = 10_000
# In less than this nothing was launched at all.
EMPTY_NS = 4_000
FAR = 1 << 62
# Phases in one step: beyond it a phase is inside a loop where it does not belong.
MAX_PHASES = 512


class Recorder:
    def __init__(
        self, budget: OverheadBudget, trouble: Trouble, *, first_step: int = 0, start: int = 0, end: int | None = None
    ) -> None:
        self.recording = False
        """Hooks ask this first: in a step that is not sampled they do nothing else."""
        self.thread = threading.get_ident()
        self.current_step = first_step
        self.micro = 0
        self.quiet_until = 0
        """Steps before this one need no attention: the session does not even look."""
        self.enabled = True
        self.times_whole_steps = True
        """Off where the job has a phase `training_step` of its own."""
        self.on_sample: Callable[[], None] | None = None
        """Called when a step that is recorded has begun (hooks that are in place only then)."""
        self._watch: Callable[[], None] | None = None
        self.budget = budget
        self._trouble = trouble
        self._start, self._end = start, end
        self._sample: Sample | None = None
        self._cuda: CudaMarks | None = None
        self._cuda_failed = False
        self._open: dict[str, list[int]] = {}
        self._marked_at = 0
        self._spent = 0
        # When the last sample ended (host time) and at which step: the pace of the steps between. 0: not comparable.
        self._sample_ended_at = 0
        self._sample_ended_step = 0
        self._pending = PendingSamples(budget, trouble)

    # -- phases ------------------------------------------------------------------------------------------------------

    def begin(self, name: str, at: int = -1) -> None:
        """Opens a phase, at a mark that has been made. One inside another of the same name is part of it."""
        if not self.recording or threading.get_ident() != self.thread:
            return
        if self._watch is not None:
            self._watch()
        started = perf_counter_ns()
        opened = self._open.get(name)
        if opened is not None:
            opened[2] += 1
        else:
            self._open[name] = [self._mark(started) if at < 0 else at, self.micro, 1]
        self._spent += perf_counter_ns() - started

    def end(self, name: str) -> None:
        """Closes the phase of that name; without one open nothing happens."""
        if not self.recording or threading.get_ident() != self.thread:
            return
        if self._watch is not None:
            self._watch()
        started = perf_counter_ns()
        opened = self._open.get(name)
        if opened is not None:
            opened[2] -= 1
            if opened[2] == 0:
                del self._open[name]
                self._add(name, opened[0], self._mark(started, opened[0]), opened[1])
        self._spent += perf_counter_ns() - started

    def mark(self, *, unlike: int = -1, on_any_thread: bool = False) -> int:
        """
        A mark for a phase that is named later; −1: none can be made. `unlike`: the one at which that phase began.
        `on_any_thread`: the training thread waits.
        """
        if not self.recording or not (on_any_thread or threading.get_ident() == self.thread):
            return -1
        started = perf_counter_ns()
        index = self._mark(started, unlike)
        self._spent += perf_counter_ns() - started
        return index

    def mark_phase(self, name: str, begin: int, end: int, micro: int | None = None) -> None:
        """A phase between two marks of this step."""
        if self.recording and threading.get_ident() == self.thread:
            self._add(name, begin, end, self.micro if micro is None else micro)

    def add_cost(self, ns: int) -> None:
        """What hooks spent on this step besides marks."""
        self._spent += ns

    def is_open(self, name: str) -> bool:
        return name in self._open

    def has(self, name: str) -> bool:
        """Whether the phase is open, or recorded in this micro-batch: what the job says itself no hook repeats."""
        if name in self._open:
            return True
        sample = self._sample
        return sample is not None and any(p[0] == name and p[3] == self.micro for p in sample.phases)

    def next_micro(self) -> None:
        self.micro += 1

    def set_watch(self, watch: Callable[[], None] | None) -> None:
        """Called at every phase boundary until set to None: an open profiler window looks after its memory there."""
        self._watch = watch
        self.recording = watch is not None or self._sample is not None

    # -- steps -------------------------------------------------------------------------------------------------------

    def finish_step(self, number: int | None = None) -> int:
        """The step under way has ended; returns the number of the next one, which `start_step` begins."""
        now = perf_counter_ns()
        if number is not None:
            self.current_step = number
        if self._sample is not None:
            self._sample.step = self.current_step
            self._close_sample(self._sample, now)
        self.current_step += 1
        return self.current_step

    def start_step(self, *, undisturbed: bool = True, flush_at: int | None = None) -> None:
        """
        `undisturbed`: no profiler is at work, so that what is recorded is the job's own speed. `flush_at`: the step at
        which the session wants to be asked again.
        """
        self.micro = 0
        step = self.current_step
        if not undisturbed:
            self._sample_ended_at = 0
        first = max(self._start, step if undisturbed else step + 1)
        due = first + self.budget.until_due(first - self._start)
        if not self.enabled or (self._end is not None and due > self._end):
            due = FAR
        if due == step:
            self._open_sample(step)
        busy = self._sample is not None or not undisturbed
        self.quiet_until = step if busy else min(due, FAR if flush_at is None else flush_at)

    @property
    def has_samples(self) -> bool:
        return bool(self._pending)

    def abandon_step(self) -> None:
        """What was noted of the step under way does not count."""
        sample, self._sample = self._sample, None
        self.recording = self._watch is not None
        if sample is not None and self._cuda is not None:
            self._cuda.give_back(sample.events)
        self._sample_ended_at = 0

    def take_resolved(self) -> list[ResolvedSample]:
        """What the device is done with by now."""
        self._pending.resolve(self._cuda)
        return self._pending.take()

    def drain(self, wait_s: float) -> list[ResolvedSample]:
        return self._pending.drain(self._cuda, wait_s)

    def forget(self) -> None:
        """In a forked child: the events belong to the parent's CUDA context."""
        self.enabled = self.recording = False
        if self._cuda is not None:
            self._cuda.keep_for_ever([*([self._sample] if self._sample else []), *self._pending.waiting])

    # -- inside ------------------------------------------------------------------------------------------------------

    def _mark(self, now: int, unlike: int = -1) -> int:
        """`unlike`: where this phase began. One call is enough to launch a lot, so it ends elsewhere, if not empty."""
        sample = self._sample
        if sample is None:
            return -1
        host = sample.host_ns
        since = now - self._marked_at
        if since < SAME_MOMENT_NS and host and (len(host) - 1 != unlike or since < EMPTY_NS):
            return len(host) - 1
        if sample.on_device and self._cuda is not None and not self._cuda.mark(sample):
            self._trouble.count("marks-not-possible")
            return -1
        host.append(now)
        self._marked_at = perf_counter_ns()
        return len(host) - 1

    def _add(self, name: str, begin: int, end: int, micro: int) -> None:
        sample = self._sample
        if sample is None or begin < 0 or end < 0:
            return
        if len(sample.phases) >= MAX_PHASES:
            self._trouble.count("phases-not-recorded")
            return
        sample.phases.append((name, begin, end, micro))

    def _open_sample(self, step: int) -> None:
        started = perf_counter_ns()
        sample = Sample(step, on_device=False)
        if torch.cuda.is_initialized() and not self._cuda_failed:
            try:
                if self._cuda is None:
                    self._cuda = CudaMarks()
                    self._cuda.reserve(64)
                anchor = self._cuda.anchor()
                if anchor is None:
                    return  # inside a CUDA graph capture: not this step
                sample.anchor, sample.anchor_host_ns = anchor
                sample.on_device = True
            except Exception as error:
                self._cuda_failed = True
                self._trouble.warn("cuda-events", f"no CUDA events, phases are timed by the host: {error}")
        between = step - self._sample_ended_step
        if self._sample_ended_at and between > 0:
            self.budget.note_pace((started - self._sample_ended_at) // between)
        self._open.clear()
        self._sample = sample
        self.thread = threading.get_ident()
        self._marked_at = 0
        self.recording = True
        begin = self._mark(perf_counter_ns())
        if self.times_whole_steps:
            self._open[TRAINING_STEP] = [begin, 0, 1]
        if self.on_sample is not None:
            self.on_sample()
        self._spent = perf_counter_ns() - started

    def _close_sample(self, sample: Sample, now: int) -> None:
        whole = self._open.pop(TRAINING_STEP, None)
        end = self._mark(now)
        # Phases a failing step left open have no end.
        self._open.clear()
        self._sample = None
        self.recording = self._watch is not None
        if whole is not None and whole[0] >= 0 and end >= 0:
            sample.phases.append((TRAINING_STEP, whole[0], end, 0))
        if self.budget.every == 1 and sample.host_ns:
            self.budget.note_pace(now - sample.host_ns[0])
        self._sample_ended_at = perf_counter_ns()
        self._sample_ended_step = sample.step + 1
        sample.cost_ns = self._spent + self._sample_ended_at - now
        self._pending.add(sample, self._cuda)
