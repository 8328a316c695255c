"""Keeps the overhead within the limit: measures what recording costs, and records fewer steps if it costs too much."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

# Our own timing misses part of our cost: caches, the interpreter lock, the device's front end. The rest of the budget
# is left for that. bench/capture-overhead compares both with the true cost.
USABLE_SHARE = 0.6
# Sparser logs are useless. If even this is too expensive, the budget is too small, and the header says so.
MAX_STRETCH = 1 << 12
# Costs and step times vary a lot on a shared machine, so the median of the last few decides.
REMEMBERED = 31
# The first samples include the cost of creating events and of running code for the first time.
WARM_UP_SAMPLES = 2

# Cost of one phase in a step that is not recorded, on a fast host. On the slow host of bench/capture-overhead seven
# phases took 2 to 13 µs, 8 on average; that host counts as 1.7 times slower than a fast one.
IDLE_PHASE_NS = 700
# Recording fewer steps does not reduce that cost. However high it is, this share of the budget stays for recording.
LEAST_SHARE = 0.1

# With spread steps, every one of the first steps is recorded: a trial may be over after ten. Readers leave them out of
# longer runs, where they would count too much.
DENSE_STEPS = 20

# Mean step times between samples that differ by more than this are not chance.
UNEVEN = 1.5

# 2^64 divided by the golden ratio.
GOLDEN = 0x9E3779B97F4A7C15
WORD = (1 << 64) - 1


def median(values: deque[float]) -> float:
    """The upper median. `statistics.median` takes longer than recording a phase."""
    return sorted(values)[len(values) // 2]


class OverheadBudget:
    """
    Decides which steps to record. The stride is ``every`` times a power of two. Each rank stretches its own stride, and
    the steps recorded by the rank with the longest stride are recorded by all others, so ranks can be compared.
    """

    def __init__(self, every: int, max_overhead: float, *, spread: bool = False) -> None:
        self.every = max(1, every)
        self.spread = spread
        self.max_overhead = max_overhead
        self.stretch = 1
        # One step in `stride` is recorded.
        self.stride = self.every
        # (step, stride) of each change.
        self.history: list[tuple[int, int]] = []
        # Cost in a step that is not recorded: calls and hooks that return at once. Set by the writer thread, which
        # knows how many phases a step has.
        self.idle_ns = 0.0
        # How much slower this host is than a fast one, as far as known.
        self.slowness = 1.0
        # Time the writer thread needs per sample, during which it holds the interpreter lock. Set by that thread.
        self.writing_ns = 0.0
        self._samples = 0
        self._costs: deque[float] = deque(maxlen=REMEMBERED)
        self._steps: deque[float] = deque(maxlen=REMEMBERED)
        # An attribute instead of a method: one Python call less when a sample begins.
        self.note_pace: Callable[[float], None] = self._steps.append
        """Takes the step time, averaged over the steps between two samples."""
        self.dense_until = DENSE_STEPS

    def due(self, first: int) -> int:
        """The first step to record at or after `first`. Steps count from where recording begins."""
        stride = self.stride
        if not self.spread:
            return first + -first % stride
        if first < self.dense_until:
            return first
        block = first // stride
        chosen = self._one_of(block)
        return chosen if chosen >= first else self._one_of(block + 1)

    def _one_of(self, block: int) -> int:
        """
        Picks one step of a block, the same on all ranks. The step picked from a double block is always one of the two
        picked from its halves. Multiples of the golden ratio fill an interval evenly and match no period of the job.
        """
        stretch = self.stretch
        while stretch > 1:
            stretch //= 2
            block = 2 * block + (block * GOLDEN >> 63 & 1)
        return block * self.every + ((block * GOLDEN & WORD) * self.every >> 64)

    @property
    def is_uneven(self) -> bool:
        """Something else took much of the time between the last two samples."""
        steps = self._steps
        return len(steps) > 2 and steps[-1] > UNEVEN * median(steps)

    def note_phases(self, count: float) -> None:
        """Takes the number of phases in a step."""
        self.idle_ns = IDLE_PHASE_NS * self.slowness * count

    def note_sample(self, step: int, cost_ns: int) -> None:
        """Takes the cost of recording one step, including reading its events."""
        self._samples += 1
        if self._samples <= WARM_UP_SAMPLES:
            return
        self._costs.append(cost_ns + self.writing_ns)
        # With a limit of 100% the user wants every record, whatever it costs.
        if not self._steps or self.max_overhead >= 1:
            return
        whole = self.max_overhead * median(self._steps)
        allowed = USABLE_SHARE * max(LEAST_SHARE * whole, whole - self.idle_ns)
        cost = median(self._costs)
        # At most one doubling or halving per sample, so that one bad moment of the machine does not end the recording.
        # Before recording more often again, the cost must be well below the limit.
        if cost > allowed * self.stride and self.stretch < MAX_STRETCH:
            self._stretch(step, 2 * self.stretch)
        elif self.stretch > 1 and cost < 0.4 * allowed * (self.stride // 2):
            self._stretch(step, self.stretch // 2)

    def _stretch(self, step: int, stretch: int) -> None:
        self.stretch, self.stride = stretch, self.every * stretch
        self.history.append((step, self.stride))
        del self.history[1:-15]

    def overhead(self) -> float | None:
        """The fraction of the time that capture takes, by its own measurement."""
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
