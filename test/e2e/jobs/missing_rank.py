"""Four gloo ranks. One never reaches the collective. Started with torchrun, or by itself with fork."""

import os
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

RANKS, MISSING = 4, 2


def lost_in_checkpoint():
    time.sleep(600)


def work(rank, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=RANKS)
    value = torch.ones(4)
    dist.all_reduce(value)
    print("ready", rank, flush=True)
    if rank == MISSING:
        lost_in_checkpoint()
    dist.all_reduce(value)


if __name__ == "__main__":
    if "RANK" in os.environ:
        work(int(os.environ["RANK"]), "env://")
    else:
        store = f"file://{sys.argv[1]}"
        mp.start_processes(work, args=(store,), nprocs=RANKS, start_method="fork")
