"""Names for process groups."""

from __future__ import annotations

import zlib
from typing import Any

import torch

# More ranks than this without a pattern are told apart by a checksum.
MAX_LISTED = 8


def suffix(group: Any) -> str:
    """
    Empty for a group of all ranks. Others follow the kind, as `all_reduce@0-3`: the k-th record of a name in a step is
    taken for one collective on all ranks that have that name, so each group needs one of its own.
    """
    distributed = torch.distributed
    if group is None or group is distributed.group.WORLD:
        return ""
    ranks = sorted(distributed.get_process_group_ranks(group))
    if len(ranks) == distributed.get_world_size():
        return ""
    return f"@{describe(ranks)}"


def describe(ranks: list[int]) -> str:
    """`0-3`, every fourth `0-12/4`, others one by one."""
    first, last = ranks[0], ranks[-1]
    stride = ranks[1] - first if len(ranks) > 1 else 1
    if len(ranks) > 1 and stride > 0 and ranks == list(range(first, last + 1, stride)):
        return f"{first}-{last}" if stride == 1 else f"{first}-{last}/{stride}"
    if len(ranks) <= MAX_LISTED:
        return ".".join(map(str, ranks))
    return f"{len(ranks)}-{zlib.crc32(repr(ranks).encode()):08x}"
