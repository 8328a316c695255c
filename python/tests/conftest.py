"""Fixtures for all tests. In CI a skipped test counts as failed."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

# A verdict at the end of each training would take a second; the tests of it ask for it.
os.environ.setdefault("WHYSLOW_VERDICT", "0")

if TYPE_CHECKING:
    from fake_clock import Clock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A fake clock for the recorder. Two readings are far enough apart to be separate marks."""
    import fake_clock

    return fake_clock.install(monkeypatch, tick_ns=20_000)


def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    # Only the controlling process of xdist has all results.
    if reporter is None or hasattr(session.config, "workerinput"):
        return
    counts = {
        "passed": len(reporter.stats.get("passed", [])),
        "failed": len(reporter.stats.get("failed", [])) + len(reporter.stats.get("error", [])),
        "skipped": len(reporter.stats.get("skipped", [])),
    }
    if counts["skipped"] and os.environ.get("CI"):
        reporter.write_line(f"\nCI: {counts['skipped']} skipped tests count as failed")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    # `npm test` adds these counts to vitest's.
    file = os.environ.get("TEST_COUNTS")
    if file:
        with open(file, "a", encoding="utf-8") as out:
            out.write(json.dumps(counts) + "\n")
