"""Jobs without a capture of their own, run as by `whyslow run`: real processes, real torch."""

from __future__ import annotations

import json
import signal
import subprocess
import textwrap
from pathlib import Path
from typing import Any

import pytest
from gloo_ranks import run_ranks
from hooked import duration, injected, names, run_warm_script, steps_of
from support import header_of, records_of, run_torch_program

from whyslow_capture import layout

# Two passes per step, a compiled model, forked workers: a job that uses much of torch, and a loss to compare.
TRAIN = """
    import os, sys, torch, torch.multiprocessing
    from torch.utils.data import DataLoader, TensorDataset

    class Data(TensorDataset):
        def __getitem__(self, index):
            assert torch.utils.data.get_worker_info() is not None
            return super().__getitem__(index)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(8, 1)

        def forward(self, x):
            return self.layer(x).pow(2).mean()

    if __name__ == "__main__":
        torch.manual_seed(0)
        model = Net()
        if "compile" in sys.argv[1]:
            model = torch.compile(model, backend="eager")
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        start = "spawn" if "spawn" in sys.argv[1] else "fork"
        loader = DataLoader(Data(torch.randn(48, 8)), batch_size=4, num_workers=1, multiprocessing_context=start)
        for index, (x,) in enumerate(loader):
            loss = model(x)
            loss.backward()
            if index % 2:
                optimizer.step()
                optimizer.zero_grad()
            print(f"loss {loss.item()!r}", flush=True)
"""


WAYS = ["fork", "spawn-compile"]


def losses(result: subprocess.CompletedProcess[str]) -> list[str]:
    assert result.returncode == 0, result.stderr
    return [line for line in result.stdout.splitlines() if line.startswith("loss")]


def files_in(out: Path) -> list[str]:
    """Without the claim on the run's name."""
    found = (path.relative_to(out) for path in out.rglob("*") if path.is_file())
    return sorted(str(path) for path in found if path.parts[0] != ".whyslow")


ONE_RANK = ["cuda_event_profiler/cuda_events_rank_0.jsonl", "ranks/rank_0.json", "run.json"]


@pytest.fixture(scope="module")
def plain_losses() -> list[str]:
    return losses(run_torch_program(TRAIN, "plain"))


@pytest.mark.parametrize("way", WAYS)
def test_a_captured_job_has_the_same_losses(tmp_path: Path, plain_losses: list[str], way: str) -> None:
    out = tmp_path / "out"
    captured = run_warm_script(TRAIN, tmp_path, way, env=injected(out))
    assert losses(captured) == plain_losses
    assert len(plain_losses) == 12
    assert captured.stderr == ""
    # Workers write no files, neither forked nor spawned ones.
    assert files_in(out) == ONE_RANK
    assert steps_of(out) == [0, 1, 2, 3, 4, 5]
    micro = ["data_wait", "forward", "backward"]
    first = names(out, 0)
    assert ("compile" in first) == (way == "spawn-compile")
    assert [name for name in first if name != "compile"] == ["data_wait", *micro, *micro, "optimizer"]
    assert all(names(out, step) == [*micro, *micro, "optimizer"] for step in range(1, 6))
    assert [r["micro"] for r in records_of(out) if r["step"] == 3 and r["name"] == "forward"] == [0, 1]
    assert {r["run"] for r in records_of(out)} == {"the-run"}


ENDS = """
    import os, signal, sys, torch
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored by default if the tests run in the background
    how = sys.argv[1]
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for index in range(30):
        optimizer.zero_grad()
        model(torch.randn(4, 8)).mean().backward()
        optimizer.step()
    if how == "exit":
        sys.exit(3)
    if how == "exception":
        loss = model(torch.randn(4, 8)).mean()
        loss.register_hook(lambda _: {}["in backward"])
        loss.backward()
    if how in ("SIGINT", "SIGTERM"):
        os.kill(os.getpid(), getattr(signal, how))
"""


@pytest.mark.parametrize("how", ["exit", "exception", "SIGINT", "SIGTERM"])
def test_exit_codes_are_unchanged(tmp_path: Path, how: str) -> None:
    result = run_warm_script(ENDS, tmp_path, how, env=injected(tmp_path / "out"))
    expected = {"exit": 3, "exception": 1}
    assert result.returncode == (expected[how] if how in expected else -getattr(signal, how))
    assert result.stdout == ""
    if how == "exception":
        assert result.stderr.splitlines()[-1] == "KeyError: 'in backward'"
        assert "During handling" not in result.stderr
    elif how == "SIGINT":
        assert result.stderr.splitlines()[-1] == "KeyboardInterrupt"
    else:
        assert result.stderr == ""
    # Flushed records survive any end. All records survive if Python could run its exit functions.
    found = steps_of(tmp_path / "out")
    assert found == list(range(len(found)))
    assert len(found) == 30 or how == "SIGTERM"


QUIET = """
    import subprocess, sys, threading, torch
    from torch.utils.data import DataLoader

    model = torch.nn.Linear(8, 1)
    for x in DataLoader(torch.randn(400, 8), batch_size=4):
        model(x)
    subprocess.run([sys.executable, "-c", "import torch; print(torch.ones(2).sum().item())"], check=True)
    print(threading.active_count())
"""


def test_a_process_that_does_not_train_writes_no_files(tmp_path: Path) -> None:
    """The process evaluates, and its child only imports torch."""
    result = run_warm_script(QUIET, tmp_path, env=injected(tmp_path / "out"))
    assert (result.returncode, result.stdout, result.stderr) == (0, "2.0\n1\n", "")
    assert not (tmp_path / "out").exists()


SIXTY_STEPS = """
    import torch
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(60):
        model(torch.ones(4, 8)).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
"""


def test_by_default_one_window_is_recorded_and_the_recorded_step_of_ten_varies(tmp_path: Path) -> None:
    env = injected(tmp_path / "out")
    del env["WHYSLOW_RECORD_EVERY_N_STEPS"], env["WHYSLOW_TRACE"]
    assert run_warm_script(SIXTY_STEPS, tmp_path, env=env).returncode == 0
    traces = [path.relative_to(tmp_path / "out/traces") for path in (tmp_path / "out/traces").rglob("*.gz")]
    assert [str(path) for path in traces] == ["step_21/rank-0-coord-0-trace.json.gz"]
    assert header_of(tmp_path / "out")["spread_steps"] is True
    # The steps before it are all recorded, those in it are not. Then one in each ten: not always the first, but the
    # same in every job, so ranks can be compared.
    assert steps_of(tmp_path / "out") == [*range(20), 38, 44, 50]


# Trains on two ranks and leaves `losses`.
DISTRIBUTED = """
    import time, torch
    from torch import distributed
    from torch.nn.parallel import DistributedDataParallel
    from torch.utils.data import DataLoader

    rank, losses = distributed.get_rank(), []
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for x in DataLoader(torch.randn(24, 8), batch_size=4):
        if rank == 1:
            time.sleep(0.1)
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
"""
# Both ranks are forked from one process; test/e2e/run-jobs.test.ts has torchrun, which imports torch three times.
RANKS = f"""
    import os, sys
    from torch import distributed

    os.environ.update(RANK="0", WORLD_SIZE="2")
    other = os.fork()
    if other == 0:
        os.environ["RANK"] = "1"
    meeting_point = "file://" + os.path.abspath("store")
    distributed.init_process_group("gloo", meeting_point, rank=int(os.environ["RANK"]), world_size=2)
    {DISTRIBUTED}
    with open(f"losses-{{rank}}", "w") as file:
        file.write(repr(losses))
    distributed.destroy_process_group()
    time.sleep(1)  # gloo's threads must release the last all_reduce now; during exit that aborts (torch 2.13)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(other, 0)[1]) or 5 if other else 0)
"""


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranks")
    captured = run_warm_script(RANKS, folder, env=injected(folder / "out"))
    assert (captured.returncode, captured.stderr) == (5, "")
    return folder


def test_each_rank_writes_its_files(ranks: Path) -> None:
    each = [f"cuda_event_profiler/cuda_events_rank_{r}.jsonl" for r in range(2)]
    assert files_in(ranks / "out") == [*each, *(f"ranks/rank_{r}.json" for r in range(2)), "run.json"]
    assert json.loads(layout.run_file(ranks / "out").read_text())["world_size"] == 2
    for rank in range(2):
        assert steps_of(ranks / "out", rank) == [0, 1, 2, 3, 4, 5]
        expected = ["data_wait", "forward", "backward", "collective:all_reduce", "optimizer"]
        assert names(ranks / "out", 5, rank) == expected


def losses_without_us(_rank: int) -> list[float]:
    found: dict[str, Any] = {}
    exec(textwrap.dedent(DISTRIBUTED), found)
    return list(found["losses"])


def test_ranks_have_the_same_losses(ranks: Path) -> None:
    for rank, plain in enumerate(run_ranks(losses_without_us, 2)):
        assert Path(ranks, f"losses-{rank}").read_text() == repr(plain)
        assert len(plain) == 6


def test_the_straggler_does_not_wait(ranks: Path) -> None:
    waits = [
        [duration(ranks / "out", step, "collective:all_reduce", rank) for step in (2, 3, 4, 5)] for rank in range(2)
    ]
    # On a busy machine another rank may be delayed too, but not in every step.
    assert min(waits[1]) < 50 < max(waits[0])


SPAWNED = """
    import os, torch, torch.multiprocessing

    def train(rank):
        os.environ["RANK"] = str(rank)
        model = torch.nn.Linear(8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(4):
            model(torch.randn(4, 8)).mean().backward()
            optimizer.step()

    def spawned(_index):
        train(2)

    if __name__ == "__main__":
        torch.multiprocessing.start_processes(train, nprocs=2, start_method="fork")
        torch.multiprocessing.start_processes(spawned, nprocs=1, start_method="spawn")
"""


def test_processes_started_by_torch_multiprocessing(tmp_path: Path) -> None:
    result = run_warm_script(SPAWNED, tmp_path, env=injected(tmp_path / "out"))
    assert (result.returncode, result.stderr) == (0, "")
    assert [steps_of(tmp_path / "out", rank) for rank in range(3)] == [[0, 1, 2, 3]] * 3
