"""One line a case on the terminal: everything needed to check a label by eye."""

from __future__ import annotations

from outputs import Record

COLUMNS = (
    ("case", 27),
    ("label", 17),
    ("step ms", -9),
    ("synced", -9),
    ("beside", -9),
    ("profiled", -9),
    ("gpu busy", -9),
    ("h2d", -6),
    ("wait", -6),
    ("spread", -7),
    ("GiB", -6),
    ("gz KB", -6),
    ("s", -5),
)


def line(values: list[str]) -> str:
    cells = zip(values, (width for _, width in COLUMNS), strict=True)
    return "".join(v.ljust(width) if width > 0 else v.rjust(-width) for v, width in cells)


HEADER = line([title for title, _ in COLUMNS])


def label(run: Record) -> str:
    """The decided label; after a '!' what the case was meant to be, where that differs."""
    decided = run["bottleneck"] or "|".join(run["acceptable"])
    return decided + (f" !{run['intended']}" if "intended" in run else "")


def row(run: Record, seconds: float) -> str:
    step = run["step_ms"]
    on_gpu = ["-", "-"]
    if "gpu_busy" in run:
        on_gpu = [f"{run['gpu_busy']:.0%}", f"{run['to_device_ms'] / step:.0%}"]
    return line(
        [
            run["name"],
            label(run),
            f"{step:.2f}",
            f"{run['step_ms_sync']:.2f}",
            f"{run.get('step_ms_beside', 0):.2f}",
            f"{run['profiled_step_ms']:.2f}",
            *on_gpu,
            f"{run['data_wait_ms'] / step:.0%}",
            f"{run['spread']:.0%}",
            f"{run.get('peak_gib', 0):.1f}",
            f"{run['gz_bytes'] / 1024:.0f}",
            f"{seconds:.0f}",
        ]
    )
