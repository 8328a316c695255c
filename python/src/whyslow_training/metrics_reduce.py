"""Reduces one row per rank to one number per metric. On the host: launching kernels for a small table costs more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch

# Table size up to which Python is faster than torch: 4 ranks with 32 slots take 10 µs instead of 35, 24 ranks the same
# time, and 128 ranks take three times as long in Python.
SMALL = 24 * 32
Rows = list[list[float]]

_Values = tuple[float, ...]
_SMALL: dict[str, Callable[[_Values], float]] = {
    "avg": lambda values: sum(values) / len(values),
    "sum": lambda values: float(sum(values)),
    "min": lambda values: values[_best(values, min)],
    "max": lambda values: values[_best(values, max)],
    "argmin": lambda values: float(_best(values, min)),
    "argmax": lambda values: float(_best(values, max)),
}
_LARGE: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "avg": lambda table: table.mean(0),
    "sum": lambda table: table.sum(0),
    "min": lambda table: table.amin(0),
    "max": lambda table: table.amax(0),
    "argmin": lambda table: table.argmin(0),
    "argmax": lambda table: table.argmax(0),
}
OPS = ", ".join(_SMALL)


class Column(NamedTuple):
    """One scalar per rank, and how it is reduced."""

    name: str
    ops: tuple[str, ...]
    # Whether `ops` was used, so that results are called name/op.
    several: bool


def op_name(op: object) -> str:
    """ "avg", "AVG", "mean", or torch.distributed's ReduceOp.AVG."""
    if isinstance(op, str) and op in _SMALL:
        return op
    name = str(getattr(op, "name", op)).lower()
    name = "avg" if name == "mean" else name
    if name not in _SMALL:
        raise ValueError(f"op={op!r} must be one of {OPS}")
    return name


def reduce_columns(table: Rows | torch.Tensor, first: int, columns: Sequence[Column]) -> dict[str, float]:
    """`table` has one row per rank; the scalars begin at column `first`."""
    found: dict[str, float] = {}
    if isinstance(table, torch.Tensor):
        numbers = table[:, first : first + len(columns)].to(torch.float64)
        used = {op for column in columns for op in column.ops}
        by_op = {op: _LARGE[op](numbers).tolist() for op in used}
        for index, column in enumerate(columns):
            for op in column.ops:
                found[_key(column, op)] = float(by_op[op][index])
        return found
    for index, column in enumerate(columns, first):
        values = tuple(row[index] for row in table)
        for op in column.ops:
            found[_key(column, op)] = _SMALL[op](values)
    return found


def _key(column: Column, op: str) -> str:
    return f"{column.name}/{op}" if column.several else column.name


def _best(values: _Values, best: Callable[[_Values], float]) -> int:
    """Its index. As in torch, a NaN wins over any number, and the first of equal values wins."""
    for index, value in enumerate(values):
        if value != value:
            return index
    return values.index(best(values))
