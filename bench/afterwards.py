"""
Does a profiler window leave the job slower once it is over? Times a host-bound loop before and after two windows:
of whyslow_capture, plain torch.profiler, plain with TEARDOWN_CUPTI=1, and none. Also with CUDA graphs, captured before
and between the windows, and with torch.compile(mode="reduce-overhead").

    python bench/afterwards.py [--cpu] [--loops eager graph compile] [--seconds 330]

The host changes its speed by 40% for seconds at a time, which hides what a window leaves. So the ways run in processes
that take turns on the same two cores, fifteen steps each, and a turn counts relative to that of the process without
windows, a few milliseconds away. While one runs, the others wait.

Prints after ÷ before with 95% intervals, and writes afterwards.json to $OUT if that is set. Exits 1 if a job ends
badly, a window of ours records no GPU work, or our windows certainly leave more than 2% behind.
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

# Milliseconds a step: by phase, by way, one a turn.
Phases = dict[str, dict[str, list[float]]]
# Steps of a turn, turns between two windows, recorded steps of a window (after one of warm-up).
STEPS, TURNS, ACTIVE = 15, 40, 3
PERIOD = STEPS * TURNS + 1 + ACTIVE
REST_S = 0.5
ALLOWED = 1.02
DRAWS = 1000
# Loops in the order of what matters most, in case time runs out.
PLAN = ("eager", "graph", "eager", "compile", "eager", "graph", "eager", "eager", "eager", "graph")
WAYS = {
    "eager": ("none", "capture", "plain", "teardown"),
    "graph": ("none", "capture", "plain"),
    "compile": ("none", "capture"),
}
AFTERWARDS = {
    "after": ("after",),
    "later": ("later",),
    "after two": ("after two",),
    "all": ("after", "later", "after two"),
}
LEAST_S = {"eager": 40, "graph": 35, "compile": 70}


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


def take_turns(loop: str, way: str, device: str, out: str) -> None:
    """Executes commands, line by line."""
    import torch

    if device == "cuda":
        # All on the same cores: they differ in what else runs there.
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[4:6])
    job = LOOPS[loop](device)
    synchronize = torch.cuda.synchronize if device == "cuda" else lambda: None
    for _ in range(5 * STEPS):
        job.step()
    capture = capture_into(out) if way == "capture" else None

    def steps(count: int) -> None:
        for _ in range(count):
            job.step()
            if capture is not None:
                capture.step()

    def turn() -> float:
        synchronize()
        begin = time.perf_counter()
        steps(STEPS)
        synchronize()
        return 1e3 * (time.perf_counter() - begin) / STEPS

    def window() -> None:
        """The steps of one window. Capture opens its own, at these steps."""
        if way in ("plain", "teardown"):
            with torch.profiler.profile():
                steps(1 + ACTIVE)
                synchronize()
        else:
            steps(1 + ACTIVE)

    does = {"turn": turn, "window": window, "between": job.between_windows, "ready": lambda: None}
    for line in sys.stdin:
        if line.strip() == "close":
            break
        print(json.dumps(does[line.strip()]()), flush=True)
    if capture is not None:
        capture.close()


def capture_into(out: str):
    import whyslow_capture

    return whyslow_capture.capture(out, trace={"period": PERIOD, "warmup": 1, "active": ACTIVE, "repeat": 2}).start()


# -- all of them -------------------------------------------------------------------------------------------------------


class Way:
    """One process that takes turns."""

    def __init__(self, loop: str, way: str, device: str, out: Path) -> None:
        environment = {k: v for k, v in os.environ.items() if k not in ("TEARDOWN_CUPTI", "DISABLE_CUPTI_LAZY_REINIT")}
        if way == "teardown":
            environment["TEARDOWN_CUPTI"] = "1"
        out.mkdir()
        self.name, self.out, self.errors = way, out, (out / "stderr").open("w+")
        command = [sys.executable, __file__, "--take-turns", loop, way, device, str(out)]
        self.process = subprocess.Popen(
            command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors
        )

    def tell(self, what: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()

    def answer(self) -> float:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise ChildProcessError(f"{self.name}: exit status {self.process.wait()}: {self.said()[-400:]}")
        return json.loads(line)

    def ask(self, what: str) -> float:
        self.tell(what)
        return self.answer()

    def said(self) -> str:
        return (self.out / "stderr").read_text()

    def close(self) -> None:
        self.tell("close")
        status = self.process.wait(60)
        if status != 0:
            raise ChildProcessError(f"{self.name}: exit status {status}: {self.said()[-400:]}")


def run(loop: str, device: str) -> dict[str, object]:
    """What the ways measure in turns, or why they could not."""
    found: dict[str, object] = {"loop": loop}
    with tempfile.TemporaryDirectory() as folder:
        ways = [Way(loop, name, device, Path(folder, name)) for name in WAYS[loop]]
        try:
            found["ms"] = phases_of(ways)
            for way in ways:
                way.close()
        except (ChildProcessError, BrokenPipeError, subprocess.TimeoutExpired) as error:
            return {**found, "failed": str(error)}
        finally:
            for way in ways:
                way.process.kill()
                way.errors.close()
        ours = ways[WAYS[loop].index("capture")]
        found["said"] = [line for line in ours.said().splitlines() if line.startswith("whyslow_capture:")]
        return {**found, **capture_facts(ours.out, device)}


def phases_of(ways: list[Way]) -> Phases:
    for way in ways:
        way.tell("ready")
    for way in ways:
        way.answer()

    def turns(count: int) -> dict[str, list[float]]:
        found: dict[str, list[float]] = {way.name: [] for way in ways}
        for turn in range(count):
            # In another order each time: the first one after the last may find other caches.
            first = turn % len(ways)
            for way in ways[first:] + ways[:first]:
                found[way.name].append(way.ask("turn"))
        return found

    def all_do(what: str) -> None:
        for way in ways:
            way.ask(what)
        # Traces are compressed in the background.
        time.sleep(REST_S)

    found = {"before": turns(TURNS)}
    all_do("window")
    all_do("between")
    found["after"] = turns(TURNS // 2)
    time.sleep(REST_S)
    found["later"] = turns(TURNS - TURNS // 2)
    all_do("window")
    found["after two"] = turns(TURNS)
    return found


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


def ratio(runs: list[Phases], way: str, phases: tuple[str, ...]) -> tuple[float, float, float]:
    """
    `phases` ÷ before, each relative to the process without windows in the same turn; median over the groups of
    processes. The interval draws groups and turns again.
    """
    chance = random.Random(1)

    def level(run: Phases, at: tuple[str, ...], again: bool) -> float:
        pairs = [own / none for one in at for own, none in zip(run[one][way], run[one]["none"], strict=True)]
        return statistics.median(chance.choices(pairs, k=len(pairs)) if again else pairs)

    def once(chosen: list[Phases], again: bool) -> float:
        return statistics.median(level(one, phases, again) / level(one, ("before",), again) for one in chosen)

    draws = sorted(once(chance.choices(runs, k=len(runs)), True) for _ in range(DRAWS))
    return once(runs, False), draws[round(0.025 * DRAWS)], draws[round(0.975 * DRAWS) - 1]


def report(results: list[dict[str, object]]) -> bool:
    """Prints the ratios. True if all is well."""
    is_well = True
    for failed in (r for r in results if "failed" in r):
        print(f"{failed['loop']:8} FAILED: {failed['failed']}")
        is_well = False
    print(f"{'loop':8} {'windows':9} {'groups':>6} {'before':>9}   after ÷ before, relative to none (95% interval)")
    for loop in dict.fromkeys(r["loop"] for r in results):
        own = [r for r in results if r["loop"] == loop and "ms" in r]
        runs: list[Phases] = [r["ms"] for r in own]  # type: ignore[misc]
        for way in WAYS[loop] if runs else ():
            cells = []
            for name, phases in AFTERWARDS.items():
                likely, low, high = ratio(runs, way, phases)
                cells.append(f"{name} {likely:.3f} ({low:.3f} to {high:.3f})")
                is_well &= way != "capture" or low <= ALLOWED
            before = statistics.median(statistics.median(run["before"][way]) for run in runs)
            print(f"{loop:8} {way:9} {len(runs):6} {before:6.2f} ms   {', '.join(cells)}")
        for facts in own:
            print(f"{'':19}{json.dumps({k: facts[k] for k in ('teardown', 'windows_of_capture', 'traces', 'said')})}")
    return is_well


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.strip().partition("\n\n")[0])
    parser.add_argument("--cpu", action="store_true", help="eager loops on the CPU: tries the program, measures little")
    parser.add_argument("--seconds", type=float, default=330, help="start no more processes after this time")
    parser.add_argument("--loops", nargs="*", default=list(LOOPS), choices=list(LOOPS), help="only these")
    parser.add_argument("--take-turns", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.take_turns:
        take_turns(*options.take_turns)
        return
    import torch

    if not options.cpu and not torch.cuda.is_available():
        sys.exit("There is no GPU here. --cpu tries the program without one.")
    device = "cpu" if options.cpu else "cuda"
    began, results = time.monotonic(), []
    for loop in PLAN:
        left = options.seconds - (time.monotonic() - began)
        if loop not in (("eager",) if options.cpu else options.loops):
            continue
        if left < LEAST_S[loop]:
            print(f"no time left for {loop}")
            continue
        results.append(run(loop, device))
    versions = {"torch": torch.__version__, "cuda": torch.version.cuda, "seconds": round(time.monotonic() - began)}
    is_well = report(results)
    print(json.dumps(versions))
    if os.environ.get("OUT"):
        Path(os.environ["OUT"], "afterwards.json").write_text(json.dumps({"versions": versions, "results": results}))
    sys.exit(0 if is_well else 1)


if __name__ == "__main__":
    main()
