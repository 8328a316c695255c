"""Writes a verdict to W&B, MLflow and TensorBoard, if the job uses them. None of them is imported here."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .reports import Report

# Those that keep files.
TAKES_PAGE = ("wandb", "mlflow")
# MLflow cuts the values of tags at 8,000 characters, and old servers at 500.
MAX_TAG = 500


def find(
    names: Iterable[str], opened: Iterable[tuple[str, Any]], before: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The run or writer of each of `names`: what the framework has opened, what was found `before`, or any other."""
    known = {**(before or {}), **{name: logger for name, logger in opened if logger is not None}}
    found = {name: known[name] if name in known else _FIND[name]() for name in names}
    return {name: logger for name, logger in found.items() if logger is not None}


def scalars(report: Report) -> dict[str, float]:
    """Six figures to compare runs by. The shares are of the step."""
    step, time = report.step, report.time
    if step.ms is None:
        return {}
    return {
        "whyslow/step_ms": step.ms,
        "whyslow/compute": time.compute,
        "whyslow/communication": time.comms_transfer + time.comms_wait + time.idle_comms,
        "whyslow/input": time.idle_data,
        "whyslow/host": time.idle_host + time.idle_sync + time.idle_compile,
        "whyslow/saving_ms": sum(finding.saving_ms or 0.0 for finding in report.findings),
    }


def _texts(report: Report) -> dict[str, str]:
    first = report.findings[0] if report.findings else None
    texts = {"bottleneck": report.verdict.bottleneck, "verdict": report.verdict.sentence}
    return texts | ({} if first is None else {"first_fix": first.fix.code or first.title})


# -- W&B: a run ------------------------------------------------------------------------------------------------------


def _wandb_run() -> Any:
    return getattr(sys.modules.get("wandb"), "run", None)


def _to_wandb(run: Any, report: Report, page: Path, step: int) -> None:
    run.summary.update({f"whyslow/{name}": text for name, text in _texts(report).items()} | scalars(report))
    artifact = sys.modules["wandb"].Artifact(f"whyslow-{run.id}", type="whyslow-report")
    artifact.add_file(str(page))
    run.log_artifact(artifact)


# -- MLflow: a client and the id of a run ----------------------------------------------------------------------------


def _mlflow_run() -> Any:
    mlflow = sys.modules.get("mlflow")
    run = None if mlflow is None else mlflow.active_run()
    return None if mlflow is None or run is None else (mlflow.MlflowClient(), run.info.run_id)


def _to_mlflow(client_and_run: tuple[Any, str], report: Report, page: Path, step: int) -> None:
    client, run = client_and_run
    for name, value in scalars(report).items():
        client.log_metric(run, name, value, step=step)
    for name, text in _texts(report).items():
        client.set_tag(run, f"whyslow.{name}", text[:MAX_TAG])
    client.log_artifact(run, str(page))


# -- TensorBoard: a SummaryWriter ------------------------------------------------------------------------------------


def _tensorboard_writer() -> Any:
    """The newest writer of this process: transformers, for example, keeps its own to itself."""
    modules = ("torch.utils.tensorboard.writer", "tensorboardX.writer")
    classes = [getattr(sys.modules[name], "SummaryWriter", object()) for name in modules if name in sys.modules]
    if not classes:
        return None
    # By type: asking some objects for their class runs code of theirs.
    return next((each for each in reversed(gc.get_objects()) if type(each) in classes), None)


def _to_tensorboard(writer: Any, report: Report, page: Path, step: int) -> None:
    was_closed = writer.all_writers is None
    for name, value in scalars(report).items():
        writer.add_scalar(name, value, step)
    writer.add_text("whyslow/verdict", "\n".join(f"    {line}" for line in str(report).splitlines()), step)
    # One that was closed has opened a second file in the same folder.
    (writer.close if was_closed else writer.flush)()


_FIND: dict[str, Callable[[], Any]] = {
    "wandb": _wandb_run,
    "mlflow": _mlflow_run,
    "tensorboard": _tensorboard_writer,
}
WRITE: dict[str, Callable[[Any, Report, Path, int], None]] = {
    "wandb": _to_wandb,
    "mlflow": _to_mlflow,
    "tensorboard": _to_tensorboard,
}
