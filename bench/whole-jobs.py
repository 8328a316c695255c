"""
Whole jobs, each plain and under capture as `whyslow run` starts it, in turns: what it costs, and recordings to judge.

OUT=DIR python bench/whole-jobs.py [--other SCRIPT:NAME:STEPS …] [--only NAME …] [--turns N] [--seconds S]

Needs a GPU to mean anything. Writes OUT/results.json, and OUT/runs.tar.gz with one folder a job: `whyslow diagnose`
reads each of them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent / "python/src"
OWN = {
    "evaluates_often": 120,
    "saves_often": 96,
    "gan": 300,
    "augment_inline": 60,
    "lstm_by_hand": 120,
    "ragged_compile": 120,
    "stream": 120,
    "wide_matmul": 80,
    "trainer": 200,
}


def run(script: str, name: str, steps: int, out: Path | None) -> dict[str, object]:
    env = dict(os.environ)
    if out is not None:
        site = SOURCE / "whyslow_capture/inject/site"
        env |= {
            "WHYSLOW_INJECT": "1",
            "WHYSLOW_OUT": str(out),
            "WHYSLOW_RUN": name,
            "WHYSLOW_PYTHON": str(SOURCE),
            "KINETO_LOG_LEVEL": "6",
            "PYTHONPATH": os.pathsep.join([str(site), *filter(None, [env.get("PYTHONPATH")])]),
        }
    begin = time.perf_counter()
    command = [sys.executable, script, name, str(steps)]
    ended = subprocess.run(command, env=env, capture_output=True, text=True, timeout=150)
    wall = time.perf_counter() - begin
    lines = [line for line in ended.stdout.splitlines() if line.startswith("JOB ")]
    found: dict[str, object] = json.loads(lines[-1][4:]) if lines else {}
    if ended.returncode != 0 or not lines:
        found["failed"] = ended.stderr[-600:]
    said = [line for line in ended.stderr.splitlines() if "whyslow" in line]
    return {**found, "wall_s": round(wall, 2), "said": said}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--other", nargs="*", default=[], metavar="SCRIPT:NAME:STEPS", help="further jobs, run first")
    parser.add_argument("--only", nargs="*", default=list(OWN), metavar="NAME", help="of the jobs of bench/jobs_gpu.py")
    parser.add_argument("--turns", type=int, default=1, help="how often each job is run plain and captured, in turns")
    parser.add_argument("--seconds", type=float, default=500, help="start no more jobs after this time")
    arguments = parser.parse_args()
    out = Path(os.environ.get("OUT", "whole-jobs"))
    out.mkdir(parents=True, exist_ok=True)
    jobs = [(script, name, int(steps)) for script, name, steps in (text.split(":") for text in arguments.other)]
    jobs += [(str(HERE / "jobs_gpu.py"), name, OWN[name]) for name in arguments.only]
    results: dict[str, list[dict[str, object]]] = {}
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        for turn in range(arguments.turns):
            for script, name, steps in jobs:
                if time.perf_counter() - began > arguments.seconds:
                    print("out of time before", name)
                    break
                pair = one_pair(script, name, steps, Path(scratch) / name if turn == 0 else None)
                results.setdefault(name, []).append(pair)
                print(name, json.dumps(pair)[:1200], flush=True)
                (out / "results.json").write_text(json.dumps(results, indent=1))
            if turn == 0:
                keep(Path(scratch), out / "runs.tar.gz")


def one_pair(script: str, name: str, steps: int, folder: Path | None) -> dict[str, object]:
    """The recording is kept in `folder`, if one is given."""
    with tempfile.TemporaryDirectory() as other:
        try:
            plain = run(script, name, steps, None)
            return {"plain": plain, "captured": run(script, name, steps, folder or Path(other))}
        except subprocess.TimeoutExpired:
            return {"failed": "it took too long"}


def keep(recordings: Path, archive: Path) -> None:
    with tarfile.open(archive, "w:gz", compresslevel=1) as target:
        for folder in recordings.iterdir():
            target.add(folder, folder.name)


if __name__ == "__main__":
    main()
