"""
Times `collective:<kind>` on the training thread: synchronous torch.distributed calls, and waits for sends and receives.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import zlib
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import torch

from ..layout import collective
from ..patching import Patches, leave_out_caller
from .dynamo import is_compiling, never_compiled, not_compiled

if TYPE_CHECKING:
    from ..messages import Message
    from .phase_tracker import PhaseTracker

# Limits per step. A model that communicates in each layer makes hundreds of calls. On a GPU each takes two CUDA events;
# on a CPU two times of a clock, next to a call that takes longer than a GPU's launch.
MAX_COLLECTIVES = 32
MAX_ON_CPU = 256

KINDS = {
    "all_reduce": "all_reduce",
    "all_gather": "all_gather",
    "all_gather_into_tensor": "all_gather",
    "all_gather_single": "all_gather",
    "all_gather_object": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "reduce_scatter_tensor": "reduce_scatter",
    "reduce_scatter_single": "reduce_scatter",
    "broadcast": "broadcast",
    "broadcast_object_list": "broadcast",
    "barrier": "barrier",
    "monitored_barrier": "barrier",
    "all_to_all": "all_to_all",
    "all_to_all_single": "all_to_all",
    "reduce": "reduce",
    "gather": "gather",
    "scatter": "scatter",
    "send": "send",
    "recv": "recv",
}
# c10d's OpType, which Python cannot see by name: SEND, RECV and RECVANYSOURCE. isend, irecv and batch_isend_irecv
# return such a Work. Other kinds are left alone: a Work does not reveal its group, and DDP and FSDP wait for many.
P2P_KINDS = {12: "send", 13: "recv", 14: "recv"}


def install(tracker: PhaseTracker, patches: Patches) -> None:
    distributed = torch.distributed
    if not distributed.is_available():
        return
    # This module keeps a table of the functions for torch.compile. Imported now, it has the originals.
    import_module("torch.distributed._functional_collectives")
    timer = CollectiveTimer(tracker)
    for name, kind in KINDS.items():
        patches.put(f"torch.distributed.distributed_c10d.{name}", functools.partial(timer.wrap, kind=kind))
    if hasattr(distributed.Work, "_get_op_type"):
        patches.put("torch.distributed.Work.wait", timer.wrap_wait)
    # What isend, irecv, send, recv and batch_isend_irecv all call.
    for kind in ("send", "recv"):
        patches.put(f"torch.distributed.ProcessGroup.{kind}", functools.partial(timer.wrap_message, kind=kind))


class CollectiveTimer:
    def __init__(self, tracker: PhaseTracker) -> None:
        self._tracker = tracker
        self._messages = tracker.messages
        self._names: dict[tuple[str, int], str | None] = {}
        self._inside = False
        self._step = -1
        self._recorded = 0

    def wrap(self, original: Callable[..., Any], kind: str) -> Callable[..., Any]:
        recorder = self._tracker.recorder
        group_in, is_async = argument(original, "group"), argument(original, "async_op")
        sent = sent_by(original)

        @functools.wraps(original)
        def call(*args: Any, **options: Any) -> Any:
            # Dynamo traces this to find the original, and replaces that by a functional collective.
            if is_compiling() or not recorder.recording or self._inside:
                return original(*args, **options)
            name = None if is_async(args, options) else self._begins(kind, group_in(args, options))
            if name is None:
                return original(*args, **options)
            try:
                return original(*args, **options)
            except BaseException as error:
                leave_out_caller(error)
                raise
            finally:
                self._ends(name, sent(args, options))

        return not_compiled(call)

    def wrap_wait(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """
        Wraps `Work.wait`, in which the stages of a pipeline wait for each other. isend and irecv themselves stay as
        they are: P2POp compares them with the originals.
        """
        recorder = self._tracker.recorder

        @functools.wraps(original)
        def wait(self_: Any, *args: Any, **options: Any) -> Any:
            if is_compiling():
                return original(self_, *args, **options)
            message = self._message_of(self_)
            name = self._wait_begins(self_) if recorder.recording and not self._inside else None
            if name is None and message is None:
                return original(self_, *args, **options)
            try:
                return original(self_, *args, **options)
            except BaseException as error:
                leave_out_caller(error)
                raise
            finally:
                if message is not None:
                    message.waits = False
                if name is not None:
                    self._ends(name)

        return not_compiled(wait)

    def wrap_message(self, original: Callable[..., Any], kind: str) -> Callable[..., Any]:
        """Wraps `ProcessGroup.send` and `recv`, to know who waits for whom if the job hangs."""

        @functools.wraps(original)
        def call(self_: Any, *args: Any, **options: Any) -> Any:
            message = None if is_compiling() else self._message_begins(kind, self_, args)
            if message is None:
                return original(self_, *args, **options)
            try:
                work = original(self_, *args, **options)
            except BaseException as error:
                message.waits = False
                leave_out_caller(error)
                raise
            self._message_made(message, work)
            return work

        return not_compiled(call)

    @never_compiled
    def _message_of(self, work: Any) -> Message | None:
        try:
            return self._messages.waits(work)
        except Exception:
            return None  # a Work written in Python need not have a hash

    @never_compiled
    def _message_begins(self, kind: str, group: Any, args: tuple[Any, ...]) -> Message | None:
        try:
            return self._messages.begins(kind, group, args[0], args[1]) if len(args) > 1 else None
        except Exception as error:
            self._tracker.failed(error)
            return None

    @never_compiled
    def _message_made(self, message: Message, work: Any) -> None:
        try:
            self._messages.made(message, work)
        except Exception as error:
            self._tracker.failed(error)

    @never_compiled
    def _wait_begins(self, work: Any) -> str | None:
        try:
            kind = P2P_KINDS.get(work._get_op_type())
        except Exception:
            return None  # a Work written in Python need not know its kind
        return None if kind is None else self._begins(kind, None)

    @never_compiled
    def _begins(self, kind: str, group: Any) -> str | None:
        tracker = self._tracker
        recorder = tracker.recorder
        try:
            # On a side stream (as in FSDP) it overlaps with compute.
            if threading.get_ident() != recorder.thread or tracker.is_on_side_stream():
                return None
            name = self._name(kind, group)
            if name is None or not self._has_room():
                return None
            self._inside = True
            tracker.collectives.begins()
            recorder.begin(name)
            return name
        except Exception as error:
            tracker.failed(error)
            return None

    @never_compiled
    def _ends(self, name: str, sent: Any = None) -> None:
        self._inside = False
        try:
            recorder = self._tracker.recorder
            recorder.end(name)
            self._tracker.collectives.ends(recorder.current_step, sent)
        except Exception as error:
            self._tracker.failed(error)

    def _has_room(self) -> bool:
        step = self._tracker.recorder.current_step
        if step != self._step:
            self._step, self._recorded = step, 0
        self._recorded += 1
        if self._recorded > (MAX_COLLECTIVES if self._tracker.recorder.buffer.device else MAX_ON_CPU):
            self._tracker.problems.count("collectives-not-recorded")
            return False
        return True

    def _name(self, kind: str, group: Any) -> str | None:
        """None if this rank is not in the group, or is alone in it."""
        key = (kind, id(group))
        if key not in self._names:
            distributed = torch.distributed
            alone = distributed.get_rank(group) < 0 or distributed.get_world_size(group) < 2
            self._names[key] = None if alone else collective(kind + suffix(group))
        return self._names[key]


# How torch.distributed calls the tensor that a rank sends.
SENT = ("tensor", "input_tensor", "input")


def sent_by(function: Callable[..., Any]) -> Callable[[tuple[Any, ...], dict[str, Any]], Any]:
    """Returns a function that finds what this rank sends."""
    name = next((name for name in SENT if name in inspect.signature(function).parameters), "")
    return argument(function, name)


def argument(function: Callable[..., Any], name: str) -> Callable[[tuple[Any, ...], dict[str, Any]], Any]:
    """Returns a function that finds this argument in a call, by keyword or position; None if it was not given."""
    try:
        position = list(inspect.signature(function).parameters).index(name)
    except (TypeError, ValueError):
        position = sys.maxsize

    def find(args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        return args[position] if len(args) > position else options.get(name)

    return find


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
