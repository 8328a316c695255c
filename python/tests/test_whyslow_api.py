"""
What the Python API makes of the command line's answers, which are faked here. `test/e2e/wheel.test.ts` asks the real
one, and compares its report with the objects.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import whyslow
from whyslow import ask


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A function that sets what the command line does: the text of a shell script."""

    def answer(script: str) -> None:
        program = tmp_path / "node"
        program.write_text(f"#!/bin/sh\nshift\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("WHYSLOW_NODE", str(program))

    return answer


def test_a_wrong_path_is_an_exception_with_the_sentence_of_the_command_line(cli) -> None:
    cli("echo 'whyslow: cannot read a: no such file or directory' >&2; exit 2")
    with pytest.raises(whyslow.InputError, match=r"^cannot read a: no such file or directory$"):
        whyslow.diagnose("a")


def test_a_wrong_option_is_an_exception_without_the_hint_for_terminals(cli) -> None:
    cli("echo \"error: option '--steps <range>' is invalid.\n(--help shows the usage)\" >&2; exit 2")
    with pytest.raises(whyslow.InputError, match=r"^option '--steps <range>' is invalid\.$"):
        whyslow.diagnose("a", steps="x")


def test_notes_before_an_error_are_no_part_of_it(cli) -> None:
    cli("echo 'whyslow: a note' >&2; echo 'whyslow: the disk is full' >&2; exit 2")
    with pytest.raises(whyslow.InputError, match=r"^the disk is full$"):
        whyslow.compare("a", "b")


def test_a_crash_is_an_exception_and_no_input_error(cli) -> None:
    cli("kill -9 $$")
    with pytest.raises(whyslow.WhyslowError, match="exit code -9") as raised:
        whyslow.diagnose("a")
    assert not isinstance(raised.value, whyslow.InputError)


def test_a_timeout_ends_the_command_line(cli, tmp_path: Path) -> None:
    cli(f"echo $$ > {tmp_path}/pid; exec sleep 60")
    begin = time.monotonic()
    with pytest.raises(whyslow.WhyslowError, match=r"did not answer within 0.5 s"):
        whyslow.diagnose("a", timeout=0.5)
    assert time.monotonic() - begin < 30


def test_options_reach_the_command_line(cli) -> None:
    cli('echo "whyslow: $*" >&2; exit 2')
    with pytest.raises(whyslow.InputError, match=r"^diagnose a b --steps 3-6 --ranks 0,2 --run x --parts"):
        whyslow.diagnose(["a", Path("b")], steps="3-6", ranks=[0, 2], run="x")
    with pytest.raises(whyslow.InputError, match="--ranks 5 "):
        whyslow.diagnose("a", ranks=5)
    with pytest.raises(whyslow.InputError, match=r"--html \S+ --title mine$"):
        whyslow.diagnose("a", with_page=True, title="mine")
    with pytest.raises(whyslow.InputError, match=r"--ranks 0,2-5 "):
        whyslow.diagnose("a", ranks="0,2-5")
    with pytest.raises(whyslow.InputError, match=r"^compare --before a --after b c --json$"):
        whyslow.compare("a", ["b", "c"])


def test_a_path_that_begins_with_a_dash_is_no_option() -> None:
    assert ask.paths_of("-x") == ["./-x"]


def test_no_path_at_all_is_an_error() -> None:
    with pytest.raises(whyslow.InputError, match="name at least one file or folder"):
        whyslow.diagnose([])


def test_an_answer_of_another_version_is_an_exception(cli) -> None:
    cli('echo \'{"schema": "whyslow/compare/9"}\'')
    with pytest.raises(whyslow.WhyslowError, match="not one of this version"):
        whyslow.compare("a", "b")


def test_the_command_line_gets_no_input_and_prints_no_colors(cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    cli('echo "whyslow: [$(cat)] $FORCE_COLOR $NO_COLOR" >&2; exit 2')
    with pytest.raises(whyslow.InputError, match=r"^\[\]  1$"):
        whyslow.diagnose("a")
