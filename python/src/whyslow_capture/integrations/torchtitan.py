"""
torchtitan exports a trace itself and hands its path to `trace_post_processor`:

    profiler = Profiler.Config(enable_profiling=True, trace_post_processor=trace_post_processor())

The trace stays in torchtitan's folder, compressed if it was not. It is also linked into a folder that
`whyslow diagnose` reads: `out`, otherwise the folder of the active capture, otherwise ``whyslow`` next to torchtitan's
folder. A thread does all of this.
"""

from __future__ import annotations

import os
import re
import shutil
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from .. import layout, manifest, process
from ..api import active_session
from ..config_sources import load_config
from ..own_files import partial_path
from ..problems import ProblemLog
from ..run_name import agreed_run_id, run_id
from ..trace.export import compress_in_place
from ..trace.mesh import coordinates_of
from .framework_steps import FOLDER, raise_missing

# torchtitan: <folder>/iteration_<step>/rank<rank>_trace.json[.gz]
_STEP = re.compile(r"iteration_(\d+)")
_RANK = re.compile(r"rank(\d+)_trace")


def trace_post_processor(out: str | os.PathLike[str] | None = None) -> Any:
    """For `Profiler.Config.trace_post_processor`."""
    try:
        from torchtitan.config.function import Function
    except Exception as error:  # a broken installation can raise anything
        raise_missing(__name__, "torchtitan with Profiler.Config.trace_post_processor", "torchtitan", error)
    return Function.Config(fn=TraceFiler(out))


class TraceFiler:
    """Takes the path of an exported trace. Works without torchtitan: any `on_trace_ready` can call it."""

    def __init__(self, out: str | os.PathLike[str] | None = None) -> None:
        self._out = None if out is None else Path(out)
        self._problems = ProblemLog()
        self._worker: ThreadPoolExecutor | None = None
        self._last: Future[None] | None = None

    def __call__(self, trace_path: str | os.PathLike[str]) -> None:
        with self._problems.guard("trace-filing", "filing a trace"):
            source = Path(trace_path).absolute()
            step = _number_in(_STEP, [part.name for part in source.parents])
            rank = _number_in(_RANK, [source.name])
            out = self._out_for(source)
            capture = active_session()
            coordinates = coordinates_of(None if capture is None else capture.mesh)
            if self._worker is None:
                # The interpreter waits for its thread at exit.
                self._worker = ThreadPoolExecutor(1, "whyslow-traces")
            self._last = self._worker.submit(
                self._file, source, out, step or 0, process.rank() if rank is None else rank, coordinates
            )

    def wait(self) -> None:
        """Waits until all traces so far are filed."""
        if self._last is not None:
            self._last.result()

    def __reduce__(self) -> tuple[object, ...]:
        # torchtitan copies its configs.
        return TraceFiler, (self._out,)

    def _out_for(self, source: Path) -> Path:
        if self._out is not None:
            return self._out
        capture = active_session()
        if capture is not None:
            return capture.out
        for parent in source.parents:
            if _STEP.fullmatch(parent.name):
                # …/profiling/traces/iteration_10 -> …/profiling/whyslow
                return parent.parents[1] / FOLDER
        return source.parent / FOLDER

    def _file(self, source: Path, out: Path, step: int, rank: int, coordinates: tuple[int, ...]) -> None:
        with self._problems.guard("trace-filing", f"filing {source.name}"):
            compressed = source if source.suffix == ".gz" else source.with_name(source.name + ".gz")
            if compressed is not source:
                compress_in_place(source, compressed)
            target = layout.trace_dir(out, step) / layout.trace_name(rank, coordinates, ".json.gz")
            target.parent.mkdir(parents=True, exist_ok=True)
            _link_or_copy(compressed, target)
            if active_session() is None:  # a capture writes its own manifests
                _write_manifests(out, rank)


def _link_or_copy(source: Path, target: Path) -> None:
    partial = partial_path(target)
    try:
        try:
            os.link(source, partial)
        except OSError:  # another disk, or a file system without hard links
            shutil.copyfile(source, partial)
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def _write_manifests(out: Path, rank: int) -> None:
    wants_run = rank == 0 and not layout.run_file(out).exists()
    wants_rank = not layout.rank_file(out, rank).exists()
    if not (wants_run or wants_rank):
        return
    config = load_config()
    run = agreed_run_id(config, run_id(config), out)
    anchor = manifest.anchor("start")
    if wants_run:
        manifest.write_run(out, config, run, None, int(str(anchor["wall_ns"])))
    if wants_rank:
        manifest.write_rank(layout.rank_file(out, rank), run, rank, None, [anchor], {})


def _number_in(pattern: re.Pattern[str], names: list[str]) -> int | None:
    for name in names:
        found = pattern.fullmatch(name) or pattern.match(name)
        if found:
            return int(found.group(1))
    return None
