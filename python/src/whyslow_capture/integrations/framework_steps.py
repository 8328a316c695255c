"""What all callbacks do: open a capture when training begins, tell it of steps, close it when training ends."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ..config import load_config
from ..current import running
from ..problems import ProblemLog
from ..session import Capture

FOLDER = "whyslow"


class FrameworkSteps:
    """
    Steps are counted from 1, as frameworks report them: step 10 is the one after which they log, evaluate and save as
    step 10. What they do then falls into step 11, which is not one of those that are sampled by default.
    """

    def __init__(self, config: Mapping[str, object]) -> None:
        # A slip is an error here, where it was written.
        self.config = load_config(config, environ={})
        self._given = dict(config)
        self._is_ours = False
        self._problems = ProblemLog()
        self.capture: Capture | None = None
        self._step = 0

    def __reduce__(self) -> tuple[object, ...]:
        # Frameworks copy their callbacks and send them to processes they start.
        return FrameworkSteps, (self._given,)

    def open(self, folder: str | os.PathLike[str] | None, steps_done: int) -> None:
        """`folder`: the framework's own; files go into a folder in it, unless it was said where."""
        self.close()
        self._step = steps_done
        with self._problems.guard("open", "starting"):
            joined = running()
            if joined is not None:
                # `whyslow run`, or a capture around the trainer. What went before is no training step.
                joined.manual_steps()
                joined.recorder.abandon_step()
                self.capture, self._is_ours = joined, False
                return
            from ..of_process import capture

            defaults: dict[str, object] = {"resume_step": steps_done + 1}
            if folder is not None:
                defaults["out"] = str(Path(folder) / FOLDER)
            opened = capture(defaults=defaults, **self._given)  # type: ignore[arg-type]
            self.capture = opened if isinstance(opened, Capture) else None
            self._is_ours = True

    def step(self) -> None:
        """A step with its optimizer step has ended."""
        self._step += 1
        if self.capture is not None:
            self.capture.step(self._step)

    def micro_step(self) -> None:
        """A micro-batch has ended and the step goes on. Automatic phases see that for themselves."""
        capture = self.capture
        if capture is not None and not capture.config.auto_phases:
            capture.micro_step()

    def disturbed(self) -> None:
        """The step under way holds an evaluation or a checkpoint: it says nothing about the speed of training."""
        capture = self.capture
        if capture is not None:
            with self._problems.guard("disturbed", "leaving a step out"):
                if capture.recorder.recording:
                    capture.problems.count("steps-with-evaluation-or-checkpoint")
                capture.recorder.abandon_step()

    def close(self) -> None:
        capture, self.capture = self.capture, None
        if capture is not None and self._is_ours:
            capture.close()
