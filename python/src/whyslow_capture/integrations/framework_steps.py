"""Shared by all callbacks: opens a capture when training begins, counts its steps, closes it when training ends."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from ..api import active_session, capture
from ..config import Settings
from ..config_sources import load_config
from ..problems import ProblemLog

if TYPE_CHECKING:
    from whyslow.at_end import AtEnd, Opened

    from ..session import Capture

FOLDER = "whyslow"


class FrameworkSteps:
    """
    Counts steps from 1, as frameworks report them: after step 10 they log, evaluate and save "at step 10". That work
    falls into step 11, which is not among the steps sampled by default.
    """

    def __init__(self, settings: Settings) -> None:
        # Checks them now, so that a mistake is raised where it was made.
        self.config = load_config({**settings}, environ={})
        self._given = settings
        self._is_ours = False
        self._problems = ProblemLog()
        self.capture: Capture | None = None
        self._at_end: AtEnd | None = None
        self._step = 0

    def __reduce__(self) -> tuple[object, ...]:
        # Frameworks copy their callbacks and send them to the processes they start.
        return FrameworkSteps, (self._given,)

    def open(self, folder: str | os.PathLike[str] | None, steps_done: int, loggers: Opened = ()) -> None:
        """
        `folder`: the framework's output folder. Files go into a subfolder of it, unless `out` is set. `loggers`: what
        the framework logs to.
        """
        self.close()
        self._step = steps_done
        with self._problems.guard("open", "starting the capture"):
            joined = active_session()
            if joined is not None:
                # `whyslow run`, or a capture around the trainer. Whatever ran before is not a training step.
                joined.manual_steps()
                joined.recorder.abandon_step()
                self.capture, self._is_ours = joined, False
                return
            defaults: dict[str, object] = {"resume_step": steps_done + 1}
            if folder is not None:
                defaults["out"] = str(Path(folder) / FOLDER)
            settings: Settings = {**self._given, "defaults": defaults}
            capture(**settings).start()
            # None if capture is off.
            self.capture, self._is_ours = active_session(), True
            if self.capture is not None:
                from whyslow.at_end import AtEnd

                self._at_end = AtEnd(self.capture, self._problems, loggers)

    def step(self) -> None:
        """Ends a step that included an optimizer step."""
        self._step += 1
        if self.capture is not None:
            self.capture.step(self._step)

    def micro_step(self) -> None:
        """Ends a micro-batch; the step goes on. Hooks of the model find micro-batches by themselves."""
        capture = self.capture
        if capture is not None and "model" not in capture.config.hook_groups:
            capture.micro_step()

    def disturbed(self) -> None:
        """Drops the current step, because it contains an evaluation or a checkpoint."""
        capture = self.capture
        if capture is not None:
            with self._problems.guard("disturbed", "dropping a step"):
                if capture.recorder.recording:
                    capture.problems.count("steps-with-evaluation-or-checkpoint")
                capture.recorder.abandon_step()

    def close(self) -> None:
        capture, self.capture, self._at_end = self.capture, None, None
        if capture is not None and self._is_ours:
            capture.close()

    def finish(self, loggers: Opened = ()) -> None:
        """Training has ended as it should. `whyslow run` gives its verdict itself."""
        at_end = self._at_end
        self.close()
        if at_end is not None:
            at_end.report(self._step, loggers)


def missing_base(module: str, needs: str, install: str, cause: Exception) -> Any:
    """A base class in place of the framework's. Creating an object of it raises a clear ImportError."""

    class Missing:
        def __new__(cls, *_: object, **__: object) -> NoReturn:
            raise_missing(module, needs, install, cause)

    return Missing


def raise_missing(module: str, needs: str, install: str, cause: Exception) -> NoReturn:
    found = "" if isinstance(cause, ModuleNotFoundError) else f" ({type(cause).__name__}: {cause})"
    raise ImportError(f"{module} needs {needs}: pip install {install}{found}") from cause
