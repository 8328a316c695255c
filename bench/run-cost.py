"""
What the default `whyslow run` costs a job whose steps are limited by the host. Processes take turns: each runs some
steps, then the next one does, with and without capture. So all of them meet the same moods of the machine, and each has
exactly the threads and hooks that a job of its own would have.

    python bench/run-cost.py [--device cuda] [--jobs mlp modules] [--turns 40] [--against ../older/python/src]

Prints step ÷ plain step with 95% intervals: by the clock; by processor time, which other users of the machine disturb
less; and for the fastest tenth of the steps, which are not recorded ones. `--against`: the package of another checkout, measured in the same turns.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from turns import Estimate, median_interval

SOURCE = Path(__file__).resolve().parents[1] / "python" / "src"
# Until the dense start of the log, the window and what hooks learn are over.
WARM_UP_STEPS = 800
# A turn is longer than the distance of two recorded steps: capture takes the time between those for the job's pace.
TURN_S = 0.3
NEVER = str(1 << 40)

Settings = dict[str, str]
VARIANTS: dict[str, Settings] = {
    "default": {},
    "no window": {"WHYSLOW_TRACE": "0"},
    "no stacks": {"WHYSLOW_STACKS": "0"},
    "hooks at rest": {
        "WHYSLOW_STACKS": "0",
        "WHYSLOW_TRACE": "0",
        "WHYSLOW_START_STEP": NEVER,
    },
}


# -- one process -------------------------------------------------------------------------------------------------------


def make_job(name: str, device: str) -> Callable[[], None]:
    """A step of a usual loop: a DataLoader, a model of small layers, an optimizer and a scheduler."""
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(1)
    nn = torch.nn
    if name == "mlp":
        layers = [layer for _ in range(12) for layer in (nn.Linear(64, 64), nn.GELU())]
    else:
        layers = [
            layer
            for _ in range(50)
            for layer in (nn.Linear(8, 8), nn.Identity(), nn.ReLU(), nn.Dropout(0.1))
        ]
    model = nn.Sequential(*layers).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0)
    data = torch.utils.data.TensorDataset(torch.randn(1 << 16, layers[0].in_features))
    loader = torch.utils.data.DataLoader(
        data, batch_size=None, sampler=range(0, 1 << 16, 16)
    )
    batches = iter(loader)

    def step() -> None:
        nonlocal batches
        batch = next(batches, None)
        if batch is None:
            batches = iter(loader)
            batch = next(batches)
        x = batch[0].expand(16, -1).to(device, non_blocking=True)
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        scheduler.step()

    return step


def serve(name: str, device: str) -> None:
    """Runs as many steps as each line says. Answers with ms per step: by the clock, processor time, fastest tenth."""
    import torch

    step = make_job(name, device)
    # A process without any other thread has faster locks and reference counts, some percent of a step. Jobs with a GPU,
    # loader threads or several cores are never such a process, but this one would be.
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    synchronize = torch.cuda.synchronize if device == "cuda" else lambda: None
    for line in sys.stdin:
        count, times = int(line), []
        began, used = time.perf_counter(), time.process_time()
        before = began
        for _ in range(count):
            step()
            now = time.perf_counter()
            times.append(now - before)
            before = now
        synchronize()
        ended = time.perf_counter()
        used = time.process_time() - used
        answer = [(ended - began) / count, used / count, sorted(times)[count // 10]]
        print(json.dumps([1e3 * seconds for seconds in answer]), flush=True)


class Worker:
    def __init__(
        self, job: str, device: str, source: Path | None, settings: Settings, out: str
    ) -> None:
        env = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("WHYSLOW_")
        }
        if source is not None:
            env |= {
                "WHYSLOW_INJECT": "1",
                "WHYSLOW_OUT": out,
                "WHYSLOW_RUN": "cost",
                "WHYSLOW_PYTHON": str(source),
                "KINETO_LOG_LEVEL": "6",
                "PYTHONPATH": str(source / "whyslow_capture/inject/site"),
                **settings,
            }
        command = [sys.executable, __file__, "--serve", job, device]
        self._process = subprocess.Popen(
            command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, steps: int) -> list[float]:
        pipe, answers = self._process.stdin, self._process.stdout
        assert pipe is not None and answers is not None
        pipe.write(f"{steps}\n")
        pipe.flush()
        answer: list[float] = json.loads(answers.readline())
        return answer

    def close(self) -> None:
        self._process.communicate(timeout=120)


# -- all of them -------------------------------------------------------------------------------------------------------


def measure(job: str, options: argparse.Namespace, scratch: str) -> dict[str, object]:
    sources = (
        {"": SOURCE}
        if options.against is None
        else {"": SOURCE, ", before": options.against.resolve()}
    )
    wanted: dict[str, tuple[Path | None, Settings]] = {
        "plain": (None, {}),
        "plain again": (None, {}),
    }
    for name in options.variants:
        wanted |= {
            name + label: (source, VARIANTS[name]) for label, source in sources.items()
        }
    workers = {
        name: Worker(job, options.device, source, settings, f"{scratch}/{job} {name}")
        for name, (source, settings) in wanted.items()
    }
    for worker in workers.values():
        worker.run(WARM_UP_STEPS)
    steps = max(50, round(TURN_S * 1e3 / workers["plain"].run(100)[0]))
    times: dict[str, list[list[float]]] = {name: [] for name in workers}
    order, generator = list(workers), random.Random(5)
    for _ in range(options.turns):
        generator.shuffle(order)
        for name in order:
            times[name].append(workers[name].run(steps))
    for worker in workers.values():
        worker.close()
    return told(job, steps, times)


def told(
    job: str, steps: int, times: dict[str, list[list[float]]]
) -> dict[str, object]:
    plain = times["plain"]
    base = [statistics.median(turn[kind] for turn in plain) for kind in range(3)]
    print(
        f"\n{job}: plain step {base[0]:.3f} ms, {len(plain)} turns of {steps} steps each"
    )
    print(f"  {'':24}{'by the clock':>30}{'processor':>30}{'fastest tenth':>30}")
    rows: dict[str, list[Estimate]] = {}
    for name, own in times.items():
        if name == "plain":
            continue
        rows[name] = [
            median_interval(
                [a[kind] / b[kind] for a, b in zip(own, plain, strict=True)]
            )
            for kind in range(3)
        ]
        cells = [
            f"{100 * (m - 1):+6.2f}% [{100 * (a - 1):+.2f}, {100 * (b - 1):+.2f}]"
            for m, a, b in rows[name]
        ]
        print(f"  {name:24}" + "".join(f"{cell:>30}" for cell in cells))
    print(
        "  µs per step:"
        + "".join(
            f"  {name} {1e3 * base[1] * (row[1][0] - 1):+.1f}"
            for name, row in rows.items()
        )
    )
    return {"plain_ms": base, "steps": steps, "ratios": rows}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument(
        "--jobs", nargs="*", default=["mlp", "modules"], choices=("mlp", "modules")
    )
    parser.add_argument(
        "--variants",
        nargs="*",
        default=["default", "hooks at rest"],
        choices=list(VARIANTS),
    )
    parser.add_argument("--turns", type=int, default=40, help="of each process")
    parser.add_argument("--against", type=Path, help="python/src of another checkout")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(*options.serve)
        return
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        results = {job: measure(job, options, scratch) for job in options.jobs}
    print(f"\n{time.perf_counter() - began:.0f} s")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
