"""
Runs a function in the main thread between two bytecode instructions, without a signal.

A signal needs a handler, and handlers belong to the job; it also interrupts system calls. Python's queue of pending
calls has neither problem. It runs only in the main thread, and only while that executes Python code.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from ..hooks.dynamo import never_compiled


class _Action:
    """
    Runs when its truth value is read. The queue takes C functions `int f(void *)`, and PyObject_IsTrue is one that runs
    Python code and passes exceptions on. A ctypes callback would swallow them, but Ctrl-C, or an exit from one of the
    job's signal handlers, must get through.
    """

    def __init__(self, action: Callable[[], None]) -> None:
        self._action = action
        self.is_queued = False

    # The main thread may be in a compiled region; the compiler must not trace this as part of the model.
    @never_compiled
    def __bool__(self) -> bool:
        self.is_queued = False
        self._action()
        return False  # 0 means success


# The interpreter may still call these. There is one small object per trace tier.
_KEPT_ALIVE: list[_Action] = []


class MainThreadCall:
    """Any thread may request `action` at any time. It may run late, and must not raise an Exception."""

    def __init__(self, action: Callable[[], None]) -> None:
        self._action = _Action(action)
        _KEPT_ALIVE.append(self._action)

    def request(self) -> bool:
        """False if this interpreter has no such queue, or the queue is full."""
        if self._action.is_queued:
            return True
        try:
            add, is_true = ctypes.pythonapi.Py_AddPendingCall, ctypes.pythonapi.PyObject_IsTrue
        except AttributeError:
            return False
        self._action.is_queued = True
        added = add(ctypes.cast(is_true, ctypes.c_void_p), ctypes.c_void_p(id(self._action)))
        self._action.is_queued = added == 0
        return self._action.is_queued
