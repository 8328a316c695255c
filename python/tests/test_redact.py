"""Secrets do not get into what is recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from whyslow_capture.redact import command_without_secrets, without_secrets

CASES = json.loads((Path(__file__).parents[2] / "test/fixtures/secrets.json").read_text())["cases"]


@pytest.mark.parametrize(("words", "shown"), CASES)
def test_secrets_in_a_command_line_are_hidden_and_nothing_else(words: list[str], shown: list[str]) -> None:
    assert command_without_secrets(words) == shown
    assert command_without_secrets(shown) == shown


def test_secrets_in_a_text_are_hidden() -> None:
    text = "python t.py --api-key abc --lr 0.1 --password=x"
    assert without_secrets(text) == "python t.py --api-key *** --lr 0.1 --password=***"
