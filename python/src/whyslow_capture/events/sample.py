"""A recorded step: raw entries while the device is busy, phases and records afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from json import dumps
from typing import TYPE_CHECKING

from ..layout import TRAINING_STEP

if TYPE_CHECKING:
    import torch

# Name, indices of the marks at which it begins and ends, micro-batch.
Phase = tuple[str, int, int, int]
# Written on the hot path, where plain tuples are cheapest: a phase begins (name, mark, micro-batch), a phase ends
# (name, mark), a whole phase, or a lap.
Entry = tuple[str, int] | tuple[str, int, int] | Phase | tuple[str, int, int, int, str]
LAP = "lap"
# Time that the job has spent outside its steps so far, in ns, by phase.
Totals = tuple[tuple[str, int], ...]


def micro_of(entry: Entry) -> int:
    """The micro-batch of any entry except an end."""
    return entry[2] if len(entry) == 3 else entry[3]  # type: ignore[misc]


def phases_of(entries: list[Entry]) -> list[Phase]:
    """
    Pairs begins with ends. A phase inside another of the same name is merged into it. Phases without a begin, an end or
    a mark are dropped. If the job laps a name, hooks' phases of that name are dropped: a lap's name only comes at its
    end, when a hook may have recorded it already.
    """
    laps = {entry[0] for entry in entries if len(entry) == 5}
    if laps:
        entries = [entry for entry in entries if len(entry) == 5 or entry[0] not in laps]
    phases: list[Phase] = []
    opened: dict[str, tuple[str, int, int]] = {}
    # How many phases of the same name are open inside it.
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


@dataclass(slots=True, eq=False)
class Sample:
    """Consecutive recorded steps. The device may still be working on them."""

    # (step number, number of entries up to its end, time outside steps before it).
    steps: list[tuple[int, int, Totals]]
    # Host times of the marks. In a GPU job each mark also has an event.
    host_ns: list[int]
    entries: list[Entry]
    events: list[torch.cuda.Event]
    in_one_stream: bool
    # Host time spent on recording.
    spent: int
    anchor: torch.cuda.Event | None = None
    anchor_host_ns: int = 0
    # "recording" or "attached": a profiler made these steps slower than they are by themselves.
    disturbed_by: str | None = None
    # Read from the events of a GPU job: time of the first after the anchor (None without an anchor), and of the
    # others after the first.
    first_ms: float | None = None
    others_ms: list[float] | None = None


@dataclass(eq=False)
class ResolvedSample:
    """One step. It may share marks with other steps."""

    step: int
    host_ns: list[int]
    # Device times of the marks, on the host's clock (by the anchor). None in a job without GPU.
    device_ns: list[int] | None
    anchored: bool
    entries: list[Entry]
    outside: Totals = ()
    disturbed_by: str | None = None

    @cached_property
    def phases(self) -> list[Phase]:
        return phases_of(self.entries)

    def numbers(self, origin_ns: int) -> tuple[float, ...]:
        """The values for `template`'s placeholders, in order."""
        host, device, step = self.host_ns, self.device_ns, self.step
        values: list[float] = []
        outside = [ns / 1e6 for _, ns in self.outside]
        if device is None:
            for name, first, last, _ in self.phases:
                begin = host[first]
                values += (step, (host[last] - begin) / 1e6, (begin - origin_ns) / 1e6)
                if outside and name == TRAINING_STEP:
                    values += outside
            return tuple(values)
        for name, first, last, _ in self.phases:
            begin, end = device[first], device[last]
            values += (step, (end - begin) / 1e6, (begin - origin_ns) / 1e6)
            if outside and name == TRAINING_STEP:
                values += outside
            values.append((host[last] - host[first]) / 1e6)
            if self.anchored:
                # The anchor is a few µs late, so an idle device can seem to be ahead of the host.
                values.append(max(0, end - host[last]) / 1e6)
        return tuple(values)

    def shape(self) -> tuple[object, ...]:
        """Samples of the same shape differ only in their numbers."""
        how = (self.device_ns is None, self.anchored, self.disturbed_by)
        outside = tuple([name for name, _ in self.outside])
        return (*how, outside, *[(name, micro) for name, _, _, micro in self.phases])

    def template(self, rank: int, run: str) -> str:
        """The records as lines of JSON, with placeholders for the numbers."""
        clock = "host" if self.device_ns is None else "gpu"
        device = "" if self.device_ns is None else '"host_ms":%.4f,' + ('"lag_ms":%.4f,' if self.anchored else "")
        disturbed = "" if self.disturbed_by is None else f'"profiler":"{self.disturbed_by}",'
        rest = f'"clock":"{clock}",{disturbed}"run":{run.replace("%", "%%")}'
        totals = ",".join(f"{dumps(name)}:%.3f" for name, _ in self.outside)
        outside = f'"outside_ms":{{{totals}}},' if totals else ""
        return "".join(
            f'{{"name":{dumps(name).replace("%", "%%")},"step":%d,"rank":{rank},"duration_ms":%.4f,"start_ms":%.4f,'
            f'{outside if name == TRAINING_STEP else ""}"micro":{micro},{device}{rest}}}\n'
            for name, _, _, micro in self.phases
        )


def steps_of(samples: list[Sample]) -> list[ResolvedSample]:
    """Splits samples into steps, once their events have been read. Runs on the writer thread."""
    resolved = []
    for sample in samples:
        host, device, since = sample.host_ns, None, sample.first_ms
        if sample.others_ms is not None:
            first = host[0] if since is None else sample.anchor_host_ns + int(since * 1e6)
            device = [first, *[first + int(ms * 1e6) for ms in sample.others_ms]]
        begin = 0
        for step, end, outside in sample.steps:
            entries, disturbed_by = sample.entries[begin:end], sample.disturbed_by
            resolved.append(ResolvedSample(step, host, device, since is not None, entries, outside, disturbed_by))
            begin = end
    return resolved
