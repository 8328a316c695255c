"""transformers' Trainer with a model small enough for the CPU."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from frameworks import framework
from support import header_of, lines_of, records_of

import whyslow_capture
from whyslow_capture import layout
from whyslow_capture.api import active_session
from whyslow_capture.integrations.transformers import WhyslowCallback

transformers = framework("transformers")

PHASES = {layout.DATA_WAIT, layout.FORWARD, layout.BACKWARD, layout.OPTIMIZER, layout.TRAINING_STEP}


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        out = self.layer(x)
        return {"loss": torch.nn.functional.mse_loss(out, labels), "logits": out}


def rows(count: int) -> list[dict[str, torch.Tensor]]:
    generator = torch.Generator().manual_seed(3)
    return [{"x": torch.randn(4, generator=generator), "labels": torch.zeros(1)} for _ in range(count)]


def train(out: Path, callbacks: list[Any], resume: str | None = None, **given: Any) -> Any:
    torch.manual_seed(0)
    options = {"max_steps": 30, "per_device_train_batch_size": 2, "save_strategy": "no", "logging_steps": 1, **given}
    arguments = transformers.TrainingArguments(
        output_dir=str(out), report_to=[], use_cpu=True, disable_tqdm=True, seed=0, **options
    )
    trainer = transformers.Trainer(
        Model(), arguments, train_dataset=rows(64), eval_dataset=rows(4), callbacks=callbacks
    )
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.train(resume_from_checkpoint=resume)
    return trainer


def losses(trainer: Any) -> list[float]:
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


def steps_of(records: list[dict[str, Any]], name: str) -> list[int]:
    return [record["step"] for record in records if record["name"] == name]


def test_thirty_steps(tmp_path: Path):
    callback = WhyslowCallback(max_overhead=1, hooks="all")
    trainer = train(tmp_path, [callback])
    out = tmp_path / "whyslow"
    records = records_of(out)
    # Steps have the trainer's numbers.
    assert trainer.state.global_step == 30
    assert steps_of(records, layout.TRAINING_STEP) == [10, 20, 30]
    for step in (10, 20, 30):
        assert {record["name"] for record in records if record["step"] == step} >= PHASES
    assert header_of(out)["dropped"] == {}
    assert callback.capture is None and active_session() is None
    assert layout.run_file(out).exists() and layout.rank_file(out, 0).exists()
    assert losses(trainer) == losses(train(tmp_path / "plain", [])), "training is the same with and without"


def test_micro_batches_are_numbered(tmp_path: Path):
    train(
        tmp_path,
        [WhyslowCallback(out=tmp_path / "mine", max_overhead=1, hooks="all")],
        gradient_accumulation_steps=3,
        max_steps=10,
    )
    records = records_of(tmp_path / "mine")
    assert steps_of(records, layout.TRAINING_STEP) == [10]
    assert [record["micro"] for record in records if record["name"] == layout.BACKWARD] == [0, 1, 2]


def test_steps_continue_counting_after_a_checkpoint(tmp_path: Path):
    train(tmp_path, [], max_steps=17, save_strategy="steps", save_steps=17)
    config = {"record_every_n_steps": 5, "max_overhead": 1}
    train(tmp_path, [WhyslowCallback(**config)], resume=str(tmp_path / "checkpoint-17"))
    assert steps_of(records_of(tmp_path / "whyslow"), layout.TRAINING_STEP) == [20, 25, 30]


def test_steps_with_an_evaluation_or_a_checkpoint_are_dropped(tmp_path: Path):
    callback = WhyslowCallback(record_every_n_steps=1, max_overhead=1)
    train(tmp_path, [callback], max_steps=9, eval_strategy="steps", eval_steps=3, save_strategy="steps", save_steps=5)
    records = records_of(tmp_path / "whyslow")
    # Evaluates after 3, 6 and 9 and saves after 5, which falls into the step after (step 10 is never trained).
    assert steps_of(records, layout.TRAINING_STEP) == [1, 2, 3, 5, 8, 9]
    assert header_of(tmp_path / "whyslow")["dropped"] == {"steps-with-evaluation-or-checkpoint": 4}


def test_an_active_capture_is_joined_and_left_open(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with whyslow_capture.capture(tmp_path / "outer", max_overhead=1, record_every_n_steps=2) as cap:
        train(tmp_path / "trainer", [WhyslowCallback()], max_steps=6)
        assert not cap.is_closed
    assert steps_of(records_of(tmp_path / "outer"), layout.TRAINING_STEP) == [2, 4, 6]
    assert not (tmp_path / "trainer" / "whyslow").exists()
    assert "whyslow_capture" not in capsys.readouterr().err


def test_the_environment_sets_folder_and_switch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WHYSLOW_OUT", str(tmp_path / "env"))
    monkeypatch.setenv("WHYSLOW_RECORD_EVERY_N_STEPS", "2")
    train(tmp_path / "trainer", [WhyslowCallback(max_overhead=1)], max_steps=4)
    assert steps_of(records_of(tmp_path / "env"), layout.TRAINING_STEP) == [2, 4]
    monkeypatch.setenv("WHYSLOW_ENABLED", "no")
    monkeypatch.setenv("WHYSLOW_OUT", str(tmp_path / "off"))
    train(tmp_path / "trainer", [WhyslowCallback()], max_steps=4)
    assert not (tmp_path / "off").exists()


def test_training_twice_with_one_callback_after_a_failure(tmp_path: Path):
    callback = WhyslowCallback(record_every_n_steps=1, max_overhead=1)

    class Fails(transformers.TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step == 3:
                raise RuntimeError("as a job does")

    with pytest.raises(RuntimeError, match="as a job does"):
        train(tmp_path / "a", [callback, Fails()], max_steps=6)
    train(tmp_path / "b", [callback], max_steps=2)
    assert steps_of(records_of(tmp_path / "a" / "whyslow"), layout.TRAINING_STEP) == [1, 2, 3]
    assert steps_of(records_of(tmp_path / "b" / "whyslow"), layout.TRAINING_STEP) == [1, 2]


def test_a_mistake_in_the_settings_raises_at_once():
    with pytest.raises(ValueError, match="did you mean record_every_n_steps"):
        WhyslowCallback(record_every=3)


def test_callbacks_can_be_copied_and_pickled(tmp_path: Path):
    callback = WhyslowCallback(out=str(tmp_path), record_every_n_steps=1, max_overhead=1)
    for twin in (copy.deepcopy(callback), pickle.loads(pickle.dumps(callback))):
        twin.on_train_begin(transformers.TrainingArguments(output_dir="x"), transformers.TrainerState(), None)
        assert Path(twin.capture.out) == tmp_path
        twin.on_train_end(None, None, None)


def test_every_line_is_json_of_this_run(tmp_path: Path):
    train(tmp_path, [WhyslowCallback(max_overhead=1, run="mine")], max_steps=10)
    assert {line["run"] for line in lines_of(tmp_path / "whyslow")} == {"mine"}
