"""Names for process groups."""

from __future__ import annotations

import zlib
from typing import Any

import torch

# Longer lists of ranks without a pattern are shortened to a checksum.
MAX_LISTED = 8


def suffix(group: Any) -> str:
    """
    Empty for a group of all ranks, otherwise appended to the kind, as in `all_reduce@0-3`. Readers match the k-th
    record of a name in a step across ranks, so each group needs its own name.
    """
    distributed = torch.distributed
    if group is None or group is distributed.group.WORLD:
        return ""
    ranks = sorted(distributed.get_process_group_ranks(group))
    if len(ranks) == distributed.get_world_size():
        return ""
    return f"@{describe(ranks)}"


def describe(ranks: list[int]) -> str:
    """`0-3` for a range, `0-12/4` for every fourth, otherwise a list."""
    first, last = ranks[0], ranks[-1]
    stride = ranks[1] - first if len(ranks) > 1 else 1
    if len(ranks) > 1 and stride > 0 and ranks == list(range(first, last + 1, stride)):
        return f"{first}-{last}" if stride == 1 else f"{first}-{last}/{stride}"
    if len(ranks) <= MAX_LISTED:
        return ".".join(map(str, ranks))
    return f"{len(ranks)}-{zlib.crc32(repr(ranks).encode()):08x}"
