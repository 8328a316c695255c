"""
Does capture's check of its own windows raise false alarms, and does it find a real slowdown? On the CPU of this
machine, as busy as it is: there is no CUPTI here, so a window leaves nothing behind. Half of the jobs do a quarter more
work in every step after it, which must be found.

    python bench/self-check.py [--jobs 8] [--at-once 2] [--minutes 1.3]

Each job runs for that long before its window and after it. Prints what each job's manifest says.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "src"))
OPERATIONS = 200
SLOWDOWN = 0.25


def train(out: str, minutes: float, slows: bool) -> None:
    import torch

    import whyslow_capture

    torch.set_num_threads(1)
    x = torch.randn(48, 48)

    def work(count: int) -> None:
        for _ in range(count):
            x.mul(1.0001).add(1e-9)

    begin = time.perf_counter()
    for _ in range(50):
        work(OPERATIONS)
    window_at = round(minutes * 60 / ((time.perf_counter() - begin) / 50))
    capture = whyslow_capture.capture(out, trace={"period": window_at, "warmup": 1, "active": 3, "repeat": 1}).start()
    end, step = None, 0
    while end is None or time.perf_counter() < end:
        work(OPERATIONS)
        if slows and step > window_at:
            work(round(SLOWDOWN * OPERATIONS))
        capture.step()
        step += 1
        if step == window_at + 5:
            end = time.perf_counter() + minutes * 60 + 10
    capture.close()


def judged(index: int, minutes: float) -> tuple[bool, dict[str, object]]:
    slows = index % 2 == 1
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, __file__, "--train", out, str(minutes), str(int(slows))]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        manifest = json.loads(Path(out, "ranks/rank_0.json").read_text())
    return slows, manifest["trace"]["windows"][0]["afterwards"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--at-once", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=1.3)
    parser.add_argument("--train", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.train:
        out, minutes, slows = options.train
        train(out, float(minutes), slows == "1")
        return
    with ThreadPoolExecutor(options.at_once) as pool:
        for slows, found in pool.map(lambda i: judged(i, options.minutes), range(options.jobs)):
            print("slower from then on" if slows else "as before          ", json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
