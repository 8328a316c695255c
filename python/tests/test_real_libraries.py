"""The libraries whose functions capture wraps, in their real versions: they work, and their time is found."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from frameworks import framework
from hooked import Job, batches, capturing
from support import records_of

import whyslow_capture

Use = Callable[[Path, Job], None]


def use_wandb(folder: Path, job: Job) -> None:
    wandb = framework("wandb")
    run = wandb.init(mode="offline", dir=str(folder), project="p")
    run.log({"loss": 1.0, "hist": wandb.Histogram([1.0, 2.0])})
    run.finish()
    assert list(folder.rglob("*.wandb"))


def use_mlflow(folder: Path, job: Job) -> None:
    mlflow = framework("mlflow")
    mlflow.set_tracking_uri(f"sqlite:///{folder}/runs.db")
    mlflow.create_experiment("e", artifact_location=str(folder / "artifacts"))
    mlflow.set_experiment("e")
    with mlflow.start_run() as run:
        mlflow.log_metric("loss", 1.0, step=3)
    assert mlflow.get_run(run.info.run_id).data.metrics == {"loss": 1.0}


def use_tensorboard(folder: Path, job: Job) -> None:
    framework("tensorboard")
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(folder)) as writer:
        writer.add_scalar("loss", 1.0, 3)
    assert list(folder.glob("events.out.*"))


def use_safetensors(folder: Path, job: Job) -> None:
    safetensors = framework("safetensors.torch")
    safetensors.save_file({"x": torch.ones(3)}, str(folder / "x.safetensors"))
    assert safetensors.load_file(str(folder / "x.safetensors"))["x"].tolist() == [1, 1, 1]


def use_torchmetrics(folder: Path, job: Job) -> None:
    torchmetrics = framework("torchmetrics")
    metric = torchmetrics.MeanMetric()
    metric.update(torch.tensor([1.0, 3.0]))
    assert metric.compute() == 2


def use_tqdm(folder: Path, job: Job) -> None:
    tqdm = framework("tqdm").tqdm
    with open(folder / "bar", "w") as file:
        assert list(tqdm(range(3), file=file, mininterval=0)) == [0, 1, 2]
    assert "3/3" in (folder / "bar").read_text()


def use_transformers(folder: Path, job: Job) -> None:
    transformers = framework("transformers")
    config = transformers.GPT2Config(n_layer=1, n_head=1, n_embd=8, vocab_size=16, n_positions=16)
    model = transformers.GPT2LMHeadModel(config)
    model.generate(torch.ones(1, 2, dtype=torch.long), max_new_tokens=2, do_sample=False, pad_token_id=0)
    model.save_pretrained(str(folder))
    assert (folder / "model.safetensors").exists()


def use_deepspeed(folder: Path, job: Job) -> None:
    deepspeed = framework("deepspeed")
    engine, *_ = deepspeed.initialize(model=job.model, optimizer=job.optimizer, config={"train_batch_size": 4})
    engine.backward(engine(torch.ones(4, 8)).sum())
    engine.step()
    engine.save_checkpoint(str(folder))
    assert (folder / "latest").exists()
    torch.distributed.destroy_process_group()


# The wrapped function, and the group whose time it adds to: between steps, or in recorded steps.
LIBRARIES: dict[str, tuple[Use, str, str]] = {
    "wandb": (use_wandb, "wandb.sdk.wandb_run.Run.log", "logging"),
    "mlflow": (use_mlflow, "mlflow.tracking.fluent.log_metric", "logging"),
    "tensorboard": (use_tensorboard, "torch.utils.tensorboard.writer.SummaryWriter.add_scalar", "logging"),
    "safetensors": (use_safetensors, "safetensors.torch.save_file", "checkpoint"),
    "torchmetrics": (use_torchmetrics, "torchmetrics.metric.Metric._wrap_update", "metrics"),
    "tqdm": (use_tqdm, "tqdm.std.tqdm.display", "logging"),
    "transformers": (use_transformers, "transformers.generation.utils.GenerationMixin.generate", "generation"),
    "deepspeed": (use_deepspeed, "deepspeed.runtime.engine.DeepSpeedEngine.save_checkpoint", "checkpoint"),
}
# For wandb, and for the process group of deepspeed.
ENVIRONMENT = {
    "WANDB_SILENT": "true",
    "RANK": "0",
    "LOCAL_RANK": "0",
    "WORLD_SIZE": "1",
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": "29617",
}
# Too large for CI. docs/internal/versions.md has the last run with them.
BY_HAND = [name for name in ("deepspeed", "mlflow") if find_spec(name) is None]


@pytest.mark.parametrize("library", [name for name in LIBRARIES if name not in BY_HAND])
def test_a_library_works_and_its_time_is_found(
    library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    use, target, group = LIBRARIES[library]
    (tmp_path / "theirs").mkdir()
    job = Job()
    with capturing(tmp_path / "ours", "manual") as capture:
        job.step(batches(1)[0])
        capture.step()
        use(tmp_path / "theirs", job)
        capture.step()
        active = {each.target for each in whyslow_capture.patches()}
        phases = set(capture.job_clock.phases)
    assert target in active
    assert group in phases | {record["name"] for record in records_of(tmp_path / "ours")}
    assert [each for each in whyslow_capture.patches() if each.target == target] == []
    assert "failed, training goes on" not in capfd.readouterr().err
