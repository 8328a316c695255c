"""Turns of jobs whose loop belongs to a framework: fixes in their own arguments."""

from __future__ import annotations

from pathlib import Path

from trial_support import tried

TRAINER = """
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments
sizes = dict(vocab_size=50, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1)
model = BertForSequenceClassification(BertConfig(**sizes, num_labels=2, attn_implementation="eager"))
data = [dict(input_ids=torch.randint(0, 50, (4,)), labels=torch.tensor(i % 2)) for i in range(256)]
given = TrainingArguments(
    "output", per_device_train_batch_size=2, gradient_accumulation_steps=2, max_steps=60, save_steps=4,
    save_total_limit=1, use_cpu=True, disable_tqdm=True,
)
Trainer(model, given, train_dataset=data).train()
"""


def test_trainer(tmp_path: Path) -> None:
    turn = tried(TRAINER, tmp_path, "fused-attention", "larger-micro-batch")
    assert turn.result["framework"] == "transformers"
    assert turn.result["steps"] == 9
    assert turn.result["applied"] == {
        "larger-micro-batch": ["batch 2 → 4, accumulation 2 → 1"],
        "fused-attention": ['attn_implementation "eager" → "sdpa"'],
    }


LIGHTNING = """
import torch, lightning as L
from torch.utils.data import DataLoader, TensorDataset
from lightning.pytorch.callbacks import ModelCheckpoint
class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(8, 1)
    def training_step(self, batch, index):
        return self.net(batch[0]).pow(2).mean()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.01)
quiet = dict(enable_progress_bar=False, enable_model_summary=False)
save = ModelCheckpoint(dirpath="saved", every_n_train_steps=4)
loader = DataLoader(TensorDataset(torch.randn(400, 8)), 4)
L.Trainer(max_steps=60, accelerator="cpu", callbacks=[save], **quiet).fit(Model(), loader)
"""


def test_lightning(tmp_path: Path) -> None:
    turn = tried(LIGHTNING, tmp_path, "fused-optimizer", "bf16-autocast")
    assert turn.result["framework"] == "lightning"
    assert turn.result["steps"] == 9
    assert sorted(turn.result["applied"]) == ["bf16-autocast", "fused-optimizer"]
