"""`%load_ext whyslow` in notebooks: a cell that begins with `%%whyslow` is measured, and its report shown below it."""

from __future__ import annotations

import shlex
from tempfile import mkdtemp
from typing import Any

from .errors import InputError, WhyslowError
from .reports import Report, diagnose

USAGE = "usage: %%whyslow [--out FOLDER] [--no-trace]"


def load_ipython_extension(ipython: Any) -> None:
    """`%load_ext whyslow` calls this."""

    def whyslow(line: str, cell: str) -> Report | None:
        """Measures the training in this cell and shows why it is slow. [--out FOLDER] [--no-trace]"""
        return measure_cell(ipython, line, cell)

    ipython.register_magic_function(whyslow, magic_kind="cell")


def measure_cell(ipython: Any, line: str, cell: str) -> Report | None:
    from whyslow_capture.api import measured

    out, trace = _options(line)
    with measured(out, trace=trace) as seen:
        result = ipython.run_cell(cell)
    if not result.success:
        # The notebook has shown the error. What was measured until then stays in the folder.
        return None
    if not seen.has_trained:
        print("whyslow: this cell did not train: no step was seen")
        return None
    try:
        # Not the command line of the notebook's kernel.
        return diagnose(out, title="a cell of a notebook")
    except WhyslowError as error:
        print(f"whyslow: {error}")
        return None


def _options(line: str) -> tuple[str, bool]:
    words, out, trace = shlex.split(line), None, True
    while words:
        word = words.pop(0)
        if word == "--out" and words:
            out = words.pop(0)
        elif word == "--no-trace":
            trace = False
        else:
            raise InputError(USAGE)
    return out or mkdtemp(prefix="whyslow-"), trace
