"""The result of one rank, as JSON."""

from __future__ import annotations

import json
import math
import platform
import sys
from dataclasses import asdict, dataclass

import torch

from whyslow_capture.loader_settings import MAX_FRAMES, framework_of
from whyslow_capture.process import device, host, rank, world_size

from .trial import Trial


@dataclass(frozen=True)
class Measured:
    why: str
    """Why it ended: `steps`, `seconds`, or `end` of the job."""
    clock: str
    first_step_s: float
    """From the import of torch to the end of the first step: set-up, and compilation in eager jobs' first step."""
    warmup: int
    step_ms: list[float]
    """Of the steps after the warm-up."""
    steps: int
    losses: list[float | None]
    """Of all steps, the first included."""
    framework: str


def framework_of_caller() -> str:
    """Whose loop makes the steps, by the modules on the stack."""
    return framework_of(sys._getframe(), MAX_FRAMES) or "plain"


def result_of(trial: Trial, measured: Measured) -> str:
    on_gpu = measured.clock == "gpu"
    known = asdict(measured)
    known["losses"] = [_finite(loss) for loss in measured.losses]
    known.update(
        whyslow_trial=1,
        rank=rank(),
        world_size=world_size(),
        host=host(),
        device=device(),
        torch=torch.__version__,
        cuda=torch.version.cuda,
        python=platform.python_version(),
        memory_mb=round(torch.cuda.max_memory_allocated() / 2**20, 1) if on_gpu else None,
        applied={fix: [_times(what, n) for what, n in found.items()] for fix, found in trial.applied.items()},
        refused={fix: why for fix, why in trial.refused.items() if fix not in trial.applied},
        places={fix: list(found) for fix, found in trial.places.items()},
        had=trial.had,
        most=trial.most,
        reached=dict(trial.reached),
        denied=dict(trial.denied),
        seeded_by_job=trial.seeded_by_job,
        graph_breaks=_graph_breaks(),
    )
    return json.dumps(known)


def _finite(loss: float | None) -> float | str | None:
    """JSON has no NaN."""
    return loss if loss is None or math.isfinite(loss) else str(loss)


def _times(what: str, count: int) -> str:
    return what if count == 1 else f"{what} ({count} times)"


def _graph_breaks() -> dict[str, int]:
    """By reason, the most frequent first. Empty without torch.compile."""
    utils = sys.modules.get("torch._dynamo.utils")
    breaks = getattr(utils, "counters", {}).get("graph_break", {})
    ordered = sorted(breaks.items(), key=lambda item: -item[1])[:5]
    return {str(reason).split("\n")[0][:160]: int(count) for reason, count in ordered}
