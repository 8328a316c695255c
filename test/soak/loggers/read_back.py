"""`read_back.py FRAMEWORK`: reads what train.py logged to W&B, MLflow and TensorBoard, and checks it."""

import json
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import mlflow
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from wandb.proto import wandb_internal_pb2

FIGURES = {f"whyslow/{name}" for name in ("step_ms", "compute", "communication", "input", "host", "saving_ms")}
BLOCK = 32768


def tensorboard(folder: str) -> dict[str, float]:
    boards = {file.parent for file in Path(folder).rglob("events.out.tfevents*")}
    for board in boards:
        events = EventAccumulator(str(board)).Reload()
        found = {tag: events.Scalars(tag)[-1].value for tag in events.Tags()["scalars"] if tag in FIGURES}
        if found:
            text = events.Tensors("whyslow/verdict/text_summary")[-1].tensor_proto.string_val[0].decode()
            assert text.strip().startswith("Data-bound: "), text
            return found
    raise AssertionError(f"no figures in {boards}")


def from_mlflow() -> tuple[dict[str, float], int]:
    experiments = [experiment.experiment_id for experiment in mlflow.search_experiments()]
    (run,) = mlflow.search_runs(experiments, output_format="list")
    assert run.data.tags["whyslow.bottleneck"] == "data"
    (page,) = [file for file in mlflow.MlflowClient().list_artifacts(run.info.run_id) if file.path == "whyslow.html"]
    return {name: value for name, value in run.data.metrics.items() if name in FIGURES}, page.file_size


def wandb_records(file: Path) -> Iterator[bytes]:
    """The records of an offline run: blocks of pieces, as LevelDB writes its log."""
    raw, at, record = file.read_bytes(), 7, b""
    while at + 7 <= len(raw):
        left = BLOCK - at % BLOCK
        if left < 7:
            at += left
            continue
        _, length, kind = struct.unpack("<IHB", raw[at : at + 7])
        if kind == 0:
            return
        record += raw[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):
            yield record
            record = b""


def from_wandb() -> tuple[dict[str, object], int]:
    (file,) = Path("wandb").glob("offline-run-*/*.wandb")
    summary: dict[str, object] = {}
    pages: list[int] = []
    for data in wandb_records(file):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        for update in record.summary.update:
            summary[update.key or "/".join(update.nested_key)] = json.loads(update.value_json)
        for artifact in (record.artifact, record.request.log_artifact.artifact):
            pages += [entry.size for entry in artifact.manifest.contents if entry.path == "whyslow.html"]
    assert summary["whyslow/bottleneck"] == "data" and str(summary["whyslow/verdict"]).startswith("Data-bound: ")
    return {name: value for name, value in summary.items() if name in FIGURES}, pages[0]


framework = sys.argv[1]
board, (metrics, page), (summary, artifact) = tensorboard(framework), from_mlflow(), from_wandb()
assert set(board) == set(metrics) == set(summary) == FIGURES, (board, metrics, summary)
for name in FIGURES:
    assert abs(board[name] - metrics[name]) <= 1e-4 * max(1, metrics[name]) and metrics[name] == summary[name]
assert page == artifact > 50_000
assert metrics["whyslow/input"] > 0.3 and metrics["whyslow/step_ms"] > 15
print(f"{framework}: {json.dumps(metrics)}, page {page} bytes, in W&B, MLflow and TensorBoard")
