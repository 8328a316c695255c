"""
What a fix gains when `whyslow try` applies it from outside, against the same fix made by hand: the zoo's faulty loops
and their twins, two jobs of others, a transformers Trainer and a Lightning job.

OUT=DIR python bench/try-gpu.py [--jobs .live/jobs.py] [--only T9,T15] [--minutes 8] [--smoke]

Needs no Node: the measuring part of `whyslow try` is Python. Each turn is a process of its own; faulty, tried and twin
take turns. Zoo loops are forked from a process that has imported torch, which saves seconds a turn; the other jobs are
started as `whyslow try` starts them. Writes OUT/results.json after every pair and prints a table.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import math
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch._dynamo  # every optimizer imports it: once here instead of in every turn

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "python/src"
ROUNDS = 2
STEPS, WARMUP = 40, 10
SECONDS = 2.0
"""Of measured steps a turn. Slow loops have fewer steps."""
TURN_LIMIT = 100
WITHIN = 0.10
Fixes = list[dict[str, Any]]
Program = Callable[[], None] | list[str]


@dataclass(frozen=True)
class Pair:
    name: str
    rule: str
    fixes: Fixes
    faulty: Program
    twin: Program


def fix(*names: str, **settings: Any) -> Fixes:
    return [{"name": name, **settings} for name in names]


def zoo_loop(name: str, smoke: bool) -> Callable[[], None]:
    """A loop of the zoo as a script would run it, until it is ended."""

    def run() -> None:
        sys.path.insert(0, str(ROOT / "zoo" / "programs"))
        # Imported here and not above: names that they import from torch must be those of the trial.
        context, registry, state = (importlib.import_module(m) for m in ("context", "registry", "state"))
        cases = {case.name: case for group in registry.all_cases().values() for case in group}
        device = "cpu" if smoke else "cuda"
        if smoke:
            torch.set_num_threads(1)
        case = cases.get(name)
        with tempfile.TemporaryDirectory(prefix="zoo-") as scratch:
            settings = case.settings if case else registry.Settings()
            with state.clean_state(settings, device):
                ctx = context.Context(
                    device,
                    context.SIZES["smoke" if smoke else "a"],
                    smoke,
                    Path(scratch),
                )
                loop = case.build(ctx) if case else copies(ctx, name)
                while True:
                    batch = next(loop.batches)
                    loop.step(loop.move(batch) if loop.move else batch)

    return run


def copies(ctx: Any, name: str) -> Any:
    """`h2d_small_pageable` of the zoo, but the twin reads the loss in every step too: the copies alone differ."""
    cases = importlib.import_module("cases_input")
    good = name == "copies_pinned"
    return cases.small_model(ctx, cases.float_batches(ctx, pinned=good), non_blocking=good, log_loss=True)


def zoo_pairs(smoke: bool) -> list[Pair]:
    def pair(rule: str, faulty: str, twin: str, fixes: Fixes) -> Pair:
        return Pair(faulty, rule, fixes, zoo_loop(faulty, smoke), zoo_loop(twin, smoke))

    many = 2 if smoke else 12
    return [
        # The twin holds four batches per worker ready.
        pair("T4", "data_cpu_w0", "data_cpu_w12", fix("loader-workers", "loader-prefetch", workers=many, factor=4)),
        pair("T6", "copies_pageable", "copies_pinned", fix("pinned-copies")),
        pair("T9", "vit_fp32", "vit_tf32", fix("tf32")),
        pair("T10", "cudnn_benchmark_off", "cudnn_benchmark_on", fix("cudnn-benchmark")),
        pair("T11", "cnn_nchw", "cnn_nhwc", fix("channels-last")),
        pair("T13", "vit_tf32", "vit_bf16", fix("bf16-autocast")),
        pair("T14", "sdpa_math", "gpu_bound_bf16", fix("fused-attention")),
        pair("T15", "elementwise_eager", "elementwise_compiled", fix("compile")),
        pair("W3", "adam_forloop", "adam_fused", fix("fused-optimizer")),
        pair("gc", "gc_each_step", "gc_automatic", fix("gc-frozen")),
    ]


def more_zoo_pairs(smoke: bool) -> list[Pair]:
    def pair(rule: str, faulty: str, twin: str, fixes: Fixes) -> Pair:
        return Pair(faulty, rule, fixes, zoo_loop(faulty, smoke), zoo_loop(twin, smoke))

    return [
        pair(
            "T15",
            "launch_small",
            "launch_compiled",
            fix("fused-optimizer", "compile-graphs"),
        ),
        pair("T5", "epoch_respawn", "epoch_persistent", fix("loader-persistent")),
        pair("T12", "anomaly_on", "sync_none", fix("anomaly-off")),
        pair("W4", "alloc_churn", "alloc_cached", fix("keep-cache")),
        pair(
            "T4",
            "data_io_w0",
            "data_io_w8",
            fix("loader-workers", workers=2 if smoke else 8),
        ),
    ]


def job_pairs(jobs: Path, folder: Path, smoke: bool) -> list[Pair]:
    python, own = sys.executable, str(ROOT / "bench/try_jobs.py")
    flag = ["--smoke"] if smoke else []

    def framework(name: str, rule: str, fixes: Fixes) -> Pair:
        return Pair(
            name,
            rule,
            fixes,
            [python, own, name, "bad", *flag],
            [python, own, name, "good", *flag],
        )

    found = [
        framework("trainer", "T13", fix("bf16-autocast")),
        framework("lightning", "T4", fix("loader-workers", workers=1 if smoke else 8)),
    ]
    if smoke or not jobs.exists():
        return found
    steps = "100000"
    by_hand = folder / "jobs_by_hand.py"
    source = jobs.read_text()
    before = "torch.optim.Adam([*pi.parameters(), *v.parameters()], 3e-4)"
    assert before in source, "jobs.py has changed: no Adam in ppo"
    by_hand.write_text(source.replace(before, before[:-1] + ", fused=True)"))
    tokens = [python, str(jobs.resolve())]
    return [
        Pair(
            "gpt_tok_w2",
            "T4",
            fix("loader-workers", workers=12),
            [*tokens, "gpt_tok_w2", steps],
            [*tokens, "gpt_tok_w12", steps],
        ),
        Pair(
            "ppo",
            "W3",
            fix("fused-optimizer"),
            [*tokens, "ppo", steps],
            [python, str(by_hand), "ppo", steps],
        ),
        *found,
    ]


def turn(program: Program, fixes: Fixes) -> dict[str, Any]:
    """The result of rank 0, as `whyslow try` reads it."""
    with tempfile.TemporaryDirectory(prefix="try-") as folder:
        results, scratch, spec = (
            Path(folder, "results"),
            Path(folder, "scratch"),
            Path(folder, "trial.json"),
        )
        for path in (results, scratch):
            path.mkdir()
        given = {"results": str(results), "fixes": fixes}
        spec.write_text(json.dumps({**given, "steps": STEPS, "warmup": WARMUP, "seconds": SECONDS}))
        log = Path(folder, "log")
        pid = started(program, spec, scratch, log) if isinstance(program, list) else forked(program, spec, scratch, log)
        code = waited(pid)
        found = results / "rank_0.json"
        if not found.exists():
            raise RuntimeError(f"exit code {code}: {log.read_text()[-600:].strip()}")
        return json.loads(found.read_text())


def started(command: list[str], spec: Path, cwd: Path, log: Path) -> int:
    """As `whyslow try` starts a job."""
    site = str(SOURCE / "whyslow_capture/inject/site")
    path = os.pathsep.join([site, *filter(None, [os.environ.get("PYTHONPATH")])])
    env = {
        "WHYSLOW_INJECT": "1",
        "WHYSLOW_TRIAL": str(spec),
        "WHYSLOW_PYTHON": str(SOURCE),
        "PYTHONPATH": path,
    }
    env = {**os.environ, **env, "PYTHONHASHSEED": "0"}
    with log.open("w") as out:
        child = subprocess.Popen(command, env=env, cwd=cwd, stdout=out, stderr=out, start_new_session=True)
    child.returncode = 0  # waited for below, by its id
    return child.pid


def forked(program: Callable[[], None], spec: Path, cwd: Path, log: Path) -> int:
    pid = os.fork()
    if pid:
        return pid
    os.setsid()
    out = os.open(log, os.O_WRONLY | os.O_CREAT)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.chdir(cwd)
    os.environ["WHYSLOW_TRIAL"] = str(spec)
    try:
        sys.path.insert(0, str(SOURCE))
        from whyslow_trials import start

        start.after_torch()
        program()
    except BaseException:
        import traceback

        traceback.print_exc()
    os._exit(1)


def waited(pid: int) -> int:
    """Its exit code. Ended with its children when it takes too long, and its workers in any case."""
    end = time.monotonic() + TURN_LIMIT
    done, status = 0, 0
    while not done and time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    if not done:
        _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def measured(pair: Pair) -> dict[str, Any]:
    """Faulty, tried and twin in turns; gains against the faulty turns around each."""
    sides: dict[str, list[dict[str, Any]]] = {"faulty": [], "tried": [], "twin": []}
    begin = time.monotonic()
    for _ in range(ROUNDS):
        sides["faulty"].append(turn(pair.faulty, []))
        sides["tried"].append(turn(pair.faulty, pair.fixes))
        sides["twin"].append(turn(pair.twin, []))
    steps = {side: [statistics.fmean(r["step_ms"]) for r in found] for side, found in sides.items()}
    middle = {side: math.exp(statistics.fmean(map(math.log, values))) for side, values in steps.items()}
    tried, twin = middle["faulty"] / middle["tried"], middle["faulty"] / middle["twin"]
    return {
        "name": pair.name,
        "rule": pair.rule,
        "fixes": pair.fixes,
        "applied": sides["tried"][0]["applied"],
        "refused": sides["tried"][0]["refused"],
        "step_ms": {side: [round(v, 4) for v in values] for side, values in steps.items()},
        "gain_tried": round(tried, 4),
        "gain_twin": round(twin, 4),
        "tried_against_twin": round(tried / twin, 4),
        "within": abs(tried / twin - 1) <= WITHIN,
        "losses": {side: found[0]["losses"][:12] for side, found in sides.items()},
        "memory_mb": {side: found[0]["memory_mb"] for side, found in sides.items()},
        "steps": {side: [len(r["step_ms"]) for r in found] for side, found in sides.items()},
        "turns": {side: [r["step_ms"] for r in found] for side, found in sides.items()},
        "seconds": round(time.monotonic() - begin, 1),
    }


def machine() -> dict[str, Any]:
    # In another process: forked children could not use CUDA if this one had.
    code = "import torch; print(torch.cuda.get_device_name() if torch.cuda.is_available() else 'CPU')"
    device = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip()
    versions = {
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "python": platform.python_version(),
    }
    return {
        "date": time.strftime("%Y-%m-%d"),
        "device": device,
        "cores": len(os.sched_getaffinity(0)),
        **versions,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--jobs", type=Path, default=ROOT / ".live/jobs.py")
    parser.add_argument("--only", help="rules or names, with commas")
    parser.add_argument("--minutes", type=float, default=8, help="begin no pair that would end later")
    parser.add_argument(
        "--smoke",
        action="store_true",
        help="tiny loops on the CPU, to test this program",
    )
    arguments = parser.parse_args()
    begin, out = time.monotonic(), Path(os.environ.get("OUT", "."))
    out.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="try-gpu-"))
    smoke = arguments.smoke
    pairs = [
        *zoo_pairs(smoke),
        *job_pairs(arguments.jobs, folder, smoke),
        *more_zoo_pairs(smoke),
    ]
    wanted = arguments.only.split(",") if arguments.only else None
    report: dict[str, Any] = {
        "machine": machine(),
        "steps": STEPS,
        "rounds": ROUNDS,
        "pairs": [],
        "failed": {},
    }
    print(report["machine"], flush=True)
    print(f"{'loop':22} {'rule':5} {'tried':>8} {'by hand':>8} {'ratio':>7}  fixes")
    longest = 0.0
    try:
        for pair in pairs:
            if wanted and pair.name not in wanted and pair.rule not in wanted:
                continue
            if time.monotonic() - begin + 1.2 * longest > 60 * arguments.minutes:
                report["failed"][pair.name] = "no time left"
                continue
            pair_begins = time.monotonic()
            try:
                row = measured(pair)
                report["pairs"].append(row)
                gains = f"{row['gain_tried']:8.3f} {row['gain_twin']:8.3f} {row['tried_against_twin']:7.3f}"
                mark = "" if row["within"] else "  NOT WITHIN 10%"
                print(
                    f"{pair.name:22} {pair.rule:5} {gains}  {', '.join(f['name'] for f in pair.fixes)}{mark}",
                    flush=True,
                )
            except Exception as error:
                report["failed"][pair.name] = str(error)
                print(f"{pair.name:22} {pair.rule:5} FAILED: {error}", flush=True)
            longest = max(longest, time.monotonic() - pair_begins)
            (out / "results.json").write_text(json.dumps(report, indent=1))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    good = sum(row["within"] for row in report["pairs"])
    print(f"{good} of {len(report['pairs'])} within 10% of the twin, {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
