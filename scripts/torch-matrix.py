"""
Runs the Python tests with the versions of torch and Python that users have, each in a virtual environment of its own,
one after the other: 3 to 6 GB on disk and 5 to 10 minutes each.

    python3 scripts/torch-matrix.py                      # all of VERSIONS
    python3 scripts/torch-matrix.py 2.15.0 2.6.0         # only these
    python3 scripts/torch-matrix.py 2.11.0 --python python3.13
    python3 scripts/torch-matrix.py 2.15.0 --tests tests/test_touched.py tests/test_trace_windows.py

Prints one row for the table in docs/internal/versions.md for each.
"""

from __future__ import annotations

import argparse
import datetime
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# The oldest supported, and one or two of each year.
VERSIONS = ("2.3.1", "2.6.0", "2.11.0", "2.13.0", "2.15.0")
# They test other libraries (dask, mypy, transformers, lightning, wandb), which these environments do not have.
OTHERS = (
    "tests/test_engines.py",
    "tests/test_typing.py",
    "tests/test_trials_frameworks.py",
    "tests/test_integrations_verdict.py",
    "tests/test_real_libraries.py",
)


def packages(torch: str) -> list[str]:
    # torch before 2.4 was built for numpy 1.
    numpy = "numpy<2" if tuple(map(int, torch.split(".")[:2])) < (2, 4) else "numpy"
    return [f"torch=={torch}", numpy, "pytest", "pytest-xdist", "setuptools"]


def make(folder: Path, python: str, torch: str) -> Path:
    subprocess.run([python, "-m", "venv", folder], check=True)
    own = folder / "bin/python"
    install = [
        own,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        *packages(torch),
    ]
    subprocess.run(install, check=True)
    return own


def run(python: Path, tests: list[str]) -> tuple[str, str]:
    """The counts that pytest prints, and the rest of its output."""
    ignored = [f"--ignore={name}" for name in OTHERS]
    command = [
        python,
        "-m",
        "pytest",
        "-q",
        "-n",
        "2",
        "--dist",
        "loadfile",
        "-p",
        "no:cacheprovider",
        *ignored,
        *tests,
    ]
    environ = {name: value for name, value in os.environ.items() if name != "CI"}
    done = subprocess.run(
        command,
        cwd=ROOT / "python",
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    text = done.stdout.decode("utf-8", "replace")
    counts = re.findall(r"^=*\s*((?:\d+ \w+(?:, )?)+) in [\d.]+s", text, re.MULTILINE)
    return (counts[-1] if counts else f"no result, exit code {done.returncode}"), text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", default=VERSIONS)
    parser.add_argument("--python", default=sys.executable, help="the interpreter, such as python3.13")
    parser.add_argument("--env", type=Path, help="use this environment instead of making one")
    parser.add_argument("--tests", nargs="+", default=[], help="only these")
    parser.add_argument("--log", type=Path, help="a folder for the whole output of each run")
    options = parser.parse_args()
    failed = False
    for torch in options.versions:
        with tempfile.TemporaryDirectory(prefix="torch-matrix-") as folder:
            python = options.env / "bin/python" if options.env else make(Path(folder), options.python, torch)
            ask = "import platform, torch; print(torch.__version__, platform.python_version())"
            versions = subprocess.run([python, "-c", ask], check=True, capture_output=True, text=True).stdout.split()
            counts, text = run(python, options.tests)
        if options.log:
            (options.log / f"torch-{torch}.log").write_text(text)
        is_good = "failed" not in counts and "error" not in counts and "passed" in counts
        failed |= not is_good
        if not is_good:
            print(text, file=sys.stderr)
        print(
            f"| {versions[0]} | {versions[1]} | {datetime.date.today()} | {counts} |",
            flush=True,
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
