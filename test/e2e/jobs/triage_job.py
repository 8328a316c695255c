"""Jobs for `whyslow triage`, each with one known limit. They run until they are ended.

triage_job.py transforms | reading | threads | idle | compute | loading
Without a name it starts a job for each name in its standard input, forked, so that torch is imported once.
"""

import ctypes
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

import torch
from torch.utils.data import DataLoader, Dataset

PR_SET_PDEATHSIG = 1


class Samples(Dataset):
    def __init__(self, load):
        self.load = load

    def __len__(self):
        return 1_000_000

    def __getitem__(self, index):
        return self.load()


def transform():
    """Heavy work on one core."""
    total = 0
    for value in range(300_000):
        total += value
    return torch.tensor(float(total))


def reader(folder):
    """Small files from a slow store."""
    path = Path(folder) / "sample.bin"
    path.write_bytes(b"x" * 400_000)

    def read():
        time.sleep(0.02)
        return torch.tensor(float(len(path.read_bytes())))

    return read


def say_step():
    # In one piece: threads print at the same time.
    print(f"{os.getpid()} step\n", end="", flush=True)


def train(load, workers):
    for _ in DataLoader(Samples(load), batch_size=4, num_workers=workers):
        say_step()


def compute():
    a = torch.randn(128, 128)
    torch.set_num_threads(1)
    while True:
        for _ in range(200):
            a = torch.tanh(a @ a)
        say_step()


def crowd():
    """Many threads that compute at once on one CPU, as OpenMP does without a limit."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for _ in range(12):
        threading.Thread(target=compute, daemon=True).start()
    compute()


def main(kind):
    torch.set_num_threads(1)
    if kind == "transforms":
        train(transform, workers=1)
    elif kind == "loading":
        train(transform, workers=0)
    elif kind == "threads":
        crowd()
    elif kind == "compute":
        compute()
    elif kind == "idle":
        say_step()
        time.sleep(600)
    else:
        with tempfile.TemporaryDirectory() as folder:
            train(reader(folder), workers=2 if kind == "reading" else 0)


def forked():
    """In each child the name of its job, and None at the end."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # what has ended leaves no zombie
    for line in sys.stdin:
        if os.fork() == 0:
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # ends with this process
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            return line.strip()
    return None


if __name__ == "__main__" and (kind := sys.argv[1] if len(sys.argv) > 1 else forked()):
    main(kind)
