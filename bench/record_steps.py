"""
Runs a small training loop on the CPU and writes the time of every step as an event log: material for `npm run bench:compare`.
`python bench/record_steps.py OUT.jsonl [STEPS] [SLOWER]`: with SLOWER=0.05 every step takes 5% longer.
"""

from __future__ import annotations

import json
import sys
import time

import torch
from torch import nn


def main(out: str, steps: int = 400, slower: float = 0.0) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    optimizer = torch.optim.AdamW(model.parameters())
    inputs, targets = torch.randn(512, 256), torch.randint(0, 10, (512,))
    with open(out, "w", encoding="utf-8") as log:
        for step in range(steps):
            begin = time.perf_counter()
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
            worked = time.perf_counter() - begin
            while time.perf_counter() - begin < worked * (1 + slower):
                pass
            duration = 1e3 * (time.perf_counter() - begin)
            record = {"name": "training_step", "step": step, "rank": 0, "duration_ms": duration, "clock": "host"}
            log.write(f"{json.dumps(record)}\n")


if __name__ == "__main__":
    main(sys.argv[1], *(int(word) for word in sys.argv[2:3]), *(float(word) for word in sys.argv[3:4]))
