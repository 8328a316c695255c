"""What capture writes to stderr."""

from __future__ import annotations

import pytest

from whyslow_capture.inject import start
from whyslow_capture.problems import ProblemLog

HOSTILE = "\x1b[2Jrun\r\nforged: line\u202e \u2028é 学"
SHOWN = "\\x1b[2Jrun\\r\\nforged: line\\u202e \\u2028é 学"


def test_names_cannot_steer_a_terminal_or_forge_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    ProblemLog().warn("odd", f"the run {HOSTILE} is odd")
    assert capsys.readouterr().err == f"whyslow_capture: the run {SHOWN} is odd\n"


def test_a_reason_not_to_capture_is_escaped_too(capsys: pytest.CaptureFixture[str]) -> None:
    start.say(HOSTILE)
    assert capsys.readouterr().err == f"whyslow_capture: this process is not captured: {SHOWN}\n"


def test_an_error_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    with ProblemLog().guard("x", "writing"):
        raise OSError(f"cannot write {HOSTILE}")
    err = capsys.readouterr().err
    assert SHOWN in err
    assert err.count("\n") == 1
