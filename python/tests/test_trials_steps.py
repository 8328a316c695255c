"""Turns of `whyslow try`: counting, losses, the end of a turn."""

from __future__ import annotations

import sys
from pathlib import Path

from trial_support import LOOP, injected_trial, plain_turn, tried


def test_a_turn_ends_after_its_last_step_and_measures_it() -> None:
    turn = plain_turn()
    result = turn.result
    assert turn.process.returncode == 0
    assert "the end of the script" not in turn.process.stdout
    assert (result["why"], result["steps"], result["warmup"], len(result["step_ms"])) == ("steps", 9, 3, 6)
    assert all(time > 0 for time in result["step_ms"])
    assert len(result["losses"]) == 9
    assert (result["clock"], result["memory_mb"], result["framework"]) == ("host", None, "plain")


def test_the_same_seeds_give_the_same_losses(tmp_path: Path) -> None:
    """Seed 0 where the job sets none, so a job that sets seed 0 itself gives the same."""
    unseeded, seeded = plain_turn().result, tried("import torch\ntorch.manual_seed(0)\n" + LOOP, tmp_path).result
    assert unseeded["losses"] == seeded["losses"]
    assert len(set(unseeded["losses"])) > 1
    assert (unseeded["seeded_by_job"], seeded["seeded_by_job"]) == (False, True)


def test_losses_of_micro_batches_are_added(tmp_path: Path) -> None:
    source = """
        import torch
        model = torch.nn.Linear(1, 1, bias=False)
        torch.nn.init.constant_(model.weight, 2.0)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        for _ in range(50):
            for _ in range(4):
                (model(torch.ones(1, 1)).mean() / 4).backward()
            optimizer.step()
            optimizer.zero_grad()
    """
    result = tried(source, tmp_path).result
    assert result["steps"] == 9
    assert result["losses"] == [2.0] * 9


def test_a_short_job_ends_by_itself(tmp_path: Path) -> None:
    turn = tried(LOOP.replace("randn(4000, 8)", "randn(20, 8)"), tmp_path)
    assert "the end of the script" in turn.process.stdout
    assert (turn.result["why"], turn.result["steps"], len(turn.result["step_ms"])) == ("end", 5, 2)


def test_time_can_end_a_turn_early(tmp_path: Path) -> None:
    slow = LOOP.replace("    loss.backward()", "    loss.backward()\n    import time; time.sleep(0.02)")
    result = tried(slow, tmp_path, steps=500, seconds=0.1).result
    assert result["why"] == "seconds"
    assert 8 <= len(result["step_ms"]) < 100


def test_a_job_that_fails_fails(tmp_path: Path) -> None:
    turn = tried("raise ValueError('no data')", tmp_path)
    assert turn.process.returncode == 1
    assert turn.ranks == []


def test_a_fix_that_does_not_exist_stops_the_job_before_it_trains(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LOOP)
    turn = injected_trial([sys.executable, "train.py"], tmp_path, "no-such-fix")
    assert turn.process.returncode == 86
    assert "the trial did not begin" in turn.process.stderr
