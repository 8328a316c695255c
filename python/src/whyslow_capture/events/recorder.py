"""The hot path: marks around phases of the steps that are sampled, next to nothing in the others."""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from time import perf_counter_ns

import torch

from ..layout import DATA_WAIT, TRAINING_STEP
from ..trouble import Trouble
from .budget import OverheadBudget
from .clock import CudaMarks
from .pending import PendingSamples
from .sample import Phase, ResolvedSample, Sample

# Marks so close are one. From the end of one phase to the beginning of the next the interpreter needs 2 µs on a fast
# host, 6 on a slow one; to launch an operation 5 and 15. What is launched in between counts to the later phase.
SAME_MOMENT_NS = 10_000
# In less than this nothing was launched at all.
EMPTY_NS = 5_000
FAR = 1 << 62
# What a phase costs besides its marks: some 5 µs on the slow host of bench/capture-overhead, rounded up.
PHASE_NS = 6_000
# And in a step that is not recorded: 0.3 µs in a loop of its own on a CPU, and some for cold caches, not measured.
IDLE_PHASE_NS = 500
# Phases in one step: beyond it a phase is inside a loop where it does not belong.
MAX_PHASES = 512


class Recorder:
    def __init__(
        self, budget: OverheadBudget, trouble: Trouble, *, first_step: int = 0, start: int = 0, end: int | None = None
    ) -> None:
        self.recording = False
        """Hooks ask this first: in a step that is not sampled they do nothing else."""
        self.thread = get_ident()
        self.current_step = first_step
        self.micro = 0
        self.quiet_until = 0
        """Steps before this one need no attention: the session does not even look."""
        self.enabled = True
        self.times_whole_steps = True
        """Off where the job has a phase `training_step` of its own."""
        self.on_recording: Callable[[bool], None] | None = None
        """Called when `recording` changes."""
        self.on_sample: Callable[[], None] | None = None
        """Called when a step that is recorded has begun (hooks that are in place only then)."""
        self._watch: Callable[[], None] | None = None
        self.budget = budget
        self._trouble = trouble
        self._start, self._end = start, end
        self._sample: Sample | None = None
        self._cuda: CudaMarks | None = None
        self._cuda_failed = False
        # Of the sample under way: open phases (mark, micro-step) and how often they were opened inside themselves,
        # phases that have ended, the last mark and when it had been made.
        self._open: dict[str, tuple[int, int]] = {}
        self._depths: dict[str, int] = {}
        self._phases: list[Phase] = []
        self._last = -1
        self._marked_at = 0
        self._spent = 0
        # When the last sample ended (host time) and at which step: the pace of the steps between. 0: not comparable.
        self._sample_ended_at = 0
        self._sample_ended_step = 0
        self._pending = PendingSamples(budget, trouble)

    # -- phases ------------------------------------------------------------------------------------------------------

    # These run between the job's own launches, with cold caches: each line costs ten times what it does in a loop of
    # its own. Hence no helper functions, and a mark that is shared is not timed.

    def begin(self, name: str, at: int = -1) -> None:
        """Opens a phase, at a mark that has been made. One inside another of the same name is part of it."""
        if not self.recording or get_ident() != self.thread:
            return
        if self._watch is not None:
            self._watch()
        if name in self._open:
            self._depths[name] = self._depths.get(name, 0) + 1
            return
        if at < 0:
            now = perf_counter_ns()
            at = self._last if now - self._marked_at < SAME_MOMENT_NS else self._mark(now)
        self._open[name] = (at, self.micro)

    def end(self, name: str) -> None:
        """Closes the phase of that name; without one open nothing happens."""
        if not self.recording or get_ident() != self.thread:
            return
        if self._watch is not None:
            self._watch()
        if self._depths and self._leave_inner(name):
            return
        opened = self._open.pop(name, None)
        if opened is None:
            return
        now = perf_counter_ns()
        begin, micro = opened
        since = now - self._marked_at
        # One call is enough to launch a lot, so a phase has an end of its own, if it was not empty or just a wait.
        is_shared = since < SAME_MOMENT_NS and (since < EMPTY_NS or self._last != begin or name == DATA_WAIT)
        end = self._last if is_shared else self._mark(now)
        if begin >= 0 and end >= 0:
            phases = self._phases
            if len(phases) < MAX_PHASES:
                phases.append((name, begin, end, micro))
            else:
                self._trouble.count("phases-not-recorded")

    def _leave_inner(self, name: str) -> bool:
        depth = self._depths.pop(name, 0)
        if depth > 1:
            self._depths[name] = depth - 1
        return depth > 0

    def mark(self, *, unlike: int = -1, on_any_thread: bool = False) -> int:
        """
        A mark for a phase that is named later; −1: none can be made. `unlike`: the one at which that phase began.
        `on_any_thread`: the training thread waits.
        """
        if not self.recording or not (on_any_thread or get_ident() == self.thread):
            return -1
        now = perf_counter_ns()
        since = now - self._marked_at
        if since < SAME_MOMENT_NS and (since < EMPTY_NS or self._last != unlike):
            return self._last
        return self._mark(now)

    def mark_phase(self, name: str, begin: int, end: int, micro: int | None = None) -> None:
        """A phase between two marks of this step."""
        if not self.recording or get_ident() != self.thread or begin < 0 or end < 0:
            return
        if len(self._phases) < MAX_PHASES:
            self._phases.append((name, begin, end, self.micro if micro is None else micro))
        else:
            self._trouble.count("phases-not-recorded")

    def add_cost(self, ns: int) -> None:
        """What hooks spent on this step besides marks."""
        self._spent += ns

    @property
    def is_sampling(self) -> bool:
        """`recording` is also true in a step that only a profiler window watches: no marks are made there."""
        return self._sample is not None

    def is_open(self, name: str) -> bool:
        return name in self._open

    def has(self, name: str) -> bool:
        """Whether the phase is open, or recorded in this micro-batch: what the job says itself no hook repeats."""
        if name in self._open:
            return True
        return any(p[0] == name and p[3] == self.micro for p in self._phases)

    def next_micro(self) -> None:
        self.micro += 1

    def set_watch(self, watch: Callable[[], None] | None) -> None:
        """Called at every phase boundary until set to None: an open profiler window looks after its memory there."""
        self._watch = watch
        self._set_recording(watch is not None or self._sample is not None)

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
        self._phases = []
        self._last, self._marked_at = -1, 0
        self._set_recording(self._watch is not None)
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
        self.enabled = False
        self._set_recording(False)
        if self._cuda is not None:
            self._cuda.keep_for_ever([*([self._sample] if self._sample else []), *self._pending.waiting])

    # -- inside ------------------------------------------------------------------------------------------------------

    def _set_recording(self, recording: bool) -> None:
        if recording != self.recording:
            self.recording = recording
            if self.on_recording is not None:
                self.on_recording(recording)

    def _mark(self, now: int) -> int:
        sample = self._sample
        if sample is None:
            return -1
        if sample.on_device and self._cuda is not None and not self._cuda.mark(sample):
            self._trouble.count("marks-not-possible")
            return -1
        host = sample.host_ns
        self._last = len(host)
        host.append(now)
        self._marked_at = after = perf_counter_ns()
        self._spent += after - now
        return self._last

    def _open_sample(self, step: int) -> None:
        started = perf_counter_ns()
        sample = Sample(step)
        if torch.cuda.is_initialized() and not self._cuda_failed:
            try:
                if self._cuda is None:
                    self._cuda = CudaMarks()
                    self._cuda.reserve(64)
                if not self._cuda.tie_clocks(sample, started):
                    return  # inside a CUDA graph capture: not this step
            except Exception as error:
                self._cuda_failed = True
                self._trouble.warn("cuda-events", f"no CUDA events, phases are timed by the host: {error}")
        between = step - self._sample_ended_step
        if self._sample_ended_at and between > 0:
            self.budget.note_pace((started - self._sample_ended_at) // between)
        self._open.clear()
        self._depths.clear()
        self._sample = sample
        self._phases = sample.phases
        self.thread = get_ident()
        self._last, self._marked_at = -1, 0
        self._set_recording(True)
        begin = self._mark(perf_counter_ns())
        if self.times_whole_steps:
            self._open[TRAINING_STEP] = (begin, 0)
        if self.on_sample is not None:
            self.on_sample()
        self._spent = perf_counter_ns() - started

    def _close_sample(self, sample: Sample, now: int) -> None:
        whole = self._open.pop(TRAINING_STEP, None)
        spent = self._spent
        end = self._last if now - self._marked_at < SAME_MOMENT_NS else self._mark(now)
        if whole is not None and whole[0] >= 0 and end >= 0:
            sample.phases.append((TRAINING_STEP, whole[0], end, 0))
        # Phases a failing step left open have no end.
        self._open.clear()
        self._sample, self._phases = None, []
        self._last, self._marked_at = -1, 0
        self._set_recording(self._watch is not None)
        if self.budget.every == 1 and sample.host_ns:
            self.budget.note_pace(now - sample.host_ns[0])
        self._sample_ended_at = perf_counter_ns()
        self._sample_ended_step = sample.step + 1
        sample.cost_ns = spent + self._sample_ended_at - now + PHASE_NS * len(sample.phases)
        self.budget.idle_ns = IDLE_PHASE_NS * len(sample.phases)
        self._pending.add(sample, self._cuda)
