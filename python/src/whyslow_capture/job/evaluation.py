"""Finds evaluations in loops that no framework runs: from `model.eval()` to `model.train()`, and `inference_mode`."""

from __future__ import annotations

import functools
import sys
from contextlib import ExitStack
from typing import Any

import torch

from ..hooks.dynamo import is_compiling, never_compiled, not_compiled
from ..patching import Patch, Patches
from .clock import EVALUATION, INFERENCE, JobClock


def install(clock: JobClock, patches: Patches, groups: frozenset[str], undo: ExitStack) -> None:
    if EVALUATION in groups:
        undo.callback(EvaluationWatch(clock, patches).remove)


class EvaluationWatch:
    """
    `Module.eval` is called once per model, `Module.train` once per submodule, in some jobs in every step. So `train` is
    wrapped only while an evaluation is open.
    """

    def __init__(self, clock: JobClock, patches: Patches) -> None:
        self._clock = clock
        self._patches = patches
        self._train: Patch | None = None
        clock.on_evaluation = self._watch_train
        begins = never_compiled(lambda: clock.begin_evaluation())

        def make(original: Any) -> Any:
            @functools.wraps(original)
            def eval(self: Any) -> Any:
                if is_compiling():
                    return original(self)
                result = original(self)
                begins()
                return result

            return not_compiled(eval)

        self._patches.put("torch.nn.Module.eval", make)
        self._watch_inference_mode()

    def _watch_inference_mode(self) -> None:
        """Training never enters it. What it is for is not known: a rollout, a teacher's answers, an evaluation."""
        clock = self._clock
        enter, leave = torch.inference_mode.__enter__, torch.inference_mode.__exit__

        @functools.wraps(enter)
        def __enter__(self: Any) -> Any:
            if (
                not is_compiling()
                and clock.has_trained
                and not clock.inference_is_in_steps
                and not clock.is_open(EVALUATION)
            ):
                self._whyslow_phase = clock.enter(INFERENCE, "torch.inference_mode")
            return enter(self)

        @functools.wraps(leave)
        def __exit__(self: Any, *error: Any) -> Any:
            try:
                return leave(self, *error)
            finally:
                if not is_compiling():
                    clock.leave(vars(self).pop("_whyslow_phase", None), at=sys._getframe(1))

        self._patches.put("torch.inference_mode.__enter__", lambda _: not_compiled(__enter__))
        self._patches.put("torch.inference_mode.__exit__", lambda _: not_compiled(__exit__))

    def remove(self) -> None:
        self._watch_train(False)
        self._clock.on_evaluation = None

    def _watch_train(self, wanted: bool) -> None:
        if not wanted:
            # If someone has wrapped ours, it stays and only passes calls on.
            if self._train is not None and self._train.remove():
                self._train = None
            return
        if self._train is None:
            self._train = self._patches.put("torch.nn.Module.train", self._make)

    def _make(self, original: Any) -> Any:
        clock = self._clock
        ends = never_compiled(lambda: clock.end_evaluation(True))

        @functools.wraps(original)
        def train(self_: Any, mode: bool = True) -> Any:
            if mode and clock.is_evaluating and not is_compiling():
                ends()
            return original(self_, mode)

        return not_compiled(train)
