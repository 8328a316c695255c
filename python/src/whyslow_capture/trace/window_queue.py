"""The windows of one target that lie ahead: those of its schedule and those asked for."""

from __future__ import annotations

from dataclasses import replace

from .schedule import Schedule, WindowPlan

# No step is that far away.
NEVER = 1 << 62


class WindowQueue:
    """Counts the steps of one target. Changed by the training thread only."""

    def __init__(self, schedule: Schedule) -> None:
        self.target = schedule.target
        self.step = 0
        # Up to here nothing is to be done for this target.
        self.quiet_until = 0
        self._schedule = schedule
        self._skip_before = 0
        self._asked: tuple[WindowPlan, ...] = ()

    def ask(self, plan: WindowPlan) -> None:
        self._asked = tuple(sorted((*self._asked, plan), key=lambda p: p.first))

    def due(self, step: int) -> WindowPlan | None:
        """The window that is to be open (or warming up) while `step` runs. Those asked for go before the schedule."""
        for plan in (*self._asked[:1], self._scheduled(step)):
            if plan is not None and plan.warm_from <= step <= plan.first:
                return plan
        return None

    def drop(self, plan: WindowPlan) -> None:
        """It is taken, or will not be."""
        if plan.request is None:
            self._skip_before = plan.first + 1
        else:
            self._asked = tuple(p for p in self._asked if p is not plan)

    def drop_late(self, step: int) -> list[WindowPlan]:
        """Those asked for that can no longer begin when `step` begins."""
        late = [plan for plan in self._asked if plan.first < step]
        self._asked = self._asked[len(late) :]
        return late

    def drop_all(self) -> list[WindowPlan]:
        asked, self._asked = self._asked, ()
        return list(asked)

    def next_event(self, step: int) -> int:
        """The first step after `step` at which there is something to do."""
        begins = [plan.warm_from for plan in self._asked]
        scheduled = self._scheduled(step + 1)
        if scheduled is not None:
            begins.append(scheduled.warm_from)
        return max(step + 1, min(begins, default=NEVER))

    def free_from(self, wish: WindowPlan, others: tuple[WindowPlan, ...] = ()) -> int:
        """The first step at which a window like `wish` overlaps no other. For any thread."""
        plan = wish
        for _ in range(100):
            inside = self._schedule.next_window(plan.warm_from - self._schedule.active + 1)
            blocking = [p for p in (*self._asked, *others, inside) if p is not None and p.overlaps(plan)]
            if not blocking:
                return plan.first
            plan = replace(plan, first=max(p.end for p in blocking) + plan.warmup)
        # The schedule leaves no gap: then its windows make room.
        return wish.first

    def _scheduled(self, step: int) -> WindowPlan | None:
        plan = self._schedule.next_window(max(step, self._skip_before))
        while plan is not None and any(plan.overlaps(asked) for asked in self._asked):
            plan = self._schedule.next_window(plan.first + 1)
        return plan
