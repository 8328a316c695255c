"""Capture measures what it costs and records less often rather than cost more than it may."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

# What we time of ourselves is not all we cost: caches, the interpreter's lock, the device's front end. A share of the
# budget is left for that; bench/capture-overhead compares it with the true cost.
USABLE_SHARE = 0.6
# Sparser than this a log says nothing; then the budget is too small for the job, and the header says so.
MAX_STRETCH = 1 << 12
# Costs and steps vary, on a shared machine by a lot; the median of a few decides.
REMEMBERED = 31
# The first samples pay for the making of events and for code that was never run.
WARM_UP_SAMPLES = 2

# What a phase costs in a step that is not recorded: on the slow host of bench/capture-overhead seven were measured at 2
# to 13 µs, 8 on average. That host counts as 1.7 times as slow as a fast one, which this is for.
IDLE_PHASE_NS = 700
# That cannot be helped by recording less: however much it is, so much of the budget is for recording.
LEAST_SHARE = 0.1

# 2^64 divided by the golden ratio.
GOLDEN = 0x9E3779B97F4A7C15
WORD = (1 << 64) - 1


def median(values: deque[float]) -> float:
    """The upper of two: `statistics.median` costs more than a phase."""
    return sorted(values)[len(values) // 2]


class OverheadBudget:
    """
    Which steps to record. The stride is ``every`` times a power of two: ranks stretch by themselves, and what the most
    stretched one records the others record as well, so that steps can be compared.
    """

    def __init__(self, every: int, max_overhead: float, *, spread: bool = False) -> None:
        self.every = max(1, every)
        self.spread = spread
        self.max_overhead = max_overhead
        self.stretch = 1
        # Every so many steps one is recorded.
        self.stride = self.every
        # (step, stride) whenever it changed.
        self.history: list[tuple[int, int]] = []
        # What capture takes of a step that is not recorded: calls and hooks that look and go. Set by the thread that
        # writes, which knows how many phases a step has.
        self.idle_ns = 0.0
        # How much longer this host takes for everything than a fast one, if that is known.
        self.slowness = 1.0
        # What the writing thread needs for one sample: it takes the interpreter's lock meanwhile. Set by that thread.
        self.writing_ns = 0.0
        self._samples = 0
        self._costs: deque[float] = deque(maxlen=REMEMBERED)
        self._steps: deque[float] = deque(maxlen=REMEMBERED)
        self.note_pace: Callable[[float], None] = self._steps.append
        """How long a step took, over the ones that were not recorded."""

    def due(self, first: int) -> int:
        """The first step to record that is not before this one. Steps count from where recording begins."""
        stride = self.stride
        if not self.spread:
            return first + -first % stride
        block = first // stride
        chosen = self._one_of(block)
        return chosen if chosen >= first else self._one_of(block + 1)

    def _one_of(self, block: int) -> int:
        """
        One of a block of steps: on all ranks the same, and of a wider block one of those of its two halves. Multiples
        of the golden ratio fill an interval evenly, however many there are, and keep step with nothing.
        """
        if block == 0:
            return 0  # for jobs that are tried for a few steps
        stretch = self.stretch
        while stretch > 1:
            stretch //= 2
            block = 2 * block + (block * GOLDEN >> 63 & 1)
        return block * self.every + ((block * GOLDEN & WORD) * self.every >> 64)

    def note_phases(self, count: float) -> None:
        """So many a step has."""
        self.idle_ns = IDLE_PHASE_NS * self.slowness * count

    def note_sample(self, step: int, cost_ns: int) -> None:
        """What recording one step cost, resolving included."""
        self._samples += 1
        if self._samples <= WARM_UP_SAMPLES:
            return
        self._costs.append(cost_ns + self.writing_ns)
        # 100 % is for those who want every record at any price.
        if not self._steps or self.max_overhead >= 1:
            return
        whole = self.max_overhead * median(self._steps)
        allowed = USABLE_SHARE * max(LEAST_SHARE * whole, whole - self.idle_ns)
        cost = median(self._costs)
        # By one doubling a sample, either way: one bad moment of the machine must not end the recording, and much
        # less than is allowed must be enough before it records more often again.
        if cost > allowed * self.stride and self.stretch < MAX_STRETCH:
            self._stretch(step, 2 * self.stretch)
        elif self.stretch > 1 and cost < 0.4 * allowed * (self.stride // 2):
            self._stretch(step, self.stretch // 2)

    def _stretch(self, step: int, stretch: int) -> None:
        self.stretch, self.stride = stretch, self.every * stretch
        self.history.append((step, self.stride))
        del self.history[1:-15]

    def overhead(self) -> float | None:
        """The share of the time that capture takes by its own measurement."""
        if not self._steps or not self._costs:
            return None
        step = median(self._steps)
        return (median(self._costs) / self.stride + self.idle_ns) / step if step > 0 else None

    def summary(self) -> dict[str, object]:
        own = self.overhead()
        return {
            "max": self.max_overhead,
            "measured": None if own is None else round(own, 6),
            "stride": self.stride,
            "stretched": self.stretch > 1,
            "changes": [list(change) for change in self.history],
            "recorded_step_us": round(median(self._costs) / 1e3, 1) if self._costs else None,
            "other_step_us": round(self.idle_ns / 1e3, 2),
        }
