"""What capture writes to stderr, by default."""

from __future__ import annotations

import logging

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


def test_messages_go_through_logging(capsys: pytest.CaptureFixture[str]) -> None:
    """So a job filters, formats and redirects them like those of any library."""
    log, seen = logging.getLogger("whyslow_capture"), list[tuple[str, str]]()

    class Theirs(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append((record.levelname, record.getMessage()))

    before, theirs = list(log.handlers), Theirs()
    try:
        log.handlers[:] = [theirs]
        problems = ProblemLog()
        problems.warn("odd", "this is %s odd")
        problems.warn("odd", "this is %s odd")
        problems.say("by the way")
    finally:
        log.handlers[:] = before
    assert seen == [("WARNING", "this is %s odd"), ("INFO", "by the way")]
    assert capsys.readouterr().err == ""
    assert problems.counts == {"odd": 2}
