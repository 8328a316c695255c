"""Jobs of two frameworks for try-gpu.py, faulty or repaired: try_jobs.py trainer|lightning bad|good [--smoke]"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

SMOKE = "--smoke" in sys.argv
FOREVER = 100_000


class Texts(Dataset[dict[str, torch.Tensor]]):
    def __len__(self) -> int:
        return FOREVER

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        generator = torch.Generator().manual_seed(index)
        ids = torch.randint(0, 8192, (16 if SMOKE else 384,), generator=generator)
        return {"input_ids": ids, "labels": torch.tensor(index % 4)}


def trainer(good: bool) -> None:
    """fp32 without autocast; repaired: bf16=True."""
    from transformers import (
        BertConfig,
        BertForSequenceClassification,
        Trainer,
        TrainingArguments,
    )

    torch.manual_seed(0)
    sizes = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    }
    full = {
        "hidden_size": 768,
        "intermediate_size": 3072,
        "num_hidden_layers": 6,
        "num_attention_heads": 12,
    }
    model = BertForSequenceClassification(BertConfig(vocab_size=8192, num_labels=4, **(sizes if SMOKE else full)))
    arguments = TrainingArguments(
        "try-trainer-output",
        per_device_train_batch_size=2 if SMOKE else 64,
        dataloader_num_workers=0 if SMOKE else 4,
        max_steps=FOREVER,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        logging_steps=1000,
        bf16=good,
        use_cpu=SMOKE,
    )
    Trainer(model, arguments, train_dataset=Texts()).train()


class Pictures(Dataset[tuple[torch.Tensor, int]]):
    """NumPy work on one core for each sample, as augmentations are."""

    def __len__(self) -> int:
        return FOREVER

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        pixels = 16 if SMOKE else 160
        picture = np.random.default_rng(index).standard_normal((3, pixels, pixels)).astype(np.float32)
        picture = np.fft.ifft2(np.fft.fft2(picture)).real.astype(np.float32)
        return torch.from_numpy(picture), index % 10


def lightning(good: bool) -> None:
    """num_workers=0; repaired: eight."""
    try:
        import lightning.pytorch as pl
    except ImportError:
        import pytorch_lightning as pl

    class Model(pl.LightningModule):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            layers: list[Any] = [
                torch.nn.Conv2d(3, 32, 3, 2),
                torch.nn.ReLU(),
                torch.nn.AdaptiveAvgPool2d(1),
            ]
            self.net = torch.nn.Sequential(*layers, torch.nn.Flatten(), torch.nn.Linear(32, 10))

        def training_step(self, batch: Any, index: int) -> torch.Tensor:
            return F.cross_entropy(self.net(batch[0]), batch[1])

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters(), 1e-3)

    workers = (1 if SMOKE else 8) if good else 0
    loader = DataLoader(
        Pictures(),
        4 if SMOKE else 32,
        num_workers=workers,
        persistent_workers=workers > 0,
    )
    options: dict[str, Any] = {
        "max_steps": FOREVER,
        "logger": False,
        "enable_progress_bar": False,
    }
    options |= {
        "accelerator": "cpu" if SMOKE else "gpu",
        "devices": 1,
        "enable_model_summary": False,
    }
    pl.seed_everything(0)
    pl.Trainer(**options, enable_checkpointing=False).fit(Model(), loader)


if __name__ == "__main__":
    {"trainer": trainer, "lightning": lightning}[sys.argv[1]](sys.argv[2] == "good")
