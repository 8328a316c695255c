"""
Which lines of the job hold the training thread. Another thread looks at its Python stack a few times per second.

Nothing is installed in the training thread and no lock is shared with it, so this cannot hold it up longer than one
look. The look happens when the training thread lets go of the interpreter: at the next call into torch, or after 5 ms
of plain Python. So a stretch of Python below 5 ms counts for the call after it.
"""

from __future__ import annotations

import linecache
import os
import random
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from types import FrameType

from .job.where import OURS, STANDARD, as_typed, is_the_jobs
from .stack_waits import Background, wait_kind

# At most this often, however cheap it is.
SHORTEST_PAUSE_S = 0.05
# Part of the overhead limit that may be spent here.
SHARE_OF_BUDGET = 0.2
# The first looks come more often, so that a run of a few seconds has enough of them: 10 ms in all.
FIRST_LOOKS = 60
FIRST_FASTER = 3
# What one look costs the training thread beyond the look itself: two changes of thread.
SWITCHES_S = 100e-6
# Deeper stacks are cut; the user's line is rarely further from the leaf.
MAX_DEPTH = 200
# Lines and their calls that are counted separately. Generated code may have any number.
MAX_KEYS = 4096
MAX_LINES = 20
MAX_CALLS = 3
MAX_SOURCE = 160
# Fewer samples of input are chance.
LEAST_INPUT = 5

# Code that a `for` loop or `next()` resumes. Not the expressions of one line, which are seldom input.
GENERATOR = 0x20
NOT_INPUT = ("<genexpr>", "<listcomp>", "<lambda>")
# A function of the job that returns the next batch, by its name: `get_batch`, `next_train_batch`, `sample_minibatch`.
MAKES_BATCH = re.compile(
    r"_*(?:get|next|make|load|sample|fetch|draw|prepare|build|read|create|collate)_?(?:[a-z]+_)?(?:mini)?batch(?:es)?",
    re.IGNORECASE,
)
# Their own phases have these: waiting for a DataLoader, and iterating over the model's parameters is no input.
NO_SOURCES = ("torch.utils.data.dataloader", "torch.nn.")

# File, line and function of the job, and the library function that runs there.
Line = tuple[str, int, str]
Key = tuple[str, int, str, str]


class StackSampler:
    def __init__(
        self,
        max_overhead: float,
        is_disturbed: Callable[[], bool] = lambda: False,
        is_between: Callable[[], bool] = lambda: False,
    ) -> None:
        """
        `is_disturbed`: a profiler runs, so that the stacks of now are not those of the job alone. `is_between`: the job
        saves or evaluates, and does not train.
        """
        self._is_between = is_between
        # Samples of training, and those in code that makes the next item for the job's loop, by line.
        self._training = 0
        self._input: Counter[tuple[Line, str]] = Counter()
        self._background = Background()
        self._share = SHARE_OF_BUDGET * max_overhead
        self._is_disturbed = is_disturbed
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._counts: Counter[Key] = Counter()
        self._others = 0
        self._looks = 0
        self._spent_s = 0.0
        self._began = self._until = 0.0
        # Not the module's own generator: the job's random numbers must stay the same.
        self._random = random.Random(os.getpid())

    def start(self, thread: int) -> None:
        """`thread` is the identifier of the training thread."""
        self._began = self._until = time.monotonic()
        self._thread = threading.Thread(target=self._run, args=(thread,), name="whyslow-stacks", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        if self._thread is not None and not self._ended.is_set():
            self._until = time.monotonic()
            self._ended.set()

    def summary(self) -> dict[str, object] | None:
        """The lines with the most samples; None without samples. Reads the sources, so not for the training thread."""
        counts = self._counts.copy()
        total = sum(counts.values()) + self._others
        if total == 0:
            return None
        lines: Counter[Line] = Counter()
        calls: dict[Line, Counter[str]] = {}
        for (file, number, function, call), count in counts.items():
            line = (file, number, function)
            lines[line] += count
            calls.setdefault(line, Counter())[call] += count
        end = self._until if self._ended.is_set() else time.monotonic()
        return {
            "samples": total,
            "seconds": round(end - self._began, 3),
            "cost": round(self._spent_s / max(end - self._began, 1e-9), 6),
            "lines": [_described(line, count, calls[line]) for line, count in lines.most_common(MAX_LINES)],
            "background": [
                {**_place(line), "thread": name, "samples": count}
                for name, line, count in self._background.most_common()
            ],
        }

    def _run(self, thread: int) -> None:
        if thread == threading.get_ident():
            return  # it has ended, and its identifier was given to this thread
        while not self._ended.wait(self._pause_s()):
            if self._is_disturbed():
                continue
            # Of this thread alone: on a busy machine, one look that waits for a core is not the price of all.
            begin = time.thread_time()
            frames = sys._current_frames()
            frame = frames.pop(thread, None)
            if frame is None:
                return  # the thread has ended
            self._count(frame)
            self._background.count(frames)
            frames.clear()
            if not self._is_between():
                self._count_input(frame)
            # A frame keeps its local variables alive, tensors among them.
            del frame
            self._looks += 1
            self._spent_s += time.thread_time() - begin + SWITCHES_S

    def _pause_s(self) -> float:
        """Varies, so as not to keep time with the steps."""
        cost = self._spent_s / self._looks if self._looks else SWITCHES_S
        share = self._share * (FIRST_FASTER if self._looks < FIRST_LOOKS else 1)
        return max(SHORTEST_PAUSE_S, cost / share) * (0.5 + self._random.random())

    def _count(self, frame: FrameType) -> None:
        key = self._key_of(frame)
        if key in self._counts or len(self._counts) < MAX_KEYS:
            self._counts[key] += 1
        else:
            self._others += 1

    def input_summary(self) -> dict[str, object] | None:
        """Samples in which the job's loop waits for an iterable that is no DataLoader. None: never, or hardly any."""
        found = self._input.copy()
        count = sum(found.values())
        if count < LEAST_INPUT:
            return None
        (line, kind), _ = found.most_common(1)[0]
        return {"samples": count, "of": self._training, "kind": kind, **_place(line)}

    def _count_input(self, leaf: FrameType) -> None:
        self._training += 1
        found = self._input_line(leaf)
        if found is not None and (found in self._input or len(self._input) < MAX_LINES):
            self._input[found] += 1

    def _input_line(self, leaf: FrameType) -> tuple[Line, str] | None:
        """
        The job's innermost line, if code below its loop makes the next item (a generator, or an iterator's
        `__next__`) or waits for somebody else who does; and which of these it is.
        """
        awaited = wait_kind(leaf)
        frame: FrameType | None = leaf
        line: Line | None = None
        for _ in range(MAX_DEPTH):
            if frame is None:
                return None
            code, caller = frame.f_code, frame.f_back
            if str(frame.f_globals.get("__name__", "")).startswith(NO_SOURCES):
                return None
            if line is None and is_the_jobs(code.co_filename):
                line = (code.co_filename, frame.f_lineno or 0, code.co_name)
            makes_items = code.co_flags & GENERATOR and code.co_name not in NOT_INPUT
            if line is not None and MAKES_BATCH.fullmatch(code.co_name) and is_the_jobs(code.co_filename):
                return line, awaited or "generator"
            if (makes_items or code.co_name == "__next__") and caller is not None and self._is_loop(caller):
                place = line or (caller.f_code.co_filename, caller.f_lineno or 0, caller.f_code.co_name)
                return place, awaited or "generator"
            if awaited is not None and line is not None:
                return line, awaited
            frame = caller
        return None

    def _is_loop(self, frame: FrameType) -> bool:
        """Whether the job's own code runs there, and is itself no part of a chain of generators."""
        return is_the_jobs(frame.f_code.co_filename) and not frame.f_code.co_flags & GENERATOR

    def _key_of(self, leaf: FrameType) -> Key:
        """The innermost line that is the job's own. Library frames below it are folded into one name."""
        frame: FrameType | None = leaf
        call = ""
        is_framework = False
        for _ in range(MAX_DEPTH):
            if frame is None:
                break
            code = frame.f_code
            file = code.co_filename
            if is_the_jobs(file):
                return file, frame.f_lineno or 0, code.co_name, call
            # Name the function that the job called. Inside a framework that runs the loop, its own innermost function.
            module = str(frame.f_globals.get("__name__", ""))
            if not is_framework:
                call = f"{module}.{code.co_name}"
                is_framework = not module.startswith("torch") and not file.startswith((*OURS, "<frozen", *STANDARD))
            frame = frame.f_back
        return "", 0, "", call


def _place(line: Line) -> dict[str, object]:
    file, number, function = line
    source = linecache.getline(file, number).strip()[:MAX_SOURCE]
    return {"file": as_typed(file), "line": number, "function": function, "source": source}


def _described(line: Line, count: int, calls: Counter[str]) -> dict[str, object]:
    return {
        **_place(line),
        "samples": count,
        "calls": {name: n for name, n in calls.most_common(MAX_CALLS) if name},
    }
