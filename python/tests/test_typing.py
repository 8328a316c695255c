"""User code passes `mypy --strict`: the snippets of the README and of docs/python.md, and the public API."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

from support import SRC

import whyslow_capture

README = SRC.parent / "README.md"
GUIDE = SRC.parents[1] / "docs/python.md"

# Errors inside the package are silenced, as for an installed package; another mypy run checks the package. torch is
# skipped, because reading it takes 10 s and its types are not under test. Frameworks may be missing.
MYPY = """
[mypy]
follow_imports = silent
ignore_missing_imports = True
[mypy-torch.*]
follow_imports = skip
"""

# Names that the README's snippets use without defining them.
PRELUDE = """
from typing import Any, Callable

import torch
import whyslow_capture

train_step: Callable[[torch.Tensor], None]
loader: list[torch.Tensor]
my_own_reader: list[torch.Tensor]
batch: torch.Tensor
model: torch.nn.Module
optimizer: torch.optim.Optimizer
loss: torch.Tensor
tokens: int
length: float
device_mesh: Any
accelerator: Any
Trainer: Any
Profiler: Any
cap: whyslow_capture.CaptureHandle
"""

PUBLIC_API = """
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import whyslow_capture
from whyslow_capture import CaptureConfig, CaptureHandle, DisabledCapture, MetricsGather, MetricsMismatchError
from whyslow_capture.integrations.lmms import CudaEventProfiler


def loop(cap: CaptureHandle, batches: list[str]) -> int:
    block: AbstractContextManager[None] = cap.phase("rollout")
    with block, cap.phase("generate"):
        pass
    for text in cap.data(batches):
        length: int = len(text)
        cap.lap("forward")
        cap.step(length)
    callback: Callable[[], None] | None = cap.step_callback("train_actor")
    if callback is not None:
        callback()
    moved: dict[str, int] = cap.to_device({"a": 1}, 0)
    with cap.phase("report"):
        return len(moved)


def off() -> CaptureHandle:
    return DisabledCapture()


def start(out: Path) -> CaptureHandle:
    config: CaptureConfig = CaptureConfig(record_every_n_steps=20)
    cap = whyslow_capture.capture(out, config=config).start()
    running: CaptureHandle | None = whyslow_capture.active()
    assert running is not None
    running.close()
    return cap


def gather() -> dict[str, float] | None:
    try:
        return MetricsGather(every_n=2).gather()
    except MetricsMismatchError:
        return None


def lmms() -> None:
    profiler = CudaEventProfiler(True, "out", rank=0)
    with profiler.record("forward", step=1):
        pass


version: str = whyslow_capture.__version__
"""


def snippets() -> list[str]:
    text = README.read_text() + GUIDE.read_text("utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_user_code_passes_mypy_strict(tmp_path: Path) -> None:
    assert len(snippets()) >= 15
    # Each snippet becomes a function.
    functions = [
        f"def snippet_{index}(cap: whyslow_capture.CaptureHandle, loss: torch.Tensor) -> None:\n"
        + textwrap.indent(code, "    ")
        for index, code in enumerate(snippets())
    ]
    (tmp_path / "readme.py").write_text("\n\n".join([PRELUDE, *functions]))
    (tmp_path / "public_api.py").write_text(PUBLIC_API)
    (tmp_path / "mypy.ini").write_text(MYPY)
    result = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir=/dev/null", "."],
        cwd=tmp_path,
        env={"MYPYPATH": str(SRC), "PATH": ""},
        capture_output=True,
        text=True,
    )
    assert result.stdout + result.stderr == ""
    assert result.returncode == 0


WRONG = """
import whyslow_capture
from whyslow_capture.integrations.transformers import WhyslowCallback

whyslow_capture.capture("out", record_evry_n_steps=20)
whyslow_capture.capture("out", record_every_n_steps="often")
whyslow_capture.capture("out", trace={"periods": 5})
WhyslowCallback(hookz="all")
"""


def test_mistakes_in_keywords_fail_mypy(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(WRONG)
    (tmp_path / "mypy.ini").write_text(MYPY)
    result = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir=/dev/null", "wrong.py"],
        cwd=tmp_path,
        env={"MYPYPATH": str(SRC), "PATH": ""},
        capture_output=True,
        text=True,
    )
    lines = {int(line.split(":")[1]) for line in result.stdout.splitlines() if ": error:" in line}
    assert lines == {5, 6, 7, 8}, result.stdout


def test_every_public_name_exists_and_the_handles_match_the_protocol() -> None:
    for name in whyslow_capture.__all__:
        assert getattr(whyslow_capture, name) is not None
    assert isinstance(whyslow_capture.DisabledCapture(), whyslow_capture.CaptureHandle)
