"""`python -m whyslow.after_trace RAW TARGET WORLD`: what `trace_handler` leaves to a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from .errors import WhyslowError
from .handler import say
from .node import command_line

# How long rank 0 waits for the traces of the others: if none arrives, they are on other machines, or not recorded.
FIRST_OTHER_S, ALL_S = 10.0, 60.0
POLL_S = 0.1


def main(raw: Path, target: Path, world: int) -> int:
    # The job comes first.
    with suppress(AttributeError, OSError):
        os.nice(10)
    try:
        compress(raw, target)
        if world:
            wait_for_ranks(target.parent, world)
            diagnose(target.parent)
    except (OSError, WhyslowError) as error:
        say(f"no verdict: {error}")
        return 2
    return 0


def compress(raw: Path, target: Path) -> None:
    from whyslow_capture.trace.export import compress_in_place

    try:
        compress_in_place(raw, target)
    finally:
        raw.unlink(missing_ok=True)


def wait_for_ranks(folder: Path, world: int) -> None:
    begin = time.monotonic()
    while True:
        done = sum(1 for _ in folder.glob("rank-*.json.gz"))
        others = done > 1 or sum(1 for _ in folder.glob(".rank-*")) > 0
        if done >= world or time.monotonic() - begin > (ALL_S if others else FIRST_OTHER_S):
            return
        time.sleep(POLL_S)


def diagnose(folder: Path) -> None:
    ran = subprocess.run(
        [*command_line(), "diagnose", str(folder)], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    # At once, so that it stays together in the job's log.
    sys.stderr.buffer.write(b"\n" + ran.stdout + b"\n" if ran.stdout else ran.stderr)
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])))
