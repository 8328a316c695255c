"""Windows on demand, through files: all ranks open at the same step, and every request gets an answer."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from gloo_ranks import run_ranks
from support import run_program
from trace_support import make_tier, steps_in, work

from whyslow_capture.problems import ProblemLog
from whyslow_capture.trace import requests
from whyslow_capture.trace.tier import TraceTier

POLL_S = 0.005


def ask(out: Path, ask_id: str, **content: Any) -> None:
    control = out / "control"
    control.mkdir(parents=True, exist_ok=True)
    given = {"whyslow": 1, "id": ask_id, "steps": 2, "ranks": None, "asked_ns": time.time_ns(), **content}
    put(control / f"request-{ask_id}.json", given)


def put(path: Path, content: dict[str, Any]) -> None:
    """Polls often, so that tests do not wait."""
    path.with_suffix(".tmp").write_text(json.dumps(content))
    path.with_suffix(".tmp").rename(path)


def read(out: Path, name: str) -> dict[str, Any] | None:
    path = out / "control" / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def demand_tier(
    out: Path, problems: ProblemLog | None = None, rank: int = 0, world: int = 1, **options: Any
) -> TraceTier:
    tier = {"on_demand": True, "poll_s": POLL_S, **options.pop("tier", {})}
    return make_tier(out, problems, rank, world, tier=tier, **options)


@contextmanager
def looks_of(tier: TraceTier) -> Iterator[Callable[[], None]]:
    """
    What is yielded waits until the tier's thread has looked for requests once more, from begin to end. So many steps
    cannot go by between two looks that a plan is seen too late, however busy the machine is.
    """
    asked, looked, changed = tier._requests, [0], threading.Condition()
    assert asked is not None
    real = asked.poll

    def poll() -> None:
        try:
            real()
        finally:
            with changed:
                looked[0] += 1
                changed.notify()

    def wait() -> None:
        with changed:
            enough = looked[0] + 2  # one poll may be under way
            assert changed.wait_for(lambda: looked[0] >= enough, 60)

    asked.poll = poll  # type: ignore[method-assign]
    try:
        yield wait
    finally:
        del asked.poll  # type: ignore[method-assign]


def run_until(tier: TraceTier, done: Callable[[], object], first: int = 0) -> int:
    """Runs training steps until a condition holds, and returns the current step."""
    end, step = time.monotonic() + 120, first
    with looks_of(tier) as look:
        while not done():
            assert time.monotonic() < end
            tier.begin_step(step)
            work()
            look()
            step += 1
    return step - 1


@pytest.mark.parametrize("knows_step", [False, True])
def test_a_request_is_answered_with_the_path(tmp_path: Path, knows_step: bool) -> None:
    """With the default configuration, in which windows are off."""
    now = [0]
    given = {"current_step": lambda: now[0]} if knows_step else {}
    tier = demand_tier(tmp_path, tier=given)
    begin = tier.begin_step

    def follow(step: int) -> None:
        now[0] = step
        begin(step)

    tier.begin_step = follow  # type: ignore[method-assign]
    step = run_until(tier, lambda: tier.quiet_until > 10**9)
    ask(tmp_path, "abc", steps=3)
    run_until(tier, lambda: read(tmp_path, "done-abc-rank-0"), step + 1)
    tier.close()
    plan, done = read(tmp_path, "plan-abc"), read(tmp_path, "done-abc-rank-0")
    assert plan is not None and done is not None
    assert set(plan) == {"id", "first_step", "steps", "ranks", "planned_ns"}
    assert (plan["id"], plan["steps"], plan["ranks"]) == ("abc", 3, [0])
    assert abs(plan["planned_ns"] - time.time_ns()) < 60e9
    first = plan["first_step"]
    assert done == {
        "id": "abc",
        "rank": 0,
        "status": "done",
        "path": str(tmp_path / f"traces/step_{first}/rank-0-coord-0-trace.json.gz"),
        "first_step": first,
        "last_step": first + 2,
        "message": "",
    }
    assert steps_in(Path(done["path"])) == [first, first + 1, first + 2]
    assert first >= step + 5


def test_steps_do_nothing_without_a_request(tmp_path: Path) -> None:
    tier = demand_tier(tmp_path)
    tier.begin_step(0)
    assert tier.quiet_until > 10**9
    with looks_of(tier) as look:
        look()
    assert tier.quiet_until > 10**9
    tier.close()
    assert list(tmp_path.iterdir()) == []


def test_one_after_the_other(tmp_path: Path) -> None:
    tier = demand_tier(tmp_path)
    ask(tmp_path, "a", steps=1)
    ask(tmp_path, "b", steps=1)
    run_until(tier, lambda: read(tmp_path, "done-a-rank-0") and read(tmp_path, "done-b-rank-0"))
    tier.close()
    answers = [read(tmp_path, f"done-{name}-rank-0") for name in "ab"]
    assert [answer and answer["status"] for answer in answers] == ["done", "done"]
    plans = [read(tmp_path, f"plan-{name}") for name in "ab"]
    assert abs(plans[0]["first_step"] - plans[1]["first_step"]) >= 2  # type: ignore[index]


def test_requests_beside_a_schedule(tmp_path: Path) -> None:
    tier = demand_tier(tmp_path, period=40, active=10)
    ask(tmp_path, "a", steps=5)
    run_until(tier, lambda: read(tmp_path, "done-a-rank-0"))
    tier.close()
    done = read(tmp_path, "done-a-rank-0")
    assert done is not None and done["status"] == "done"
    first = done["first_step"]
    # Does not overlap the windows at 30 to 39, 70 to 79, ... and their warm-up.
    assert all((step % 40) < 29 for step in range(first - 1, first + 5))


def test_a_schedule_without_a_gap_gives_way(tmp_path: Path) -> None:
    tier = demand_tier(tmp_path, period=4, active=3)
    ask(tmp_path, "a", steps=5)
    run_until(tier, lambda: read(tmp_path, "done-a-rank-0"))
    tier.close()
    done = read(tmp_path, "done-a-rank-0")
    assert done is not None and done["status"] == "done", done
    assert steps_in(Path(done["path"])) == list(range(done["first_step"], done["first_step"] + 5))


def test_impossible_requests_are_answered(tmp_path: Path) -> None:
    problems = ProblemLog()
    tier = demand_tier(tmp_path, problems)
    run_until(tier, lambda: tier.quiet_until > 10**9)
    ask(tmp_path, "old", asked_ns=time.time_ns() - 11 * 60 * 10**9)
    ask(tmp_path, "odd", steps="many")
    (tmp_path / "control/request-torn.json").write_text('{"id": "to')
    ask(tmp_path, "far", ranks=[7], steps=1)
    names = ("done-old-rank-0", "done-odd-rank-0", "done-torn-rank-0", "done-far-rank-0")
    run_until(tier, lambda: all(read(tmp_path, name) for name in names), 10)
    tier.close()
    old, odd, torn, far = (read(tmp_path, name) or {} for name in names)
    assert old["status"] == "missed" and "11 minutes old" in old["message"]
    assert odd["status"] == "failed" and "steps must be a whole number" in odd["message"]
    assert torn["status"] == "failed"
    assert far["status"] == "missed" and far["message"] == "the job has no rank 7; it has only rank 0"
    assert read(tmp_path, "plan-far") is None
    assert problems.counts == {}


def test_a_request_for_far_too_many_ranks_has_one_answer(tmp_path: Path) -> None:
    tier = demand_tier(tmp_path)
    run_until(tier, lambda: tier.quiet_until > 10**9)
    ask(tmp_path, "many", ranks=list(range(100_000)), steps=1)
    run_until(tier, lambda: read(tmp_path, "done-many-rank-0"), 10)
    tier.close()
    answer = read(tmp_path, "done-many-rank-0") or {}
    assert answer["message"] == "the job has no ranks 1 to 99999; it has only rank 0"
    assert sorted(os.listdir(tmp_path / "control")) == ["done-many-rank-0.json", "request-many.json"]


def test_a_pipe_does_not_keep_requests_from_being_answered(tmp_path: Path) -> None:
    (tmp_path / "control").mkdir()
    for name in ("plan-a.json", "request-b.json"):
        os.mkfifo(tmp_path / "control" / name)
    problems = ProblemLog()
    tier = demand_tier(tmp_path, problems)
    run_until(tier, lambda: tier.quiet_until > 10**9)
    ask(tmp_path, "c", steps=1)
    run_until(tier, lambda: read(tmp_path, "done-c-rank-0"), 10)
    tier.close()
    assert (read(tmp_path, "done-c-rank-0") or {})["status"] == "done"
    assert (read(tmp_path, "done-b-rank-0") or {})["status"] == "failed"
    assert problems.counts == {"trace_control": 1}


def test_a_plan_seen_too_late(tmp_path: Path) -> None:
    tier = demand_tier(tmp_path, rank=3, world=4)
    step = run_until(tier, lambda: tier.quiet_until > 10**9, 100)
    control = tmp_path / "control"
    control.mkdir()
    (control / "plan-w.json").write_text("torn")
    for name, ranks in (("x", [3]), ("y", [1])):
        plan = {"id": name, "first_step": 50, "steps": 1, "ranks": ranks, "planned_ns": time.time_ns()}
        put(control / f"plan-{name}.json", plan)
    run_until(tier, lambda: read(tmp_path, "done-x-rank-3"), step + 1)
    tier.close()
    done = read(tmp_path, "done-x-rank-3")
    assert done is not None and done["status"] == "missed" and done["path"] is None
    assert read(tmp_path, "done-y-rank-3") is None


def test_plans_of_an_earlier_run_are_not_followed(tmp_path: Path) -> None:
    ask(tmp_path, "x")
    plan = {"id": "x", "first_step": 10, "steps": 1, "ranks": "all"}
    (tmp_path / "control/plan-x.json").write_text(json.dumps(plan))
    tier = demand_tier(tmp_path)
    run_until(tier, lambda: read(tmp_path, "done-x-rank-0"))
    for step in range(5, 20):
        tier.begin_step(step)
    tier.close()
    done = read(tmp_path, "done-x-rank-0")
    assert done is not None and done["status"] == "missed" and "restarted" in done["message"]
    assert not (tmp_path / "traces").exists()


def test_a_plan_made_before_this_rank_was_set_up_is_followed(tmp_path: Path) -> None:
    """Rank 0 may start a few seconds earlier."""
    plan = {"id": "x", "first_step": 10, "steps": 1, "ranks": "all", "planned_ns": time.time_ns()}
    (tmp_path / "control").mkdir()
    (tmp_path / "control/plan-x.json").write_text(json.dumps(plan))
    tier = demand_tier(tmp_path, rank=1, world=2)
    with looks_of(tier) as look:
        look()
    run_until(tier, lambda: read(tmp_path, "done-x-rank-1"), 5)
    tier.close()
    done = read(tmp_path, "done-x-rank-1")
    assert done is not None and done["status"] == "done"


def test_start_time_of_the_process() -> None:
    program = "import time; print(time.time_ns()); from whyslow_capture.process import age_ns; "
    before = time.time_ns()
    runs, began = map(int, run_program(program + "print(time.time_ns() - age_ns())").stdout.split())
    # The kernel's resolution is 10 ms.
    assert before - 50_000_000 < began < runs + 50_000_000


@pytest.mark.parametrize(("minutes", "wait_s"), [(5, 0), (5, 60), (20, 1800)])
def test_a_request_from_before_the_job_is_served(tmp_path: Path, minutes: int, wait_s: int) -> None:
    """A job that loads for minutes may get a request before its first step."""
    ask(tmp_path, "early", asked_ns=time.time_ns() - minutes * 60 * 10**9, wait_s=wait_s)
    tier = demand_tier(tmp_path)
    run_until(tier, lambda: read(tmp_path, "done-early-rank-0"))
    tier.close()
    done = read(tmp_path, "done-early-rank-0")
    assert done is not None and done["status"] == "done"


def test_a_job_that_ends_first_answers(tmp_path: Path) -> None:
    tier = demand_tier(tmp_path)
    ask(tmp_path, "a")
    run_until(tier, lambda: read(tmp_path, "plan-a"))
    tier.close()
    done = read(tmp_path, "done-a-rank-0")
    assert done is not None and done["status"] == "missed" and "job ended" in done["message"]


def test_a_plan_made_while_the_job_ends_is_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written, may_go_on = threading.Event(), threading.Event()
    real = requests.ControlFolder.write_plan

    def slow(self: Any, plan: Any) -> None:
        real(self, plan)
        written.set()
        assert may_go_on.wait(60)

    monkeypatch.setattr(requests.ControlFolder, "write_plan", slow)
    tier = demand_tier(tmp_path)
    tier.begin_step(0)
    ask(tmp_path, "a")
    assert written.wait(60)
    threading.Timer(0.2, may_go_on.set).start()
    tier.close()
    done = read(tmp_path, "done-a-rank-0")
    assert done is not None and done["status"] == "missed" and "job ended" in done["message"]


def test_an_unreadable_plan_does_not_block_other_answers(tmp_path: Path) -> None:
    tier = demand_tier(tmp_path)
    assert tier._requests is not None
    tier._requests.stop(60)
    (tmp_path / "control").mkdir(exist_ok=True)
    for plan_id in ("a", "c"):
        given = {"first_step": 9, "steps": 1, "ranks": [0], "planned_ns": time.time_ns()}
        put(tmp_path / "control" / f"plan-{plan_id}.json", {"whyslow": 1, "id": plan_id, **given})
    (tmp_path / "control/plan-b.json").write_text("{")
    tier.close()
    for plan_id in ("a", "c"):
        done = read(tmp_path, f"done-{plan_id}-rank-0")
        assert done is not None and done["status"] == "missed"


def test_a_cut_window_answers_with_the_reason(tmp_path: Path) -> None:
    tier = demand_tier(tmp_path)
    ask(tmp_path, "a", steps=10_000)
    step = run_until(tier, lambda: tier.busy and tier.summary() and (plan := read(tmp_path, "plan-a")) and plan)
    plan = read(tmp_path, "plan-a")
    assert plan is not None
    run_until(tier, lambda: step_of(tier) >= plan["first_step"] + 3, step + 1)
    tier.close()
    done = read(tmp_path, "done-a-rank-0")
    assert done is not None and done["status"] == "cut"
    assert steps_in(Path(done["path"])) == list(range(plan["first_step"], done["last_step"] + 1))


def step_of(tier: TraceTier) -> int:
    return tier._step or 0


def test_a_refused_window_answers_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "traces").write_text("a file in the way")
    tier = demand_tier(tmp_path)
    ask(tmp_path, "a")
    run_until(tier, lambda: read(tmp_path, "done-a-rank-0"))
    tier.close()
    done = read(tmp_path, "done-a-rank-0")
    assert done is not None and done["status"] == "failed" and "NotADirectoryError" in done["message"]


def test_long_steps_need_few_steps_of_lead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps of 60 s, seen by a thread that polls once a second."""
    clock = [0.0]
    monkeypatch.setattr(requests.time, "monotonic", lambda: clock[0])
    accepted: list[Any] = []
    asked = requests.Requests(
        tmp_path / "control",
        0,
        2,
        None,
        1,
        lambda: int(clock[0] // 60),
        accepted.append,
        lambda plan, _: plan.first,
        ProblemLog(),
    )
    for second in range(400):
        clock[0] = float(second)
        if second == 250:
            ask(tmp_path, "a")
        asked.poll()
    # Requested in step 4: 3 steps ahead plus one of warm-up.
    (plan,) = accepted
    assert (plan.first, plan.steps, plan.warmup) == (8, 2, 1)


def test_large_jobs_and_slow_file_systems_plan_further_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def margin(world: int) -> int:
        clock = [0.0]
        monkeypatch.setattr(requests.time, "monotonic", lambda: clock[0])
        accepted: list[Any] = []
        out = tmp_path / f"{world}-{time.time_ns()}"
        asked = requests.Requests(
            out / "control",
            0,
            world,
            None,
            0,
            lambda: int(clock[0] * 10),
            accepted.append,
            lambda p, _: p.first,
            ProblemLog(),
        )
        for second in range(40):
            clock[0] = float(second)
            asked.poll()
        ask(out, "a")
        asked.poll()
        asked.poll()
        return accepted[0].first - 390

    assert margin(8) == 32
    assert margin(2048) == 122
    monkeypatch.setattr(requests, "_is_nfs", lambda _: True)
    assert margin(8) == 382


def test_nfs_is_recognized(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = "/dev/vda / ext4 rw 0 0\nhost:/x /data nfs4 rw 0 0\nscratch /data/fast lustre rw 0 0\n"
    monkeypatch.setattr(Path, "read_text", lambda self: mounts)
    assert requests._is_nfs(Path("/data/run/control"))
    assert not requests._is_nfs(Path("/data/fast/run"))
    assert not requests._is_nfs(Path("/database"))
    assert not requests._is_nfs(Path("/tmp/x"))


def _asked_rank(rank: int, out: str) -> int:
    folder = Path(out)
    tier = demand_tier(folder, rank=rank, world=3)
    step = 0
    end = time.monotonic() + 100
    is_over = torch.zeros(1)
    with looks_of(tier) as look:
        while is_over.item() == 0:
            tier.begin_step(step)
            work()
            look()
            if rank == 0 and step == 20:
                ask(folder, "some", ranks=[0, 2])
            if rank == 0 and step == 60:
                ask(folder, "each", ranks="all", steps=1)
            if rank == 0:
                names = [f"done-some-rank-{r}" for r in (0, 2)] + [f"done-each-rank-{r}" for r in range(3)]
                is_over[0] = float(all(read(folder, name) for name in names) or time.monotonic() > end)
            torch.distributed.broadcast(is_over, 0)
            step += 1
    tier.close()
    return step


def test_all_ranks_open_at_the_same_step(tmp_path: Path) -> None:
    run_ranks(_asked_rank, 3, str(tmp_path))
    for name, ranks, count in (("some", (0, 2), 2), ("each", (0, 1, 2), 1)):
        plan = read(tmp_path, f"plan-{name}")
        assert plan is not None
        expected = list(range(plan["first_step"], plan["first_step"] + count))
        for rank in ranks:
            done = read(tmp_path, f"done-{name}-rank-{rank}")
            assert done is not None and done["status"] == "done", done
            assert steps_in(Path(done["path"])) == expected
    assert read(tmp_path, "done-some-rank-1") is None
