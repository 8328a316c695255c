"""
A job that evaluates and saves between its steps, as people write it. Prints its own timers: seconds of each part, from
the start of the process to its end.
"""

import argparse
import json
import os
import tempfile
import time

import torch
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=120)
parser.add_argument("--evaluate-every", type=int, default=10)
parser.add_argument("--save-every", type=int, default=20)
parser.add_argument("--start-up", type=float, default=0.0)
arguments = parser.parse_args()

spent = {"steps": 0.0, "evaluation": 0.0, "checkpoint": 0.0}
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 256))
optimizer = torch.optim.AdamW(model.parameters())
train = DataLoader(TensorDataset(torch.randn(64 * arguments.steps, 256)), batch_size=64)
validation = DataLoader(TensorDataset(torch.randn(64 * 40, 256)), batch_size=64)
checkpoint = os.path.join(tempfile.mkdtemp(), "checkpoint.pt")
time.sleep(arguments.start_up)


def evaluate():
    model.eval()
    with torch.no_grad():
        for (batch,) in validation:
            model(batch)
    model.train()


def save():
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, checkpoint)


began = time.perf_counter()
for step, (batch,) in enumerate(train, 1):
    loss = model(batch).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % arguments.evaluate_every == 0:
        before = time.perf_counter()
        evaluate()
        spent["evaluation"] += time.perf_counter() - before
    if step % arguments.save_every == 0:
        before = time.perf_counter()
        save()
        spent["checkpoint"] += time.perf_counter() - before
spent["steps"] = time.perf_counter() - began - spent["evaluation"] - spent["checkpoint"]
print("SPENT", json.dumps(spent))
