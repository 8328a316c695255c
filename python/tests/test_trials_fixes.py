"""Fixes that `whyslow try` applies from outside, in real jobs on the CPU."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from support import run_torch_program
from trial_support import LOOP, injected_trial, plain_turn, tried

from whyslow_trials.fixes import FIXES


def test_every_fix_has_a_name_of_its_own() -> None:
    assert len({fix.name for fix in FIXES}) == len(FIXES)


def test_whether_tf32_is_on_whatever_it_was_set_with() -> None:
    import torch

    from whyslow_trials.fixes.flags import tf32_is_on

    matmul = torch.backends.cuda.matmul
    try:
        torch.set_float32_matmul_precision("highest")
        assert not tf32_is_on()
        torch.set_float32_matmul_precision("high")
        assert tf32_is_on()
        # From here on torch.get_float32_matmul_precision fails.
        matmul.allow_tf32 = False
        assert not tf32_is_on()
        torch.set_float32_matmul_precision("high")
        assert tf32_is_on()
        matmul.fp32_precision = "ieee"
        assert not tf32_is_on()
    finally:
        torch.set_float32_matmul_precision("highest")


def test_arguments_of_loaders_and_optimizers(tmp_path: Path) -> None:
    """Several fixes together, as in the last turns of a session."""
    show = LOOP.replace(
        "for (x,)", "print(loader.num_workers, loader.prefetch_factor, optimizer.defaults['fused'])\nfor (x,)"
    )
    workers = {"name": "loader-workers", "value": 2}
    turn = tried(show, tmp_path, workers, "loader-prefetch", "fused-optimizer", "gc-frozen", "omp-threads")
    assert turn.process.stdout.split() == ["2", "8", "True"]
    applied = turn.result["applied"]
    assert applied["loader-workers"] == ["num_workers 0 → 2, persistent_workers"]
    assert applied["fused-optimizer"] == ["AdamW(fused=True)"]
    assert "frozen" in applied["gc-frozen"][0]
    # Two workers hold 16 batches ready, so the warm-up is longer.
    assert turn.result["warmup"] == 32
    assert turn.result["losses"][:9] == pytest.approx(plain_turn().result["losses"], rel=1e-4)


def test_loaders_that_must_stay_as_they_are(tmp_path: Path) -> None:
    streaming = """
        import torch
        class Stream(torch.utils.data.IterableDataset):
            def __iter__(self):
                return iter(torch.randn(400, 8))
        loader = torch.utils.data.DataLoader(Stream(), 4, num_workers=1)
        model = torch.nn.Linear(8, 1)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for x in loader:
            model(x).sum().backward()
            optimizer.step()
    """
    result = tried(streaming, tmp_path, {"name": "loader-workers", "value": 4}, "tf32", "keep-cache").result
    assert result["applied"] == {}
    assert "IterableDataset" in result["refused"]["loader-workers"]
    assert result["refused"]["tf32"] == "the job has no CUDA device"
    assert "empty_cache" in result["refused"]["keep-cache"]


def test_layout_and_autocast_of_the_outermost_module(tmp_path: Path) -> None:
    source = """
        import torch
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.conv, self.out = torch.nn.Conv2d(3, 4, 3), torch.nn.Linear(4, 2)
            def forward(self, x, scale):
                seen.append((x.is_contiguous(memory_format=torch.channels_last), torch.is_autocast_enabled("cpu")))
                return self.out(self.conv(x).mean((2, 3))) * scale
        seen = []
        model, other = Net(), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for step in range(50):
            loss = other(model(torch.randn(2, 3, 8, 8), scale=2), torch.zeros(2, dtype=torch.long))
            in_loss = torch.is_autocast_enabled("cpu")
            loss.backward()
            print(seen.pop(), in_loss, torch.is_autocast_enabled("cpu"), loss.dtype)
            optimizer.step()
    """
    turn = tried(source, tmp_path, "channels-last", "bf16-autocast")
    # The turn ends inside the last optimizer step.
    assert turn.process.stdout.splitlines() == ["(True, True) True False torch.float32"] * 9
    assert turn.result["applied"]["channels-last"] == ["Net in channels_last"]
    assert "bfloat16" in turn.result["applied"]["bf16-autocast"][0]


def test_layout_of_pictures_and_volumes_in_one_model(tmp_path: Path) -> None:
    source = """
        import torch
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.flat, self.deep = torch.nn.Conv2d(3, 4, 3), torch.nn.Conv3d(3, 4, 3)
            def forward(self, picture, volume):
                return self.flat(picture).mean() + self.deep(volume).mean()
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for step in range(50):
            model(torch.randn(2, 3, 8, 8), torch.randn(2, 3, 8, 8, 8)).backward()
            print(model.flat.weight.stride(1), model.deep.weight.stride(1))
            optimizer.step()
    """
    turn = tried(source, tmp_path, "channels-last")
    assert turn.result["applied"]["channels-last"] == ["Net in channels_last", "Net in channels_last_3d"]
    # Channels are next to each other.
    assert turn.process.stdout.splitlines()[-1] == "1 1"


def test_compile(tmp_path: Path) -> None:
    turn = tried(LOOP, tmp_path, "compile", "compile-graphs")
    if shutil.which("g++") is None and shutil.which("clang++") is None:
        # Inductor needs a C++ compiler on the CPU; the turn then crashes and says so.
        assert turn.process.returncode != 0
        assert "compiler" in turn.process.stderr.lower()
        return
    assert turn.result["applied"] == {"compile": ["torch.compile(Sequential)"]}
    assert turn.result["refused"] == {"compile-graphs": "the job has no CUDA device"}
    assert turn.result["graph_breaks"] == {}
    assert turn.result["losses"] == pytest.approx(plain_turn().result["losses"], rel=1e-4)


RANKS = """
import torch, torch.distributed as dist
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8), find_unused_parameters=True)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
for step in range(10_000):
    model(torch.randn(4, 8)).pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    if dist.get_rank() == 1 and step == 5:
        import time; time.sleep(0.3)
"""


def test_two_ranks_end_at_the_same_step(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(RANKS)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "train.py"]
    fixes = ("ddp-static-graph", "ddp-bucket-view", "ddp-bucket-size")
    # Time ends it: rank 0 decides on a step, and rank 1 must end at the same one.
    turn = injected_trial(command, tmp_path, *fixes, steps=5000, seconds=0.5)
    assert turn.process.returncode == 0, turn.process.stderr
    assert [r["rank"] for r in turn.ranks] == [0, 1]
    assert len({r["steps"] for r in turn.ranks}) == 1
    assert {r["why"] for r in turn.ranks} == {"seconds"}
    assert turn.result["applied"] == {
        "ddp-bucket-size": ["bucket_cap_mb None → 100"],
        "ddp-bucket-view": ["gradient_as_bucket_view False → True"],
        "ddp-static-graph": ["static_graph False → True", "find_unused_parameters True → False"],
    }


def test_copies_to_the_gpu_do_not_wait(tmp_path: Path) -> None:
    """Without a GPU: what is called in place of `Tensor.to` and `Tensor.cuda`."""
    source = """
        import torch
        from pathlib import Path
        from whyslow_trials.fixes.pinned import PinnedCopies
        from whyslow_trials.spec import TrialSpec
        from whyslow_trials.trial import Trial
        calls = []
        torch.cuda.is_available = lambda: True
        torch.Tensor.is_pinned = lambda tensor: False
        torch.Tensor.pin_memory = torch.Tensor.clone
        torch.Tensor.to = torch.Tensor.cuda = lambda *args, **options: calls.append((args, options))
        trial = Trial(TrialSpec(Path("results")))
        PinnedCopies().install(trial)
        big, small = torch.zeros(1 << 20), torch.zeros(4)
        big.to("cuda"), big.to("cuda:0", non_blocking=False), small.cuda(), big.to(device=torch.device("cuda"))
        assert all(options["non_blocking"] for _, options in calls)
        # The job keeps `big`: it is pinned once, and again after it has changed.
        assert calls[0][0][0] is calls[1][0][0] is not big and calls[2][0][0] is small
        big.add_(1)
        big.to("cuda")
        assert calls[-1][0][0] is not calls[0][0][0] and calls[-1][0][0][0] == 1
        calls.clear()
        big.to(torch.float16), big.to("cpu"), big.to("cuda", torch.float32, False), big.to(small)
        assert [options for _, options in calls] == [{}] * 4
        loader = torch.utils.data.DataLoader([1, 2])
        assert loader.pin_memory
        print(sorted(trial.applied["pinned-copies"]))
    """
    printed = run_torch_program(source).stdout
    assert printed.strip() == "['copies without waiting', 'pin_memory on', 'tensor pinned before its copy']"
