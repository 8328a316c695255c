"""Lightning's Trainer, under both package names."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from frameworks import framework
from support import header_of, records_of, run_torch_program

from whyslow_capture import layout
from whyslow_capture.api import active_session
from whyslow_capture.integrations.lightning import WhyslowCallback

lightning = framework("lightning.pytorch")
# Lightning warns about deprecations, and about settings that such a small job omits.
pytestmark = pytest.mark.filterwarnings("ignore")

PHASES = {layout.DATA_WAIT, layout.FORWARD, layout.BACKWARD, layout.OPTIMIZER, layout.TRAINING_STEP}


class Model(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
        self.losses: list[float] = []

    def training_step(self, batch: torch.Tensor, index: int) -> torch.Tensor:
        loss = self.layer(batch).square().mean()
        self.losses.append(loss.item())
        return loss

    def validation_step(self, batch: torch.Tensor, index: int) -> None:
        self.layer(batch)

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=0.01)


class TwoOptimizers(Model):
    def __init__(self) -> None:
        super().__init__()
        self.automatic_optimization = False

    def training_step(self, batch: torch.Tensor, index: int) -> None:
        for optimizer in self.optimizers():
            optimizer.zero_grad()
            self.manual_backward(self.layer(batch).square().mean())
            optimizer.step()

    def configure_optimizers(self) -> Any:
        return [torch.optim.SGD(self.parameters(), lr=0.01) for _ in range(2)]


def loader(count: int = 60) -> Any:
    generator = torch.Generator().manual_seed(5)
    return torch.utils.data.DataLoader(torch.randn(count, 4, generator=generator), batch_size=2)


def train(out: Path, callbacks: list[Any], model: Model | None = None, resume: str | None = None, **given: Any) -> Any:
    torch.manual_seed(0)
    model = model or Model()
    options = {"max_steps": 30, "enable_checkpointing": False, **given}
    trainer = lightning.Trainer(
        default_root_dir=str(out),
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=callbacks,
        **options,
    )
    trainer.fit(model, loader(), loader(4) if "val_check_interval" in given else None, ckpt_path=resume)
    return model


def whole_steps(out: Path) -> list[int]:
    return [record["step"] for record in records_of(out) if record["name"] == layout.TRAINING_STEP]


def test_thirty_steps(tmp_path: Path):
    callback = WhyslowCallback(max_overhead=1, hooks="all")
    model = train(tmp_path, [callback])
    out = tmp_path / "whyslow"
    assert whole_steps(out) == [10, 20, 30]
    for step in (10, 20, 30):
        assert {record["name"] for record in records_of(out) if record["step"] == step} >= PHASES
    assert header_of(out)["dropped"] == {}
    assert callback.capture is None and active_session() is None
    assert model.losses == train(tmp_path / "plain", []).losses, "training is the same with and without"


def test_accumulated_batches_are_one_step(tmp_path: Path):
    callback = WhyslowCallback(record_every_n_steps=1, max_overhead=1, hooks="all")
    train(tmp_path, [callback], accumulate_grad_batches=3, max_steps=5)
    out = tmp_path / "whyslow"
    assert whole_steps(out) == [1, 2, 3, 4, 5]
    micro = [r["micro"] for r in records_of(out) if r["name"] == layout.BACKWARD and r["step"] == 4]
    assert micro == [0, 1, 2]


def test_accumulated_batches_without_automatic_phases(tmp_path: Path):
    seen: list[int] = []

    class Spy(lightning.Callback):
        def on_train_batch_start(self, *_: Any) -> None:
            seen.append(callback.capture.recorder.micro)

    callback = WhyslowCallback(auto_phases=False, record_every_n_steps=1, max_overhead=1)
    train(tmp_path, [callback, Spy()], accumulate_grad_batches=3, max_steps=2)
    assert seen == [0, 1, 2, 0, 1, 2]


def test_two_optimizers_in_a_batch_are_one_step(tmp_path: Path):
    # The trainer counts each optimizer's step, so its numbers are 2, 4, 6 …
    train(tmp_path, [WhyslowCallback(max_overhead=1)], TwoOptimizers(), max_steps=40)
    assert whole_steps(tmp_path / "whyslow") == [10, 20]


def test_steps_continue_counting_after_a_checkpoint(tmp_path: Path):
    checkpoint = lightning.callbacks.ModelCheckpoint(dirpath=tmp_path, filename="at", every_n_train_steps=17)
    train(tmp_path, [checkpoint], max_steps=17, enable_checkpointing=True)
    callback = WhyslowCallback(record_every_n_steps=5, max_overhead=1)
    train(tmp_path, [callback], resume=str(tmp_path / "at.ckpt"))
    assert whole_steps(tmp_path / "whyslow") == [20, 25, 30]


def test_steps_with_a_validation_or_a_checkpoint_are_dropped(tmp_path: Path):
    checkpoint = lightning.callbacks.ModelCheckpoint(dirpath=tmp_path, every_n_train_steps=5, save_top_k=-1)
    callback = WhyslowCallback(record_every_n_steps=1, max_overhead=1)
    train(tmp_path, [callback, checkpoint], max_steps=9, val_check_interval=3, enable_checkpointing=True)
    # Validates after 3, 6 and 9, saves after 5.
    assert whole_steps(tmp_path / "whyslow") == [1, 2, 3, 5, 8, 9]


def test_a_failing_job_closes_the_capture_and_raises_its_error(tmp_path: Path):
    class Fails(lightning.Callback):
        def on_train_batch_start(self, trainer: Any, module: Any, batch: Any, index: int) -> None:
            if index == 3:
                raise RuntimeError("as a job does")

    callback = WhyslowCallback(record_every_n_steps=1, max_overhead=1)
    with pytest.raises(RuntimeError, match="as a job does"):
        train(tmp_path, [callback, Fails()])
    assert callback.capture is None and active_session() is None
    assert whole_steps(tmp_path / "whyslow") == [1, 2, 3]


def test_callbacks_can_be_pickled(tmp_path: Path):
    callback = pickle.loads(pickle.dumps(WhyslowCallback(record_every_n_steps=1, max_overhead=1)))
    train(tmp_path, [callback], max_steps=2)
    assert whole_steps(tmp_path / "whyslow") == [1, 2]


def test_the_older_package(tmp_path: Path):
    framework("pytorch_lightning")
    run_torch_program(
        """
        import sys, warnings
        import pytorch_lightning, torch
        from whyslow_capture.integrations.lightning import WhyslowCallback
        assert issubclass(WhyslowCallback, pytorch_lightning.Callback)
        assert "lightning.pytorch" not in sys.modules

        class Model(pytorch_lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(4, 1)
            def training_step(self, batch, index):
                return self.layer(batch).sum()
            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), lr=0.01)

        loader = torch.utils.data.DataLoader(torch.randn(60, 4), batch_size=2)
        callback = WhyslowCallback(max_overhead=1)
        pytorch_lightning.Trainer(
            default_root_dir=sys.argv[1], accelerator="cpu", logger=False, enable_progress_bar=False,
            enable_model_summary=False, enable_checkpointing=False, max_steps=20, callbacks=[callback],
        ).fit(Model(), loader)
        """,
        tmp_path,
    )
    assert whole_steps(tmp_path / "whyslow") == [10, 20]
