"""
`capture()` and `active()`. A process has at most one capture at a time.

Imports neither torch nor the recorder, so modules that work with and without a capture can import it cheaply.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from .config import Settings
from .config_sources import load_config
from .config_values import TRUE_WORDS
from .handle import CaptureHandle, DisabledCapture
from .problems import ProblemLog, needs_torch

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .session import Capture


class _Process:
    """State of the process rather than of a run."""

    session: Capture | None = None


def capture(out: str | os.PathLike[str] | None = None, **settings: Unpack[Settings]) -> CaptureHandle:
    """
    Measures this process, from `with` or `start()` on, and writes files to `out`. Each setting can also be set in the
    environment (`WHYSLOW_*`) or in a JSON file; the README lists them.
    """
    given: dict[str, object] = {**settings}
    if out is not None:
        given["out"] = os.fspath(out)
    problems = ProblemLog()
    _join_whyslow_run(given, problems)
    loaded = load_config(given, problems=problems)
    if not loaded.enabled:
        return DisabledCapture()
    with needs_torch("whyslow_capture.capture()"):
        from .session import Capture
    return Capture(loaded, problems)


def start(session: Capture) -> None:
    """What `CaptureHandle.start` does."""
    running = active_session()
    if running is None:
        open_session(session, steps="manual")
        return
    running.manual_steps()
    running.problems.warn("second-capture", f"a capture into {running.out} is already on; this capture() call joins it")
    session.join(running)


# Unless the user sets them: the settings of a capture that belongs to `whyslow run`.
RUN_DEFAULTS = {"spread_steps": True, "hooks": "all", "trace.enabled": True}


def _join_whyslow_run(config: dict[str, object], problems: ProblemLog) -> None:
    """`whyslow run` diagnoses what is in its own folder, so the capture of a script that it runs must be there too."""
    folder, asked, defaults = os.environ.get("WHYSLOW_OUT"), config.get("out"), config.get("defaults")
    if not folder or os.environ.get("WHYSLOW_INJECT", "").lower() not in TRUE_WORDS:
        return
    config["defaults"] = RUN_DEFAULTS | (dict(defaults) if isinstance(defaults, Mapping) else {})
    if asked is not None and os.path.abspath(str(asked)) != folder:
        config["out"] = folder
        problems.say(f"`whyslow run` measures into {folder}, so capture({str(asked)!r}) writes there too")


def active() -> CaptureHandle | None:
    """The capture that is on in this process, or None."""
    return active_session()


def active_session() -> Capture | None:
    """Like `active`, with the capture's internals."""
    session = _Process.session
    return None if session is None or session.is_closed else session


def open_session(session: Capture, steps: str) -> Capture:
    """Makes `session` the capture of this process and starts it."""
    _Process.session = session
    return session.open(steps)


class Measured:
    has_trained = False


@contextmanager
def measured(out: str | os.PathLike[str], *, trace: bool = True) -> Iterator[Measured]:
    """
    Measures whatever trains inside the block, as `whyslow run` measures a whole job. Writes to `out`. When the block
    ends, the process is as it was before: no hooks, no threads.
    """
    if active_session() is not None:
        raise RuntimeError("a capture is already on in this process")
    defaults = {**RUN_DEFAULTS, "trace.enabled": trace}
    config = load_config({"out": os.fspath(out), "defaults": defaults})
    with needs_torch("measuring"):
        from .session import Capture
    seen = Measured()
    capture = open_session(Capture(config), steps="optimizer")
    try:
        yield seen
    finally:
        capture.close()
        seen.has_trained = capture.files.begun


def phase(name: str) -> AbstractContextManager[None]:
    """A phase of the active capture. Does nothing if there is none."""
    session = active_session()
    return nullcontext() if session is None else session.phase(name)


def _forget_in_child() -> None:
    session, _Process.session = _Process.session, None
    if session is not None:
        session.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
