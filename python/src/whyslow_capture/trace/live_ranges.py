"""
Ends the job's open record_function ranges before a window stops.

A range that was entered in one window keeps a pointer into that window's recording. If it is left while the next window
records, torch follows the pointer and the process crashes (torch 2.13: SIGSEGV). Steps usually end inside such a range:
torch wraps every optimizer step in one. Ending a range twice is harmless, so the job can still leave it as usual.
"""

from __future__ import annotations

import functools
import threading
from contextlib import suppress
from typing import Any

import torch
from torch.autograd.profiler import record_function

from ..hooks.dynamo import not_compiled
from ..patching import Patches
from ..problems import ProblemLog


class LiveRanges:
    """Only sees the thread that created it: torch's profiler records no other."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._patches = Patches(ProblemLog())
        self._is_watching = False
        self._live: list[record_function] = []
        # While a range is being entered it may exist in torch already, but not yet in the list.
        self.is_entering = False

    def watch(self) -> None:
        self._is_watching = True
        self._patches.put("torch.autograd.profiler.record_function.__enter__", self._new_enter)
        self._patches.put("torch.autograd.profiler.record_function.__exit__", self._new_exit)

    def forget(self) -> None:
        self._is_watching = False
        self._patches.remove()
        self._live.clear()

    def end(self) -> None:
        """Ends all ranges, innermost first, and stops watching."""
        # Another thread stops the window only if ours has ended, and then torch has dropped the recording.
        live = list(reversed(self._live)) if self._sees_this_thread() else []
        self.forget()
        for each in live:
            # The profiler must be stopped in any case.
            with suppress(Exception), torch._C.DisableTorchFunctionSubclass():
                if each.record is not None:
                    torch.ops.profiler._record_function_exit._RecordFunction(each.record)

    def _sees_this_thread(self) -> bool:
        return self._is_watching and threading.get_ident() == self._thread

    def _new_enter(self, original: Any) -> Any:
        @functools.wraps(original)
        def enter(range_: record_function) -> Any:
            if not self._sees_this_thread():
                return original(range_)
            self.is_entering = True
            try:
                entered = original(range_)
                self._live.append(range_)
            finally:
                self.is_entering = False
            return entered

        return not_compiled(enter)

    def _new_exit(self, original: Any) -> Any:
        @functools.wraps(original)
        def leave(range_: record_function, *error: Any) -> Any:
            try:
                return original(range_, *error)
            finally:
                if self._sees_this_thread():
                    # By identity, from the end: the innermost is left first.
                    for index in range(len(self._live) - 1, -1, -1):
                        if self._live[index] is range_:
                            del self._live[index]
                            break

        return not_compiled(leave)
