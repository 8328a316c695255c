"""
The last sends and receives of tensors in host memory. Torch's recorder of gloo leaves them out, so in a pipeline that
hangs nothing else shows which rank waits for which, and who called them in another order than before.
"""

from __future__ import annotations

import sys
import time
import weakref
from collections import deque
from contextlib import suppress
from typing import Any

# A stage of a pipeline makes a few per micro-batch.
MAX_MESSAGES = 512
MAX_GROUPS = 4096


class Message:
    """One call. It waits only while a thread waits for its end: what nobody waits for holds up nobody."""

    __slots__ = ("group", "kind", "made_ns", "own", "peer", "waits")

    def __init__(self, kind: str, group: Any, peer: int) -> None:
        self.kind, self.own, self.peer = kind, int(group.rank()), peer
        self.group: tuple[str, str] = (str(group.group_name), str(getattr(group, "group_desc", "undefined")))
        self.made_ns = time.time_ns()
        self.waits = False

    def as_entry(self, record: int) -> dict[str, object]:
        """As torch's recorder writes it."""
        return {
            "record_id": record,
            "process_group": list(self.group),
            "profiling_name": f"gloo:{self.kind} {self.own}{'->' if self.kind == 'send' else '<-'}{self.peer}",
            "is_p2p": True,
            "collective_seq_id": 0,
            "p2p_seq_id": record,
            "time_created_ns": self.made_ns,
            "state": "scheduled" if self.waits else "completed",
            "retired": not self.waits,
        }


class Messages:
    def __init__(self) -> None:
        self._last: deque[Message] = deque(maxlen=MAX_MESSAGES)
        # By torch's object for the call. Not held: it holds the tensor.
        self._of: weakref.WeakKeyDictionary[Any, Message] = weakref.WeakKeyDictionary()

    def begins(self, kind: str, group: Any, tensors: Any, peer: Any) -> Message | None:
        """Called before torch's `ProcessGroup.send` and `recv`, which can hang too: they connect."""
        if not isinstance(peer, int) or tensors[0].device.type != "cpu":
            return None
        message = Message(kind, group, peer)
        message.waits = True
        self._last.append(message)
        return message

    def made(self, message: Message, work: Any) -> None:
        message.waits = False
        if work is not None:
            self._of[work] = message

    def waits(self, work: Any) -> Message | None:
        message = self._of.get(work)
        if message is not None:
            message.waits = True
        return message

    def as_dump(self) -> dict[str, Any] | None:
        """In the form of torch's recorder. For another thread than those that call; None: there are none."""
        last = self._last.copy()
        if not last:
            return None
        entries = [message.as_entry(record) for record, message in enumerate(last)]
        return {"version": "2.10", "entries": entries, "pg_config": _groups()}


def _groups() -> dict[str, object]:
    """Ranks by their position in each group. Gloo's recorder does not know them."""
    found: dict[str, object] = {}
    # Torch's own table has had this form since 2.1.
    with suppress(Exception):
        world: Any = sys.modules["torch.distributed.distributed_c10d"].__dict__["_world"]
        for group, positions in list(world.pg_group_ranks.items())[:MAX_GROUPS]:
            ranks = sorted(positions, key=lambda rank: int(positions[rank]))
            name = str(group.group_name)
            found[name] = {"name": name, "desc": str(getattr(group, "group_desc", "")), "ranks": str(ranks)}
    return found
