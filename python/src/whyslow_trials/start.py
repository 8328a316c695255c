"""Turns a process of the job into a part of the trial: first before torch is imported, then after."""

from __future__ import annotations

from . import large_maps, reach, trackers
from .fixes import chosen
from .fixes.base import Fix
from .spec import read_spec
from .trial import Trial


class _Process:
    trial: Trial | None = None
    fixes: tuple[Fix, ...] = ()


def before_torch() -> None:
    """Settings that libraries read when they are loaded."""
    if _Process.trial is not None:
        return
    trial = _Process.trial = Trial(read_spec())
    trackers.switch_off(trial)
    reach.watch(trial)
    _Process.fixes = chosen(trial.spec)
    for fix in _Process.fixes:
        fix.before_torch(trial)


def after_torch() -> None:
    before_torch()
    trial = _Process.trial
    assert trial is not None
    from . import seeds
    from .fixes.loaders import watch_queues
    from .fixes.threads import cores_per_rank
    from .modules import OutermostModules
    from .steps import StepMeter

    seeds.install(trial)
    trackers.install()
    large_maps.install()
    watch_queues(trial)
    trial.have("omp-threads", cores_per_rank())
    meter = StepMeter(trial)
    # The last wrapper runs first: the fixes then act in their order.
    for fix in reversed(_Process.fixes):
        fix.install(trial)
    acting = [fix for fix in _Process.fixes if fix.acts_on_modules]
    if acting:
        OutermostModules(trial, acting).install()
    meter.install()
    if trial.spec.capture:
        from whyslow_capture.inject.autostart import start_when_training_begins

        start_when_training_begins()
