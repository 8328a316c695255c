"""The hot path: what is noted of a step while it is being recorded."""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from time import perf_counter_ns
from typing import TYPE_CHECKING

from ..layout import DATA_WAIT, TRAINING_STEP
from ..problems import ProblemLog
from .device import ANCHOR_EVERY_NS, CudaDevice
from .sample import LAP, Entry, Sample

if TYPE_CHECKING:
    import torch

# Marks so close are one. From the end of one phase to the beginning of the next the interpreter needs 2 µs on a fast
# host, 6 on a slow one; to launch an operation 5 and 15. What is launched in between counts to the later phase. Both
# figures below are for a fast host: `CudaDevice.slowness` stretches them.
SAME_MOMENT_NS = 10_000
# In less than this nothing was launched at all, not even a CUDA graph: one call, of 5 to 8.5 µs on a slow host.
EMPTY_NS = 3_000
# Beginnings and ends of phases on one buffer: beyond it a phase is inside a loop where it does not belong.
MAX_ENTRIES = 1024
# Steps in a row in one buffer, sharing the mark between them: so many, as long as one anchor serves, and while there
# is room for a step with many micro-batches.
MAX_STEPS = 16
MAX_ENTRIES_BEFORE = MAX_ENTRIES // 4
OFF = 0


class StepBuffer:
    """
    Marks are moments of the host's clock, with a CUDA event beside each on a GPU job; entries say what begins or ends
    at which. What they mean together is found out later, off the training thread.

    This runs between the job's own launches, with cold caches: each line costs ten times what it does in a loop of its
    own, each function called a microsecond. Hence slots, few calls, and a mark that is shared is not timed.
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
        "lapped",
        "last",
        "marked_at",
        "micro",
        "on_step",
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
        # The training thread's number while a step is being recorded.
        self.thread = OFF
        self.micro = 0
        self.host_ns: list[int] = []
        self.entries: list[Entry] = []
        # Steps that have ended on this buffer: number, and how many of the entries they and those before them have.
        self.steps: list[tuple[int, int]] = []
        # The last mark (−1: none), and until when hardly anything can have been launched after it: it had just been
        # made, or was shared.
        self.last, self.marked_at = -1, 0
        # Where the last lap of this step ended, or the step began.
        self.lapped = -1
        self.same_moment_ns, self.empty_ns = SAME_MOMENT_NS, EMPTY_NS
        # Off where the job has a phase `training_step` of its own.
        self.times_whole_steps = True
        # Called when a step that is recorded has begun (hooks that are in place only then): by whoever starts one.
        self.on_step: Callable[[], None] | None = None
        # Host time that went into recording.
        self.spent = 0
        # Of the GPU; its functions are kept here to be at hand.
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
        """From now on marks have CUDA events."""
        self.device, self.free = device, device.free
        self.same_moment_ns = int(SAME_MOMENT_NS * device.slowness)
        self.empty_ns = int(EMPTY_NS * device.slowness)
        self.is_capturing, self.raw_stream, self.record = device.is_capturing, device.raw_stream, device.record

    # -- phases ------------------------------------------------------------------------------------------------------

    def begin(self, name: str, at: int = -1) -> None:
        """At a mark that has been made, or now."""
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
        """Takes what `__exit__` is given."""
        if get_ident() != self.thread:
            return
        now = perf_counter_ns()
        since = now - self.marked_at
        # One call is enough to launch a lot, so a phase has an end of its own, if it was not empty or just a wait.
        if since < self.empty_ns or (since < self.same_moment_ns and (name == DATA_WAIT or self._began_earlier(name))):
            at, self.marked_at = self.last, now
        else:
            at = self.mark(now)
        self.entries.append((name, at))

    def lap(self, name: str) -> None:
        """That phase is what was done since the last lap of this step, or since it began."""
        if get_ident() != self.thread:
            return
        now = perf_counter_ns()
        since = now - self.marked_at
        if since < self.empty_ns or (since < self.same_moment_ns and name == DATA_WAIT):
            at, self.marked_at = self.last, now
        else:
            at = self.mark(now)
        self.entries.append((name, self.lapped, at, self.micro, LAP))
        self.lapped = at
        if len(self.entries) > MAX_ENTRIES:
            self._overflow()

    def add(self, name: str, begin: int, end: int, micro: int) -> None:
        """A phase between two marks."""
        if get_ident() == self.thread:
            self.entries.append((name, begin, end, micro))
            if len(self.entries) > MAX_ENTRIES:
                self._overflow()

    def mark(self, now: int) -> int:
        """A new one; its index, or −1 where none can be made."""
        device = self.device
        if device is not None:
            raw = self.raw_stream(device.index)
            # Nobody captures the default stream, which is number 0, into a CUDA graph.
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
        self.stream_id = raw if raw >= 0 else -2  # unknown: looked for each time

    def _fail(self, error: Exception) -> int:
        """Nothing of ours may reach the job; if CUDA is broken, it will hear of it by itself."""
        self._problems.warn("cuda-events", f"recording a CUDA event failed, training goes on: {error}")
        self.thread = OFF
        return -1

    def _overflow(self) -> None:
        """No more until the end of the step."""
        self._problems.count("phases-not-recorded")
        self.thread = OFF

    # -- steps -------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """A step to be recorded begins."""
        self.thread = get_ident()
        self.in_one_stream = True
        self.micro = 0
        self.lapped = self.mark(perf_counter_ns())
        if self.times_whole_steps:
            self.entries.append((TRAINING_STEP, self.lapped, 0))

    def end_step(self, step: int, goes_on: bool = True) -> bool:
        """That step has ended. `goes_on`: the next one begins at the same mark; False: not on this buffer."""
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
        self.steps.append((step, len(entries)))
        if goes_on:
            self.micro, self.lapped = 0, end
            if self.times_whole_steps:
                entries.append((TRAINING_STEP, end, 0))
            if self.on_step is not None:
                self.on_step()
        return True

    def of_this_step(self) -> list[Entry]:
        return self.entries[self.steps[-1][1] :] if self.steps else self.entries

    def cut(self) -> Sample:
        """What there is of steps that have ended. The buffer is empty then, and off."""
        sample = Sample(self.steps, self.host_ns, self.entries, self.events, self.in_one_stream, self.spent)
        self.thread = OFF
        self.host_ns, self.entries, self.events, self.steps = [], [], [], []
        self.last, self.marked_at, self.lapped = -1, 0, -1
        self.spent = 0
        return sample
