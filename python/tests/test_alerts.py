"""Incidents of `whyslow watch --notify wandb` and mlflow, from OUT/control to the run of the job."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from frameworks import framework
from trace_support import make_tier

from whyslow_capture.alerts import MOST_WAITING, Alert, Alerts
from whyslow_capture.problems import ProblemLog

ALERT = {"to": "wandb", "incident": "slower-305", "title": "a title", "text": "a sentence", "step": 305}


def asked(out: Path, rank: int = 0, problems: ProblemLog | None = None) -> Any:
    return make_tier(out, problems, rank, world=2, tier={"on_demand": True, "poll_s": 0.01})


def leave(out: Path, alert_id: str = "a", **changed: object) -> Path:
    file = out / "control" / f"incident-{alert_id}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({**ALERT, **changed}))
    return file


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def fake_wandb(monkeypatch: pytest.MonkeyPatch, run: object) -> None:
    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(run=run))  # type: ignore[arg-type]


def test_rank_0_passes_an_incident_on_once_and_removes_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[dict[str, Any]] = []
    fake_wandb(monkeypatch, SimpleNamespace(alert=lambda **words: said.append(words)))
    second = asked(tmp_path, rank=1)
    file = leave(tmp_path)
    time.sleep(0.1)
    assert file.exists()
    first = asked(tmp_path)
    until(lambda: said)
    assert not file.exists()
    first.close()
    second.close()
    assert said == [{"title": "a title", "text": "a sentence", "level": "WARN"}]


@pytest.mark.parametrize("changed", [{"to": "os"}, {"text": None}, {"title": 7}, {"step": -1}])
def test_a_file_that_is_no_incident_is_removed_and_counted(tmp_path: Path, changed: dict[str, object]) -> None:
    problems = ProblemLog()
    tier = asked(tmp_path, problems=problems)
    file = leave(tmp_path, **changed)
    until(lambda: not file.exists() and problems.counts.get("trace_control"))
    tier.close()


def test_a_tracker_that_hangs_or_fails_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, said = threading.Event(), []

    def alert(title: str, **_: object) -> None:
        go_on.wait(20)
        said.append(title)
        if title == "0":
            raise RuntimeError("the server is down")

    fake_wandb(monkeypatch, SimpleNamespace(alert=alert))
    problems = ProblemLog()
    alerts = Alerts(problems)
    began = time.monotonic()
    for n in range(3 * MOST_WAITING):
        alerts.send(Alert("wandb", str(n), str(n), "text", n))
    assert time.monotonic() - began < 5
    go_on.set()
    # The first was under way; of the others, the newest are kept.
    until(lambda: len(said) == 1 + MOST_WAITING)
    assert said[0] == "0" and said[-1] == str(3 * MOST_WAITING - 1)
    assert problems.counts == {"alert": 1}


def test_a_job_without_a_run_is_told_once(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    fake_wandb(monkeypatch, None)
    monkeypatch.setitem(sys.modules, "mlflow", None)  # type: ignore[arg-type]
    problems = ProblemLog()
    alerts = Alerts(problems)
    for to in ("wandb", "mlflow"):
        alerts.send(Alert(to, "a", "title", "text", 1))
    until(lambda: problems.counts.get("no_tracker") == 2)


def test_wandb_itself_keeps_the_alert_in_the_files_of_its_run(tmp_path: Path) -> None:
    wandb = framework("wandb")
    run = wandb.init(mode="offline", dir=str(tmp_path), project="p")
    tier = asked(tmp_path)
    file = leave(tmp_path, title="whyslow: slower", text="Since step 305 a step takes longer.")
    until(lambda: not file.exists())
    tier.close()
    until(lambda: not [t for t in threading.enumerate() if t.name == "whyslow-alerts"])
    run.finish()
    (log,) = tmp_path.rglob("*.wandb")
    # Written by another process.
    until(lambda: b"Since step 305 a step takes longer." in log.read_bytes())


def test_mlflow_gets_the_sentence_as_a_tag_and_a_count(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[tuple[object, ...]] = []
    client = SimpleNamespace(
        set_tag=lambda *words: said.append(words), log_metric=lambda *words, step: said.append(words)
    )
    run = SimpleNamespace(info=SimpleNamespace(run_id="r"))
    mlflow = SimpleNamespace(active_run=lambda: run, MlflowClient=lambda: client)
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)  # type: ignore[arg-type]
    monkeypatch.delitem(sys.modules, "mlflow.tracking.fluent", raising=False)
    Alerts(ProblemLog()).send(Alert("mlflow", "slower-305: x", "title", 999 * "long", 305))
    until(lambda: len(said) == 2)
    assert said == [("r", "whyslow.incident.slower-305--x", (999 * "long")[:500]), ("r", "whyslow/incidents", 1.0)]


# Too large for CI.
if find_spec("mlflow") is not None:

    def test_mlflow_itself_finds_the_run_of_another_thread(tmp_path: Path) -> None:
        mlflow = framework("mlflow")
        mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
        with mlflow.start_run() as run:
            Alerts(ProblemLog()).send(Alert("mlflow", "slower-305", "title", "Since step 305.", 305))
            client = mlflow.MlflowClient()
            until(lambda: client.get_run(run.info.run_id).data.metrics.get("whyslow/incidents") == 1)
            assert client.get_run(run.info.run_id).data.tags["whyslow.incident.slower-305"] == "Since step 305."
