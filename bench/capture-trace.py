"""
A profiler window of a transformer: what it adds to disk, host memory and the training thread's time. whyslow_capture
against torch.profiler as d9d documents it (shapes, stacks, compressed in place), and against plain torch.profiler with
the same options as ours. Each in a process of its own, so that peaks of memory are its own.

    python bench/capture-trace.py [--layers 24] [--device cuda|cpu]

Results with date, device and versions are kept in docs/internal/measurements.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "src"))
from whyslow_capture.config import CaptureConfig, TraceConfig
from whyslow_capture.session import Capture

BEFORE, WARMUP, ACTIVE, AFTER = 10, 2, 5, 20
VARIANTS = {
    "d9d": "torch.profiler as d9d uses it (shapes, stacks, .tar.gz in place)",
    "plain": "torch.profiler, no shapes or stacks, .json.gz in place",
    "whyslow": "whyslow_capture, defaults",
    "whyslow-all": "whyslow_capture with shapes and stacks",
}


class Window:
    """`step()` at the end of each step; `close()` at the end of all."""

    def __init__(self, variant: str, out: Path) -> None:
        self.out = out
        if variant.startswith("whyslow"):
            everything = variant.endswith("all")
            trace = TraceConfig(
                enabled=True,
                period=BEFORE + WARMUP + ACTIVE,
                warmup=WARMUP,
                active=ACTIVE,
                repeat=1,
                record_shapes=everything,
                with_stack=everything,
                budget_mb=65536,
            )
            capture = Capture(CaptureConfig(out=str(out), auto_phases=False, trace=trace)).open()
            self.step, self.close = capture.step, capture.close
            return
        rich = variant == "d9d"
        profiler = torch.profiler.profile(
            schedule=torch.profiler.schedule(wait=BEFORE, warmup=WARMUP, active=ACTIVE, repeat=1),
            on_trace_ready=self.tar if rich else self.gzip,
            record_shapes=rich,
            with_stack=rich,
        )
        profiler.start()
        self.step, self.close = profiler.step, profiler.stop

    def tar(self, profiler: torch.profiler.profile) -> None:
        raw = self.out / "trace.json"
        profiler.export_chrome_trace(str(raw))
        with tarfile.open(self.out / "trace.tar.gz", "w:gz") as archive:
            archive.add(raw, "trace.json")
        raw.unlink()

    def gzip(self, profiler: torch.profiler.profile) -> None:
        profiler.export_chrome_trace(str(self.out / "trace.json.gz"))


def peak_mb() -> float:
    """Since `forget_peak`."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def forget_peak() -> None:
    """Loading torch and the model took more than the window will."""
    Path("/proc/self/clear_refs").write_text("5")


def child(variant: str, layers: int, device: str) -> None:
    torch.manual_seed(0)
    width, batch, tokens = (1024, 8, 512) if device == "cuda" else (64, 2, 16)
    layer = torch.nn.TransformerEncoderLayer(width, 8, 4 * width, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, foreach=True)
    x = torch.randn(batch, tokens, width, device=device)

    def train() -> None:
        with torch.autocast(device, torch.bfloat16):
            loss = model(x).float().pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    def wait() -> None:
        if device == "cuda":
            torch.cuda.synchronize()

    for _ in range(5):
        train()
    wait()
    out = Path(tempfile.mkdtemp())
    forget_peak()
    before = peak_mb()
    window = Window(variant, out)
    blocked: list[float] = []
    steps: list[float] = []
    for _ in range(BEFORE + WARMUP + ACTIVE + AFTER):
        started = time.perf_counter()
        train()
        wait()
        trained = time.perf_counter()
        window.step()
        ended = time.perf_counter()
        steps.append(trained - started)
        blocked.append(ended - trained)
    in_loop = sum(blocked)
    started = time.perf_counter()
    window.close()
    closing = time.perf_counter() - started
    files = list(out.rglob("*trace*.gz"))
    left = [p.name for p in out.rglob("*") if p.is_file() and (p.suffix == ".json" and "trace" in p.name)]
    after = steps[-AFTER:]
    quiet = sorted(steps[2:BEFORE])[len(steps[2:BEFORE]) // 2]
    result = {
        "file_mb": sum(p.stat().st_size for p in files) / 1e6,
        "blocked_s": in_loop,
        "slower_after_s": sum(max(0.0, s - quiet) for s in after),
        "closing_s": closing,
        "peak_added_mb": peak_mb() - before,
        "raw_left": left,
        "step_ms": quiet * 1e3,
        "profiled_step_ms": 1e3 * sum(steps[BEFORE + WARMUP : BEFORE + WARMUP + ACTIVE]) / ACTIVE,
    }
    print(json.dumps(result))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=24)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--variant", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.variant:
        child(options.variant, options.layers, options.device)
        return
    name = torch.cuda.get_device_name() if options.device == "cuda" else "CPU"
    print(f"{name}, torch {torch.__version__}, {time.strftime('%Y-%m-%d')}, {options.layers} layers, {ACTIVE} steps")
    for variant, title in VARIANTS.items():
        command = [sys.executable, __file__, "--variant", variant, "--layers", str(options.layers)]
        done = subprocess.run([*command, "--device", options.device], capture_output=True, text=True)
        if done.returncode != 0:
            print(f"  {title}: failed\n{done.stderr[-2000:]}")
            continue
        r = json.loads(done.stdout.splitlines()[-1])
        print(
            f"  {title}\n    file {r['file_mb']:.1f} MB, training thread blocked {r['blocked_s']:.2f} s, later steps "
            f"slower by {r['slower_after_s']:.2f} s in all, close {r['closing_s']:.2f} s, peak of host memory "
            f"+{r['peak_added_mb']:.0f} MB, step {r['step_ms']:.1f} → {r['profiled_step_ms']:.1f} ms under it"
            + (f", raw files left: {r['raw_left']}" if r["raw_left"] else "")
        )


if __name__ == "__main__":
    main()
