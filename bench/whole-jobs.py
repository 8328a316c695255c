"""
Whole jobs, each plain and under capture as `whyslow run` starts it, in turns: what it costs, and recordings to judge.

OUT=DIR python bench/whole-jobs.py [--other SCRIPT:NAME:STEPS …] [--only NAME …] [--turns N] [--seconds S]

Needs a GPU to mean anything. A job imports torch while the one before it trains, so the start-up in its recording includes
a wait. Writes OUT/results.json, and OUT/runs-N.tar.gz with one folder a job: `whyslow diagnose` reads each of them.
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
    "recommender": 80,
    "detector": 120,
    "physics": 60,
    "distillation": 80,
}
LARGEST_ARCHIVE = 15 << 20
AHEAD = 2  # jobs that import while another one trains


class Started:
    """A job that has imported torch and waits for its turn: importing takes longer than most jobs here train."""

    def __init__(self, script: str, name: str, steps: int, out: Path | None) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.gate = Path(self.folder.name) / "go"
        env = os.environ | {"WHYSLOW_BENCH_GATE": str(self.gate)}
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
        command = [sys.executable, str(HERE / "gated.py"), script, name, str(steps)]
        self.output = [open(Path(self.folder.name) / part, "w+") for part in ("stdout", "stderr")]  # noqa: SIM115
        self.process = subprocess.Popen(
            command, env=env, cwd=self.folder.name, stdout=self.output[0], stderr=self.output[1]
        )

    def run(self) -> dict[str, object]:
        while not self.gate.with_suffix(".ready").exists() and self.process.poll() is None:
            time.sleep(0.01)
        begin = time.perf_counter()
        self.gate.touch()
        try:
            self.process.wait(timeout=120)
        except subprocess.TimeoutExpired:
            self.process.kill()
        wall = time.perf_counter() - begin
        stdout, stderr = (Path(file.name).read_text(errors="replace") for file in self.output)
        lines = [line for line in stdout.splitlines() if line.startswith("JOB ")]
        found: dict[str, object] = json.loads(lines[-1][4:]) if lines else {}
        if self.process.returncode != 0 or not lines:
            found["failed"] = stderr[-600:]
        said = [line for line in stderr.splitlines() if "whyslow" in line]
        self.folder.cleanup()
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
    results: dict[str, list[dict[str, dict[str, object]]]] = {}
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        queue = [
            (turn, kind, *job)
            for turn in range(arguments.turns)
            for job in jobs
            # Who goes first changes with each turn, so that a machine that drifts favors neither.
            for kind in (("plain", "captured") if turn % 2 == 0 else ("captured", "plain"))
        ]
        waiting: list[Started] = []
        begun = 0
        for turn, kind, _script, name, _steps in queue:
            if time.perf_counter() - began > arguments.seconds:
                print("out of time before", name)
                break
            for place in range(begun, min(len(queue), begun + 1 + AHEAD - len(waiting))):
                its_turn, its_kind, script, its_name, steps = queue[place]
                folder = Path(scratch) / f"{its_turn}" / its_name if its_kind == "captured" else None
                waiting.append(Started(script, its_name, steps, folder))
                begun = place + 1
            found = waiting.pop(0).run()
            pairs = results.setdefault(name, [])
            if len(pairs) <= turn:
                pairs.append({})
            pairs[turn][kind] = found
            print(turn, kind, name, json.dumps(found)[:600], flush=True)
            (out / "results.json").write_text(json.dumps(results, indent=1))
        for left in waiting:
            left.process.kill()
        (Path(scratch) / "0").mkdir(exist_ok=True)
        keep(Path(scratch) / "0", out)


def keep(recordings: Path, out: Path) -> None:
    """As many archives as it takes: what comes back from the device machine is limited by file."""
    archives: list[list[Path]] = [[]]
    room = LARGEST_ARCHIVE
    for folder in sorted(recordings.iterdir()):
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        if size > room and archives[-1]:
            archives.append([])
            room = LARGEST_ARCHIVE
        archives[-1].append(folder)
        room -= size
    for number, folders in enumerate(archives):
        with tarfile.open(out / f"runs-{number}.tar.gz", "w:gz", compresslevel=6) as target:
            for folder in folders:
                target.add(folder, folder.name)


if __name__ == "__main__":
    main()
