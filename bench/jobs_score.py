"""
Jobs with planted faults under `whyslow run`: whether the bottleneck and the first three findings are what truth.json expects.

python bench/jobs_score.py [--jobs ../shared/jobs] [--only NAME …] [--python PATH] [--plain] [--out DIR]

Each job runs once under whyslow, and with --plain once without it, to compare what it prints and its exit code. Jobs whose packages
`--python` lacks are skipped and named. Exits with 1 if more than one job in eighteen is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LONGEST_S = 240
MOST_WRONG = 1 / 18
CANNOT_RUN = ("ModuleNotFoundError", "ImportError")
RULELESS = "(no such rule)"


def start(command: list[str], cwd: Path, env: dict[str, str]) -> tuple[str, str, int]:
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=LONGEST_S, check=False)
    return done.stdout, done.stderr, done.returncode


def expected_rules(job: dict) -> list[str]:
    """Rules that truth.json calls by a name they did not have yet are `gil-contention (no such rule)`."""
    return [rule.replace(RULELESS, "").strip() for rule in job["rules_expected_in_first_three"]]


class Score:
    def __init__(self, name: str, report: dict, job: dict) -> None:
        found = [finding["rule"] for finding in report["findings"]]
        wanted = expected_rules(job)
        self.name = name
        self.bottleneck = report["verdict"]["bottleneck"]
        self.confidence = report["verdict"]["confidence"]
        self.is_verdict_right = self.bottleneck in job["acceptable_bottlenecks"]
        self.are_rules_right = not wanted or any(rule in found[:3] for rule in wanted)
        self.found = found
        self.wanted = wanted
        self.headline = report["verdict"]["headline"]
        self.step = (report.get("step") or {}).get("unprofiled_ms")

    @property
    def is_right(self) -> bool:
        return self.is_verdict_right and self.are_rules_right


def without_times(printed: str) -> str:
    """pytest prints how long it took."""
    return re.sub(r"\bin \d+\.\d+s\b", "", printed)


def run_job(job: dict, args: argparse.Namespace, out: Path) -> tuple[Score | None, str]:
    env = os.environ | {"PATH": f"{Path(args.python).parent}{os.pathsep}{os.environ['PATH']}"}
    report = out / f"{job['name']}.json"
    run = ["node", str(ROOT / "bin/whyslow.js"), "run", "--out", str(out / job["name"]), "--report", str(report), "--"]
    command = [args.python if part == "python" else part for part in job["command"]]
    began = time.monotonic()
    printed, log, code = start(run + command, args.jobs, env)
    seconds = time.monotonic() - began
    (out / f"{job['name']}.txt").write_text(log)
    if any(error in log for error in CANNOT_RUN) and code != 0:
        return None, "a package is missing"
    if not report.exists():
        return None, f"no report; exit code {code}"
    note = f"{seconds:.0f} s"
    if args.plain:
        plain, _, plain_code = start(command, args.jobs, env)
        same = (without_times(plain), plain_code) == (without_times(printed), code)
        note += ", same output" if same else ", OUTPUT DIFFERS"
    return Score(job["name"], json.loads(report.read_text()), job), note


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=Path, default=ROOT / "../shared/jobs")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--python", default=str(ROOT / ".venv/bin/python"))
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    args.jobs = args.jobs.resolve()
    out = args.out or Path(tempfile.mkdtemp(prefix="whyslow-jobs-"))
    out.mkdir(parents=True, exist_ok=True)
    scores: list[Score] = []
    for job in json.loads((args.jobs / "truth.json").read_text())["jobs"]:
        if args.only and job["name"] not in args.only:
            continue
        score, note = run_job(job, args, out)
        if score is None:
            print(f"–  {job['name']:18} {note}", flush=True)
            continue
        scores.append(score)
        marks = ["✗✓"[score.is_verdict_right], "✗✓"[score.are_rules_right]]
        rules = " ".join(score.found[:4])
        print(f"{''.join(marks)} {score.name:18} {score.bottleneck:10} {rules:50}", end=" ")
        print(f"wanted {score.wanted} ({note})", flush=True)
        print(f"      {score.headline}", flush=True)
    right = sum(score.is_right for score in scores)
    print(f"{right} of {len(scores)} right; reports in {out}")
    return int(len(scores) - right > MOST_WRONG * len(scores))


if __name__ == "__main__":
    sys.exit(main())
