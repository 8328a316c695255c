"""What is noted while a step is being recorded, and what it becomes once the device is done with it."""

from __future__ import annotations

from functools import cached_property
from json import dumps
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

# Name, indices of the marks where it begins and ends, micro-step.
Phase = tuple[str, int, int, int]
# As noted on the hot path, where plain tuples are best: a phase begins (name, mark, micro-step), ends (name, mark), is
# given whole, or is a lap.
Entry = tuple[str, int] | tuple[str, int, int] | Phase | tuple[str, int, int, int, str]
LAP = "lap"


def micro_of(entry: Entry) -> int:
    """Of one that is more than an end."""
    return entry[2] if len(entry) == 3 else entry[3]  # type: ignore[misc]


def phases_of(entries: list[Entry]) -> list[Phase]:
    """
    One inside another of the same name is part of it; what has no beginning, no end or no mark there is left out. What
    the job calls a lap is named when it is over: what hooks took for a phase of that name does not count.
    """
    laps = {entry[0] for entry in entries if len(entry) == 5}
    if laps:
        entries = [entry for entry in entries if len(entry) == 5 or entry[0] not in laps]
    phases: list[Phase] = []
    opened: dict[str, tuple[str, int, int]] = {}
    # How many of the same name are open inside of it.
    inner: dict[str, int] = {}
    for entry in entries:
        name = entry[0]
        if len(entry) == 2:
            if inner.get(name):
                inner[name] -= 1
            elif name in opened:
                _, begin, micro = opened.pop(name)
                if begin >= 0 and entry[1] >= 0:
                    phases.append((name, begin, entry[1], micro))
        elif len(entry) == 3:
            if name in opened:
                inner[name] = inner.get(name, 0) + 1
            else:
                opened[name] = entry
        elif entry[1] >= 0 and entry[2] >= 0:
            phases.append(entry[:4])
    return phases


class Sample:
    """Steps in a row that were recorded, while the device is still at them."""

    __slots__ = (
        "anchor",
        "anchor_host_ns",
        "entries",
        "events",
        "first_ms",
        "host_ns",
        "in_one_stream",
        "others_ms",
        "spent",
        "steps",
    )

    def __init__(
        self,
        steps: list[tuple[int, int]],
        host_ns: list[int],
        entries: list[Entry],
        events: list[torch.cuda.Event],
        in_one_stream: bool,
        spent: int,
    ) -> None:
        # Number, and how many of the entries belong to it and those before it.
        self.steps = steps
        # Host times of the marks; on a GPU job each has an event beside it.
        self.host_ns, self.events = host_ns, events
        self.in_one_stream = in_one_stream
        self.entries = entries
        self.anchor: torch.cuda.Event | None = None
        self.anchor_host_ns = 0
        # Host time that recording took.
        self.spent = spent
        # As read from the events, on a GPU job: when the first happened after the anchor (None: there was none), and
        # the others after the first.
        self.first_ms: float | None = None
        self.others_ms: list[float] | None = None


class ResolvedSample:
    """One step, with marks that it may share with others."""

    def __init__(
        self, step: int, host_ns: list[int], device_ns: list[int] | None, anchored: bool, entries: list[Entry]
    ) -> None:
        self.step, self.host_ns = step, host_ns
        # On the host's clock as well (by the anchor); None on jobs without GPU.
        self.device_ns = device_ns
        self.anchored = anchored
        self._entries = entries

    @cached_property
    def phases(self) -> list[Phase]:
        return phases_of(self._entries)

    def numbers(self, origin_ns: int) -> tuple[float, ...]:
        """The values of this sample's records, in the order of `template`'s places."""
        host, device, step = self.host_ns, self.device_ns, self.step
        values: list[float] = []
        if device is None:
            for _, first, last, _ in self.phases:
                begin = host[first]
                values += (step, (host[last] - begin) / 1e6, (begin - origin_ns) / 1e6)
            return tuple(values)
        for _, first, last, _ in self.phases:
            begin, end = device[first], device[last]
            values += (step, (end - begin) / 1e6, (begin - origin_ns) / 1e6, (host[last] - host[first]) / 1e6)
            if self.anchored:
                # The anchor is late by some µs, so a device that waits can seem ahead of the host.
                values.append(max(0, end - host[last]) / 1e6)
        return tuple(values)

    def shape(self) -> tuple[object, ...]:
        """Samples of one shape differ in numbers only."""
        return (self.device_ns is None, self.anchored, *[(name, micro) for name, _, _, micro in self.phases])

    def template(self, rank: int, run: str) -> str:
        """The records as lines of JSON with places for the numbers."""
        clock = "host" if self.device_ns is None else "gpu"
        device = "" if self.device_ns is None else '"host_ms":%.4f,' + ('"lag_ms":%.4f,' if self.anchored else "")
        rest = f'"clock":"{clock}","run":{run.replace("%", "%%")}'
        return "".join(
            f'{{"name":{dumps(name).replace("%", "%%")},"step":%d,"rank":{rank},"duration_ms":%.4f,"start_ms":%.4f,'
            f'"micro":{micro},{device}{rest}}}\n'
            for name, _, _, micro in self.phases
        )


def steps_of(samples: list[Sample]) -> list[ResolvedSample]:
    """One by one, when their events have been read. Off the training thread."""
    resolved = []
    for sample in samples:
        host, device, since = sample.host_ns, None, sample.first_ms
        if sample.others_ms is not None:
            first = host[0] if since is None else sample.anchor_host_ns + int(since * 1e6)
            device = [first, *[first + int(ms * 1e6) for ms in sample.others_ms]]
        begin = 0
        for step, end in sample.steps:
            resolved.append(ResolvedSample(step, host, device, since is not None, sample.entries[begin:end]))
            begin = end
    return resolved
