"""
Real loops of the zoo, each watched by `whyslow triage` from outside: does it name what was planted?

    python bench/triage-gpu.py --out DIR [--only data_cpu_w0,launch_small] [--record] [--smoke]

Each loop runs in a process of its own for about 25 s. With Node and a build (npm run build) triage judges it here.
Without them it records to DIR, to be judged elsewhere: node bin/whyslow.js triage --replay DIR/CASE.jsonl.
`--record` only records; `--smoke` runs tiny loops on the CPU, to test this program.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "zoo" / "programs"))

# What was planted: bottleneck and, where it matters, the cause.
EXPECTED = {
    "data_cpu_w0": "data/data-cpu",
    "data_cpu_w12": "data/data-cpu",
    "data_io_w0": "data/data-io",
    "data_io_w8": "data/data-io",
    "gpu_bound_bf16": "gpu/gpu-bound",
    "fp32_no_tf32": "gpu/gpu-bound",
    "launch_small": "host/launch",
    "sync_item_per_param": "host/launch",
    "adam_forloop": "host/launch",
    "batch_tiny": "host/launch",
    "epoch_respawn": "data/workers-restarted",
}
WARM_SECONDS, WATCH_SECONDS = 8, 10


def run_loop(name: str, smoke: bool) -> None:
    """The child: trains until it is ended."""
    import torch
    from context import SIZES, Context
    from harness import Clock, Driver
    from registry import all_cases
    from state import clean_state

    case = next(case for group in all_cases().values() for case in group if case.name == name)
    device = "cpu" if smoke else "cuda"
    if smoke:
        torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="zoo-") as scratch, clean_state(case.settings, device):
        ctx = Context(device, SIZES["smoke" if smoke else "a"], smoke, Path(scratch))
        driver = Driver(case.build(ctx), Clock(device))
        for _ in range(case.warm):
            driver.step()
        print("training", flush=True)
        while True:
            driver.step()


def watch(name: str, out: Path, program: list[str] | None, smoke: bool) -> dict | None:
    """The verdict; None where it was only recorded."""
    words = [sys.executable, __file__, "--loop", name, *(["--smoke"] if smoke else [])]
    loop = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True)
    samples = out / f"{name}.jsonl"
    try:
        if loop.stdout is None or "training" not in loop.stdout.readline():
            raise RuntimeError(f"{name} did not start")
        time.sleep(WARM_SECONDS)  # workers have filled their queues
        if program is None:
            from record_machine import record

            record(loop.pid, WATCH_SECONDS, samples)
            return None
        options = ["--pid", str(loop.pid), "--seconds", str(WATCH_SECONDS), "--out", str(samples), "--json"]
        said = subprocess.run([*program, "triage", *options], capture_output=True, text=True, timeout=120)
        if not said.stdout:
            raise RuntimeError(f"triage printed nothing: {said.stderr.strip()}")
        (out / f"{name}.json").write_text(said.stdout)
        return json.loads(said.stdout)
    finally:
        os.killpg(loop.pid, signal.SIGKILL)  # its workers too
        loop.wait()


def find_program() -> list[str] | None:
    node = shutil.which("node")
    if node is None:
        print("no Node here: only recording; judge with `node bin/whyslow.js triage --replay FILE` elsewhere")
    elif not (ROOT / "dist" / "cli.js").exists():
        print("not built (npm run build): only recording")
    else:
        return [node, str(ROOT / "bin" / "whyslow.js")]
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", default="data_cpu_w0,data_io_w0,gpu_bound_bf16,launch_small")
    parser.add_argument("--all", action="store_true", help="all loops with a known answer")
    parser.add_argument("--record", action="store_true", help="record, do not judge")
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--loop", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.loop:
        run_loop(arguments.loop, arguments.smoke)
    if arguments.out is None:
        parser.error("--out is needed")
    arguments.out.mkdir(parents=True, exist_ok=True)
    program = None if arguments.record else find_program()
    right = judged = 0
    for name in list(EXPECTED) if arguments.all else arguments.only.split(","):
        try:
            report = watch(name, arguments.out, program, arguments.smoke)
        except Exception as error:
            print(f"{name:22} FAILED: {error}", flush=True)
            continue
        if report is None:
            print(f"{name:22} recorded", flush=True)
            continue
        verdict = report["verdict"]
        answer = f"{verdict['bottleneck']}/{verdict['cause']}"
        judged, right = judged + 1, right + (answer == EXPECTED.get(name))
        print(f"{name:22} {answer:24} {verdict['confidence']:.2f}  expected {EXPECTED.get(name)}", flush=True)
        for line in report["evidence"]:
            print(f"{'':23}{line}")
    if judged and not arguments.smoke:
        print(f"{right} of {judged} as planted")


if __name__ == "__main__":
    main()
