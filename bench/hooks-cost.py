"""
What capture costs a CPU loop: with the public hooks, with all, and with all and one profiler window. Pairs of processes
take turns, one without capture and one with it, forked from one that has imported torch.

    python bench/hooks-cost.py [--pairs 10] [--steps 1500] [--source ../older/python/src]

Prints step ÷ plain step, as medians with 95% intervals: by the clock, and by processor time of the training thread,
which other users of the machine disturb less. Then our Python calls per step, and the time to import and to start.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from turns import median_interval

SOURCE = Path(__file__).resolve().parents[1] / "python/src"
WARM_UP = 150
VARIANTS: dict[str, dict[str, Any]] = {
    "public": {"hooks": "public"},
    "all": {"hooks": "all"},
    "all, with a window": {"hooks": "all", "trace": {"period": 600, "active": 6, "repeat": 1}},
}


def loop() -> Any:
    """Yields after each step of a usual loop."""
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(1)
    layers = [layer for _ in range(6) for layer in (torch.nn.Linear(128, 128), torch.nn.GELU())]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(128, 1))
    optimizer = torch.optim.AdamW(model.parameters())
    data = torch.utils.data.TensorDataset(torch.randn(4096, 128))
    while True:
        for (x,) in torch.utils.data.DataLoader(data, batch_size=32):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
            yield


def start(settings: dict[str, Any] | None) -> Any:
    if settings is None:
        return None
    from whyslow_capture import capture

    made = capture(tempfile.mkdtemp(), **settings)
    return made.start() if hasattr(made, "start") else made


def timed(settings: dict[str, Any] | None, steps: int) -> dict[str, float]:
    job, cap = loop(), start(settings)
    for index in range(WARM_UP + steps):
        if index == WARM_UP:
            wall, own = time.perf_counter(), time.thread_time()
        next(job)
        if cap is not None:
            cap.step()
    return {"wall": time.perf_counter() - wall, "cpu": time.thread_time() - own}


def calls(settings: dict[str, Any] | None, steps: int) -> dict[str, float]:
    """Python functions of ours that a step calls: in most steps, and on average over all."""
    job, cap = loop(), start(settings)
    counted: Counter[int] = Counter()
    ours, step = f"{os.sep}whyslow_capture{os.sep}", 0

    def profile(frame: Any, event: str, _: object) -> None:
        if event == "call" and ours in frame.f_code.co_filename:
            counted[step] += 1

    for step in range(WARM_UP + steps):
        if step == WARM_UP:
            sys.setprofile(profile)
        next(job)
        if cap is not None:
            cap.step()
    sys.setprofile(None)
    each = [counted[step] for step in range(WARM_UP, WARM_UP + steps)]
    return {"usual": float(sorted(each)[len(each) // 2]), "mean": sum(each) / len(each)}


def starting(settings: dict[str, Any] | None, _: int) -> dict[str, float]:
    begin = time.thread_time()
    __import__("whyslow_capture").capture
    imported = time.thread_time()
    cap = start(settings or {})
    started = time.thread_time()
    cap.close()
    return {"import_ms": (imported - begin) * 1e3, "start_ms": (started - imported) * 1e3}


def in_child(what: Any, settings: dict[str, Any] | None, steps: int) -> dict[str, float]:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            sys.stderr = open(os.devnull, "w")
            os.write(write, json.dumps(what(settings, steps)).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return json.loads(text)


def shown(values: list[float], unit: str = "") -> str:
    middle, low, high = median_interval(values)
    return f"{middle:.3f} ({low:.3f} to {high:.3f}){unit}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--source", type=Path, default=SOURCE)
    options = parser.parse_args()
    sys.path.insert(0, str(options.source))

    next(loop())
    pairs: dict[str, list[tuple[dict[str, float], dict[str, float]]]] = {name: [] for name in VARIANTS}
    for turn in range(options.pairs):
        for name, settings in VARIANTS.items():
            order = [None, settings] if turn % 2 else [settings, None]
            got = [in_child(timed, each, options.steps) for each in order]
            pairs[name].append((got[0], got[1]) if turn % 2 else (got[1], got[0]))
    for name, both in pairs.items():
        ratios = {clock: shown([ours[clock] / plain[clock] for plain, ours in both]) for clock in ("wall", "cpu")}
        added = shown([(ours["cpu"] - plain["cpu"]) / options.steps * 1e6 for plain, ours in both], " us per step")
        print(f"{name:20} wall {ratios['wall']}, processor {ratios['cpu']}, added {added}", flush=True)
    for name, settings in list(VARIANTS.items())[:2]:
        print(f"{name:20} calls per step {in_child(calls, settings, 200)}")
        several = [in_child(starting, settings, 0) for _ in range(options.pairs)]
        print(f"{name:20}", {key: shown([each[key] for each in several]) for key in several[0]}, flush=True)


if __name__ == "__main__":
    main()
