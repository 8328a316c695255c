"""Sends one vector from every rank to every rank, and copies the result to the host without blocking."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist

from whyslow_capture import process

from .metrics_reduce import SMALL, Rows

# Slots before the numbers: a fingerprint of the metrics, and how many slots the rank needs.
HEADER = 2
# Vectors grow in steps of this size, so ranks that added a few more or fewer metrics still send the same size.
PIECE = 32
_NO_FLOAT64 = ("mps", "npu")
# A group of one rank needs no collective. A benchmark on a single GPU turns it on to measure it.
COLLECTIVE_IN_GROUP_OF_ONE = False

# The newer name first: where both exist the older one warns, and jobs may turn warnings into errors.
_all_gather = getattr(dist, "all_gather_single", None) or getattr(dist, "all_gather_into_tensor", None)


def pick_device(group: dist.ProcessGroup | None) -> torch.device:
    """The device on which this group's collectives expect their tensors."""
    on_gpu = process.uses_cuda()
    if process.group_is_up() and dist.get_rank(group) >= 0:
        on_gpu = torch.cuda.is_available() and "nccl" in f"{dist.get_backend(group)} {_backends(group)}"
    return torch.device("cuda", torch.cuda.current_device()) if on_gpu else torch.device("cpu")


def _backends(group: dist.ProcessGroup | None) -> str:
    # "cpu:gloo,cuda:nccl" in cases where get_backend says only "undefined".
    return str(dist.get_backend_config(group)) if hasattr(dist, "get_backend_config") else ""


class Exchange:
    """
    The buffers of one group and device. They are reused, which is safe because each `send` is followed by a `receive`.

    All ranks always send vectors of the same size. A rank that has more to send says so in its header; then all ranks
    send again with a larger vector.
    """

    def __init__(self, group: dist.ProcessGroup | None, device: torch.device, dtype: torch.dtype | None) -> None:
        if device.type == "cuda" and device.index is None:
            device = torch.device("cuda", torch.cuda.current_device())
        self.group, self.device = group, device
        self.has_group = process.group_is_up()
        self.world = dist.get_world_size(group) if self.has_group else 1
        # −1 if this process is not in the group.
        self.rank = dist.get_rank(group) if self.has_group else 0
        self._communicates = self.world > 1 or (self.has_group and COLLECTIVE_IN_GROUP_OF_ONE)
        self._dtype = dtype or (torch.float32 if device.type in _NO_FLOAT64 else torch.float64)
        self._is_cuda = device.type == "cuda"
        # A separate stream, so that GPU work continues while ranks wait for each other.
        self._stream = torch.cuda.Stream(device) if self._is_cuda else None
        self._arrived = torch.cuda.Event() if self._is_cuda else None
        self._work: dist.Work | None = None
        self._local: list[float] | None = None
        self._vector: tuple[Sequence[float], Sequence[torch.Tensor], Sequence[int]] = ((), (), ())
        self._positions: dict[tuple[int, ...], torch.Tensor] = {}
        if self.rank >= 0:
            self._allocate(PIECE)

    def still_fits(self) -> bool:
        """False once the job has made or destroyed its process group."""
        if process.group_is_up() != self.has_group:
            return False
        return not self.has_group or dist.get_world_size(self.group) == self.world

    def global_rank(self, rank: int) -> int:
        """The job-wide rank of a rank of the group."""
        return rank if self.group is None else int(dist.get_global_rank(self.group, rank))

    def send(self, slots: Sequence[float], tensors: Sequence[torch.Tensor], positions: Sequence[int]) -> None:
        """`slots`: header and numbers. The slots at `positions` are filled from `tensors`, which are on the device."""
        self._vector = (slots, tensors, positions)
        if not self._communicates and not tensors:
            self._local = list(slots)
            return
        self._exchange()

    def receive(self) -> tuple[Rows | torch.Tensor, list[list[float]]]:
        """Waits, and returns one row per rank, on the host, and the headers of all rows."""
        local, self._local = self._local, None
        if local is not None:
            return [local], [local[:HEADER]]
        table, headers = self._arrive()
        needed = int(max(header[1] for header in headers))
        if needed > self._capacity:
            self._allocate(-(-needed // PIECE) * PIECE)
            self._exchange()
            table, headers = self._arrive()
        self._vector = ((), (), ())
        return table, headers

    def _allocate(self, capacity: int) -> None:
        self._capacity = capacity
        # Tensors created in inference mode could not be written outside it.
        with torch.inference_mode(False):
            self._staged = torch.zeros(capacity, dtype=self._dtype, device="cpu", pin_memory=self._is_cuda)
            self._mine = self._staged
            if self.device.type != "cpu":
                self._mine = torch.zeros(capacity, dtype=self._dtype, device=self.device)
            total = self.world * capacity
            self._all = torch.zeros(total, dtype=self._dtype, device=self.device)
            self._table = (
                torch.zeros(total, dtype=self._dtype, device="cpu", pin_memory=True) if self._is_cuda else None
            )
        self._staged_slots: Sequence[float] = ()

    def _exchange(self) -> None:
        slots, tensors, positions = self._vector
        if len(slots) > self._capacity:
            # This time only the header arrives. The job may change its tensors before all of them are sent.
            tensors = [tensor.clone() for tensor in tensors]
            self._vector = (slots, tensors, positions)
        self._fill(slots[: self._capacity], *_fitting(tensors, positions, self._capacity))
        if self._communicates:
            assert _all_gather is not None
            self._work = _all_gather(self._all, self._mine, group=self.group, async_op=True)
        else:
            self._all.copy_(self._mine)
        stream = self._stream
        if stream is not None and self._arrived is not None and self._table is not None:
            stream.wait_stream(torch.cuda.current_stream(self.device))
            with torch.cuda.stream(stream):
                if self._work is not None:
                    self._work.wait()
                self._table.copy_(self._all, non_blocking=True)
                self._arrived.record(stream)

    def _fill(self, slots: Sequence[float], tensors: Sequence[torch.Tensor], positions: Sequence[int]) -> None:
        # If all metrics are on the device, the slots do not change and no copy is started.
        if slots != self._staged_slots:
            self._staged[: len(slots)] = torch.tensor(slots, dtype=self._dtype, device="cpu")
            if self._mine is not self._staged:
                self._mine[: len(slots)].copy_(self._staged[: len(slots)], non_blocking=True)
            self._staged_slots = slots
        if tensors:
            self._mine.index_copy_(0, self._index(tuple(positions)), self._stack(tensors))

    def _stack(self, tensors: Sequence[torch.Tensor]) -> torch.Tensor:
        here = [t if t.device == self.device else t.to(self.device, non_blocking=True) for t in tensors]
        if len({t.dtype for t in here}) > 1:
            here = [t.to(self._dtype) for t in here]
        return torch.stack(here).to(self._dtype)

    def _index(self, positions: tuple[int, ...]) -> torch.Tensor:
        found = self._positions.get(positions)
        if found is None:
            found = torch.tensor(positions, dtype=torch.long, device="cpu").to(self.device)
            self._positions = {positions: found}
        return found

    def _arrive(self) -> tuple[Rows | torch.Tensor, list[list[float]]]:
        work, self._work = self._work, None
        if self._arrived is not None and self._table is not None:
            self._arrived.synchronize()
            table = self._table
        else:
            if work is not None:
                work.wait()
            table = self._all.cpu()
        table = table.view(self.world, self._capacity)
        if table.numel() > SMALL:
            return table, table[:, :HEADER].tolist()
        rows: Rows = table.tolist()
        return rows, [row[:HEADER] for row in rows]


def _fitting(
    tensors: Sequence[torch.Tensor], positions: Sequence[int], capacity: int
) -> tuple[Sequence[torch.Tensor], Sequence[int]]:
    if not positions or positions[-1] < capacity:
        return tensors, positions
    inside = [(t, p) for t, p in zip(tensors, positions, strict=True) if p < capacity]
    return [t for t, _ in inside], [p for _, p in inside]
