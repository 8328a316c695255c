"""No figure: profiler windows that follow each other without a gap do not end a job on a GPU, nor change its results.

python bench/check-windows-gpu.py        # exits 1 when a job dies or its losses differ
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

JOB = """
import sys, torch
sys.path.insert(0, {package!r})
import whyslow_capture
torch.manual_seed(0)
model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(8)]).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
data = torch.randn(64, 256, device="cuda")
losses = []
def step():
    loss = model(data).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.detach())
settings = {settings!r}
if settings is None:
    for _ in range(24): step()
else:
    with whyslow_capture.capture({out!r}, trace=settings, max_overhead=0.9) as cap:
        for _ in range(24):
            step()
            cap.step()
print("LOSSES", [loss.item().hex() for loss in losses])
"""
WINDOWS = (
    {"period": 1, "warmup": 0, "active": 1},
    {"period": 2, "warmup": 0, "active": 2},
    {"period": 2, "warmup": 1, "active": 1},
    {"period": 8, "warmup": 2, "active": 3},
)


def run(settings: dict[str, int] | None, out: str) -> tuple[int, str, int]:
    """Exit status, losses and number of traces of one job."""
    package = str(Path(__file__).resolve().parents[1] / "python" / "src")
    code = JOB.format(package=package, settings=settings, out=out)
    job = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    losses = next((line for line in job.stdout.splitlines() if line.startswith("LOSSES")), job.stderr[-300:])
    return job.returncode, losses, len(list(Path(out).rglob("*-trace.json.gz")))


def main() -> None:
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        _, expected, _ = run(None, f"{folder}/plain")
        for settings in WINDOWS:
            for attempt in range(2):
                name = "-".join(map(str, settings.values()))
                status, losses, traces = run(settings, f"{folder}/{name}-{attempt}")
                same = losses == expected
                failed |= status != 0 or not same
                print(f"{settings}: exit {status}, {traces} traces, losses {'equal' if same else 'DIFFER: ' + losses}")
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
