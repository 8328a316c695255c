from __future__ import annotations

import time
from contextlib import ExitStack

from whyslow_capture.job.clock import JobClock
from whyslow_capture.job.interruptions import Interruptions
from whyslow_capture.problems import ProblemLog


def test_a_compilation_before_training_is_counted_apart_and_a_later_one_is_a_phase() -> None:
    clock = JobClock(ProblemLog())
    watch = Interruptions(clock, ExitStack())
    watch.compilation_begins()
    time.sleep(0.02)
    watch.compilation_ends()
    first = clock.compiled_first_ns
    assert first >= 20_000_000 and clock.phases == {}
    clock.has_started = True
    watch.compilation_begins()
    watch.compilation_ends()
    assert clock.compiled_first_ns == first
    assert list(clock.phases) == ["compile"]
