"""Windows of the real profiler: right steps, names and contents, nothing in between, no leftovers."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from gloo_ranks import run_ranks
from trace_support import files_in, make_tier, operations_in, read_trace, steps_in, train, work

from whyslow_capture.problems import ProblemLog
from whyslow_capture.trace import export
from whyslow_capture.trace.profiler_use import torch_profiler_enabled
from whyslow_capture.trace.slowdown import WATCHED


def test_windows_use_the_jobs_step_numbers_and_leave_only_traces(tmp_path: Path) -> None:
    tier = make_tier(tmp_path, period=10, warmup=1, active=2)
    train(tier, range(21))
    tier.close()
    assert files_in(tmp_path) == [f"traces/step_{n}/rank-0-coord-0-trace.json.gz" for n in (18, 8)]
    assert steps_in(tmp_path / "traces/step_8/rank-0-coord-0-trace.json.gz") == [8, 9]
    assert steps_in(tmp_path / "traces/step_18/rank-0-coord-0-trace.json.gz") == [18, 19]
    # Two steps of 20 additions, without the warm-up.
    assert operations_in(tmp_path / "traces/step_8/rank-0-coord-0-trace.json.gz") == 40


def test_a_resumed_job_continues_counting(tmp_path: Path) -> None:
    tier = make_tier(tmp_path, period=100, warmup=1, active=2)
    train(tier, range(1095, 1102))
    tier.close()
    (path,) = tmp_path.rglob("*.gz")
    assert path.parent.name == "step_1098"
    assert steps_in(path) == [1098, 1099]


def test_start_end_and_repeat(tmp_path: Path) -> None:
    tier = make_tier(tmp_path, period=5, active=1, repeat=2, config={"start_step": 10, "end_step": 40})
    train(tier, range(50))
    tier.close()
    assert sorted(p.name for p in (tmp_path / "traces").iterdir()) == ["step_14", "step_19"]


def test_back_to_back_windows(tmp_path: Path) -> None:
    tier = make_tier(tmp_path, period=3, warmup=1, active=2)
    train(tier, range(10))
    tier.close()
    assert [steps_in(p) for p in sorted(tmp_path.rglob("*.gz"))] == [[1, 2], [4, 5], [7, 8]]


def test_no_profiler_exists_between_windows(tmp_path: Path) -> None:
    tier = make_tier(tmp_path, period=6, warmup=1, active=2)
    seen: dict[int, tuple[bool, bool]] = {}

    def look(step: int) -> None:
        seen[step] = (torch_profiler_enabled(), tier.busy)

    train(tier, range(9), look)
    tier.close()
    assert seen == {
        **dict.fromkeys((0, 1, 2, 6, 7, 8), (False, False)),
        3: (True, True),  # warm-up: counted, and thrown away
        4: (True, True),
        5: (True, True),
    }


def test_steps_between_windows_do_nothing(tmp_path: Path) -> None:
    tier = make_tier(tmp_path, period=1_000_000)
    # Forty steps are timed, to compare them with those after the window, and then none for a few seconds.
    for step in range(WATCHED + 5):
        tier.begin_step(step)
    quiet_until = tier.quiet_until
    assert 100 < quiet_until <= 999_996
    looked_at: list[int] = []
    tier._advance = lambda _, step: looked_at.append(step)  # type: ignore[method-assign]
    for step in (WATCHED + 5, WATCHED + 6, quiet_until - 1, quiet_until):
        tier.begin_step(step)
    assert looked_at == [quiet_until]
    tier.close()


def test_off_by_default(tmp_path: Path) -> None:
    for rank, options in ((0, {}), (3, {"period": 2}), (0, {"period": 2, "ranks": (1,)})):
        tier = make_tier(tmp_path, rank=rank, world=4, active=1, target=("train_overall", "train_actor"), **options)
        train(tier, range(6))
        assert tier.step_callback("train_actor") is None
        tier.close()
    assert files_in(tmp_path) == []


AMPLIFIERS = ("record_shapes", "with_flops", "with_stack", "profile_memory")


@pytest.mark.parametrize("option", [None, *AMPLIFIERS])
def test_expensive_options_are_off_by_default(tmp_path: Path, option: str | None) -> None:
    options: dict[str, Any] = {} if option is None else {option: True}
    tier = make_tier(tmp_path, period=2, warmup=0, active=1, **options)
    train(tier, range(3), lambda _: torch.ones(4, 4) @ torch.ones(4, 4))
    tier.close()
    (path,) = tmp_path.rglob("*.gz")
    trace = read_trace(path)
    stated = {name for name in AMPLIFIERS if trace.get(name) == 1}
    assert stated == ({option} if option else set())
    events = trace["traceEvents"]
    shapes = any("Input Dims" in event.get("args", {}) for event in events)
    assert shapes == (option in ("record_shapes", "with_flops"))
    assert any(event.get("cat") == "python_function" for event in events) == (option == "with_stack")
    assert any(event.get("name") == "[memory]" for event in events) == (option == "profile_memory")


@pytest.mark.parametrize("loaded", [False, True])
def test_both_profiler_classes_record_the_same(tmp_path: Path, loaded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With inductor loaded, torch's own class is used."""
    import sys
    import types

    if loaded:
        import torch._inductor.config  # noqa: F401
    else:
        hidden = {k: v for k, v in sys.modules.items() if k != "torch._inductor.config"}
        monkeypatch.setattr("whyslow_capture.trace.profiler.sys", types.SimpleNamespace(modules=hidden))
    tier = make_tier(tmp_path, period=2, warmup=1, active=1)
    train(tier, range(3))
    tier.close()
    (path,) = tmp_path.rglob("*.gz")
    assert steps_in(path) == [1]
    assert operations_in(path) == 20


def test_tar_gz_has_one_member_named_as_d9d_names_it(tmp_path: Path) -> None:
    import tarfile

    tier = make_tier(tmp_path, period=2, active=1, format="tar.gz", tier={"coordinates": lambda: (1, 0, 2)})
    train(tier, range(3))
    tier.close()
    assert files_in(tmp_path) == ["traces/step_1/rank-0-coord-1-0-2-trace.tar.gz"]
    path = tmp_path / files_in(tmp_path)[0]
    with tarfile.open(path) as archive:
        (member,) = archive.getmembers()
    assert member.name == "rank-0-coord-1-0-2-trace.json"
    assert member.size == tier.summary()["windows"][0]["raw_bytes"]
    assert steps_in(path) == [1]


def test_the_header_identifies_the_trace(tmp_path: Path) -> None:
    tier = make_tier(tmp_path, rank=5, world=8, ranks=None, period=2, active=1, tier={"coordinates": lambda: (2, 1)})
    train(tier, range(3))
    tier.close()
    (path,) = tmp_path.rglob("*.gz")
    assert read_trace(path)["whyslow"] == {
        "run": None,
        "rank": 5,
        "world_size": 8,
        "coordinates": [2, 1],
        "target": "train_overall",
        "first_step": 1,
        "steps": 1,
    }


def test_the_summary_shows_how_long_the_job_waited(tmp_path: Path) -> None:
    tier = make_tier(tmp_path, period=3, active=1)
    train(tier, range(4))
    tier.close()
    summary = tier.summary()
    (window,) = summary["windows"]
    (path,) = tmp_path.rglob("*.gz")
    assert window["status"] == "done" and window["path"] == str(path)
    assert (window["first_step"], window["last_step"]) == (2, 2)
    assert window["bytes"] == path.stat().st_size < window["raw_bytes"]
    assert set(window["seconds_blocked"]) == {"start", "stop", "export", "free"}
    assert summary["seconds_blocked"] == pytest.approx(sum(window["seconds_blocked"].values()), abs=1e-3)
    assert summary["counts"] == {"done": 1}


def test_the_job_does_not_wait_for_compression(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, may_end = threading.Event(), threading.Event()
    real = export.Exporter._compress

    def slow(self: Any, task: Any) -> Any:
        begun.set()
        assert may_end.wait(60)
        return real(self, task)

    monkeypatch.setattr(export.Exporter, "_compress", slow)
    tier = make_tier(tmp_path, period=3, active=1)
    train(tier, range(4))
    assert begun.wait(60)  # and training has reached this point
    (raw,) = files_in(tmp_path)
    assert Path(raw).name.startswith(".") and ".partial-" in raw
    may_end.set()
    tier.close()
    assert files_in(tmp_path) == ["traces/step_2/rank-0-coord-0-trace.json.gz"]


def test_targets_count_their_own_steps(tmp_path: Path) -> None:
    tier = make_tier(tmp_path, period=4, active=1, repeat=1, target=("train_actor", "my loss"))
    callback = tier.step_callback("train_actor")
    assert callback is not None and tier.step_callback("train_actor") is callback
    assert tier.step_callback("train_log_probs") is None
    assert tier.step_callback("train_overall") is None
    train(tier, range(20))  # training steps are not a target here, so nothing happens
    for _ in range(5):
        work(7)
        callback()
    other = tier.step_callback("my loss")
    assert other is not None
    for _ in range(5):
        work(9)
        other()
    tier.close()
    assert files_in(tmp_path) == [
        "traces/my_loss/step_3/rank-0-coord-0-trace.json.gz",
        "traces/train_actor/step_3/rank-0-coord-0-trace.json.gz",
    ]
    assert operations_in(tmp_path / "traces/train_actor/step_3/rank-0-coord-0-trace.json.gz") == 7
    assert operations_in(tmp_path / "traces/my_loss/step_3/rank-0-coord-0-trace.json.gz") == 9


def test_of_two_colliding_targets_the_first_wins(tmp_path: Path) -> None:
    problems = ProblemLog()
    tier = make_tier(tmp_path, problems, period=4, active=2, target=("train_overall", "train_actor"))
    callback = tier.step_callback("train_actor")
    assert callback is not None
    for step in range(9):
        tier.begin_step(step)
        work()
        if step < 4:
            callback()  # both should record 2 and 3; this one is first: its step 1 begins before training step 1
    tier.close()
    assert problems.counts.get("trace_collision") == 1
    assert files_in(tmp_path) == [
        "traces/step_6/rank-0-coord-0-trace.json.gz",
        "traces/train_actor/step_2/rank-0-coord-0-trace.json.gz",
    ]


def test_a_job_that_ends_inside_a_window_keeps_the_trace(tmp_path: Path) -> None:
    tier = make_tier(tmp_path, period=10, active=5)
    train(tier, range(7))  # 5 and 6 of the window from 5 to 9
    tier.close()
    (path,) = tmp_path.rglob("*.gz")
    assert steps_in(path) == [5, 6]
    assert tier.summary()["windows"][0]["status"] == "cut"
    assert read_trace(path)["whyslow_cut"] == "the job ended"
    assert not torch_profiler_enabled()


def test_a_job_that_ends_during_warm_up_leaves_no_files(tmp_path: Path) -> None:
    tier = make_tier(tmp_path, period=10, warmup=3, active=1)
    train(tier, range(8))
    assert tier.busy
    tier.close()
    tier.close()
    assert files_in(tmp_path) == []
    # torch still works: another window can open.
    again = make_tier(tmp_path, period=2, active=1)
    train(again, range(3))
    again.close()
    assert len(files_in(tmp_path)) == 1


def test_other_threads_do_not_advance_a_window(tmp_path: Path) -> None:
    tier = make_tier(tmp_path, period=4, active=2)
    train(tier, range(3))
    other = threading.Thread(target=tier.begin_step, args=(4,))
    other.start()
    other.join()
    assert tier.busy  # the other thread did not stop it
    tier.begin_step(4)
    tier.close()
    assert [steps_in(p) for p in tmp_path.rglob("*.gz")] == [[2]]


def test_results_are_the_same_bit_for_bit(tmp_path: Path) -> None:
    def losses(tier: Any) -> list[float]:
        torch.manual_seed(7)
        model = torch.nn.Sequential(
            torch.nn.Linear(16, 32), torch.nn.Dropout(0.1), torch.nn.ReLU(), torch.nn.Linear(32, 1)
        )
        optimizer = torch.optim.AdamW(model.parameters())
        found = []
        for step in range(12):
            if tier is not None:
                tier.begin_step(step)
            loss = model(torch.randn(8, 16)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    plain = losses(None)
    tier = make_tier(tmp_path, period=4, active=2, **dict.fromkeys(AMPLIFIERS, True))
    traced = losses(tier)
    tier.close()
    assert traced == plain
    assert len(files_in(tmp_path)) == 3


def _rank_of_four(rank: int, out: str) -> None:
    tier = make_tier(Path(out), rank=rank, world=4, period=8, active=2, ranks=(0, 2, 3))
    for step in range(10):
        tier.begin_step(step)
        torch.distributed.all_reduce(work())
        time.sleep(0.01 * rank)  # ranks are never exactly in sync
    tier.close()


def test_chosen_ranks_record_the_same_steps(tmp_path: Path) -> None:
    run_ranks(_rank_of_four, 4, str(tmp_path))
    assert files_in(tmp_path) == [f"traces/step_6/rank-{r}-coord-{r}-trace.json.gz" for r in (0, 2, 3)]
    for rank in (0, 2, 3):
        path = tmp_path / f"traces/step_6/rank-{rank}-coord-{rank}-trace.json.gz"
        assert steps_in(path) == [6, 7]
        trace = read_trace(path)
        assert trace["distributedInfo"]["rank"] == rank
        assert trace["distributedInfo"]["world_size"] == 4
        assert any("gloo" in event.get("name", "") for event in trace["traceEvents"])
