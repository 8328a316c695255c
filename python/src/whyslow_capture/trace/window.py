"""One window: a profiler that exists from the first warm-up step to the last recorded step."""

from __future__ import annotations

import json
import threading
import time
from enum import Enum

from torch.autograd.profiler import record_function

from ..config import TraceConfig
from .profiler import LostRecordingError, WindowProfiler, end_open_ranges
from .profiler_use import torch_profiler_enabled
from .schedule import WindowPlan
from .teardown import TEARDOWN


class State(Enum):
    NEW = "new"
    # The warm-up is recorded, to be counted and thrown away.
    COUNTING = "counting"
    WARMING = "warming"
    RECORDING = "recording"
    STOPPED = "stopped"
    # Another thread of the job took over the profiler; stopping it now would crash.
    ABANDONED = "abandoned"


OPEN = (State.COUNTING, State.WARMING, State.RECORDING)


class Window:
    """Only the training thread may use it: torch's profiler belongs to the thread that started it."""

    def __init__(self, plan: WindowPlan, options: TraceConfig, cuda: bool) -> None:
        self.plan, self.records_gpu = plan, cuda
        self.state = State.NEW
        self.thread = threading.get_ident()
        # The first step that is not recorded. Earlier than planned if fewer fit.
        self.end = plan.end
        # The last step that was at least partly recorded.
        self.last_step: int | None = None
        # Why it records less than planned, or None; and whether it ends at the next boundary.
        self.cut: str | None = None
        self.is_over = False
        # The next profiler starts so soon that this one should stay attached to the GPU.
        self.another_follows = False
        # Whether nothing of it stays attached. None: it did not record the GPU, or was not stopped.
        self.detached: bool | None = None
        # Seconds the training thread spent in the profiler, by operation.
        self.seconds: dict[str, float] = {}
        self._options = options
        self._profiler: WindowProfiler | None = None
        self._counting_since = 0.0
        self._mark: record_function | None = None
        self._deciding = threading.Lock()

    @property
    def is_open(self) -> bool:
        return self.state in OPEN

    def warm_up(self, *, counts: bool) -> None:
        """`counts`: also counts what the warm-up records, until `count`."""
        begin = time.perf_counter()
        self._profiler = WindowProfiler(self._options, self.records_gpu, counts=counts)
        self._profiler.prepare()
        self.state = State.WARMING
        if counts:
            self._profiler.start()
            self.state = State.COUNTING
        self._spent("start", begin)
        self._counting_since = time.thread_time()

    def count(self) -> tuple[int, float]:
        """How many events the warm-up has made, and in how many seconds of this thread. Now it only warms up."""
        begin, seconds = time.perf_counter(), time.thread_time() - self._counting_since
        end_open_ranges()
        self._live.stop(another_follows=True)
        events = self._live.count()
        self._profiler = WindowProfiler(self._options, self.records_gpu)
        self._profiler.prepare()
        self.state = State.WARMING
        self._spent("start", begin)
        return events, seconds

    def record(self, step: int, about: dict[str, object]) -> None:
        """`about` goes into the trace's header under "whyslow"."""
        begin = time.perf_counter()
        self._live.start()
        self.state = State.RECORDING
        self._live.describe("whyslow", json.dumps(about))
        self._begin_mark(step)
        self._spent("start", begin)

    def next_step(self, step: int) -> None:
        self._end_mark()
        self._begin_mark(step)

    def stop(self) -> None:
        """After this, successful or not, only `save` may touch the profiler."""
        begin = time.perf_counter()
        with self._deciding:
            if self.state is State.ABANDONED:
                raise LostRecordingError("the job's own profiler took over")
            was, self.state = self.state, State.STOPPED
        if was is State.WARMING:
            # A profiler that is only prepared cannot be stopped. If Ctrl-C interrupted its start, it may be on.
            if not torch_profiler_enabled():
                self._live.start()
        elif was is State.RECORDING:
            if self.cut is not None:
                self._live.describe("whyslow_cut", json.dumps(self.cut))
            self._end_mark()
        if was in OPEN:
            end_open_ranges()
            self._live.stop(self.another_follows)
            self.detached = self._live.detached
        self._spent("stop", begin)

    def abandon(self) -> bool:
        """Any thread may call it. False if the window is being stopped or was stopped."""
        with self._deciding:
            if not self.is_open:
                return False
            self.state = State.ABANDONED
            return True

    def save(self, raw: str) -> int:
        begin = time.perf_counter()
        try:
            return self._live.save(raw)
        finally:
            self._spent("export", begin)

    def release(self) -> None:
        """Frees the recording now instead of at some later garbage collection."""
        begin = time.perf_counter()
        self._profiler = None
        self._spent("free", begin)

    def detach(self) -> None:
        """Completes the detaching from the GPU, after `save`: then the job's next step is not the one that pays."""
        if self.detached:
            begin = time.perf_counter()
            TEARDOWN.settle()
            self._spent("detach", begin)

    @property
    def _live(self) -> WindowProfiler:
        if self._profiler is None:
            raise LostRecordingError("the window has ended")
        return self._profiler

    def _begin_mark(self, step: int) -> None:
        # Trace readers recognize steps by this name. The number is the job's own.
        self._mark = record_function(f"ProfilerStep#{step}")
        self._mark.__enter__()
        self.last_step = step

    def _end_mark(self) -> None:
        mark, self._mark = self._mark, None
        if mark is not None:
            mark.__exit__(None, None, None)

    def _spent(self, doing: str, begin: float) -> None:
        self.seconds[doing] = self.seconds.get(doing, 0.0) + time.perf_counter() - begin
