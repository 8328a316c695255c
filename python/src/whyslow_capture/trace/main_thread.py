"""
Runs something in the main thread between two of its instructions, without a signal.

A signal would need a handler, which belongs to the job, and would interrupt system calls. Python's own queue of pending
calls does neither. It only ever runs in the main thread, while that executes Python.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from ..hooks.dynamo import never_compiled


class _Action:
    """
    Done when somebody asks for its truth. The queue takes C functions `int f(void *)`; PyObject_IsTrue is one that runs
    Python, and hands on what is raised in there. A callback of ctypes would swallow it: Ctrl-C, or the exit that a
    signal handler of the job asks for, must get through.
    """

    def __init__(self, action: Callable[[], None]) -> None:
        self._action = action
        self.is_queued = False

    # The main thread may be in a compiled region: its compiler must not take this for part of the model.
    @never_compiled
    def __bool__(self) -> bool:
        self.is_queued = False
        self._action()
        return False  # 0: all is well


# What the interpreter may still call; few (one a trace tier) and small.
_KEPT_ALIVE: list[_Action] = []


class MainThreadCall:
    """`action` may be asked for at any time, from any thread; it may then run late. It must not raise an Exception."""

    def __init__(self, action: Callable[[], None]) -> None:
        self._action = _Action(action)
        _KEPT_ALIVE.append(self._action)

    def ask(self) -> bool:
        """False where this interpreter has no such queue, or it is full."""
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
