"""torch's profiler reduced to what a window needs: prepare, start, stop and save, each once, without parsing events."""

from __future__ import annotations

import gc
import json
import os
import sys
from contextlib import suppress
from typing import Any

import torch
import torch.autograd.profiler as autograd_profiler
from torch.profiler import ProfilerActivity
from torch.profiler.profiler import _KinetoProfile

from ..config import TraceConfig
from ..hooks.dynamo import in_compiled_region
from ..hooks.modules import subclasses
from .profiler_use import PROFILER_USE
from .teardown import TEARDOWN


class LostRecordingError(RuntimeError):
    """The profiler has no recording to save."""


class _LeanProfile(_KinetoProfile):
    """
    Does not import inductor, which torch's own does for one setting: 2 s and 70 MB at the first window of a job that
    does not compile. If inductor is loaded, the setting may matter, and `_KinetoProfile` itself is used.
    """

    def prepare_trace(self) -> None:
        self.profiler = autograd_profiler.profile(
            use_cpu=True,
            use_device="cuda" if ProfilerActivity.CUDA in self.activities else None,
            record_shapes=self.record_shapes,
            with_flops=self.with_flops,
            profile_memory=self.profile_memory,
            with_stack=self.with_stack,
            use_kineto=True,
            experimental_config=self.experimental_config,
        )
        self.profiler._prepare_trace()

    def start_trace(self) -> None:
        if self.profiler is None:
            raise LostRecordingError("the profiler was not prepared")
        self.profiler._start_trace()
        for option in ("profile_memory", "with_stack", "record_shapes", "with_flops"):
            if getattr(self, option):
                self.add_metadata_json(option, "1")
        distributed = self._get_distributed_info()
        if distributed:
            self.add_metadata_json("distributedInfo", json.dumps(distributed, default=int))


class WindowProfiler:
    """
    Uses `_KinetoProfile` instead of `torch.profiler.profile`, which is part of a reference cycle: its recording (1 kB
    per event) would stay in memory until the garbage collector runs.
    """

    def __init__(self, options: TraceConfig, cuda: bool, *, counts: bool = False) -> None:
        """`counts`: not to be saved but counted."""
        self.is_counting = counts
        activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if cuda else [])]
        kind = _KinetoProfile if "torch._inductor.config" in sys.modules else _LeanProfile
        self._profile: Any = kind(
            activities=activities,
            record_shapes=options.record_shapes,
            with_flops=options.with_flops,
            with_stack=options.with_stack,
            profile_memory=options.profile_memory,
            experimental_config=None if counts else _experimental_config(options),
        )
        self._records_gpu = cuda
        self._is_stopped = False
        # Whether nothing of it stays attached to the GPU. None: it does not record the GPU, or was not stopped.
        self.detached: bool | None = None

    def prepare(self) -> None:
        if self._records_gpu:
            TEARDOWN.prepare()
        with PROFILER_USE.ours():
            self._profile.prepare_trace()
            PROFILER_USE.ours_is_unfinished = True
        _parse_nothing(self._profile.profiler)

    def start(self) -> None:
        with PROFILER_USE.ours():
            self._profile.start_trace()

    def describe(self, key: str, json_text: str) -> None:
        self._profile.add_metadata_json(key, json_text)

    def stop(self, another_follows: bool) -> None:
        """
        Also waits for the device. A second stop would crash the process, so this only ever stops once.
        `another_follows`: the next profiler starts soon, so this one stays attached to the GPU.
        """
        if self._is_stopped:
            raise LostRecordingError("the profiler was already stopped")
        self._is_stopped = True
        if self._records_gpu and another_follows:
            TEARDOWN.skip_once()
        with PROFILER_USE.ours():
            self._profile.stop_trace()
            PROFILER_USE.ours_is_unfinished = False
        if self._records_gpu:
            self.detached = PROFILER_USE.gpu_profiler_stopped()

    def count(self) -> int:
        """How many events were recorded."""
        return len(self._profile.profiler.kineto_results.events())

    def save(self, raw: str) -> int:
        """Writes the JSON and returns its size. Works once, because torch hands out a recording only once."""
        results = self._profile.profiler.kineto_results
        if not _began_at(results):
            # Saving an empty recording crashes the process.
            raise LostRecordingError("another profiler took the recording")
        self._profile.export_chrome_trace(raw)
        if not os.path.exists(raw):
            # torch raises nothing: kineto writes a temporary file, renames it at the end, and only logs a failure.
            raise OSError("the profiler could not write its trace (disk full?)")
        if not _is_whole(raw):
            # torch 2.3 writes no temporary file and reports nothing.
            raise OSError("the profiler wrote only part of its trace (disk full?)")
        return os.path.getsize(raw)


def _is_whole(raw: str) -> bool:
    """Whether the JSON is complete. An indented brace alone on its line only closes an event."""
    with open(raw, "rb") as file:
        file.seek(max(0, os.path.getsize(raw) - 256))
        last_line = file.read().rstrip().rsplit(b"\n", 1)[-1]
    return last_line == b"}" or (last_line.endswith(b"}") and last_line.strip() != b"}")


def _experimental_config(options: TraceConfig) -> Any:
    if options.with_stack:
        return None  # stacks are built from events that trace_only leaves out
    try:
        from torch._C._profiler import _ExperimentalConfig

        # Skips the objects for Python: stop() takes two thirds of the time and four fifths of the memory.
        return _ExperimentalConfig(trace_only=True)
    except (ImportError, TypeError):  # torch before 2.13, where stop() is just slower
        return None


def _parse_nothing(profiler: Any) -> None:
    """torch up to 2.5 turns every event into a Python object in stop(). We do not need them."""
    if not hasattr(profiler, "_ensure_function_events"):
        profiler._parse_kineto_results = lambda *_, **__: []


def _began_at(results: Any) -> int:
    for name in ("trace_start_ns", "trace_start_us"):
        if hasattr(results, name):
            return int(getattr(results, name)())
    return 1


def boundary_is_safe() -> bool:
    """
    Whether the profiler may be started or stopped here. Not in a backward pass: autograd restores its thread state
    afterwards, including the profiler's. Not while a CUDA graph is captured: stopping waits for the device, which
    breaks the capture. Not in a compiled region: dynamo would trace our code as part of the model.
    """
    in_backward = getattr(torch._C, "_current_graph_task_id", None)
    if in_backward is not None and in_backward() != -1:
        return False
    if in_compiled_region():
        return False
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        return not torch.cuda.is_current_stream_capturing()
    return True


def end_open_ranges() -> None:
    """
    Ends the job's open record_function ranges, before a profiler stops. A range that was entered while one recorded
    keeps a pointer into its recording. If it is left while the next one records, torch follows the pointer and the
    process crashes (torch 2.13: SIGSEGV). Steps usually end inside such a range: torch wraps every optimizer step in
    one. Ending a range twice is harmless, and one of another thread, which no profiler records, does not notice. Looks
    among all objects, which takes about 20 ms.
    """
    kinds = subclasses(autograd_profiler.record_function)
    for each in gc.get_referrers(*kinds):
        record = vars(each).get("record") if isinstance(each, autograd_profiler.record_function) else None
        if record is not None:
            # The profiler must be stopped in any case.
            with suppress(Exception), torch._C.DisableTorchFunctionSubclass():
                torch.ops.profiler._record_function_exit._RecordFunction(record)


def stop_recording_here() -> None:
    """For a thread whose profiler can no longer be stopped: makes it record nothing more."""
    torch._C._autograd._enable_record_function(False)
