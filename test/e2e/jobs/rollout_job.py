"""Reinforcement learning as people write it: a rollout in Python that the job names, then several optimizer steps."""

import json
import time

import torch
import whyslow_capture

torch.manual_seed(0)
torch.set_num_threads(1)
policy = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.Tanh(), torch.nn.Linear(64, 4))
optimizer = torch.optim.Adam(policy.parameters(), 3e-4)
capture = whyslow_capture.capture(record_every_n_steps=4).start()
spent = {"rollout": 0.0}
for _ in range(60):
    before = time.perf_counter()
    with capture.phase("rollout"):
        seen = []
        for _ in range(20):
            state = torch.randn(16)
            with torch.no_grad():
                policy(state).argmax().item()
            sum(i * 7919 % 101 for i in range(12000))  # the simulator
            seen.append(state)
    spent["rollout"] += time.perf_counter() - before
    for _ in range(2):
        loss = policy(torch.stack(seen)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    capture.step()
capture.close()
print("SPENT", json.dumps(spent))
