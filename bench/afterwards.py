"""
Does a profiler window leave the job slower once it is over? Times a host-bound loop before and after two windows, in
processes of their own: windows of whyslow_capture, plain torch.profiler, plain with TEARDOWN_CUPTI=1, and none. Also
with CUDA graphs, captured before and between the windows, and with torch.compile(mode="reduce-overhead").

    python bench/afterwards.py [--cpu] [--loops eager graph compile] [--seconds 330]

Prints after ÷ before with 95 % intervals, and writes afterwards.json to $OUT if that is set. Exits 1 if a job ends
badly, a window of ours records no GPU work, or our windows certainly leave more than 2 % behind.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "src"))

Blocks = dict[str, list[float]]
# Steps of a block, blocks between two windows, recorded steps of a window (after one of warm-up).
STEPS, BLOCKS, ACTIVE = 15, 40, 3
PERIOD = STEPS * BLOCKS + 1 + ACTIVE
REST_S = 0.5
ALLOWED = 1.02
DRAWS = 1000
# (loop, windows, processes): what matters most comes first, in case time runs out. With and without windows in turns:
# the host drifts.
TURN = (("eager", "capture", 1), ("eager", "none", 1))
PLAN = (
    *TURN * 3,
    ("graph", "capture", 2),
    ("compile", "capture", 1),
    ("compile", "none", 1),
    *TURN * 3,
    ("eager", "plain", 1),
    ("graph", "none", 1),
    ("compile", "capture", 1),
    *TURN * 3,
    ("eager", "teardown", 1),
    ("eager", "plain", 1),
    ("graph", "plain", 1),
)
LEAST_S = {"eager": 15, "graph": 15, "compile": 60}


# -- one process -------------------------------------------------------------------------------------------------------


class Eager:
    """Three hundred small operations: the host cannot launch them as fast as the GPU runs them."""

    def __init__(self, device: str) -> None:
        import torch

        self.device = device
        self.x = [torch.randn(64, 64, device=device) for _ in range(100)]

    def step(self) -> None:
        for a in self.x:
            a.mul_(1.0001)
            a.add_(1e-9)
            a.sigmoid()

    def between_windows(self) -> None:
        pass


class Graph(Eager):
    """A few operations and thirty replays of a captured graph."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.x = self.x[:30]
        self.graphs = [self.captured()]

    def captured(self) -> object:
        import torch

        weight, data = torch.randn(64, 64, device=self.device), torch.randn(64, 64, device=self.device)
        # cuBLAS sets itself up at its first call, which a capture does not allow.
        torch.relu(data @ weight)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(10):
                data = torch.relu(data @ weight)
        return graph

    def step(self) -> None:
        super().step()
        for _ in range(30):
            self.graphs[0].replay()

    def between_windows(self) -> None:
        """A graph captured while CUPTI was detached must survive the next window."""
        self.graphs.append(self.captured())
        for graph in self.graphs:
            graph.replay()


class Compiled(Eager):
    """A small model, compiled with CUDA graphs."""

    def __init__(self, device: str) -> None:
        import torch

        layers = [layer for _ in range(8) for layer in (torch.nn.Linear(64, 64), torch.nn.ReLU())]
        self.model = torch.compile(torch.nn.Sequential(*layers).to(device), mode="reduce-overhead")
        self.data = torch.randn(16, 64, device=device)

    def step(self) -> None:
        import torch

        for _ in range(10):
            # Without it the second call of a step finds the first one's output overwritten.
            torch.compiler.cudagraph_mark_step_begin()
            # Gradients are output of a graph too: adding to the last ones would read what this run overwrites.
            self.model.zero_grad(set_to_none=True)
            self.model(self.data).sum().backward()


LOOPS: dict[str, Callable[[str], Eager]] = {"eager": Eager, "graph": Graph, "compile": Compiled}


def blocks_of(step: Callable[[], None], synchronize: Callable[[], None], count: int) -> list[float]:
    """Milliseconds per step of each block."""
    found = []
    for _ in range(count):
        synchronize()
        begin = time.perf_counter()
        for _ in range(STEPS):
            step()
        synchronize()
        found.append(1e3 * (time.perf_counter() - begin) / STEPS)
    return found


def measure(loop: str, windows: str, device: str, out: str) -> Blocks:
    import torch

    if device == "cuda":
        # Wandering between cores is most of the noise.
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[4:6])
    job = LOOPS[loop](device)
    synchronize = torch.cuda.synchronize if device == "cuda" else lambda: None
    for _ in range(5 * STEPS):
        job.step()
    capture = capture_into(out) if windows == "capture" else None

    def step() -> None:
        job.step()
        if capture is not None:
            capture.step()

    def window() -> None:
        """The steps of one window. Capture opens its own, at these steps."""
        if windows in ("plain", "teardown"):
            with torch.profiler.profile():
                for _ in range(1 + ACTIVE):
                    step()
                synchronize()
        else:
            for _ in range(1 + ACTIVE):
                step()

    found = {"before": blocks_of(step, synchronize, BLOCKS)}
    window()
    job.between_windows()
    # The trace is compressed in the background.
    time.sleep(REST_S)
    found["after"] = blocks_of(step, synchronize, BLOCKS // 2)
    time.sleep(REST_S)
    found["later"] = blocks_of(step, synchronize, BLOCKS - BLOCKS // 2)
    window()
    time.sleep(REST_S)
    found["after two"] = blocks_of(step, synchronize, BLOCKS)
    if capture is not None:
        capture.close()
    return found


def capture_into(out: str):
    import whyslow_capture

    return whyslow_capture.capture(out, trace={"period": PERIOD, "warmup": 1, "active": ACTIVE, "repeat": 2})


# -- all of them -------------------------------------------------------------------------------------------------------


def run(loop: str, windows: str, device: str, left_s: float) -> dict[str, object]:
    """What a process of its own measures, or why it could not."""
    with tempfile.TemporaryDirectory() as out:
        environment = {k: v for k, v in os.environ.items() if k not in ("TEARDOWN_CUPTI", "DISABLE_CUPTI_LAZY_REINIT")}
        if windows == "teardown":
            environment["TEARDOWN_CUPTI"] = "1"
        command = [sys.executable, __file__, "--measure", loop, windows, device, out]
        try:
            job = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=max(30.0, left_s))
        except subprocess.TimeoutExpired:
            return {"loop": loop, "windows": windows, "failed": "it did not end in time"}
        last = job.stdout.strip().rpartition("\n")[2]
        found: dict[str, object] = {"loop": loop, "windows": windows}
        if job.returncode != 0 or not last.startswith("{"):
            return {**found, "failed": f"exit status {job.returncode}: {job.stderr.strip()[-400:]}"}
        found["ms"] = json.loads(last)
        found["said"] = [line for line in job.stderr.splitlines() if line.startswith("whyslow_capture:")]
        return {**found, **(capture_facts(Path(out), device) if windows == "capture" else {})}


def capture_facts(out: Path, device: str) -> dict[str, object]:
    """What capture found out about itself, and what its traces hold."""
    manifest = json.loads((out / "ranks/rank_0.json").read_text())
    paths = sorted(out.rglob("*-trace.json.gz"), key=lambda path: int(path.parent.name.removeprefix("step_")))
    traces = [ids_of(path) for path in paths]
    marks = 0
    for log in out.rglob("cuda_events_rank_*.jsonl"):
        marks += sum('"profiler":' in line for line in log.read_text().splitlines()[1:])
    found: dict[str, object] = {
        "teardown": manifest["trace"]["teardown"],
        "windows_of_capture": [
            {key: window[key] for key in ("status", "detached", "afterwards", "seconds_blocked")}
            for window in manifest["trace"]["windows"]
        ],
        "traces": traces,
        "marked_records": marks,
    }
    if len(traces) != 2 or (device == "cuda" and any(trace["kernels"] == 0 for trace in traces)):
        found["failed"] = f"a window is missing or recorded no GPU work: {traces}"
    return found


def ids_of(path: Path) -> dict[str, int | None]:
    """`whyslow diagnose` tells by these ids whether a process was profiled before."""
    with gzip.open(path) as file:
        events = json.load(file)["traceEvents"]
    external = [e["args"]["External id"] for e in events if e.get("cat") == "cpu_op" and "External id" in e["args"]]
    calls = [e["args"]["correlation"] for e in events if e.get("cat") == "cuda_runtime" and "correlation" in e["args"]]
    return {
        "kernels": sum(e.get("cat") == "kernel" for e in events),
        "first_external_id": min(external, default=None),
        "first_correlation": min(calls, default=None),
        "last_correlation": max(calls, default=None),
    }


def quartile(values: list[float]) -> float:
    return sorted(values)[len(values) // 4]


def ratio(runs: list[Blocks], phase: str) -> tuple[float, float, float]:
    """
    Lower quartile of `phase` ÷ the same before, median over processes: other users of the host only add time. The
    interval draws processes and blocks again.
    """
    chance = random.Random(1)

    def once(chosen: list[Blocks], again: bool) -> float:
        pick = (lambda blocks: chance.choices(blocks, k=len(blocks))) if again else list
        return statistics.median(quartile(pick(one[phase])) / quartile(pick(one["before"])) for one in chosen)

    draws = sorted(once(chance.choices(runs, k=len(runs)), True) for _ in range(DRAWS))
    return once(runs, False), draws[round(0.025 * DRAWS)], draws[round(0.975 * DRAWS) - 1]


def report(results: list[dict[str, object]]) -> bool:
    """Prints the ratios. True if all is well."""
    is_well = True
    print(f"{'loop':8} {'windows':9} {'jobs':>4} {'before':>9}   after ÷ before (95 % interval)")
    for loop, windows in dict.fromkeys((r["loop"], r["windows"]) for r in results):
        own = [r for r in results if (r["loop"], r["windows"]) == (loop, windows)]
        for failed in (r["failed"] for r in own if "failed" in r):
            print(f"{loop:8} {windows:9} FAILED: {failed}")
            is_well = False
        runs: list[Blocks] = [r["ms"] for r in own if "ms" in r]  # type: ignore[misc]
        if not runs:
            continue
        cells = []
        for phase in ("after", "later", "after two"):
            likely, low, high = ratio(runs, phase)
            cells.append(f"{phase} {likely:.3f} ({low:.3f} to {high:.3f})")
            is_well &= windows != "capture" or low <= ALLOWED
        before = statistics.median(statistics.median(r["before"]) for r in runs)
        print(f"{loop:8} {windows:9} {len(runs):4} {before:6.2f} ms   {', '.join(cells)}")
        for facts in (r for r in own if "windows_of_capture" in r):
            print(f"{'':19}{json.dumps({k: facts[k] for k in ('teardown', 'windows_of_capture', 'traces', 'said')})}")
    return is_well


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.strip().partition("\n\n")[0])
    parser.add_argument("--cpu", action="store_true", help="eager loops on the CPU: tries the program, measures little")
    parser.add_argument("--seconds", type=float, default=330, help="start no more processes after this time")
    parser.add_argument("--loops", nargs="*", default=list(LOOPS), choices=list(LOOPS), help="only these")
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        loop, windows, device, out = options.measure
        print(json.dumps(measure(loop, windows, device, out)))
        return
    import torch

    if not options.cpu and not torch.cuda.is_available():
        sys.exit("There is no GPU here. --cpu tries the program without one.")
    device = "cpu" if options.cpu else "cuda"
    began, results = time.monotonic(), []
    for loop, windows, processes in PLAN:
        for _ in range(processes):
            left = options.seconds - (time.monotonic() - began)
            if loop not in (("eager",) if options.cpu else options.loops):
                continue
            if left < LEAST_S[loop]:
                print(f"no time left for {loop} {windows}")
                continue
            results.append(run(loop, windows, device, left))
    versions = {"torch": torch.__version__, "cuda": torch.version.cuda, "seconds": round(time.monotonic() - began)}
    is_well = report(results)
    print(json.dumps(versions))
    if os.environ.get("OUT"):
        Path(os.environ["OUT"], "afterwards.json").write_text(json.dumps({"versions": versions, "results": results}))
    sys.exit(0 if is_well else 1)


if __name__ == "__main__":
    main()
