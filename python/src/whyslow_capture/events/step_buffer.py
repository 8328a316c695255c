"""The hot path: records phases and marks while a step runs."""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from time import perf_counter_ns
from typing import TYPE_CHECKING

from ..layout import DATA_WAIT, TRAINING_STEP
from ..problems import ProblemLog, describe
from .device import ANCHOR_EVERY_NS, CudaDevice
from .sample import LAP, Entry, Sample, Totals

if TYPE_CHECKING:
    import torch

# Marks closer than this are merged. Between the end of one phase and the begin of the next the interpreter needs 2 µs
# on a fast host and 6 µs on a slow one; launching an operation takes 5 and 15 µs. Work launched in between counts as
# part of the later phase. This figure and the next are for a fast host; `CudaDevice.slowness` scales them.
SAME_MOMENT_NS = 10_000
# Too short to launch anything, even a CUDA graph, which is one call of 5 to 8.5 µs on a slow host.
EMPTY_NS = 3_000
# More begins and ends than this mean that a phase sits in an inner loop, where it does not belong.
MAX_ENTRIES = 1024
# Consecutive steps share one buffer and the marks between them: at most this many, while one anchor is good enough, and
# while there is room for a step with many micro-batches.
MAX_STEPS = 16
MAX_ENTRIES_BEFORE = MAX_ENTRIES // 4
# No thread has this id.
OFF = 0


class StepBuffer:
    """
    A mark is a time on the host's clock, plus a CUDA event in a GPU job. An entry says which phase begins or ends at
    which mark. The writer thread puts them together later.

    This code runs between the job's kernel launches, with cold caches: each line costs ten times what it does in a
    tight loop, and each function call a microsecond. Hence slots, few calls, and no timing of shared marks.
    """

    __slots__ = (
        "_problems",
        "device",
        "empty_ns",
        "entries",
        "events",
        "free",
        "host_ns",
        "in_one_stream",
        "is_capturing",
        "lap_start",
        "last",
        "marked_at",
        "micro",
        "on_step",
        "outside",
        "outside_before",
        "raw_stream",
        "record",
        "same_moment_ns",
        "spent",
        "steps",
        "stream",
        "stream_id",
        "thread",
        "times_whole_steps",
    )

    def __init__(self, problems: ProblemLog) -> None:
        self._problems = problems
        # Id of the training thread while a step is recorded, otherwise OFF.
        self.thread = OFF
        self.micro = 0
        self.host_ns: list[int] = []
        self.entries: list[Entry] = []
        # Steps that ended in this buffer: (step number, number of entries up to its end, totals at its begin).
        self.steps: list[tuple[int, int, Totals]] = []
        # Returns the time that the job has spent outside its steps so far, by phase; and what it returned when the
        # current step began.
        self.outside: Callable[[], Totals] = tuple
        self.outside_before: Totals = ()
        # Index of the last mark (−1: none), and when it was last made or shared: hardly anything was launched between
        # the mark and that time.
        self.last, self.marked_at = -1, 0
        # The mark at which the last lap ended, or the step began.
        self.lap_start = -1
        self.same_moment_ns, self.empty_ns = SAME_MOMENT_NS, EMPTY_NS
        # Off if the job records a phase named `training_step` itself.
        self.times_whole_steps = True
        # Called when a recorded step begins. Whoever calls `start` must call it too.
        self.on_step: Callable[[], None] | None = None
        # Host time spent on recording.
        self.spent = 0
        # The GPU. Its functions are copied here to save attribute lookups.
        self.device: CudaDevice | None = None
        self.events: list[torch.cuda.Event] = []
        self.free: list[torch.cuda.Event] = []
        self.stream: torch.cuda.Stream | None = None
        self.stream_id = -2
        self.in_one_stream = True
        self.is_capturing: Callable[[], bool] = bool
        self.raw_stream: Callable[[int], int] = abs
        self.record: Callable[[torch.cuda.Event, torch.cuda.Stream | None], None] = lambda *_: None

    def use(self, device: CudaDevice) -> None:
        """From now on each mark has a CUDA event."""
        self.device, self.free = device, device.free
        self.same_moment_ns = int(SAME_MOMENT_NS * device.slowness)
        self.empty_ns = int(EMPTY_NS * device.slowness)
        self.is_capturing, self.raw_stream, self.record = device.is_capturing, device.raw_stream, device.record

    # -- phases ------------------------------------------------------------------------------------------------------

    def begin(self, name: str, at: int = -1) -> None:
        """Opens a phase, now or at the existing mark `at`."""
        if get_ident() != self.thread:
            return
        if at < 0:
            now = perf_counter_ns()
            if now - self.marked_at < self.same_moment_ns:
                at, self.marked_at = self.last, now
            else:
                at = self.mark(now)
        self.entries.append((name, at, self.micro))
        if len(self.entries) > MAX_ENTRIES:
            self._overflow()

    def end(self, name: str, *_: object) -> None:
        """Closes the phase. Also takes the arguments of `__exit__`."""
        if get_ident() != self.thread:
            return
        now = perf_counter_ns()
        since = now - self.marked_at
        # A single call can launch a lot of work, so a phase gets its own end mark, unless it is empty or a wait for
        # data.
        if since < self.empty_ns or (since < self.same_moment_ns and (name == DATA_WAIT or self._began_earlier(name))):
            at, self.marked_at = self.last, now
        else:
            at = self.mark(now)
        self.entries.append((name, at))

    def lap(self, name: str) -> None:
        """Names the time since the previous lap, or since the step began."""
        if get_ident() != self.thread:
            return
        now = perf_counter_ns()
        since = now - self.marked_at
        if since < self.empty_ns or (since < self.same_moment_ns and name == DATA_WAIT):
            at, self.marked_at = self.last, now
        else:
            at = self.mark(now)
        self.entries.append((name, self.lap_start, at, self.micro, LAP))
        self.lap_start = at
        if len(self.entries) > MAX_ENTRIES:
            self._overflow()

    def add(self, name: str, begin: int, end: int, micro: int) -> None:
        """Records a phase between two marks."""
        if get_ident() == self.thread:
            self.entries.append((name, begin, end, micro))
            if len(self.entries) > MAX_ENTRIES:
                self._overflow()

    def mark(self, now: int) -> int:
        """Makes a new mark and returns its index, or −1 if that is not possible."""
        device = self.device
        if device is not None:
            raw = self.raw_stream(device.index)
            # The default stream (0) cannot be captured into a CUDA graph.
            if (raw != 0 and self.is_capturing()) or not (self.free or device.reserve(1)):
                self._problems.count("marks-not-possible")
                return -1
            if raw != self.stream_id:
                self._follow_stream(device, raw)
            event = self.free.pop()
            try:
                self.record(event, self.stream)
            except Exception as error:
                return self._fail(error)
            self.events.append(event)
        host = self.host_ns
        self.last = at = len(host)
        host.append(now)
        self.marked_at = after = perf_counter_ns()
        self.spent += after - now
        return at

    def _began_earlier(self, name: str) -> bool:
        """Whether the open phase of that name began before the last mark."""
        for entry in reversed(self.entries):
            if entry[0] == name and len(entry) == 3:
                return entry[1] != self.last
        return True

    def _follow_stream(self, device: CudaDevice, raw: int) -> None:
        self.in_one_stream = not self.events
        self.stream = device.current_stream()
        self.stream_id = raw if raw >= 0 else -2  # unknown: look it up each time

    def _fail(self, error: Exception) -> int:
        """Stops recording. If CUDA is broken, the job will get its own error."""
        self._problems.warn("cuda-events", f"recording a CUDA event failed, training goes on: {describe(error)}")
        self.thread = OFF
        return -1

    def _overflow(self) -> None:
        """Stops recording until the end of the step."""
        self._problems.count("phases-not-recorded")
        self.thread = OFF

    # -- steps -------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begins a recorded step."""
        self.thread = get_ident()
        self.in_one_stream = True
        self.micro = 0
        self.outside_before = self.outside()
        self.lap_start = self.mark(perf_counter_ns())
        if self.times_whole_steps:
            self.entries.append((TRAINING_STEP, self.lap_start, 0))

    def end_step(self, step: int, goes_on: bool = True) -> bool:
        """Ends a step. `goes_on`: the next step begins at the same mark. False if it does not fit in this buffer."""
        now, entries = perf_counter_ns(), self.entries
        if goes_on and (
            get_ident() != self.thread
            or len(self.steps) >= MAX_STEPS
            or len(entries) > MAX_ENTRIES_BEFORE
            or not self.host_ns
            or now - self.host_ns[0] > ANCHOR_EVERY_NS
        ):
            return False
        if now - self.marked_at < self.same_moment_ns:
            end, self.marked_at = self.last, now
        else:
            end = self.mark(now)
        if self.times_whole_steps:
            entries.append((TRAINING_STEP, end))
        self.steps.append((step, len(entries), self.outside_before))
        if goes_on:
            self.outside_before = self.outside()
            self.micro, self.lap_start = 0, end
            if self.times_whole_steps:
                entries.append((TRAINING_STEP, end, 0))
            if self.on_step is not None:
                self.on_step()
        return True

    def of_this_step(self) -> list[Entry]:
        return self.entries[self.steps[-1][1] :] if self.steps else self.entries

    def take(self) -> Sample:
        """Returns the steps that have ended, and leaves the buffer empty and off."""
        sample = Sample(self.steps, self.host_ns, self.entries, self.events, self.in_one_stream, self.spent)
        self.thread = OFF
        self.host_ns, self.entries, self.events, self.steps = [], [], [], []
        self.last, self.marked_at, self.lap_start = -1, 0, -1
        self.spent = 0
        return sample
