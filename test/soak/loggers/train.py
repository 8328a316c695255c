"""`train.py FRAMEWORK`: a job that waits for its loader, and logs to W&B, MLflow and TensorBoard as jobs do."""

import sys
import time

import torch

LOGGERS = ["wandb", "mlflow", "tensorboard"]
STEPS = 60


class Slow(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 2 * STEPS

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(0.01)
        return torch.randn(4)


def with_transformers() -> None:
    import transformers
    from whyslow_capture.integrations.transformers import WhyslowCallback

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
            out = self.layer(x)
            return {"loss": torch.nn.functional.mse_loss(out, labels), "logits": out}

    class Rows(Slow):
        def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
            return {"x": super().__getitem__(index), "labels": torch.zeros(1)}

    arguments = transformers.TrainingArguments(
        output_dir="transformers",
        report_to=LOGGERS,
        use_cpu=True,
        disable_tqdm=True,
        max_steps=STEPS,
        per_device_train_batch_size=2,
        save_strategy="no",
    )
    transformers.Trainer(Model(), arguments, train_dataset=Rows(), callbacks=[WhyslowCallback()]).train()


def with_lightning() -> None:
    import os

    import lightning
    from lightning.pytorch.loggers import MLFlowLogger, TensorBoardLogger, WandbLogger
    from whyslow_capture.integrations.lightning import WhyslowCallback

    class Model(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def training_step(self, batch: torch.Tensor, index: int) -> torch.Tensor:
            return self.layer(batch).square().mean()

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=0.01)

    lightning.Trainer(
        default_root_dir="lightning",
        accelerator="cpu",
        max_steps=STEPS,
        logger=[
            TensorBoardLogger("lightning"),
            WandbLogger(project="soak", offline=True),
            MLFlowLogger("soak", tracking_uri=os.environ["MLFLOW_TRACKING_URI"]),
        ],
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
        callbacks=[WhyslowCallback()],
    ).fit(Model(), torch.utils.data.DataLoader(Slow(), batch_size=2))


def with_accelerate() -> None:
    import accelerate
    from whyslow_capture.integrations.accelerate import instrument

    accelerator = accelerate.Accelerator(cpu=True, project_dir="accelerate", log_with=LOGGERS)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = torch.utils.data.DataLoader(Slow(), batch_size=2)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    instrument(accelerator)
    accelerator.init_trackers("soak")
    for batch in loader:
        accelerator.backward(model(batch).square().mean())
        optimizer.step()
        optimizer.zero_grad()
    accelerator.end_training()


if __name__ == "__main__":
    {"transformers": with_transformers, "lightning": with_lightning, "accelerate": with_accelerate}[sys.argv[1]]()
