"""Names of phases, files and folders. The readers of these files rely on them."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

DATA_WAIT = "data_wait"
HOST_TO_DEVICE = "host_to_device"
FORWARD = "forward"
BACKWARD = "backward"
OPTIMIZER = "optimizer"
# The model is called without gradients, in every iteration.
NO_GRAD = "no_grad"
TRAINING_STEP = "training_step"
TRAINING_METRICS = "training_metrics"

FORMAT = 1
"""Version of the file format, stored under the key ``whyslow`` of each header."""


def collective(kind: str) -> str:
    return f"collective:{kind}"


def run_file(out: Path) -> Path:
    return out / "run.json"


def rank_file(out: Path, rank: int, suffix: str = "") -> Path:
    """`suffix` tells processes apart that have the same rank at the same time."""
    return out / "ranks" / (f"rank_{rank}.{suffix}.json" if suffix else f"rank_{rank}.json")


def events_file(out: Path, rank: int) -> Path:
    return out / "cuda_event_profiler" / f"cuda_events_rank_{rank}.jsonl"


def trace_dir(out: Path, step: int) -> Path:
    return out / "traces" / f"step_{step}"


def trace_name(rank: int, coordinates: tuple[int, ...], suffix: str) -> str:
    """``suffix`` is ``.json.gz`` or ``.tar.gz``. Without a mesh the rank is the only coordinate."""
    coord = "-".join(str(c) for c in coordinates or (rank,))
    return f"rank-{rank}-coord-{coord}-trace{suffix}"


def claim_file(out: Path, run: str) -> Path:
    """Says which job has this name. `whyslow diagnose` skips the folder."""
    return out / ".whyslow" / ("run-" + re.sub(r"[^\w.+-]+", "_", run)[:100])


def place_file(out: Path, job: str, launch: str, rank: int) -> Path:
    """One rank of a job on several nodes. Its folder is named after the job, so that a restart has its own."""
    return out / ".whyslow" / "nodes" / sha256(job.encode()).hexdigest()[:16] / f"{launch}-{rank}.json"


def memory_file(out: Path, kind: str, rank: int) -> Path:
    """`kind`: "oom" or "snapshot"."""
    return out / "memory" / f"{kind}_rank_{rank}.pickle"


def stuck_files(out: Path, rank: int) -> tuple[Path, Path]:
    """The recorded collectives and the stacks of a rank whose steps no longer end."""
    folder = out / "stuck"
    return folder / f"flight_rank_{rank}.json", folder / f"stacks_rank_{rank}.txt"


def control_dir(out: Path) -> Path:
    return out / "control"
