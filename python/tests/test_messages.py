from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import torch

from whyslow_capture.messages import MAX_MESSAGES, Messages
from whyslow_capture.stuck import _flight_record

GROUP: Any = SimpleNamespace(group_name="7", group_desc="stages", rank=lambda: 1)


class Work:
    pass


def states(messages: Messages) -> list[object]:
    dump = messages.as_dump()
    assert dump is not None
    return [entry["state"] for entry in dump["entries"]]


def test_a_call_waits_while_it_connects_and_while_a_thread_waits_for_its_end() -> None:
    messages, work = Messages(), Work()
    tensors = [torch.zeros(2)]
    message = messages.begins("recv", GROUP, tensors, 2)
    assert message is not None and states(messages) == ["scheduled"]
    messages.made(message, work)
    assert states(messages) == ["completed"]
    assert messages.waits(work) is message and states(messages) == ["scheduled"]
    assert messages.waits(Work()) is None


def test_the_calls_of_the_job_are_not_held_and_only_the_last_ones_are_kept() -> None:
    messages = Messages()
    for _ in range(2 * MAX_MESSAGES):
        message = messages.begins("send", GROUP, [torch.zeros(2)], 0)
        assert message is not None
        messages.made(message, Work())
    assert len(states(messages)) == MAX_MESSAGES
    assert len(messages._of) == 0


def test_tensors_on_a_gpu_are_left_to_the_recorder_of_torch() -> None:
    messages = Messages()
    assert messages.begins("send", GROUP, [torch.zeros(2, device="meta")], 0) is None
    assert messages.as_dump() is None


def test_the_dump_has_them_among_the_calls_that_torch_recorded() -> None:
    messages = Messages()
    messages.begins("recv", GROUP, [torch.zeros(2)], 2)
    data = _flight_record(messages.as_dump())
    assert data is not None
    (entry,) = json.loads(data)["entries"]
    assert entry["profiling_name"] == "gloo:recv 1<-2"
    assert entry["process_group"] == ["7", "stages"]
