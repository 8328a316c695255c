"""
The scalars of a training step from all ranks, in one collective and one read.

    gather = MetricsGather()
    ...
    gather.add("loss", loss)                                # a tensor on the GPU: nothing waits for it here
    gather.add("tokens", tokens, op="sum")                  # a Python number
    gather.add("seq_len", length, ops=("avg", "min", "max"))  # seq_len/avg, seq_len/min, seq_len/max
    metrics = gather.gather()                               # {"loss": 2.31, "tokens": 65536.0, …} on every rank

Numbers are carried as float64, so that sums of whole numbers are exact up to 2^53 (float32 ends at 2^24 tokens); as
float32 on devices without it (mps, npu).

Ranks must call `gather()` equally often; what they added is compared in the same collective, whose size does not depend
on it. Where names, order or operations differ, every rank raises `MetricsMismatchError`, which names the ranks, at that
step (pipelined: at the next call). A number here and a GPU tensor there is no difference.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import torch

from .api import phase
from .layout import TRAINING_METRICS
from .metrics_exchange import HEADER, Exchange, pick_device
from .metrics_reduce import OPS, Column, op_name, reduce_columns

Number = int | float | torch.Tensor


class MetricsMismatchError(RuntimeError):
    """Ranks added different metrics. Raised on all of them."""


class MetricsGather:
    """
    `every_n`: of n calls of `gather()` only the last communicates, the others return None (see `due`).
    `pipelined`: returns the metrics of the gather before, so that neither host nor GPU waits; `flush()` at the end.
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
            raise ValueError(f"every_n={every_n!r}: allowed is a whole number from 1 on")
        self.every_n = every_n
        self.pipelined = pipelined
        self.result_step: int | None = None
        """Which step the metrics returned last are of: as given to `gather`, else the number of the call, from 0."""
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
        """Whether the next `gather()` communicates. If not, what is added before it is not looked at."""
        return (self._calls + 1) % self.every_n == 0

    def add(self, name: str, value: Number, op: object = "avg", *, ops: Iterable[object] | None = None) -> None:
        """
        One scalar of this step: a number, or a tensor with one element, which is read at `gather()`, not before.

        With `op` the result is under `name`, with several `ops` under `name/op`. Operations: avg, sum, min, max, and
        argmin, argmax (the rank that has it).
        """
        if not self.due:
            return
        wanted = (op_name(op),) if ops is None else tuple(op_name(each) for each in ops)
        if not wanted:
            raise ValueError(f"metric {name!r}: no operation is given; allowed are {OPS}")
        if name in self._added.names:
            raise ValueError(f"metric {name!r} is added twice in a step; for several operations use ops=(…)")
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
        Ends the step's metrics. On the ranks of the group alike: their reduced values, or None in a call that is not
        due (`every_n`) or has nothing yet to return (`pipelined`), and on ranks outside the group.
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
        """What is still on its way: the last metrics of a pipelined job."""
        with phase(TRAINING_METRICS):
            return self._collect()

    # -- inside ------------------------------------------------------------------------------------------------------

    def _send(self, step: int, added: _Added) -> None:
        exchange = self._exchange
        if exchange is None or not exchange.still_fits():
            device = self._device or pick_device(self._group)
            exchange = self._exchange = Exchange(self._group, device, self._dtype)
        if exchange.rank < 0:
            return
        if exchange.device.type == "cpu" and added.tensors:
            # The group talks through the host: what is on the GPU has to come here first, in one read.
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
            # 24 bits: exact in float32 as well.
            known = float(int.from_bytes(digest[:3], "big"))
            self._fingerprints = {columns: known}
        return known


@dataclass
class _Added:
    """A step's scalars, in the order in which they were added. Tensors of a device have a place among the slots."""

    slots: list[float] = field(default_factory=lambda: [0.0] * HEADER)
    columns: list[Column] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    tensors: list[torch.Tensor] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)


def _one_number(name: str, value: torch.Tensor) -> torch.Tensor:
    # FSDP2's gradient norm is spread over ranks; its parts are not the norm.
    whole = getattr(value, "full_tensor", None)
    tensor: torch.Tensor = (value if whole is None else whole()).detach()
    if tensor.numel() != 1:
        raise ValueError(f"metric {name!r}: a tensor of shape {tuple(tensor.shape)} is not one number")
    return tensor.reshape(())


def _mismatch(headers: Sequence[Sequence[float]], columns: Sequence[Column], exchange: Exchange) -> str:
    alike: dict[tuple[float, ...], list[int]] = {}
    for rank, header in enumerate(headers):
        alike.setdefault(tuple(header), []).append(exchange.global_rank(rank))
    # Most ranks first: the others are those to look at.
    parts = [
        f"ranks {_short(ranks)} added {int(header[1]) - HEADER} alike"
        for header, ranks in sorted(alike.items(), key=lambda item: (-len(item[1]), item[1]))
    ]
    mine = ", ".join(f"{column.name} ({'/'.join(column.ops)})" for column in columns) or "nothing"
    me = exchange.global_rank(exchange.rank)
    return f"ranks added different metrics: {'; '.join(parts)}; this rank, {me}, added {mine}"


def _short(ranks: list[int]) -> str:
    shown = ", ".join(str(rank) for rank in ranks[:8])
    return shown if len(ranks) <= 8 else f"{shown} and {len(ranks) - 8} more"
