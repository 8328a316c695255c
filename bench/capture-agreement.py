"""
Do the events tier's durations agree with torch.profiler? The same steps of a transformer are timed by both: by CUDA
events, and from the profiler's kernels (from the end of the last kernel launched before a phase to the end of the last
one launched in it). Prints the ratio for each phase; 2% is what is asked for.

    python bench/capture-agreement.py

Needs a GPU. Results with date, device and versions are kept in docs/internal/measurements.md.
"""

from __future__ import annotations

import itertools
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "src"))
from whyslow_capture import layout
from whyslow_capture.config import CaptureConfig
from whyslow_capture.session import Capture

PHASES = ("host_to_device", "forward", "backward", "optimizer")
STEPS = 12


def train(out: Path, trace: Path) -> None:
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(1024, 16, 4096, batch_first=True, norm_first=True)
    model = torch.nn.TransformerEncoder(layer, 12, enable_nested_tensor=False).cuda().to(torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    batch = torch.randn(32, 512, 1024, dtype=torch.bfloat16).pin_memory()
    cap = Capture(CaptureConfig(out=str(out), auto_phases=False, record_every_n_steps=1, max_overhead=1.0)).open()

    with torch.profiler.profile(
        schedule=torch.profiler.schedule(wait=5, warmup=2, active=STEPS, repeat=1),
        on_trace_ready=lambda p: p.export_chrome_trace(str(trace)),
    ) as profiler:
        for _ in range(5 + 2 + STEPS + 1):
            with torch.profiler.record_function("host_to_device"), cap.phase("host_to_device"):
                x = batch.to("cuda", non_blocking=True)
            with torch.profiler.record_function("forward"), cap.phase("forward"):
                loss = model(x).float().pow(2).mean()
            with torch.profiler.record_function("backward"), cap.phase("backward"):
                loss.backward()
            with torch.profiler.record_function("optimizer"), cap.phase("optimizer"):
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
            cap.step()
            profiler.step()
    torch.cuda.synchronize()
    cap.close()


def from_trace(path: Path) -> list[tuple[str, float, float]]:
    """(phase, end of its last GPU work before it, end of its own last GPU work) in ms, in order."""
    events = json.loads(path.read_text())["traceEvents"]
    spans = sorted(
        (e["ts"], e["ts"] + e["dur"], e["name"])
        for e in events
        if e.get("cat") == "user_annotation" and e.get("name") in PHASES
    )
    launches = {
        e["args"]["correlation"]: e["ts"]
        for e in events
        if e.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in e.get("args", {})
    }
    work = sorted(
        (launches[e["args"]["correlation"]], e["ts"] + e["dur"])
        for e in events
        if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset") and e["args"].get("correlation") in launches
    )
    found, position, frontier = [], 0, 0.0
    for begin, end, name in spans:
        while position < len(work) and work[position][0] < begin:
            frontier = max(frontier, work[position][1])
            position += 1
        before = frontier
        while position < len(work) and work[position][0] < end:
            frontier = max(frontier, work[position][1])
            position += 1
        found.append((name, before / 1e3, frontier / 1e3))
    return found


def main() -> None:
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {time.strftime('%Y-%m-%d')}")
    folder = Path(tempfile.mkdtemp())
    train(folder, folder / "trace.json")
    rows = [json.loads(line) for line in layout.events_file(folder, 0).read_text().splitlines()][1:]
    by_phase: dict[str, list[float]] = {name: [] for name in PHASES}
    steps = sorted({r["step"] for r in rows})[7 : 7 + STEPS]
    for name in PHASES:
        by_phase[name] = [r["duration_ms"] for r in rows if r["name"] == name and r["step"] in steps]
    traced = from_trace(folder / "trace.json")
    worst = 0.0
    for name in PHASES:
        # The first step of a window begins with an empty queue.
        trace_ms = statistics.median([end - before for n, before, end in traced if n == name][1:])
        event_ms = statistics.median(by_phase[name][1:])
        ratio = event_ms / trace_ms
        worst = max(worst, abs(ratio - 1) if trace_ms > 0.5 else 0.0)
        print(f"  {name:16} events {event_ms:8.3f} ms   profiler {trace_ms:8.3f} ms   ratio {ratio:.4f}")
    ends = [end for n, _, end in traced if n == "optimizer"]
    trace_step = statistics.median([b - a for a, b in itertools.pairwise(ends)])
    whole = [r["duration_ms"] for r in rows if r["name"] == "training_step" and r["step"] in steps]
    event_step = statistics.median(whole[1:])
    ratio = event_step / trace_step
    worst = max(worst, abs(ratio - 1))
    print(f"  {'training_step':16} events {event_step:8.3f} ms   profiler {trace_step:8.3f} ms   ratio {ratio:.4f}")
    print(f"largest disagreement of phases above 0.5 ms: {worst * 100:.2f}%")


if __name__ == "__main__":
    main()
