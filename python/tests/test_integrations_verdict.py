"""The verdict at the end of training. The diagnosis is faked; `npm run soak loggers` has the real one."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
from frameworks import framework

import whyslow
from whyslow_capture.config_sources import load_config
from whyslow_capture.integrations.framework_steps import FrameworkSteps

framework("tensorboard")
EventAccumulator = import_module("tensorboard.backend.event_processing.event_accumulator").EventAccumulator
SummaryWriter = import_module("torch.utils.tensorboard").SummaryWriter
# Lightning warns about such small jobs.
pytestmark = pytest.mark.filterwarnings("ignore")

SHARES = {"idle_data": 0.5, "compute": 0.25, "comms_transfer": 0.125, "comms_wait": 0.0625, "idle_comms": 0.0625}
NONE = {"copy": 0.0, "idle_sync": 0.0, "idle_compile": 0.0, "idle_host": 0.0, "idle_other": 0.0}
SCALARS = {
    "whyslow/step_ms": 20.0,
    "whyslow/compute": 0.25,
    "whyslow/communication": 0.25,
    "whyslow/input": 0.5,
    "whyslow/host": 0.0,
    "whyslow/saving_ms": 12.0,
}
TEXTS = {"bottleneck": "data", "verdict": "Data-bound: waits", "first_fix": "num_workers=8"}


class Report:
    verdict = SimpleNamespace(bottleneck="data", sentence="Data-bound: waits")
    step = SimpleNamespace(ms=20.0)
    time = SimpleNamespace(**SHARES, **NONE)
    findings = (
        SimpleNamespace(fix=SimpleNamespace(code="num_workers=8"), title="", saving_ms=12.0),
        SimpleNamespace(fix=SimpleNamespace(code=""), title="a trace", saving_ms=None),
    )

    def __str__(self) -> str:
        return "Data-bound: waits\n  1  num_workers=0"

    def html(self) -> str:
        return "<!doctype html>the page"


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What `whyslow.diagnose` was asked."""
    calls: list[dict[str, Any]] = []

    def diagnose(path: Path, **options: Any) -> Report:
        calls.append({"path": Path(path), **options})
        return Report()

    monkeypatch.setattr(whyslow, "diagnose", diagnose)
    return calls


class Wandb(ModuleType):
    """The calls of wandb that we make, kept."""

    def __init__(self) -> None:
        super().__init__("wandb")
        self.kept: dict[str, Any] = {}
        self.run = SimpleNamespace(id="abc", summary=self.kept, log_artifact=self.artifact)

    def artifact(self, artifact: Any) -> None:
        self.kept["artifact"] = (artifact.name, artifact.text)

    class Artifact:
        def __init__(self, name: str, type: str) -> None:
            self.name = name

        def add_file(self, path: str) -> None:
            self.text = Path(path).read_text()


class Mlflow(ModuleType):
    def __init__(self) -> None:
        super().__init__("mlflow")
        self.kept: dict[str, Any] = {}
        self.is_active = True

    def active_run(self) -> Any:
        return SimpleNamespace(info=SimpleNamespace(run_id="r1")) if self.is_active else None

    def MlflowClient(self) -> Any:
        def log_artifact(run: str, path: str) -> None:
            self.kept[run, "page"] = Path(path).read_text()

        return SimpleNamespace(
            log_metric=lambda run, name, value, step: self.kept.update({(run, name): (value, step)}),
            set_tag=lambda run, name, value: self.kept.update({(run, name): value}),
            log_artifact=log_artifact,
        )


@pytest.fixture
def wandb(monkeypatch: pytest.MonkeyPatch) -> Wandb:
    module = Wandb()
    monkeypatch.setitem(sys.modules, "wandb", module)
    return module


@pytest.fixture
def mlflow(monkeypatch: pytest.MonkeyPatch) -> Mlflow:
    module = Mlflow()
    monkeypatch.setitem(sys.modules, "mlflow", module)
    return module


def train(out: Path, *, between: Any = None, **config: Any) -> None:
    steps = FrameworkSteps({"out": str(out), "verdict": True, "hooks": "none", "max_overhead": 1, **config})
    steps.open(None, 0)
    for _ in range(3):
        steps.step()
    if between is not None:
        between()
    steps.finish()


def tensorboard(folder: Path) -> tuple[dict[str, float], str]:
    """The scalars and the text of whyslow there."""
    events = EventAccumulator(str(folder)).Reload()
    tags = events.Tags()
    scalars = {tag: events.Scalars(tag)[-1] for tag in tags["scalars"] if tag.startswith("whyslow/")}
    assert {event.step for event in scalars.values()} <= {3}
    texts = [events.Tensors(tag)[-1].tensor_proto.string_val[0] for tag in tags["tensors"] if "whyslow" in tag]
    return {tag: event.value for tag, event in scalars.items()}, b"".join(texts).decode()


def test_the_verdict_is_printed_and_the_run_is_diagnosed(tmp_path: Path, asked: Any, capfd: Any) -> None:
    train(tmp_path / "out", run="mine", log_to="none")
    assert "\nData-bound: waits\n  1  num_workers=0\n" in capfd.readouterr().err
    assert [(call["path"], call["run"], call["with_page"]) for call in asked] == [(tmp_path / "out", "mine", False)]


def test_verdict_false_prints_nothing_and_asks_nothing(tmp_path: Path, wandb: Wandb, asked: Any, capfd: Any) -> None:
    train(tmp_path / "out", verdict=False)
    assert (asked, wandb.kept, capfd.readouterr().err) == ([], {}, "")


def test_training_that_fails_has_no_verdict(tmp_path: Path, asked: Any) -> None:
    steps = FrameworkSteps({"out": str(tmp_path), "verdict": True})
    steps.open(None, 0)
    steps.step()
    steps.close()
    assert asked == []


def test_wandb_gets_a_summary_with_six_figures_and_the_page(tmp_path: Path, wandb: Wandb) -> None:
    train(tmp_path / "out")
    texts = {f"whyslow/{name}": text for name, text in TEXTS.items()}
    assert wandb.kept == {**SCALARS, **texts, "artifact": ("whyslow-abc", "<!doctype html>the page")}


def test_mlflow_gets_six_metrics_tags_and_the_page_although_its_run_has_ended(tmp_path: Path, mlflow: Mlflow) -> None:
    # As transformers ends it before other callbacks hear of the end.
    train(tmp_path / "out", between=lambda: setattr(mlflow, "is_active", False))
    metrics = {("r1", name): (value, 3) for name, value in SCALARS.items()}
    tags = {("r1", f"whyslow.{name}"): text for name, text in TEXTS.items()}
    assert mlflow.kept == {**metrics, **tags, ("r1", "page"): "<!doctype html>the page"}


@pytest.mark.parametrize("is_closed", [False, True])
def test_tensorboard_gets_six_scalars_and_the_text(tmp_path: Path, is_closed: bool) -> None:
    writer = SummaryWriter(str(tmp_path / "board"))
    writer.add_scalar("loss", 1.0, 1)
    train(tmp_path / "out", between=writer.close if is_closed else None)
    scalars, text = tensorboard(tmp_path / "board")
    assert scalars == SCALARS
    assert text == "    Data-bound: waits\n      1  num_workers=0"
    assert (writer.all_writers is None) is is_closed


def test_each_logger_can_be_switched_off(tmp_path: Path, wandb: Wandb, mlflow: Mlflow) -> None:
    with SummaryWriter(str(tmp_path / "board")):
        train(tmp_path / "out", log_to=["mlflow"])
    assert mlflow.kept and not wandb.kept
    assert tensorboard(tmp_path / "board") == ({}, "")
    assert load_config({}, environ={"WHYSLOW_LOG_TO": "tensorboard,wandb"}).loggers == ("wandb", "tensorboard")
    assert load_config({}, environ={"WHYSLOW_LOG_TO": "none"}).loggers == ()


def test_a_logger_that_fails_stops_neither_the_job_nor_the_others(
    tmp_path: Path, wandb: Wandb, mlflow: Mlflow, capfd: pytest.CaptureFixture[str]
) -> None:
    wandb.run.summary = None
    train(tmp_path / "out")
    assert mlflow.kept
    assert "logging the verdict to wandb failed, training goes on: " in capfd.readouterr().err


def test_a_diagnosis_that_fails_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise whyslow.WhyslowError("whyslow did not answer within 60 s")

    monkeypatch.setattr(whyslow, "diagnose", fails)
    train(tmp_path / "out")
    assert capfd.readouterr().err == "whyslow_capture: no verdict: whyslow did not answer within 60 s\n"


def test_other_ranks_print_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: Any) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    train(tmp_path / "out")
    assert asked == []


def test_rank_0_waits_for_the_last_records_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: Any
) -> None:
    from whyslow import at_end

    monkeypatch.setenv("WORLD_SIZE", "3")
    naps: list[float] = []

    def nap(seconds: float) -> None:
        naps.append(seconds)
        (tmp_path / "ranks/rank_1.json").write_text('{"run": "mine", "anchors": [{"at": "end"}]}')

    monkeypatch.setattr(at_end.time, "sleep", nap)
    # Rank 1 has not ended. Rank 2 writes to another machine.
    other = '{"run": "mine", "anchors": [{"at": "flush"}]}'
    (tmp_path / "ranks").mkdir()
    train(tmp_path, run="mine", between=lambda: (tmp_path / "ranks/rank_1.json").write_text(other))
    assert (len(naps), len(asked)) == (1, 1)


def test_lightning_passes_its_loggers_on(tmp_path: Path) -> None:
    lightning = framework("lightning.pytorch")
    from whyslow_capture.integrations.lightning import WhyslowCallback

    class Model(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def training_step(self, batch: torch.Tensor, index: int) -> torch.Tensor:
            return self.layer(batch).square().mean()

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.01)

    # A writer that is not the trainer's gets nothing.
    with SummaryWriter(str(tmp_path / "other")):
        lightning.Trainer(
            default_root_dir=str(tmp_path),
            accelerator="cpu",
            logger=lightning.loggers.TensorBoardLogger(str(tmp_path), name="mine", version=""),
            enable_progress_bar=False,
            enable_model_summary=False,
            enable_checkpointing=False,
            max_steps=3,
            callbacks=[WhyslowCallback(verdict=True, max_overhead=1)],
        ).fit(Model(), torch.utils.data.DataLoader(torch.randn(8, 4), batch_size=2))
    assert tensorboard(tmp_path / "mine")[0] == SCALARS
    assert tensorboard(tmp_path / "other")[0] == {}


def test_accelerate_passes_its_trackers_on(tmp_path: Path) -> None:
    accelerate = framework("accelerate")
    from whyslow_capture.integrations.accelerate import instrument

    accelerator = accelerate.Accelerator(cpu=True, project_dir=str(tmp_path), log_with="tensorboard")
    model = torch.nn.Linear(4, 1)
    optimizer = accelerator.prepare(torch.optim.SGD(model.parameters(), lr=0.01))
    instrument(accelerator, verdict=True, max_overhead=1)
    # Opened after the capture, as the docs of Accelerate do it.
    accelerator.init_trackers("mine")
    for _ in range(3):
        model(torch.randn(2, 4)).sum().backward()
        optimizer.step()
    accelerator.end_training()
    assert tensorboard(tmp_path / "mine")[0] == SCALARS


def test_transformers_logs_to_the_writer_of_its_own_callback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: Any
) -> None:
    from test_integrations_transformers import train as train_transformers

    from whyslow_capture.integrations.transformers import WhyslowCallback

    transformers = framework("transformers")
    monkeypatch.setenv("TENSORBOARD_LOGGING_DIR", str(tmp_path / "board"))
    board = transformers.integrations.TensorBoardCallback()
    train_transformers(tmp_path, [board, WhyslowCallback(verdict=True, max_overhead=1)], max_steps=3)
    assert tensorboard(tmp_path / "board")[0] == SCALARS
    assert asked[0]["path"] == tmp_path / "whyslow"
