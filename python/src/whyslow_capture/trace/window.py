"""One window: a profiler that exists from the first warm-up step to the last recorded step."""

from __future__ import annotations

import json
import threading
import time
from enum import Enum

from torch.autograd.profiler import record_function

from ..config import TraceConfig
from .live_ranges import LiveRanges
from .profiler import LostRecordingError, WindowProfiler
from .profiler_use import torch_profiler_enabled
from .schedule import WindowPlan
from .teardown import TEARDOWN


class State(Enum):
    NEW = "new"
    WARMING = "warming"
    RECORDING = "recording"
    STOPPED = "stopped"
    # Another thread of the job took over the profiler; stopping it now would crash.
    ABANDONED = "abandoned"


class Window:
    """Only the training thread may use it: torch's profiler belongs to the thread that started it."""

    def __init__(self, plan: WindowPlan, options: TraceConfig, cuda: bool) -> None:
        self.plan, self.records_gpu = plan, cuda
        self.state = State.NEW
        self.thread = threading.get_ident()
        # The last step that was at least partly recorded.
        self.last_step: int | None = None
        # Why the window ends early, or None.
        self.cut: str | None = None
        # The next profiler starts so soon that this one should stay attached to the GPU.
        self.another_follows = False
        # Whether nothing of it stays attached. None: it did not record the GPU, or was not stopped.
        self.detached: bool | None = None
        # Seconds the training thread spent in the profiler, by operation.
        self.seconds: dict[str, float] = {}
        self._profiler: WindowProfiler | None = WindowProfiler(options, cuda)
        self._mark: record_function | None = None
        self._ranges = LiveRanges()
        self._deciding = threading.Lock()

    @property
    def may_stop_here(self) -> bool:
        """False in the middle of entering a record_function, which could then not be ended."""
        return not self._ranges.is_entering

    @property
    def is_open(self) -> bool:
        return self.state in (State.WARMING, State.RECORDING)

    def warm_up(self) -> None:
        begin = time.perf_counter()
        self._live.prepare()
        self.state = State.WARMING
        self._spent("start", begin)

    def record(self, step: int, about: dict[str, object]) -> None:
        """`about` goes into the trace's header under "whyslow"."""
        begin = time.perf_counter()
        self._ranges.watch()
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
        # Also if start() was interrupted.
        self._ranges.end()
        if was in (State.WARMING, State.RECORDING):
            self._live.stop(self.another_follows)
            self.detached = self._live.detached
        self._spent("stop", begin)

    def abandon(self) -> bool:
        """Any thread may call it. False if the window is being stopped or was stopped."""
        with self._deciding:
            if not self.is_open:
                return False
            self.state = State.ABANDONED
            self._ranges.forget()
            return True

    def forget_ranges(self) -> None:
        self._ranges.forget()

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
