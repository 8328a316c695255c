"""
A job that torch.compile compiles, with timers of its own: compiled_job.py CASE RANK WORLD OUT

CASE: `ragged` (a new shape every few steps), `breaks` (a print inside the model), `alone` (all ranks exchange a number in
every step, and only the shapes of the last one change). OUT gets seconds: of the calls that compiled, beyond what such
a call takes later, and of all of the loop. Set TORCH_TRACE to log what torch does.
"""

import json
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
from torch import nn

case, rank, world, out = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
torch.set_num_threads(1)
torch.manual_seed(0)
torch._dynamo.config.recompile_limit = 64
if world > 1:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29671")
    dist.init_process_group("gloo", rank=rank, world_size=world)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(64, 64), nn.Linear(64, 64)

    def forward(self, x):
        x = torch.relu(self.first(x)) + x
        # Not in a loop: torch.compile then leaves the whole function alone.
        if case == "breaks":
            print(end="")
        return (torch.relu(self.second(x)) + x).square().mean()


model = Model()
compiled = torch.compile(model, dynamic=False)
# By shape: the first call compiles, and the same call later does not.
calls: dict[int, list[float]] = {}
began = time.perf_counter()
for step in range(20):
    varies = case == "ragged" or (case == "alone" and rank == world - 1)
    batch = 8 + (step // 8 if varies else 0)
    x = torch.randn(batch, 64)
    start = time.perf_counter()
    with torch.no_grad():
        compiled(x)
    calls.setdefault(batch, []).append(time.perf_counter() - start)
    if world > 1:
        dist.all_reduce(torch.zeros(1))
loop = time.perf_counter() - began
compiling = sum(first - statistics.median(later) for first, *later in calls.values())
with open(f"{out}-{rank}.json", "w") as file:
    json.dump({"compiling": compiling, "loop": loop, "shapes": len(calls)}, file)
if world > 1:
    dist.destroy_process_group()
