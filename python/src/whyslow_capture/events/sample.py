"""What is noted while a step is being recorded, and what it becomes once the device is done with it."""

from __future__ import annotations

from json import dumps

import torch

# Name, indices of the marks where it begins and ends, micro-step. A plain tuple: made on the hot path.
Phase = tuple[str, int, int, int]


class Sample:
    """Made on the hot path: no dataclass, whose lists cost a call each."""

    __slots__ = (
        "anchor",
        "anchor_host_ns",
        "cost_ns",
        "events",
        "host_ns",
        "in_one_stream",
        "on_device",
        "phases",
        "step",
        "stream",
    )

    def __init__(self, step: int) -> None:
        self.step = step
        # Host times of the marks; on a GPU job each has an event beside it.
        self.host_ns: list[int] = []
        self.on_device = False
        self.events: list[torch.cuda.Event] = []
        self.stream: int | None = None
        self.in_one_stream = True
        self.phases: list[Phase] = []
        self.anchor: torch.cuda.Event | None = None
        self.anchor_host_ns = 0
        self.cost_ns = 0

    def is_done(self) -> bool:
        if not self.events:
            return True
        if self.anchor is not None and not self.anchor.query():
            return False
        # In one stream the last mark comes last.
        if self.in_one_stream:
            return bool(self.events[-1].query())
        return all(e.query() for e in self.events)

    def resolve(self) -> ResolvedSample:
        """Only when done. Reads each event's time once, whatever the number of phases."""
        device_ns: list[int] | None = None
        if self.on_device and self.events:
            first = self.events[0]
            offset = self.host_ns[0] if self.anchor is None else self.anchor_host_ns
            base_ms = 0.0 if self.anchor is None else self.anchor.elapsed_time(first)
            device_ns = [offset + int((base_ms + first.elapsed_time(e)) * 1e6) for e in self.events]
        return ResolvedSample(self.step, self.host_ns, device_ns, self.anchor is not None, self.phases)


class ResolvedSample:
    __slots__ = ("anchored", "device_ns", "host_ns", "phases", "step")

    def __init__(
        self, step: int, host_ns: list[int], device_ns: list[int] | None, anchored: bool, phases: list[Phase]
    ) -> None:
        self.step, self.host_ns, self.phases = step, host_ns, phases
        # On the host's clock as well (by the anchor); None on jobs without GPU.
        self.device_ns = device_ns
        self.anchored = anchored

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
