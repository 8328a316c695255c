"""Makes the zoo's traces: runs each case, measures it, profiles it, writes what is known about it.

python zoo/programs/make.py --out DIR [--sizes a|b] [--group original|new|unseen] [--only x,y] [--list]
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import torch

from beside import Beside, beside
from context import SIZES, Context
from gpu_busy import read_busy
from child import ChildFailed, run_in_child
from harness import Clock, Driver, attach_profiler, compress, measure, soak, write_trace
from outputs import FIGURES, Record, Truth, describe_machine, measured, measured_beside, record, write_events
from registry import Case, all_cases
from state import clean_state
from table import HEADER, row


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, help="folder for the traces and truth.json; added to if it exists")
    parser.add_argument("--sizes", choices=("a", "b"), default="a", help="sizes of the original cases")
    parser.add_argument("--group", choices=("original", "new", "unseen"), default="original")
    parser.add_argument("--only", help="comma-separated names of cases")
    parser.add_argument("--list", action="store_true", help="list the cases and stop")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes on the CPU: do the programs run?")
    parser.add_argument("--dmon", action="store_true", help="record nvidia-smi dmon during each case (+3 s)")
    parser.add_argument("--relabel", action="store_true", help="rewrite truth.json from its figures and the registry")
    parser.add_argument("--case-limit", type=int, default=120, metavar="S", help="seconds a case may take")
    arguments = parser.parse_args()
    if not arguments.list and not arguments.out:
        parser.error("--out is needed")
    return arguments


def chosen_cases(group: str, only: str | None) -> list[Case]:
    cases = {case.name: case for case in all_cases()[group]}
    names = only.split(",") if only else list(cases)
    unknown = [name for name in names if name not in cases]
    if unknown:
        sys.exit(f"no case named {', '.join(unknown)} in group {group}; see --list")
    return [cases[name] for name in names]


def print_list() -> None:
    for group, cases in all_cases().items():
        for case in cases:
            print(f"{group:9}{case.name:28}{case.bottleneck or '-':9}{','.join(case.rules):14}{case.note}")


def why_not_here(case: Case, device: str) -> str | None:
    if case.needs_cuda and device != "cuda":
        return "needs a GPU"
    if case.needs_package and not importlib.util.find_spec(case.needs_package):
        return f"needs the package {case.needs_package}"
    return None


def run_case(case: Case, ctx: Context, out: Path, dmon: bool, neighbors: Beside) -> Record:
    folder = out / case.name
    folder.mkdir(parents=True, exist_ok=True)
    driver = Driver(case.build(ctx), Clock(ctx.device))
    timing = measure(driver, case)
    clock = "gpu" if ctx.on_gpu() else "host"
    write_events(folder / "cuda_events_rank_0.jsonl", case.name, timing.steps, clock)
    if dmon and ctx.on_gpu():
        soak(driver, folder / "dmon.txt")
    speedups = neighbors.speedups()
    attached_ms = attach_profiler(driver, case, ctx.device)
    trace = folder / "rank0.json"
    around = write_trace(driver, case, ctx.device, trace, neighbors.step_ms)
    busy, raw_bytes = read_busy(trace), trace.stat().st_size
    files = {"raw_bytes": raw_bytes, "gz_bytes": compress(trace).stat().st_size}
    figures = measured(timing, attached_ms, busy, ctx.on_gpu(), files)
    return record(case, figures | measured_beside(around, speedups))


def run_clean(case: Case, twin: Case | None, ctx: Context, out: Path, dmon: bool) -> Record:
    with beside(case, twin, ctx) as neighbors, clean_state(case.settings, ctx.device):
        return run_case(case, ctx, out, dmon, neighbors)


def run_all(cases: list[Case], ctx: Context, truth: Truth, arguments: argparse.Namespace) -> None:
    print(HEADER)
    known = {case.name: case for case in all_cases()[arguments.group]}
    for case in cases:
        reason = why_not_here(case, ctx.device)
        if reason:
            print(f"{case.name:27}skipped: {reason}")
            continue
        own = Context("cpu", ctx.sizes, ctx.smoke, ctx.scratch) if case.on_cpu else ctx
        begin = time.perf_counter()
        try:
            run = run_in_child(
                lambda case=case, own=own: run_clean(case, known.get(case.twin), own, arguments.out, arguments.dmon),
                arguments.case_limit,
            )
            truth.add(run)
            print(row(run, time.perf_counter() - begin), flush=True)
        except ChildFailed as error:
            print(f"{case.name:27}FAILED: {error}", flush=True)
            truth.fail(case.name, str(error))


def relabel(truth: Truth, cases: list[Case]) -> None:
    """Measuring costs time on a GPU; changing a word or a threshold must not."""
    print(HEADER)
    for case in cases:
        if case.name in truth.runs:
            known = truth.runs[case.name]
            run = record(case, {key: known[key] for key in FIGURES if key in known})
            truth.add(run)
            print(row(run, 0))


def main() -> None:
    arguments = parse_arguments()
    if arguments.list:
        return print_list()
    cases = chosen_cases(arguments.group, arguments.only)
    arguments.out.mkdir(parents=True, exist_ok=True)
    truth = Truth(arguments.out / "truth.json", [case.name for case in all_cases()[arguments.group]])
    if arguments.relabel:
        return relabel(truth, cases)
    if not arguments.smoke and not run_in_child(torch.cuda.is_available, 60):
        sys.exit("no GPU here; --smoke runs the programs on the CPU with tiny sizes")
    device, sizes = ("cpu", "smoke") if arguments.smoke else ("cuda", arguments.sizes)
    if arguments.smoke:
        # On shared cores, threads that spin for each other cost more than they gain.
        torch.set_num_threads(1)
        cases = [replace(case, warm=2, steps=2, active=1, profiler_warmup=2) for case in cases]
    # This process must not touch CUDA: its children could not.
    truth.describe(run_in_child(lambda: describe_machine(arguments.group, sizes, SIZES[sizes], device == "cuda"), 60))
    with tempfile.TemporaryDirectory(prefix="zoo-") as scratch:
        ctx = Context(device, SIZES[sizes], arguments.smoke, Path(scratch))
        run_all(cases, ctx, truth, arguments)
    if truth.failed:
        sys.exit(f"failed: {', '.join(truth.failed)}")


if __name__ == "__main__":
    main()
