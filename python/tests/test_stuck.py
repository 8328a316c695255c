from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from time import perf_counter_ns

from whyslow_capture.problems import ProblemLog
from whyslow_capture.stuck import StuckWatch, stacks_as_text


class Steps:
    def __init__(self) -> None:
        self.ended_at = perf_counter_ns()

    def end(self) -> None:
        self.ended_at = perf_counter_ns()


def watch_of(out: Path, steps: Steps, after_s: float = 0.2) -> StuckWatch:
    watch = StuckWatch(after_s, lambda: steps.ended_at, ProblemLog(), is_disturbed=lambda: False)
    watch.start(out, 3, threading.get_ident())
    return watch


def wait_for(what: object, seconds: float = 30) -> None:
    until = time.monotonic() + seconds
    while not what():  # type: ignore[operator]
        assert time.monotonic() < until
        time.sleep(0.02)


def test_stacks_are_written_once_no_step_ends_and_removed_once_one_does(tmp_path: Path) -> None:
    steps = Steps()
    watch = watch_of(tmp_path, steps)
    stacks = tmp_path / "stuck" / "stacks_rank_3.txt"
    wait_for(stacks.exists)
    text = stacks.read_text()
    assert text.startswith("Process ")
    assert '"MainThread"\n' in text and "test_stuck.py:" in text
    assert "whyslow-stuck" not in text
    steps.end()
    wait_for(lambda: not stacks.exists())
    watch.stop()


def test_a_job_whose_steps_end_leaves_nothing(tmp_path: Path) -> None:
    steps = Steps()
    watch = watch_of(tmp_path, steps, after_s=20)
    for _ in range(10):
        steps.end()
        time.sleep(0.01)
    watch.stop()
    assert not (tmp_path / "stuck").exists()


def test_files_go_when_the_job_ends_without_an_error(tmp_path: Path) -> None:
    watch = watch_of(tmp_path, Steps())
    stacks = tmp_path / "stuck" / "stacks_rank_3.txt"
    wait_for(stacks.exists)
    watch.stop()
    assert not stacks.exists()


def test_files_of_an_earlier_process_of_the_rank_are_removed(tmp_path: Path) -> None:
    old = tmp_path / "stuck" / "flight_rank_3.json"
    old.parent.mkdir()
    old.write_text("{}")
    watch = watch_of(tmp_path, Steps(), after_s=20)
    wait_for(lambda: not old.exists())
    watch.stop()


def test_zero_turns_it_off(tmp_path: Path) -> None:
    before = threading.active_count()
    watch_of(tmp_path, Steps(), after_s=0).stop()
    assert threading.active_count() == before


def test_the_training_thread_comes_first_whatever_its_name() -> None:
    def inner() -> None:
        ready.set()
        done.wait()

    ready, done = threading.Event(), threading.Event()
    thread = threading.Thread(target=inner, name='odd "name"\nof a thread')
    thread.start()
    ready.wait()
    try:
        text = stacks_as_text(thread.ident or 0, 12.0)
    finally:
        done.set()
        thread.join()
    first = text.split("\n\n")[1]
    assert first.splitlines()[0].endswith('"MainThread"')
    assert "inner (" in first
    assert json.dumps(text)
