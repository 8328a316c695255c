"""
A job of several gloo ranks that stops at a planted fault: hung_job.py LAYOUT FAULT RANK OUT [STEP]

LAYOUT: `data` (one group), `tensor` (groups of two, and one of data parallelism across them), `pipeline` (stages that
send and receive). FAULT: `sleep`, `gil` (sleeps in C without letting go of the interpreter), `order` (calls its
collectives in another order), `die`, `stop`. Before its fault the rank writes its process id to OUT; `stop` waits there
for a SIGSTOP and goes on without one. Starts with torchrun, or with RANK, WORLD_SIZE and MASTER_… set.
"""

import ctypes
import os
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch import nn

layout, fault, culprit, out = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
at = int(sys.argv[5]) if len(sys.argv) > 5 else 30

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(rank)
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32))
optimizer = torch.optim.SGD(model.parameters(), 1e-3)


def write_report():
    if fault == "gil":
        # PyDLL holds the interpreter during the call, as an extension that forgets to let go does.
        ctypes.PyDLL(None).sleep(600)
    time.sleep(600)


def say_where():
    with open(f"{out}.new", "w") as file:
        file.write(str(os.getpid()))
    os.rename(f"{out}.new", out)


def is_faulty(step):
    """Whether this rank is to call its collectives in another order now."""
    if step != at or rank != culprit:
        return False
    say_where()
    if fault == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault in ("sleep", "gil"):
        write_report()
    if fault == "stop":
        time.sleep(0.2)
    return fault == "order"


def train_step(batch):
    optimizer.zero_grad()
    loss = model(batch).square().mean()
    loss.backward()
    return loss


def average_gradients(group, size):
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad, group=group)
        parameter.grad /= size


def data_step(step):
    loss = train_step(torch.randn(8, 32))
    metrics = [torch.zeros(1) for _ in range(world)]
    if is_faulty(step):
        dist.all_gather(metrics, loss.detach().reshape(1))
        average_gradients(None, world)
    else:
        average_gradients(None, world)
        dist.all_gather(metrics, loss.detach().reshape(1))


# Tensor groups of neighbors, and data groups of the ranks with the same place in theirs.
if layout == "tensor":
    tensors = [dist.new_group([first, first + 1]) for first in range(0, world, 2)]
    datas = [dist.new_group(list(range(place, world, 2))) for place in range(2)]


def tensor_step(step):
    tensor, data = tensors[rank // 2], datas[rank % 2]
    hidden = model(torch.randn(8, 32))
    parts = [torch.zeros(8, 32) for _ in range(2)]
    if is_faulty(step):
        dist.all_gather(parts, hidden.detach(), group=tensor)
        dist.all_reduce(hidden.detach(), group=tensor)
    else:
        dist.all_reduce(hidden.detach(), group=tensor)
        dist.all_gather(parts, hidden.detach(), group=tensor)
    hidden.square().mean().backward()
    average_gradients(data, world // 2)


def pipeline_step(step):
    received, gradient = torch.zeros(8, 32), torch.zeros(8, 32)
    odd = is_faulty(step)
    if odd and rank < world - 1:
        dist.recv(gradient, rank + 1)
    if rank > 0:
        dist.recv(received, rank - 1)
    output = model(received)
    if rank < world - 1:
        dist.send(output.detach(), rank + 1)
        dist.recv(gradient, rank + 1)
    output.backward(gradient)
    if rank > 0:
        dist.send(received, rank - 1)


step_of = {"data": data_step, "tensor": tensor_step, "pipeline": pipeline_step}[layout]
for step in range(1_000_000):
    optimizer.zero_grad()
    step_of(step)
    optimizer.step()
    if step == at + 20000:
        break
dist.destroy_process_group()
