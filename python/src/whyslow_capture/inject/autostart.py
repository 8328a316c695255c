"""Starts the capture once the process begins to train. Until then there are no files and no threads."""

from __future__ import annotations

import functools
import multiprocessing
import multiprocessing.util
import os
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from torch.utils.data import get_worker_info

from ..api import RUN_DEFAULTS
from ..config_sources import load_config
from ..hooks import optimizer as optimizer_hooks
from ..hooks.dynamo import is_compiling, never_compiled, not_compiled
from ..hooks.optimizer import OptimizerTarget
from ..job import timers_of_process
from ..memory import watch_of_process
from ..patching import Patches, find, leave_out_caller
from ..problems import ProblemLog, describe
from ..touched import BY_ID

if TYPE_CHECKING:
    from ..session import Capture


# By group, what the first call of shows that a job trains.
SIGNS = {
    "dataloader": (
        "torch.utils.data.dataloader.DataLoader.__iter__",
        "torch.utils.data.dataloader._BaseDataLoaderIter.__next__",
    ),
    "zero_grad": ("torch.optim.Optimizer.zero_grad", "torch.nn.Module.zero_grad"),
    "model": ("torch.autograd.backward", "torch.autograd.grad"),
}


class AutoStart:
    """Waits for the first batch, zero_grad(), backward pass or optimizer step, whichever comes first."""

    def __init__(self) -> None:
        self.problems = ProblemLog()
        self._patches = Patches(self.problems)
        self._waiting = True
        # In place of a recorder, so that the optimizer hooks report every step.
        self.recorder: Any = SimpleNamespace(recording=True)
        self.sees_steps = False
        self.plain_optimizer = 0

    def arm(self, groups: frozenset[str]) -> None:
        for group, targets in SIGNS.items():
            for target in targets if group in groups else ():
                self._put(target, only_main=target != "torch.optim.Optimizer.zero_grad")
        if "optimizer" in groups:
            optimizer_hooks.attach(self)

    def disarm(self) -> None:
        self._waiting = False
        self._patches.remove()
        optimizer_hooks.detach(self)

    def _put(self, target: str, *, only_main: bool) -> None:
        def make(original: Any) -> Any:
            @functools.wraps(original)
            def call(*args: Any, **options: Any) -> Any:
                try:
                    if self._waiting and not is_compiling() and not (only_main and not on_main_thread()):
                        self.begin()
                        if not self._waiting:
                            # The attribute now holds the hook of the capture that has just begun.
                            return getattr(*find(BY_ID[target]))(*args, **options)
                    return original(*args, **options)
                except BaseException as error:
                    leave_out_caller(error)
                    raise

            return not_compiled(call)

        self._patches.put(target, make)

    def optimizer_begins(self, optimizer: object) -> None:
        self.begin()
        successor: OptimizerTarget | None = optimizer_hooks.attached()
        if successor is None or successor is self:
            return
        successor.sees_steps = True
        if successor.recorder.recording:
            successor.optimizer_begins(optimizer)

    def optimizer_ends(self, optimizer: object) -> None:
        pass

    def end_quiet_step(self) -> bool:
        return False

    def failed(self, error: Exception) -> None:
        self.problems.warn("inject", f"capture did not start, training goes on: {describe(error)}")

    @never_compiled
    def begin(self) -> None:
        """Starts the capture, unless this is a DataLoader worker."""
        if not self._waiting or get_worker_info() is not None:
            return
        try:
            self.disarm()
            begin_capture(self.problems)
        except Exception as error:
            self.failed(error)


def on_main_thread() -> bool:
    """A prefetch thread does not train. If the job trains on another thread, its optimizer steps start the capture."""
    return threading.current_thread() is threading.main_thread()


def begin_capture(problems: ProblemLog) -> None:
    from ..api import active_session, open_session
    from ..session import Capture

    if active_session() is not None:
        return  # the job started its own capture
    config = load_config({"defaults": RUN_DEFAULTS}, problems=problems)
    if not config.enabled:
        return
    capture = open_session(Capture(config, problems), steps="optimizer")
    if multiprocessing.parent_process() is not None:
        # Children forked by multiprocessing do not run atexit functions.
        multiprocessing.util.Finalize(None, capture.close, exitpriority=0)
    if hasattr(os, "register_at_fork"):
        forks = ForkWatch(capture)
        os.register_at_fork(before=forks.before, after_in_child=forks.in_child)


class ForkWatch:
    """Arms capture again in the forked children of a process that has only read data so far: they may train."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._pid = os.getpid()
        self._has_not_trained = False

    def before(self) -> None:
        from ..api import active_session

        is_first_step = self._capture.recorder.current_step == self._capture.config.resume_step
        self._has_not_trained = is_first_step and active_session() is self._capture and os.getpid() == self._pid

    def in_child(self) -> None:
        if self._has_not_trained:
            self._has_not_trained = False
            start_when_training_begins()


def start_when_training_begins() -> None:
    starter = AutoStart()
    config = load_config({"defaults": RUN_DEFAULTS}, problems=starter.problems)
    groups = config.hook_groups
    if config.enabled:
        watch_of_process(config.memory, starter.problems).start(Path(config.out).expanduser().absolute())
    with starter.problems.guard("job-hooks", "timing the job between steps"):
        timers_of_process(starter.problems).install(groups)
    starter.arm(groups)
