"""
Keeps track of who uses torch's profiler in this process.

torch has one profiler per process and does not protect it. If a second one starts, even in another thread or while the
first only warms up, the one that stops last crashes the process (torch 2.13: SIGSEGV in `_disable_profiler` or `save`).
So we open no window while another profiler runs, and end our window when the job starts its own profiler.
"""

from __future__ import annotations

import functools
import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.autograd.profiler as autograd_profiler
from torch.profiler import ProfilerActivity

from .. import process
from ..hooks.modules import subclasses
from ..patching import Patches
from ..problems import ProblemLog
from .teardown import TEARDOWN

# All profilers (torch.profiler, autograd.profiler, emit_nvtx) call these functions of torch.autograd.profiler.
_PREPARE, _ENABLE, _DISABLE = "_prepare_profiler", "_enable_profiler", "_disable_profiler"


class ProfilerUse:
    """One object per process, as there is one profiler."""

    def __init__(self) -> None:
        self._calling: int | None = None
        self._deciding = threading.RLock()
        self._patches: Patches | None = None
        # The job's own profiler is warming up or recording.
        self.is_used_by_job = False
        # Our profiler was prepared and not stopped: it is running, or was lost.
        self.ours_is_unfinished = False
        # A profiler of this process recorded the GPU and was not detached from it.
        self.is_attached = False
        # Called when the job's profiler starts or stops.
        self.on_change: Callable[[], None] | None = None
        # The job's running profiler records the GPU.
        self._job_records_gpu = False
        # Ends our open window when the job wants the profiler.
        self._give_way: Callable[[], None] | None = None

    def install(self, problems: ProblemLog) -> None:
        """Before the first window. A profiler of the job that warms up already would crash with ours."""
        if self._patches is not None:
            return
        self._patches = Patches(problems)
        self.is_used_by_job = self.is_used_by_job or a_profiler_is_open()
        for name, before, after in (
            (_PREPARE, self._job_starts, None),
            (_ENABLE, self._job_starts, None),
            (_DISABLE, None, self._job_stopped),
        ):
            wrap = functools.partial(self._wrap, name=name, before=before, after=after)
            self._patches.put(f"torch.autograd.profiler.{name}", wrap)

    def remove(self) -> None:
        """At the end of the capture. Not after a window was lost: then the job's next profiler needs our help."""
        self.on_change = None
        if self._patches is not None and not self.ours_is_unfinished:
            self._patches.remove()
            self._patches = None
            # Nobody sees any more when it stops.
            self.is_used_by_job = False

    def claim(self, give_way: Callable[[], None]) -> bool:
        """Reserves the profiler for a window. False if the job or another window has it."""
        with self._deciding:
            if self.is_taken:
                return False
            self._give_way = give_way
            return True

    def release(self) -> None:
        self._give_way = None

    @property
    def is_taken(self) -> bool:
        return self.is_used_by_job or self._give_way is not None or torch_profiler_enabled()

    @property
    def disturbance(self) -> str | None:
        """What a profiler does to the steps of the job: "recording", "attached" (it stopped, but slows CUDA calls)."""
        is_on = self.is_used_by_job or torch_profiler_enabled()
        if self._patches is None and is_on != self._job_records_gpu and process.uses_cuda():
            # Nothing reports when the job's profiler starts and stops. It is seen here, and as a rule records the GPU.
            self._job_records_gpu = is_on
            self.is_attached = not is_on and not TEARDOWN.is_in_force
        if is_on:
            return "recording"
        return "attached" if self.is_attached else None

    def gpu_profiler_stopped(self) -> bool:
        """Returns whether it was detached from the GPU."""
        self.is_attached = not TEARDOWN.is_in_force
        return not self.is_attached

    @contextmanager
    def ours(self) -> Iterator[None]:
        """Marks the profiler calls that this thread makes inside the block as ours."""
        self._calling = threading.get_ident()
        try:
            yield
        finally:
            self._calling = None

    def _wrap(
        self,
        original: Callable[..., Any],
        name: str,
        before: Callable[..., None] | None,
        after: Callable[[], None] | None,
    ) -> Callable[..., Any]:
        if name == _PREPARE:
            original = self._recovering(original)

        def call(*args: Any, **kwargs: Any) -> Any:
            if self._calling == threading.get_ident():
                return original(*args, **kwargs)
            if before is not None:
                before(*args)
            try:
                return original(*args, **kwargs)
            finally:
                if after is not None:
                    after()

        call.__wrapped__ = original  # type: ignore[attr-defined]
        return call

    def _recovering(self, prepare: Callable[..., Any]) -> Callable[..., Any]:
        """
        A lost window (its thread ended, or could not stop it in time) leaves kineto busy. torch 2.3 and 2.6 (not 2.13)
        then try to stop it in whichever thread prepares the next profiler, and raise because that thread has none. This
        would go on forever, also for the job's own profiler. Turning it on and off in that thread frees kineto.
        """
        enable, disable = getattr(autograd_profiler, _ENABLE), getattr(autograd_profiler, _DISABLE)

        @functools.wraps(prepare)
        def prepare_again(*args: Any, **kwargs: Any) -> Any:
            try:
                return prepare(*args, **kwargs)
            except RuntimeError:
                if not self.ours_is_unfinished:
                    raise
            enable(*args, **kwargs)
            disable()
            self.ours_is_unfinished = False
            return prepare(*args, **kwargs)

        return prepare_again

    def _job_starts(self, _config: object = None, activities: Any = (), *_: object) -> None:
        with self._deciding:
            give_way, self._give_way = self._give_way, None
            self.is_used_by_job = True
        self._job_records_gpu = ProfilerActivity.CUDA in activities
        if give_way is not None:
            give_way()
        TEARDOWN.give_back()
        if self.on_change is not None:
            self.on_change()

    def _job_stopped(self) -> None:
        self.is_used_by_job = False
        if self._job_records_gpu:
            self._job_records_gpu = False
            self.gpu_profiler_stopped()
        if self.on_change is not None:
            self.on_change()


def a_profiler_is_open() -> bool:
    """Whether one of the process was prepared and has not stopped. Looks among all objects, which takes about 20 ms."""
    kind = autograd_profiler.profile
    return any(
        getattr(each, "entered", False) and getattr(each, "kineto_results", None) is None
        for each in gc.get_referrers(*subclasses(kind))
        if isinstance(each, kind)
    )


def torch_profiler_enabled() -> bool:
    """Whether a profiler is on in this thread."""
    return bool(torch._C._autograd._profiler_enabled())


PROFILER_USE = ProfilerUse()
