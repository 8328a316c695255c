"""
A drop-in for d9d's `Profiler`: same arguments, same `open(start_step)`, same file names. The job waits less, because
another thread compresses the traces, and a window that would exhaust the host's memory is cut short.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from whyslow_capture import layout, manifest, process
from whyslow_capture.config import CaptureConfig, TraceConfig
from whyslow_capture.problems import ProblemLog, needs_torch
from whyslow_capture.run_name import agreed_run_id, run_id
from whyslow_capture.trace.mesh import Mesh, coordinates_of, mesh_of
from whyslow_capture.trace.schedule import WindowPlan
from whyslow_capture.trace.trace_paths import TracePaths

if TYPE_CHECKING:
    from whyslow_capture.trace.tier import TraceTier

# How long the end of the job waits for a trace that is being compressed.
CLOSE_S = 600.0


class Profiler:
    def __init__(
        self,
        save_dir: Path | str,
        period_steps: int,
        warmup_steps: int,
        active_steps: int,
        dist_context: object = None,
        *,
        record_shapes: bool = True,
        with_stack: bool = True,
        budget_mb: int = TraceConfig.budget_mb,
    ) -> None:
        """`dist_context`: d9d's DistributedContext, a DeviceMesh, {axis: (size, coordinate)}, or None."""
        if active_steps < 1 or warmup_steps < 0 or period_steps < warmup_steps + active_steps:
            raise ValueError("period_steps must be at least warmup_steps + active_steps, and active_steps at least 1")
        self._out = Path(os.fspath(save_dir)).expanduser().absolute()
        self._mesh_source = dist_context
        self._trace = TraceConfig(
            enabled=True,
            period=period_steps,
            warmup=warmup_steps,
            active=active_steps,
            ranks=None,
            record_shapes=record_shapes,
            with_stack=with_stack,
            budget_mb=budget_mb,
            format="tar.gz",
        )

    @contextmanager
    def open(self, start_step: int) -> Iterator[StepCounter]:
        """`start_step`: the number of the step that begins now. A resumed job then records the same steps."""
        with needs_torch("d9d's Profiler"):
            from whyslow_capture.trace.tier import TraceTier

        problems = ProblemLog()
        mesh: Mesh = {}
        with problems.guard("mesh", "reading the mesh"):
            mesh = mesh_of(self._mesh_source)
        config = CaptureConfig(out=str(self._out), trace=self._trace)
        rank, world = process.rank(), process.world_size()
        coordinates = coordinates_of(mesh)
        tier = TraceTier(
            config,
            rank=rank,
            world=world,
            out=self._out,
            problems=problems,
            coordinates=lambda: coordinates,
            paths=D9dPaths(self._out, rank, coordinates),
            on_demand=False,
        )
        about = _Manifests(config, rank, mesh, tier)
        with problems.guard("manifest", "writing the manifest"):
            about.write()
        try:
            yield StepCounter(tier, start_step)
        finally:
            tier.close(CLOSE_S)
            with problems.guard("manifest", "writing the manifest"):
                about.write()


class StepCounter:
    """Yielded by `open`: the part of torch.profiler.profile that a training loop uses."""

    def __init__(self, tier: TraceTier, start_step: int) -> None:
        self._tier = tier
        self.step_num = start_step
        tier.begin_step(start_step)

    def step(self) -> None:
        """The next step begins."""
        self.step_num += 1
        self._tier.begin_step(self.step_num)


class D9dPaths(TracePaths):
    """save_dir/step_<n>/rank-<r>-coord-<a-b-c>-trace.tar.gz. As in d9d, `n` is the step after the last recorded one."""

    def __init__(self, save_dir: Path, rank: int, coordinates: tuple[int, ...]) -> None:
        self._save_dir = save_dir
        self._name = layout.trace_name(rank, coordinates, ".tar.gz") if coordinates else "trace.tar.gz"

    def path(self, plan: WindowPlan) -> Path:
        return self._save_dir / f"step_{plan.end}" / self._name

    def folders(self) -> Iterable[Path]:
        return [folder for folder in self._save_dir.glob("step_*") if folder.is_dir()]

    def is_own(self, name: str) -> bool:
        return self._name in name


class _Manifests:
    """Writes the manifests, which hold what file names do not: axis names and sizes."""

    def __init__(self, config: CaptureConfig, rank: int, mesh: Mesh, tier: TraceTier) -> None:
        self._config, self._rank, self._mesh, self._tier = config, rank, mesh or None, tier
        self._run = agreed_run_id(config, run_id(config), Path(config.out))
        self._started_ns = time.time_ns()
        self._anchors: list[manifest.Anchor] = [manifest.anchor("start")]

    def write(self) -> None:
        out = Path(self._config.out)
        if self._rank == 0:
            manifest.write_run(out, self._config, self._run, self._mesh, self._started_ns)
        anchors = [*self._anchors, manifest.anchor("end")]
        extra: dict[str, object] = {"trace": self._tier.summary()}
        manifest.write_rank(layout.rank_file(out, self._rank), self._run, self._rank, self._mesh, anchors, extra)
