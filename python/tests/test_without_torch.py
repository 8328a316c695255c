"""pip does not install torch. Importing must work without it, and using must say what to do."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest
from support import SRC

INTEGRATIONS = [path.stem for path in (SRC / "whyslow_capture/integrations").glob("*.py") if path.stem != "__init__"]
ADVICE = "needs torch 2.3 or newer, which is not installed in this Python: install the build for your machine"


def run_without_torch(code: str) -> str:
    """Runs code in an interpreter without installed packages (-S), so without torch, and returns its output."""
    result = subprocess.run(
        [sys.executable, "-S", "-W", "error", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(SRC)},
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_the_package_and_all_integrations_import() -> None:
    code = "import whyslow_capture, importlib\nwhyslow_capture.CaptureConfig, whyslow_capture.DisabledCapture\n"
    for name in INTEGRATIONS:
        code += f"importlib.import_module('whyslow_capture.integrations.{name}')\n"
    assert run_without_torch(code + "import sys; print('torch' in sys.modules)") == "False"
    assert {"transformers", "lightning", "accelerate", "torchtitan", "lmms", "d9d", "slime"} <= set(INTEGRATIONS)


@pytest.mark.parametrize(
    ("call", "user"),
    [
        ("whyslow_capture.capture('runs/a')", "whyslow_capture.capture()"),
        ("whyslow_capture.to_device([], 'cuda')", "whyslow_capture.to_device"),
        ("whyslow_capture.MetricsGather()", "whyslow_capture.MetricsGather"),
        ("d9d.Profiler('out', 2, 1, 1).open(0).__enter__()", "d9d's Profiler"),
    ],
)
def test_using_it_says_what_is_missing_in_one_line(call: str, user: str) -> None:
    printed = run_without_torch(
        f"""
        import whyslow_capture
        from whyslow_capture.integrations import d9d
        try:
            {call}
        except ImportError as error:
            print(error)
        """
    )
    assert printed.startswith(f"{user} {ADVICE}") and "https://pytorch.org" in printed
    assert "\n" not in printed


def test_a_capture_that_is_off_needs_no_torch() -> None:
    code = """
    import whyslow_capture
    with whyslow_capture.capture("runs/a", enabled=False) as cap, cap.phase("x"):
        cap.step()
    assert whyslow_capture.active() is None
    print("fine")
    """
    assert run_without_torch(code) == "fine"
