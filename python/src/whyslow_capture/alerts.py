"""
Passes incidents of `whyslow watch --notify wandb` (or mlflow) on to the run that the job has there. Neither is imported
here, and the training thread is not involved: a server that hangs holds up a thread of its own.
"""

from __future__ import annotations

import re
import sys
import threading
from collections import deque
from dataclasses import dataclass
from typing import Any

from .problems import ProblemLog

TRACKERS = ("wandb", "mlflow")
# The watch sends at most 20 in an hour. More are waiting only if a server hangs.
MOST_WAITING = 16
# W&B cuts titles at 64 characters; MLflow tags at 500 on old servers.
MAX_TITLE, MAX_TEXT, MAX_TAG = 64, 2000, 500


@dataclass(frozen=True)
class Alert:
    to: str
    id: str
    title: str
    text: str
    step: int


class Alerts:
    def __init__(self, problems: ProblemLog) -> None:
        self._problems = problems
        self._waiting: deque[Alert] = deque(maxlen=MOST_WAITING)
        self._sent = 0
        self._lock = threading.Lock()
        self._is_busy = False

    def send(self, alert: Alert) -> None:
        with self._lock:
            self._waiting.append(alert)
            if self._is_busy:
                return
            self._is_busy = True
        threading.Thread(target=self._work, name="whyslow-alerts", daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._is_busy = False
                    return
                alert = self._waiting.popleft()
            with self._problems.guard("alert", f"sending an incident to {alert.to}"):
                self._send(alert)

    def _send(self, alert: Alert) -> None:
        self._sent += 1
        is_sent = _to_wandb(alert) if alert.to == "wandb" else _to_mlflow(alert, self._sent)
        if not is_sent:
            self._problems.warn(
                "no_tracker", f"incidents are to be sent to {alert.to}, but this process has no run there"
            )


def _to_wandb(alert: Alert) -> bool:
    run = getattr(sys.modules.get("wandb"), "run", None)
    if run is None:
        return False
    run.alert(title=alert.title, text=alert.text, level="WARN")
    return True


def _to_mlflow(alert: Alert, count: int) -> bool:
    """MLflow has no alerts: a tag holds the sentence, and a metric counts them."""
    mlflow = sys.modules.get("mlflow")
    run = None if mlflow is None else _run_of_any_thread(mlflow)
    if mlflow is None or run is None:
        return False
    client = mlflow.MlflowClient()
    client.set_tag(
        run.info.run_id, f"whyslow.incident.{re.sub(r'[^A-Za-z0-9_.-]', '-', alert.id)}", alert.text[:MAX_TAG]
    )
    client.log_metric(run.info.run_id, "whyslow/incidents", float(count), step=alert.step)
    return True


def _run_of_any_thread(mlflow: Any) -> Any:
    """`active_run` is about the thread that asks; newer versions know those of all."""
    fluent = sys.modules.get("mlflow.tracking.fluent")
    latest = getattr(fluent, "_get_latest_active_run", mlflow.active_run)
    return latest()
