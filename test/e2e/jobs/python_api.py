"""Asks the installed package about two runs and checks that the objects hold what the command line printed."""

import json
import subprocess
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path

import whyslow


def plain(value: object) -> object:
    """A dataclass as JSON has it."""
    if is_dataclass(value):
        kept = [f.name for f in fields(value) if f.name != "_made"]
        return {name.rstrip("_"): plain(getattr(value, name)) for name in kept}
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def printed(*arguments: str) -> object:
    command = [sys.executable, "-m", "whyslow", *arguments, "--json"]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


before, after, ranks = sys.argv[1:]
for path in (before, ranks):
    report = whyslow.diagnose(path)
    assert report.to_dict() == plain(report) == printed("diagnose", path)
    assert str(report).startswith(f"{report.verdict.label}: ")
assert report.verdict.bottleneck == "host" and report.stragglers[0].ranks == (2,)
assert report.findings[0].fix.code and report._repr_html_().startswith("<div")
assert "<!doctype html>" in report.html() and report.html() is report.html()
assert whyslow.diagnose(Path(ranks), ranks=2, steps="5-6").step.count == 2
comparison = whyslow.compare(before, [after])
assert comparison.to_dict() == plain(comparison) == printed("compare", before, after)
assert comparison.verdict == "faster" and "<!doctype html>" in comparison.html()
try:
    whyslow.diagnose("/no/such")
except whyslow.InputError as error:
    assert str(error) == "cannot read /no/such: no such file or directory"
else:
    raise AssertionError("a path that does not exist was read")
