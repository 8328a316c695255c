"""The model is saved after every step. Planted: torch.save in the loop, far more often than anybody needs it.

    whyslow run -- python examples/checkpoint_often.py
    whyslow run -- python examples/checkpoint_often.py --fixed

Expected: much of the job is saving checkpoints, rule W4 (checkpoint-time), with the line of the call.
"""

import sys
import tempfile
import time

import torch
from torch import nn

EVERY = 100 if "--fixed" in sys.argv else 1
STEPS = 120


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(*(layer for _ in range(6) for layer in (nn.Linear(512, 512), nn.ReLU())))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    inputs = torch.randn(4, 512)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        for step in range(STEPS):
            optimizer.zero_grad()
            loss = model(inputs).square().mean()
            loss.backward()
            optimizer.step()
            if step % EVERY == 0:
                torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, f"{folder}/last.pt")
    print(f"loss {loss.item():.3f}, {1000 * (time.perf_counter() - start) / STEPS:.1f} ms per step")


if __name__ == "__main__":
    main()
