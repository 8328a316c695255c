"""Records training loops on the CPU with their true step: `python zoo/programs/cpu_loops.py --out DIR [--only NAME]`.

Each loop runs in two processes on the same core. In one of them no profiler ever runs: its steps are the truth. The other one records.
They take turns, so that both see the same machine, and each runs a few steps before its turn counts. Steps during which a process was
not running the whole time (other programs had the core) do not count.
"""

import argparse
import gzip
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F
from torch.profiler import ProfilerActivity, profile, schedule
from torch.utils.data import DataLoader, Dataset

ENOUGH = 5
"""Windows that had the core to themselves; the one of median length is kept."""
MOST_ROUNDS = 40
UNDISTURBED = 0.03
PLAIN_STEPS = 12
BEFORE_TURN = 4
ACTIVE = 5


def trainer(model, inputs, loss_of=None, optimizer=None, **kwargs):
    optimizer = (optimizer or torch.optim.SGD)(model.parameters(), lr=1e-3, **kwargs)
    loss_of = loss_of or (lambda out: out.float().square().mean())

    def step():
        optimizer.zero_grad()
        loss = loss_of(model(*inputs))
        loss.backward()
        optimizer.step()

    return step


def mlp(width, depth, batch=64, **kwargs):
    layers = [m for _ in range(depth) for m in (nn.Linear(width, width), nn.ReLU())]
    return trainer(nn.Sequential(*layers), (torch.randn(batch, width),), **kwargs)


def cnn(channels, size, batch, norm=True, memory=torch.contiguous_format):
    layers, before = [], 3
    for c in (channels, channels * 2, channels * 4):
        layers += [nn.Conv2d(before, c, 3, 2, 1), nn.BatchNorm2d(c) if norm else nn.Identity(), nn.ReLU()]
        before = c
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, 10))
    return trainer(net.to(memory_format=memory), (torch.randn(batch, 3, size, size).to(memory_format=memory),))


def encoder(width, layers, length, batch):
    layer = nn.TransformerEncoderLayer(width, 4, width * 4, batch_first=True, dropout=0.0)
    return trainer(nn.TransformerEncoder(layer, layers), (torch.randn(batch, length, width),), optimizer=torch.optim.AdamW)


def cells(kind, length, width):
    cell, head = kind(width, width), nn.Linear(width, 1)
    both = nn.ModuleList([cell, head])
    optimizer = torch.optim.Adam(both.parameters())
    data = torch.randn(length, 16, width)

    def step():
        state = None
        for x in data:
            state = cell(x, state)
        out = head(state[0] if isinstance(state, tuple) else state)
        optimizer.zero_grad()
        out.mean().backward()
        optimizer.step()

    return step


def recurrent(width, length):
    net = nn.LSTM(width, width, 2, batch_first=True)
    return trainer(net, (torch.randn(16, length, width),), loss_of=lambda out: out[0].mean())


def embeddings(tables, rows):
    bags = nn.ModuleList([nn.EmbeddingBag(rows, 16) for _ in range(tables)])
    top = nn.Linear(16 * tables, 1)
    optimizer = torch.optim.Adagrad([*bags.parameters(), *top.parameters()])
    ids = torch.randint(0, rows, (128, 4))

    def step():
        optimizer.zero_grad()
        F.softplus(top(torch.cat([bag(ids) for bag in bags], 1))).mean().backward()
        optimizer.step()

    return step


def forward_only(model, *inputs):
    model.eval()

    def step():
        with torch.no_grad():
            model(*inputs)

    return step


def decode(tokens):
    layer = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True, dropout=0.0)
    model, table = nn.TransformerEncoder(layer, 2).eval(), nn.Embedding(1000, 128)

    def step():
        text = torch.zeros(1, 1, dtype=torch.long)
        with torch.no_grad():
            for _ in range(tokens):
                logits = model(table(text))[:, -1] @ table.weight.T
                text = torch.cat([text, logits.argmax(-1, keepdim=True)], 1)

    return step


def python_heavy(words):
    step_of_model = mlp(64, 2)

    def step():
        counts = {}
        for i in range(words):
            word = f"w{i * 7919 % 1013}"
            counts[word] = counts.get(word, 0) + len(word)
        step_of_model()

    return step


def reads_each_parameter():
    net = nn.Sequential(*[nn.Linear(32, 32) for _ in range(12)])
    inner = trainer(net, (torch.randn(32, 32),))

    def step():
        inner()
        sum(p.grad.norm().item() for p in net.parameters())

    return step


class Records(Dataset):
    def __init__(self, work):
        self.work = work

    def __len__(self):
        return 1_000_000

    def __getitem__(self, i):
        total = sum(math.sin(i + k) for k in range(self.work))
        return torch.full((64,), total / 100)


def loading(workers, work):
    net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    batches = iter(DataLoader(Records(work), batch_size=16, num_workers=workers))

    def step():
        optimizer.zero_grad()
        net(next(batches)).mean().backward()
        optimizer.step()

    return step


def gan():
    g = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 32))
    d = nn.Sequential(nn.Linear(32, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
    og, od = (torch.optim.Adam(m.parameters()) for m in (g, d))
    real = torch.randn(32, 32)

    def step():
        fake = g(torch.randn(32, 16))
        od.zero_grad()
        (F.softplus(-d(real)).mean() + F.softplus(d(fake.detach())).mean()).backward()
        od.step()
        og.zero_grad()
        F.softplus(-d(fake)).mean().backward()
        og.step()

    return step


def accumulation(parts):
    net = nn.Sequential(nn.Linear(128, 256), nn.GELU(), nn.Linear(256, 128))
    optimizer = torch.optim.AdamW(net.parameters())
    data = torch.randn(parts, 32, 128)

    def step():
        optimizer.zero_grad()
        for part in data:
            (net(part).square().mean() / parts).backward()
        optimizer.step()

    return step


def linear_algebra(size):
    a = torch.randn(size, size, dtype=torch.float64)

    def step():
        spd = a @ a.T + size * torch.eye(size, dtype=torch.float64)
        torch.linalg.solve(torch.linalg.cholesky(spd), a)
        torch.linalg.svdvals(a)

    return step


def graph_network(nodes, edges):
    w = nn.Linear(32, 32)
    optimizer = torch.optim.Adam(w.parameters())
    x = torch.randn(nodes, 32)
    source, target = torch.randint(0, nodes, (2, edges))

    def step():
        h = x
        for _ in range(3):
            message = w(h)[source]
            h = torch.zeros_like(h).index_add(0, target, message).relu()
        optimizer.zero_grad()
        h.mean().backward()
        optimizer.step()

    return step


def acting(steps):
    policy = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(policy.parameters())

    def step():
        state, logs = torch.zeros(8), []
        for _ in range(steps):
            distribution = torch.distributions.Categorical(logits=policy(state))
            action = distribution.sample()
            logs.append(distribution.log_prob(action))
            state = state * 0.9 + float(action.item())
        optimizer.zero_grad()
        (-torch.stack(logs).mean()).backward()
        optimizer.step()

    return step


def experts(count):
    gate, nets = nn.Linear(64, count), nn.ModuleList([nn.Linear(64, 64) for _ in range(count)])
    optimizer = torch.optim.SGD([*gate.parameters(), *nets.parameters()], lr=0.01)
    x = torch.randn(256, 64)

    def step():
        choice = gate(x).argmax(-1)
        out = torch.zeros_like(x)
        for i, net in enumerate(nets):
            rows = (choice == i).nonzero().squeeze(-1)
            if rows.numel():
                out = out.index_add(0, rows, net(x[rows]))
        optimizer.zero_grad()
        out.square().mean().backward()
        optimizer.step()

    return step


def ordering(size):
    x = torch.randn(size)

    def step():
        values, _ = torch.sort(x)
        torch.unique((values * 10).long())
        torch.topk(x, 100)
        torch.histc(x, 50)

    return step


class Squared(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * ctx.saved_tensors[0] * grad


def own_functions(count):
    w = torch.randn(64, 64, requires_grad=True)

    def step():
        y = w
        for _ in range(count):
            y = Squared.apply(y) * 0.5 + 0.1
        y.mean().backward()
        w.grad = None

    return step


def checkpointed():
    from torch.utils.checkpoint import checkpoint

    blocks = nn.ModuleList([nn.Sequential(nn.Linear(128, 256), nn.GELU(), nn.Linear(256, 128)) for _ in range(6)])
    optimizer = torch.optim.AdamW(blocks.parameters())
    x = torch.randn(64, 128)

    def step():
        h = x
        for block in blocks:
            h = h + checkpoint(block, h, use_reentrant=False)
        optimizer.zero_grad()
        h.mean().backward()
        optimizer.step()

    return step


def autocast(width):
    inner_net = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))
    optimizer = torch.optim.SGD(inner_net.parameters(), lr=0.01)
    x = torch.randn(64, width)

    def step():
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = inner_net(x).mean()
        loss.float().backward()
        optimizer.step()

    return step


LOOPS = {
    "mlp_tiny": lambda: mlp(32, 4),
    "mlp_tiny_adam": lambda: mlp(32, 8, optimizer=torch.optim.Adam, foreach=False),
    "mlp_deep_forloop": lambda: mlp(16, 40, optimizer=torch.optim.AdamW, foreach=False),
    "mlp_foreach": lambda: mlp(64, 16, optimizer=torch.optim.AdamW, foreach=True),
    "mlp_wide": lambda: mlp(768, 3, batch=256),
    "cnn_small": lambda: cnn(8, 32, 8),
    "cnn_large": lambda: cnn(32, 64, 16),
    "cnn_channels_last": lambda: cnn(16, 48, 8, memory=torch.channels_last),
    "audio_conv1d": lambda: trainer(
        nn.Sequential(nn.Conv1d(1, 16, 9, 4), nn.ReLU(), nn.Conv1d(16, 32, 9, 4), nn.ReLU()), (torch.randn(8, 1, 8000),)
    ),
    "encoder_small": lambda: encoder(64, 2, 32, 4),
    "encoder_large": lambda: encoder(256, 3, 128, 8),
    "lstm": lambda: recurrent(64, 32),
    "gru_cells": lambda: cells(nn.GRUCell, 40, 32),
    "lstm_cells": lambda: cells(nn.LSTMCell, 24, 64),
    "embedding_bags": lambda: embeddings(12, 2000),
    "infer_mlp": lambda: forward_only(nn.Sequential(*[nn.Linear(128, 128) for _ in range(20)]), torch.randn(8, 128)),
    "infer_encoder": lambda: forward_only(
        nn.TransformerEncoder(nn.TransformerEncoderLayer(128, 4, 512, batch_first=True), 4), torch.randn(2, 64, 128)
    ),
    "decode": lambda: decode(16),
    "python_heavy": lambda: python_heavy(20_000),
    "python_some": lambda: python_heavy(1500),
    "reads_each_parameter": reads_each_parameter,
    "load_inline": lambda: loading(0, 600),
    "load_workers": lambda: loading(1, 3000),
    "gan": gan,
    "accumulation": lambda: accumulation(8),
    "linear_algebra": lambda: linear_algebra(96),
    "graph_network": lambda: graph_network(500, 4000),
    "acting": lambda: acting(12),
    "experts": lambda: experts(8),
    "ordering": lambda: ordering(50_000),
    "own_functions": lambda: own_functions(30),
    "checkpointed": checkpointed,
    "autocast": lambda: autocast(256),
    "encoder_stacks": lambda: encoder(64, 2, 32, 4),
    "gru_cells_stacks": lambda: cells(nn.GRUCell, 16, 32),
    "cnn_shapes_memory": lambda: cnn(8, 32, 8),
    "gan_shapes": gan,
    "experts_memory": lambda: experts(8),
}
OPTIONS = {
    "encoder_stacks": {"with_stack": True},
    "gru_cells_stacks": {"with_stack": True},
    "cnn_shapes_memory": {"record_shapes": True, "profile_memory": True},
    "gan_shapes": {"record_shapes": True},
    "experts_memory": {"profile_memory": True},
}
"""Their time is not spent on the core of the process, and some of their steps wait for all the others."""
WAITS = {"load_workers"}


def timed(step):
    cpu, wall = time.thread_time(), time.perf_counter()
    step()
    return time.perf_counter() - wall, time.thread_time() - cpu


def warmed_up(name):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    step = LOOPS[name]()
    for _ in range(10):
        step()
    return step


def serve_plain_steps(name):
    """The process without a profiler: a line of timings for each line it is sent."""
    step = warmed_up(name)
    print("[]", flush=True)
    for _ in sys.stdin:
        for _ in range(BEFORE_TURN):
            step()
        print(json.dumps([timed(step) for _ in range(PLAIN_STEPS)]), flush=True)


def profiled_block(step, options):
    """The trace, the length of its steps by their marks, and the part of it in which the process did not run."""
    for _ in range(BEFORE_TURN):
        step()
    profiler = profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=0, warmup=1, active=ACTIVE, repeat=1),
        acc_events=True,
        **options,
    )
    ran = []
    with profiler:
        for _ in range(1 + ACTIVE):
            ran.append(timed(step)[1])
            profiler.step()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        trace = path.read_bytes()
    marks = [e["dur"] for e in json.loads(trace)["traceEvents"] if e.get("name", "").startswith("ProfilerStep#")]
    step_ms = sum(marks) / len(marks) / 1000
    return trace, step_ms, 1 - 1000 * statistics.mean(ran[1:]) / step_ms


def undisturbed_windows(step, name, plain_block):
    """(length of a recorded step, trace, plain steps right before and after): processors change their speed within seconds."""
    before, windows = plain_block(), []
    for _ in range(MOST_ROUNDS):
        trace, profiled_ms, lost = profiled_block(step, OPTIONS.get(name, {}))
        after = plain_block()
        plain = [wall for wall, cpu in before + after if name in WAITS or cpu > 0.97 * wall]
        before = after
        if len(plain) >= PLAIN_STEPS and (name in WAITS or lost <= UNDISTURBED):
            windows.append((profiled_ms, trace, plain))
        if len(windows) == ENOUGH:
            break
    return sorted(windows, key=lambda window: window[0])


def run_loop(name, out):
    step = warmed_up(name)
    command = [sys.executable, __file__, "--plain", name]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as beside:
        beside.stdout.readline()

        def plain_block():
            beside.stdin.write("go\n")
            beside.stdin.flush()
            return json.loads(beside.stdout.readline())

        windows = undisturbed_windows(step, name, plain_block)
        beside.stdin.close()
    if not windows:
        raise SystemExit(f"{name}: other programs had the processor all the time")
    profiled_ms, trace, plain = windows[len(windows) // 2]
    low, middle, high = statistics.quantiles(plain, n=4)
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    with gzip.GzipFile(folder / "rank0.json.gz", "wb", 9, mtime=0) as file:
        file.write(trace)
    truth = {
        "name": name,
        "step_ms": round(1000 * (statistics.mean(plain) if name in WAITS else middle), 4),
        "spread": round((high - low) / middle, 3),
        "profiled_ms": round(profiled_ms, 4),
        "windows": len(windows),
    }
    (folder / "truth.json").write_text(json.dumps(truth) + "\n")
    print(json.dumps(truth), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", action="append")
    parser.add_argument("--one", help="records one loop in this process")
    parser.add_argument("--plain", help="runs one loop without a profiler")
    arguments = parser.parse_args()
    if arguments.plain:
        serve_plain_steps(arguments.plain)
        return
    if arguments.out is None:
        parser.error("--out is missing")
    if arguments.one:
        run_loop(arguments.one, arguments.out)
        return
    # One core for both processes of a loop; loaders need one for their workers too.
    cores = sorted(os.sched_getaffinity(0))
    for name in arguments.only or LOOPS:
        os.sched_setaffinity(0, cores[-2:] if name in WAITS else cores[-1:])
        command = [sys.executable, __file__, "--out", str(arguments.out), "--one", name]
        try:
            subprocess.run(command, check=False, timeout=300, env={**os.environ, "OMP_NUM_THREADS": "1"})
        except subprocess.TimeoutExpired:
            print(f"{name}: no result within 300 s", file=sys.stderr)
    runs = [json.loads(path.read_text()) for path in sorted(arguments.out.glob("*/truth.json"))]
    document = {"torch": torch.__version__, "gpu": "none", "runs": runs}
    (arguments.out / "truth.json").write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
