"""The files of one rank: its events file and the manifests of rank and run. A writer thread writes them all."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from . import layout, manifest, process
from .cores import cores
from .events.budget import DENSE_STEPS
from .events.writer import EventsWriter
from .patching import installed_so_far
from .run_name import CHANGED, agreed_run_id, job_token, own_run

if TYPE_CHECKING:
    from .session import Capture

# Manifests show how the run is going; nobody needs them more often than this. Sooner at first, since a job may be
# killed at any time (Ray ends its workers so): then they are older by at most this part of its training time.
DESCRIBE_EVERY_S = 20.0
DESCRIBE_EVERY_PART, DESCRIBE_AT_MOST_EVERY_S = 0.25, 1.0
# Handing samples to the writer thread costs the training thread about 0.1 ms on a slow host.
FLUSH_AT_MOST_EVERY_S = 0.25
# How long the end of the job waits for the device, and for the disk.
DRAIN_S, WRITE_S = 10.0, 5.0
# How long the first step waits to learn whether another process writes to the same folder: 0.2 ms on a local disk.
CLAIM_S = 0.2
# Of an exception. An out-of-memory error of CUDA has about 600 characters.
MAX_MESSAGE = 2000


class RunFiles:
    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._anchors = [manifest.anchor("start")]
        self._writer: EventsWriter | None = None
        self.begun = False
        self._flushed_at = 0.0
        self._began_at = self._described_at = 0.0
        self._stated_stride = 0

    def begin(self) -> None:
        """Starts writing, once the rank is known. Not earlier: a process that never trains should leave no files."""
        capture = self._capture
        capture.cpu.read()
        self._stated_stride = capture.budget.stride
        agreed = agreed_run_id(capture.config, capture.run, capture.out)
        job = job_token()
        capture.run = own_run(capture.config, agreed, capture.out, capture.rank, job)
        self._writer = EventsWriter(
            layout.events_file(capture.out, capture.rank),
            rank=capture.rank,
            run=capture.run,
            origin_ns=self._origin_ns,
            header=self._header,
            problems=capture.problems,
            budget=capture.budget,
        )
        self.begun = True
        self._began_at = time.monotonic()
        if capture.recorder.enabled:
            self._writer.submit(self._writer.claim)
        self.describe_again()
        self._writer.submit(lambda: manifest.state_place(capture.out, capture.rank, capture.config.ranks, job))
        if capture.recorder.enabled:
            # Names of traces depend on the answer. A stuck disk must not stop the job.
            self._writer.is_claimed.wait(CLAIM_S)

    def flush(self, *, keep: bool) -> None:
        """`keep` is False if the first step was recorded before we knew that this rank should not be."""
        now = time.monotonic()
        writer, capture = self._writer, self._capture
        if writer is None or now - self._flushed_at < FLUSH_AT_MOST_EVERY_S:
            return
        self._flushed_at = now
        capture.cpu.read()
        samples = capture.recorder.take_done()
        if samples and keep:
            writer.put(samples)
        if capture.budget.stride != self._stated_stride:
            self._stated_stride = capture.budget.stride
            writer.refresh_header()
        if now - self._described_at > self._describe_every(now):
            self._described_at = now
            manifest.keep_anchor(self._anchors, manifest.anchor("flush"))
            writer.refresh_header()
            writer.submit(self._describe_rank)

    def _describe_every(self, now: float) -> float:
        part = DESCRIBE_EVERY_PART * (now - self._began_at)
        return min(DESCRIBE_EVERY_S, max(DESCRIBE_AT_MOST_EVERY_S, part))

    def finish(self, *, keep: bool) -> None:
        samples = self._capture.recorder.drain(DRAIN_S)
        writer = self._writer
        if writer is None:  # not even one step ended
            return
        self._capture.cpu.read()
        manifest.keep_anchor(self._anchors, manifest.anchor("end"))
        if samples and keep:
            writer.put(samples)
        writer.submit(self._describe_rank)
        writer.close(WRITE_S)

    def forget(self) -> None:
        """For a forked child."""
        if self._writer is not None:
            self._writer.forget()

    def refresh_header(self) -> None:
        if self._writer is not None:
            self._writer.refresh_header()

    def describe_again(self) -> None:
        """Writes the manifests again, because something about the run has changed."""
        if self._writer is not None:
            self._described_at = time.monotonic()
            self._writer.submit(self._describe_run)
            self._writer.submit(self._describe_rank)

    @property
    def suffix(self) -> str:
        """Part of our files' names, if another training of this rank writes or wrote to OUT. Any thread may ask."""
        if self._writer is None:
            return ""
        return self._writer.suffix or self._capture.run.partition(CHANGED)[2]

    @property
    def is_second(self) -> bool:
        """Another process of this rank writes to OUT now."""
        return self._writer is not None and self._writer.suffix != ""

    @property
    def _origin_ns(self) -> int:
        return int(str(self._anchors[0]["monotonic_ns"]))

    def _wall_ns(self, monotonic_ns: int) -> int:
        first = self._anchors[0]
        return int(str(first["wall_ns"])) - (int(str(first["monotonic_ns"])) - monotonic_ns)

    def _header(self) -> dict[str, object]:
        capture = self._capture
        return {
            "whyslow": layout.FORMAT,
            "run": capture.run,
            "rank": capture.rank,
            "world_size": process.world_size(),
            "command": manifest.short_command(),
            "origin_ns": self._origin_ns,
            "anchors": list(self._anchors),
            "record_every_n_steps": capture.config.record_every_n_steps,
            "spread_steps": capture.config.spread_steps,
            "dense_steps": DENSE_STEPS if capture.config.spread_steps else 0,
            "stride": capture.budget.stride,
            "iteration": capture.iteration(),
            "input": capture.stacks.input_summary(),
            "overhead": capture.budget.summary(),
            "dropped": dict(capture.problems.counts),
            "job": capture.job_clock.summary(self._origin_ns),
        }

    def _describe_run(self) -> None:
        capture = self._capture
        if capture.rank == 0 and not self.suffix:
            started = int(str(self._anchors[0]["wall_ns"]))
            manifest.write_run(capture.out, capture.config, capture.run, capture.mesh, started)

    def _describe_rank(self) -> None:
        capture = self._capture
        known: dict[str, object] = {
            "steps": capture.recorder.current_step,
            "overhead": capture.budget.summary(),
            "dropped": dict(capture.problems.counts),
            "stacks": capture.stacks.summary(),
            "loader": capture.loaders.summary(),
            "parameters": capture.parameters.summary(),
            "small_collectives": capture.collectives.summary(),
            "process_started_ns": self._wall_ns(capture.job_clock.started_at),
            "error": _error(),
            "hooks": installed_so_far(),
            "cores": cores(),
            "cpu": capture.cpu.summary(),
            "trace": None if capture.trace is None else capture.trace.summary(),
        }
        extra = {name: value for name, value in known.items() if value is not None}
        path = layout.rank_file(capture.out, capture.rank, self.suffix)
        manifest.write_rank(path, capture.run, capture.rank, capture.mesh, list(self._anchors), extra)


def _error() -> dict[str, object] | None:
    """The exception that ended the script. Python keeps it for debuggers, and runs our `atexit` after that."""
    error = getattr(sys, "last_value", None)
    if not isinstance(error, BaseException):
        return None
    try:
        message = str(error)
    except Exception:
        message = ""
    return {"type": type(error).__name__[:100], "message": message[:MAX_MESSAGE]}
