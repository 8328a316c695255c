"""Where a window may end: not inside a backward pass, a compiled region or a CUDA graph."""

from __future__ import annotations

import pytest
import torch
from support import run_torch_program

from whyslow_capture.trace.profiler import boundary_is_safe


def test_compiled_regions_and_cuda_graphs_are_unsafe(monkeypatch: pytest.MonkeyPatch) -> None:
    assert boundary_is_safe()
    with monkeypatch.context() as patch:
        patch.setattr(torch._C._dynamo.eval_frame, "get_eval_frame_callback", lambda: print, raising=False)
        assert not boundary_is_safe()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    for is_capturing in (True, False):
        monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda is_capturing=is_capturing: is_capturing)
        assert boundary_is_safe() == (not is_capturing)


def test_a_real_compiled_region_is_detected() -> None:
    program = """
    import torch
    import torch._dynamo
    from whyslow_capture.hooks.dynamo import never_compiled
    from whyslow_capture.trace.profiler import boundary_is_safe

    seen = []
    class Hook:
        @never_compiled
        def ours(self):
            seen.append(boundary_is_safe())
    def here(y):
        torch._dynamo.graph_break()
        seen.append(boundary_is_safe())
        return y + 1
    @torch.compile(backend="eager")
    def step(x):
        y = x + 1
        torch._dynamo.graph_break()
        return here(y * 2)
    seen.append(boundary_is_safe())
    step(torch.ones(3))
    Hook().ours()
    seen.append(boundary_is_safe())
    print(seen)
    """
    assert run_torch_program(program).stdout == "[True, False, True, True]\n"
