"""The files in OUT/control: requests for windows, plans of rank 0, answers of each rank, and incidents to pass on."""

from __future__ import annotations

import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from ..alerts import MAX_TEXT, MAX_TITLE, TRACKERS, Alert
from ..own_files import read_json, write_json

_NAME = re.compile(r"^(?P<kind>request|plan|incident)-(?P<id>[A-Za-z0-9_.]+)\.json$")


@dataclass(frozen=True)
class WindowRequest:
    id: str
    steps: int
    # None: the ranks set by trace.ranks.
    ranks: tuple[int, ...] | str | None
    asked_ns: int
    # How long the sender waits for an answer, if known.
    wait_s: float = 0.0


@dataclass(frozen=True)
class Plan:
    id: str
    first_step: int
    steps: int
    ranks: tuple[int, ...] | str
    # When the plan was made, by the clock of rank 0.
    planned_ns: int = 0

    def includes(self, rank: int) -> bool:
        return self.ranks == "all" or rank in self.ranks


@dataclass(frozen=True)
class Answer:
    id: str
    # done, cut, missed or failed.
    status: str
    message: str
    path: str | None = None
    first_step: int | None = None
    last_step: int | None = None


class ControlFolder:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def look(self) -> tuple[set[str], set[str], set[str]]:
        """(ids of requests, ids of plans, ids of incidents)"""
        found: dict[str, set[str]] = {"request": set(), "plan": set(), "incident": set()}
        try:
            names = os.listdir(self._folder)
        except OSError:
            names = []
        for name in names:
            match = _NAME.match(name)
            if match:
                found[match["kind"]].add(match["id"])
        return found["request"], found["plan"], found["incident"]

    def read_request(self, request_id: str) -> WindowRequest:
        content = read_json(self._folder / f"request-{request_id}.json")
        steps = _whole(content.get("steps", 3), "steps", 1)
        asked_ns, wait_s = content.get("asked_ns", 0), content.get("wait_s", 0)
        if not isinstance(asked_ns, (int, float)) or not isinstance(wait_s, (int, float)):
            raise ValueError("asked_ns and wait_s must be numbers")
        return WindowRequest(request_id, steps, _ranks(content.get("ranks")), int(asked_ns), float(wait_s))

    def take_alert(self, alert_id: str) -> Alert:
        """Removes it: whoever left it waits for that."""
        file = self._folder / f"incident-{alert_id}.json"
        try:
            content = read_json(file)
        finally:
            file.unlink(missing_ok=True)
        to = content.get("to")
        if to not in TRACKERS:
            raise ValueError(f"to must be one of {', '.join(TRACKERS)}")
        incident, title, text = (_text(content.get(key), key) for key in ("incident", "title", "text"))
        return Alert(str(to), incident, title[:MAX_TITLE], text[:MAX_TEXT], _whole(content.get("step"), "step", 0))

    def read_plan(self, plan_id: str) -> Plan:
        content = read_json(self._folder / f"plan-{plan_id}.json")
        ranks = _ranks(content.get("ranks"))
        if ranks is None:
            raise ValueError("a plan must name its ranks")
        first = _whole(content.get("first_step"), "first_step", 0)
        planned_ns = _whole(content.get("planned_ns", 0), "planned_ns", 0)
        return Plan(plan_id, first, _whole(content.get("steps"), "steps", 1), ranks, planned_ns)

    def write_plan(self, plan: Plan) -> None:
        write_json(self._folder / f"plan-{plan.id}.json", asdict(plan))

    def write_answer(self, answer: Answer, rank: int) -> None:
        write_json(self._answer_file(answer.id, rank), {"rank": rank, **asdict(answer)})

    def is_answered(self, request_id: str, rank: int) -> bool:
        return self._answer_file(request_id, rank).exists()

    def _answer_file(self, request_id: str, rank: int) -> Path:
        return self._folder / f"done-{request_id}-rank-{rank}.json"


def _whole(value: object, name: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}")
    return value


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name} must be a text")
    return value


def _ranks(value: object) -> tuple[int, ...] | str | None:
    if value is None:
        return None
    if value == "all":
        return "all"
    if isinstance(value, list) and value:
        return tuple(sorted({_whole(rank, "ranks", 0) for rank in value}))
    raise ValueError('ranks must be a list of ranks, "all" or null')
