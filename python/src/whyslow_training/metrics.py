"""
Reduces the scalars of a training step over all ranks, with one collective and one device-to-host read.

    gather = MetricsGather()
    ...
    gather.add("loss", loss)                                # a GPU tensor; this call does not wait for it
    gather.add("tokens", tokens, op="sum")                  # a Python number
    gather.add("seq_len", length, ops=("avg", "min", "max"))  # seq_len/avg, seq_len/min, seq_len/max
    metrics = gather.gather()                               # {"loss": 2.31, "tokens": 65536.0, …} on every rank

Numbers travel as float64, so sums of whole numbers are exact up to 2^53 (float32 would end at 2^24 tokens). On devices
without float64 (mps, npu) they travel as float32.

All ranks must call `gather()` equally often. If they added different names, orders or operations, every rank raises
`MetricsMismatchError` at that step (pipelined: at the next call) and names the ranks that differ. The same collective
compares them; its size does not depend on what was added. A Python number on one rank and a GPU tensor on another
match.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import torch

from whyslow_capture.api import phase
from whyslow_capture.layout import TRAINING_METRICS

from .metrics_exchange import HEADER, Exchange, pick_device
from .metrics_reduce import OPS, Column, op_name, reduce_columns

Number = int | float | torch.Tensor


class MetricsMismatchError(RuntimeError):
    """Ranks added different metrics. Raised on every rank."""


class MetricsGather:
    """
    `every_n`: only every n-th call of `gather()` communicates, the others return None (see `due`).
    `pipelined`: `gather()` returns the metrics of the previous call, so neither host nor GPU waits. Call `flush()` at
    the end.
    """

    def __init__(
        self,
        group: torch.distributed.ProcessGroup | None = None,
        device: torch.device | str | int | None = None,
        every_n: int = 1,
        pipelined: bool = False,
        dtype: torch.dtype | None = None,
    ) -> None:
        if every_n < 1:
            raise ValueError(f"every_n={every_n!r} must be a whole number of at least 1")
        self.every_n = every_n
        self.pipelined = pipelined
        self.result_step: int | None = None
        """The step of the metrics returned last: as passed to `gather`, otherwise the number of that call, from 0."""
        self._device = None if device is None else torch.device(device)
        self._dtype = dtype
        self._group = group
        self._calls = 0
        self._exchange: Exchange | None = None
        self._added = _Added()
        self._fingerprints: dict[tuple[Column, ...], float] = {}
        self._sent: tuple[int, list[Column]] | None = None

    @property
    def due(self) -> bool:
        """Whether the next `gather()` communicates. If not, metrics added before it are ignored."""
        return (self._calls + 1) % self.every_n == 0

    def add(self, name: str, value: Number, op: object = "avg", *, ops: Iterable[object] | None = None) -> None:
        """
        Adds one scalar of this step: a number, or a tensor with one element, which is not read before `gather()`.

        With `op` the result is called `name`, with several `ops` it is `name/op`. Operations are avg, sum, min, max,
        argmin and argmax (the rank that holds the minimum or maximum).
        """
        if not self.due:
            return
        wanted = (op_name(op),) if ops is None else tuple(op_name(each) for each in ops)
        if not wanted:
            raise ValueError(f"metric {name!r} needs at least one operation of {OPS}")
        if name in self._added.names:
            raise ValueError(f"metric {name!r} was added twice in a step; use ops=(…) for several operations")
        number: float | None = None
        if isinstance(value, torch.Tensor):
            tensor = _one_number(name, value)
            number = float(tensor.item()) if tensor.device.type == "cpu" else None
            if number is None:
                self._added.tensors.append(tensor)
                self._added.positions.append(HEADER + len(self._added.columns))
        else:
            number = float(value)
        self._added.slots.append(0.0 if number is None else number)
        self._added.columns.append(Column(name, wanted, ops is not None))
        self._added.names.add(name)

    def gather(self, step: int | None = None) -> dict[str, float] | None:
        """
        Ends the step's metrics and returns the reduced values, the same on every rank of the group. Returns None if the
        call is not due (`every_n`), has nothing to return yet (`pipelined`), or the rank is outside the group.
        """
        number = self._calls if step is None else step
        is_due = self.due
        self._calls += 1
        if not is_due and self._sent is None:
            return None
        added, self._added = self._added, _Added()
        with phase(TRAINING_METRICS):
            earlier = self._collect()
            if is_due:
                self._send(number, added)
            return earlier if self.pipelined else self._collect()

    def flush(self) -> dict[str, float] | None:
        """Returns the metrics still in flight: the last ones of a pipelined job."""
        with phase(TRAINING_METRICS):
            return self._collect()

    # -- internal ----------------------------------------------------------------------------------------------------

    def _send(self, step: int, added: _Added) -> None:
        exchange = self._exchange
        if exchange is None or not exchange.still_fits():
            device = self._device or pick_device(self._group)
            exchange = self._exchange = Exchange(self._group, device, self._dtype)
        if exchange.rank < 0:
            return
        if exchange.device.type == "cpu" and added.tensors:
            # The group communicates through the host, so GPU tensors are read first, all at once.
            read = torch.stack([tensor.to(torch.float64) for tensor in added.tensors]).tolist()
            for position, number in zip(added.positions, read, strict=True):
                added.slots[position] = number
            added.tensors, added.positions = [], []
        added.slots[0] = self._fingerprint(tuple(added.columns))
        added.slots[1] = float(len(added.slots))
        exchange.send(added.slots, added.tensors, added.positions)
        self._sent = (step, added.columns)

    def _collect(self) -> dict[str, float] | None:
        sent, self._sent = self._sent, None
        exchange = self._exchange
        if sent is None or exchange is None:
            return None
        step, columns = sent
        table, headers = exchange.receive()
        if any(header != headers[0] for header in headers):
            raise MetricsMismatchError(_mismatch(headers, columns, exchange))
        self.result_step = step
        return reduce_columns(table, HEADER, columns)

    def _fingerprint(self, columns: tuple[Column, ...]) -> float:
        known = self._fingerprints.get(columns)
        if known is None:
            digest = hashlib.sha256(repr(columns).encode()).digest()
            # 24 bits, which float32 holds exactly.
            known = float(int.from_bytes(digest[:3], "big"))
            self._fingerprints = {columns: known}
        return known


@dataclass
class _Added:
    """A step's scalars, in the order they were added. A device tensor's slot is empty; `positions` says which it is."""

    slots: list[float] = field(default_factory=lambda: [0.0] * HEADER)
    columns: list[Column] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    tensors: list[torch.Tensor] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)


def _one_number(name: str, value: torch.Tensor) -> torch.Tensor:
    # FSDP2's gradient norm is sharded, and a shard is not the norm.
    whole = getattr(value, "full_tensor", None)
    tensor: torch.Tensor = (value if whole is None else whole()).detach()
    if tensor.numel() != 1:
        raise ValueError(f"metric {name!r} must be one number, not a tensor of shape {tuple(tensor.shape)}")
    return tensor.reshape(())


def _mismatch(headers: Sequence[Sequence[float]], columns: Sequence[Column], exchange: Exchange) -> str:
    alike: dict[tuple[float, ...], list[int]] = {}
    for rank, header in enumerate(headers):
        alike.setdefault(tuple(header), []).append(exchange.global_rank(rank))
    # The majority first; the other ranks are the ones to look at.
    parts = [
        f"{_short(ranks)} added {_metrics(int(header[1]) - HEADER)}"
        for header, ranks in sorted(alike.items(), key=lambda item: (-len(item[1]), item[1]))
    ]
    mine = ", ".join(f"{column.name} ({'/'.join(column.ops)})" for column in columns) or "nothing"
    me = exchange.global_rank(exchange.rank)
    return f"ranks added different metrics: {'; '.join(parts)}; this rank, {me}, added {mine}"


def _short(ranks: list[int]) -> str:
    shown = ("rank " if len(ranks) == 1 else "ranks ") + ", ".join(str(rank) for rank in ranks[:8])
    return shown if len(ranks) <= 8 else f"{shown} and {len(ranks) - 8} more"


def _metrics(count: int) -> str:
    return "1 metric" if count == 1 else f"{count} metrics"
