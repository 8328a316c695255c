"""
`torch.profiler.profile(on_trace_ready=whyslow.trace_handler("runs/a"))`: keeps the trace and prints the verdict.

Only writing the JSON takes the job's time, as with any handler. Compressing and diagnosing happen in another process.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .node import HERE

# How long the end of the job waits for the last verdict: after it, a scheduler may end all of the job's processes.
AT_EXIT_S = 10.0


def trace_handler(out: str | os.PathLike[str], *, verdict: bool = True) -> Callable[[Any], None]:
    """
    For `torch.profiler.profile(on_trace_ready=…)`, on every rank that profiles. Writes
    `out/traces/step_<n>/rank-<r>-coord-<r>-trace.json.gz`; rank 0 prints the verdict of all ranks to stderr.
    `verdict=False` only writes. Nothing in it can end the job: if something fails, it prints one line.
    """
    return TraceHandler(out, verdict)


class TraceHandler:
    def __init__(self, out: str | os.PathLike[str], verdict: bool) -> None:
        self._out = Path(out).expanduser().absolute()
        self._verdict = verdict
        self._last: subprocess.Popen[bytes] | None = None
        self._pid = os.getpid()

    def __call__(self, profiler: Any) -> None:
        from whyslow_capture.problems import ProblemLog

        with ProblemLog().guard("trace-handler", "keeping the trace"):
            self._keep(profiler)

    def _keep(self, profiler: Any) -> None:
        from whyslow_capture import layout, process
        from whyslow_capture.own_files import partial_path

        rank, step = process.rank(), int(getattr(profiler, "step_num", 0))
        target = layout.trace_dir(self._out, step) / layout.trace_name(rank, (), ".json.gz")
        target.parent.mkdir(parents=True, exist_ok=True)
        raw = partial_path(target, ".json")
        try:
            profiler.export_chrome_trace(str(raw))
            if not raw.exists():
                # torch raises nothing: kineto only logs the failure.
                raise OSError("the profiler could not write its trace (disk full?)")
        except BaseException:
            raw.unlink(missing_ok=True)
            raise
        wanted = self._verdict and rank == 0
        is_behind = self._last is not None and self._last.poll() is None
        world = process.world_size() if wanted and not is_behind else 0
        self._start(raw, target, world)
        if wanted and is_behind:
            say(f"the verdict of step {step} is left out, because the previous one is not ready: {target.parent}")

    def _start(self, raw: Path, target: Path, world: int) -> None:
        """`world`: how many ranks the verdict is about. 0: none is wanted."""
        environment = dict(os.environ)
        # This is not one of the job's processes to measure.
        environment.pop("WHYSLOW_INJECT", None)
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [os.path.dirname(HERE), os.environ.get("PYTHONPATH")]))
        started = subprocess.Popen(
            [sys.executable, "-m", "whyslow.after_trace", str(raw), str(target), str(world)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=environment,
            # Ctrl-C ends the job, not the compression of its trace.
            start_new_session=True,
        )
        if self._last is None:
            atexit.register(self._wait)
        if world or self._last is None or self._last.poll() is not None:
            self._last = started

    def _wait(self) -> None:
        if os.getpid() != self._pid or self._last is None:
            return
        until = time.monotonic() + AT_EXIT_S
        while self._last.poll() is None and time.monotonic() < until:
            time.sleep(0.02)


def say(text: str) -> None:
    sys.stderr.write(f"whyslow: {text}\n")
