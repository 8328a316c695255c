"""torch's profiler as a window needs it: get ready, start, stop, save; each at most once, and nothing parsed."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import torch
import torch.autograd.profiler as autograd_profiler
from torch.profiler import ProfilerActivity
from torch.profiler.profiler import _KinetoProfile

from ..config import TraceConfig
from ..hooks.dynamo import in_compiled_region
from .profiler_use import PROFILER_USE


class LostRecordingError(RuntimeError):
    """The profiler has nothing to give."""


class _LeanProfile(_KinetoProfile):
    """
    torch's own, without its import of inductor for the sake of one setting: 2 s and 70 MB at the first window of a job
    that does not compile. Where inductor is loaded the setting may matter, and `_KinetoProfile` itself is used.
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
            raise LostRecordingError("start before prepare")
        self.profiler._start_trace()
        for option in ("profile_memory", "with_stack", "record_shapes", "with_flops"):
            if getattr(self, option):
                self.add_metadata_json(option, "1")
        distributed = self._get_distributed_info()
        if distributed:
            self.add_metadata_json("distributedInfo", json.dumps(distributed, default=int))


class WindowProfiler:
    """
    `_KinetoProfile` rather than `torch.profiler.profile`: the latter is in a reference cycle, so that the recording
    (a kilobyte an event) stays in memory until the collector comes by.
    """

    def __init__(self, options: TraceConfig, cuda: bool) -> None:
        activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if cuda else [])]
        kind = _KinetoProfile if "torch._inductor.config" in sys.modules else _LeanProfile
        self._profile: Any = kind(
            activities=activities,
            record_shapes=options.record_shapes,
            with_flops=options.with_flops,
            with_stack=options.with_stack,
            profile_memory=options.profile_memory,
            experimental_config=_experimental_config(options),
        )
        self._is_stopped = False

    def prepare(self) -> None:
        with PROFILER_USE.ours():
            self._profile.prepare_trace()
            PROFILER_USE.ours_is_unfinished = True
        _parse_nothing(self._profile.profiler)

    def start(self) -> None:
        with PROFILER_USE.ours():
            self._profile.start_trace()

    def describe(self, key: str, json_text: str) -> None:
        self._profile.add_metadata_json(key, json_text)

    def stop(self) -> None:
        """Also waits for the device. A second stop would crash the process, so whatever happens there is none."""
        if self._is_stopped:
            raise LostRecordingError("stopped already")
        self._is_stopped = True
        with PROFILER_USE.ours():
            self._profile.stop_trace()
            PROFILER_USE.ours_is_unfinished = False

    def save(self, raw: str) -> int:
        """Writes the JSON; returns its size. Possible once: torch gives a recording away only one time."""
        results = self._profile.profiler.kineto_results
        if not _began_at(results):
            # Saving nothing crashes the process.
            raise LostRecordingError("another profiler took the recording")
        self._profile.export_chrome_trace(raw)
        if not os.path.exists(raw):
            # No exception tells: kineto writes aside, renames at the end, and logs a line when that failed.
            raise OSError("the profiler could not write its trace (disk full?)")
        if not _is_whole(raw):
            # An older torch (2.3) does not write aside, and says nothing at all.
            raise OSError("the profiler could not write all of its trace (disk full?)")
        return os.path.getsize(raw)


def _is_whole(raw: str) -> bool:
    """Whether the JSON is closed. A brace alone in its line, and not at the begin of it, closes an event only."""
    with open(raw, "rb") as file:
        file.seek(max(0, os.path.getsize(raw) - 256))
        last_line = file.read().rstrip().rsplit(b"\n", 1)[-1]
    return last_line == b"}" or (last_line.endswith(b"}") and last_line.strip() != b"}")


def clean_after_save(raw: str) -> None:
    """Removes what a save, whole or failed, left behind."""
    for path in (raw, raw + ".tmp"):
        try:
            os.remove(path)
        except OSError:
            continue


def _experimental_config(options: TraceConfig) -> Any:
    if options.with_stack:
        return None  # stacks are put together from the events that trace_only leaves out
    try:
        from torch._C._profiler import _ExperimentalConfig

        # No objects for Python to look at: stop() takes two thirds of the time and four fifths of the memory.
        return _ExperimentalConfig(trace_only=True)
    except (ImportError, TypeError):  # torch before 2.13; without it only time is lost
        return None


def _parse_nothing(profiler: Any) -> None:
    """torch up to 2.5 turns every event into a Python object within stop(); nobody looks at those here."""
    if not hasattr(profiler, "_ensure_function_events"):
        profiler._parse_kineto_results = lambda *_, **__: []


def _began_at(results: Any) -> int:
    for name in ("trace_start_ns", "trace_start_us"):
        if hasattr(results, name):
            return int(getattr(results, name)())
    return 1


def boundary_is_safe() -> bool:
    """
    Whether the profiler may be started or stopped here. Within a backward pass it may not: autograd puts its own
    thread state back afterwards, profiler included. While CUDA records a graph it may not: stopping waits for the
    device, which spoils the graph. In a compiled region dynamo would look at our code as if it were the model's.
    """
    in_backward = getattr(torch._C, "_current_graph_task_id", None)
    if in_backward is not None and in_backward() != -1:
        return False
    if in_compiled_region():
        return False
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        return not torch.cuda.is_current_stream_capturing()
    return True


def stop_recording_here() -> None:
    """For a thread whose profiler cannot be stopped any more: at least it records nothing further."""
    torch._C._autograd._enable_record_function(False)
