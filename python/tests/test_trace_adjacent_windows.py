"""Windows that follow each other without a gap, with record_function ranges of the job open across their ends."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import run_torch_program
from trace_support import operations_in, read_trace, steps_in

# The capture of the first runs as `whyslow run` would start it: each optimizer step ends a step.
TRAINING = """
    import hashlib, sys
    import torch
    from whyslow_capture.config import CaptureConfig, TraceConfig
    from whyslow_capture.session import Capture

    def train(steps):
        torch.manual_seed(0)
        torch.set_num_threads(1)
        model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Dropout(0.3), torch.nn.Linear(16, 4))
        optimizer = torch.optim.AdamW(model.parameters())
        digest = hashlib.sha256()
        for _ in range(steps):
            optimizer.zero_grad()
            loss = model(torch.randn(4, 8)).pow(2).mean()
            loss.backward()
            optimizer.step()
            digest.update(loss.detach().numpy().tobytes())
        digest.update(torch.get_rng_state().numpy().tobytes())
        return digest.hexdigest()

    out, period, warmup, active = sys.argv[1], *map(int, sys.argv[2:])
    alone = train(40)
    trace = TraceConfig(enabled=True, period=period, warmup=warmup, active=active)
    captures = []
    for repeat in range(3):  # one run in a few survives by luck
        cap = Capture(CaptureConfig(out=f"{out}/{repeat}", max_overhead=1.0, trace=trace)).open(steps="optimizer")
        captures.append(train(40))
        cap.close()
    print(set(captures) == {alone})
"""


@pytest.mark.parametrize(("period", "warmup", "active"), [(1, 0, 1), (2, 0, 2), (2, 1, 1)])
def test_windows_without_a_gap_leave_the_training_alone(period: int, warmup: int, active: int, tmp_path: Path) -> None:
    result = run_torch_program(TRAINING, tmp_path, period, warmup, active)
    assert result.stdout == "True\n"
    traces = sorted((tmp_path / "0/traces").glob("*/*.json.gz"))
    assert len(traces) > 30 // period
    # The end of the job cuts the last one short.
    assert sum(len(steps_in(trace)) == active for trace in traces) >= len(traces) - 1
    # The range in which a window ends is in its trace, ended.
    ranges = [e for e in read_trace(traces[-1])["traceEvents"] if e.get("name", "").startswith("Optimizer.step")]
    assert ranges and all(e["dur"] >= 0 for e in ranges)


def test_a_range_may_reach_from_one_window_into_another(tmp_path: Path) -> None:
    program = """
    import sys
    from pathlib import Path
    import torch
    from torch.profiler import record_function
    from trace_support import make_tier, work

    tier = make_tier(Path(sys.argv[1]), period=4, warmup=0, active=2)
    for step in range(40):
        if step % 4 == 3:
            epoch = record_function("epoch")
            epoch.__enter__()
            inner = record_function("inner")
            inner.__enter__()
        tier.begin_step(step)
        work(500)
        if step % 4 == 3 and step > 4:
            before[1].__exit__(None, None, None)
            before[0].__exit__(None, None, None)
        if step % 4 == 3:
            before = (epoch, inner)
    tier.close()
    print(vars(record_function)["__enter__"].__module__)
    """
    result = run_torch_program(_with_tests(program), tmp_path)
    assert result.stdout == "torch.autograd.profiler\n"
    traces = sorted(tmp_path.glob("traces/*/*.json.gz"))
    assert len(traces) == 10
    assert all(operations_in(trace, "epoch") == 1 for trace in traces)


def test_the_jobs_profiler_may_start_inside_a_range(tmp_path: Path) -> None:
    """Our window ends, and the range that was entered in it is left while the job's own profiler records."""
    program = """
    import sys
    from pathlib import Path
    import torch
    from torch.profiler import profile, record_function, ProfilerActivity
    from trace_support import make_tier, work

    for repeat in range(10):
        tier = make_tier(Path(sys.argv[1], str(repeat)), period=4, warmup=0, active=3)
        for step in range(3):
            tier.begin_step(step)
            work(500)
        with record_function("range"):
            own = profile(activities=[ProfilerActivity.CPU])
            own.start()
            work(500)
        work(500)
        own.stop()
        tier.close()
    print("alive")
    """
    assert run_torch_program(_with_tests(program), tmp_path).stdout == "alive\n"


def test_torchscript_can_compile_ranges_during_a_window(tmp_path: Path) -> None:
    program = """
    import sys
    from pathlib import Path
    import torch
    from trace_support import make_tier, work

    tier = make_tier(Path(sys.argv[1]), period=2, warmup=0, active=2)
    tier.begin_step(0)
    Path(sys.argv[1], "scripted.py").write_text(
        "import torch\\n"
        "def scripted(x: torch.Tensor) -> torch.Tensor:\\n"
        "    with torch.autograd.profiler.record_function('scripted'):\\n"
        "        y = x + 1\\n"
        "    return y\\n"
    )
    sys.path.insert(0, sys.argv[1])
    import scripted
    print(torch.jit.script(scripted.scripted)(torch.ones(1)).item())
    tier.close()
    """
    assert run_torch_program(_with_tests(program), tmp_path).stdout == "2.0\n"


def _with_tests(program: str) -> str:
    return f"    import sys\n    sys.path.insert(0, {str(Path(__file__).parent)!r})\n" + program
