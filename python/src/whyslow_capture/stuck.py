"""
Notices that no step has ended for a long time and writes down once, to OUT/stuck, where this rank is: the stacks of
its Python threads, and which collectives it entered, from torch's own recorder. If a step ends after all, the files go
again.

A thread of its own, because the training thread is the one that is stuck. A process that is stopped, or whose
interpreter is held by an extension, cannot answer: `whyslow run` then reads its stack from outside.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import perf_counter_ns
from typing import Any

from . import layout
from .job.where import as_typed
from .own_files import write_bytes
from .problems import ProblemLog

# A job that saves or evaluates for minutes now and then is not stuck.
LONGER_THAN_USUAL = 5
LOOKS_PER_WAIT = 10
LONGEST_PAUSE_S = 5.0
MAX_THREADS = 64
MAX_DEPTH = 200
# The recorder keeps 2,000 calls by default, of about 700 bytes each.
MAX_DUMP = 64 << 20


class StuckWatch:
    def __init__(
        self,
        after_s: float,
        last_step_at: Callable[[], int],
        problems: ProblemLog,
        is_disturbed: Callable[[], bool],
        messages: Callable[[], dict[str, Any] | None] = lambda: None,
    ) -> None:
        """
        `last_step_at`: `perf_counter_ns` when the last step ended. `is_disturbed`: a window is being saved. `messages`:
        sends and receives, which torch's recorder of gloo lacks, in its form.
        """
        self._messages = messages
        self._after_s, self._last_step_at = after_s, last_step_at
        self._problems, self._is_disturbed = problems, is_disturbed
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._files: tuple[Path, Path] = (Path(), Path())
        # When the last step ended before the files were written. 0: there are none.
        self._written_at = 0

    def start(self, out: Path, rank: int, training: int) -> None:
        """`training` is the identifier of the training thread."""
        if self._after_s <= 0:
            return
        self._files = layout.stuck_files(out, rank)
        self._thread = threading.Thread(target=self._run, args=(training,), name="whyslow-stuck", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """The files stay if the job ends by an error: it may be the timeout of a collective."""
        self._ended.set()
        has_failed = getattr(sys, "last_value", None) is not None
        if self._written_at and (not has_failed or self._last_step_at() != self._written_at):
            self._remove()

    def _run(self, training: int) -> None:
        with self._problems.guard("stuck", "watching for steps that do not end"):
            self._remove()  # of an earlier process of this rank
            longest, before, waited = 0.0, self._last_step_at(), 0.0
            while not self._ended.wait(min(LONGEST_PAUSE_S, self._after_s / LOOKS_PER_WAIT)):
                last = self._last_step_at()
                if last != before:
                    longest, before = max(longest, waited), last
                if self._written_at not in (0, last):
                    self._written_at = 0
                    self._remove()
                waited = (perf_counter_ns() - last) / 1e9
                is_long = waited > max(self._after_s, LONGER_THAN_USUAL * longest)
                if is_long and not self._written_at and not self._is_disturbed():
                    self._written_at = last
                    self._write(training, waited)

    def _write(self, training: int, waited: float) -> None:
        flight, stacks = self._files
        dump = _flight_record(self._messages())
        if dump is not None:
            write_bytes(flight, dump)
        # Last: `whyslow run` waits for it.
        write_bytes(stacks, stacks_as_text(training, waited).encode(errors="replace"))

    def _remove(self) -> None:
        for file in self._files:
            with suppress(OSError):
                file.unlink()


def _flight_record(messages: dict[str, Any] | None) -> bytes | None:
    """
    Collectives of process groups on the CPU. NCCL's recorder asks the driver, which may not answer in a stuck job:
    torch dumps that one itself when a collective times out.
    """
    if "torch.distributed" not in sys.modules:
        return None
    data = b""
    with suppress(Exception):  # an older torch, or one without distributed
        from torch._C import _distributed_c10d

        dump: object = getattr(_distributed_c10d, "_dump_fr_trace_json")()  # noqa: B009 - older versions lack it
        data = dump if isinstance(dump, bytes) else str(dump).encode()
    has_calls = b'"collective_seq_id"' in data and len(data) <= MAX_DUMP
    if messages is None:
        return data if has_calls else None
    calls = json.loads(data) if has_calls else {}
    entries = [*calls.get("entries", []), *messages["entries"]]
    entries.sort(key=lambda entry: int(entry.get("time_created_ns", 0)))
    return json.dumps({**calls, **messages, "entries": entries}).encode()


def stacks_as_text(training: int, waited: float) -> str:
    """As `py-spy dump` writes them, the training thread first."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    frames = sys._current_frames()
    lines = [
        f"Process {os.getpid()}: {' '.join(sys.argv)[:200]}".replace("\n", " "),
        f"Python v{sys.version.split()[0]} (no step ended for {waited:.0f} s)",
    ]
    order = sorted(frames, key=lambda ident: ident != training)
    for ident in [i for i in order if not names.get(i, "").startswith("whyslow-")][:MAX_THREADS]:
        name = "MainThread" if ident == training else names.get(ident, "")
        lines += ["", f'Thread {ident} (idle): "{name}"'.replace("\n", " ")]
        frame = frames[ident]
        for _ in range(MAX_DEPTH):
            code = frame.f_code
            lines.append(f"    {code.co_name} ({as_typed(code.co_filename)}:{frame.f_lineno or 0})".replace("\n", " "))
            if frame.f_back is None:
                break
            frame = frame.f_back
        # A frame keeps its local variables alive, tensors among them.
        del frame
    frames.clear()
    return "\n".join(lines) + "\n"
