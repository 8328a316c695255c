"""Reinforcement learning that knows nothing of whyslow: a rollout without gradients, then four optimizer steps."""

import json
import statistics
import time

import torch

torch.manual_seed(0)
torch.set_num_threads(1)
policy = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.Tanh(), torch.nn.Linear(64, 4))
optimizer = torch.optim.Adam(policy.parameters(), 3e-4)
rollouts, iterations = [], []
for i in range(40):
    before = time.perf_counter()
    seen = []
    for _ in range(10):
        state = torch.randn(16)
        with torch.no_grad():
            policy(state).argmax().item()
        sum(i * 7919 % 101 for i in range(12000))  # the simulator
        seen.append(state)
    rollouts.append(time.perf_counter() - before)
    for _ in range(4):
        loss = policy(torch.stack(seen)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    iterations.append(time.perf_counter() - before)
medians = {"median_rollout": statistics.median(rollouts), "median_iteration": statistics.median(iterations)}
print("SPENT", json.dumps({"rollout": sum(rollouts), **medians}))
