"""
Whole CPU jobs with planted faults: is the answer of `whyslow run` right, and are the job's output and exit code unchanged?

python bench/planted-jobs.py FOLDER OUT [--only NAME …] [--plain] [--again]

FOLDER has one program per job and truth.json: for each job its command, the acceptable bottlenecks and the rules expected among
the first three findings. The python that runs this program runs the jobs. Each job's recording and report stay in OUT/NAME;
--again diagnoses them once more and starts no job. --plain also runs each job without whyslow and compares the output.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

WHYSLOW = ["node", str(Path(__file__).resolve().parent.parent / "bin/whyslow.js")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("jobs", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="*", metavar="NAME")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--again", action="store_true")
    arguments = parser.parse_args()
    right = total = 0
    for job in json.loads((arguments.jobs / "truth.json").read_text())["jobs"]:
        if arguments.only and not any(job["name"].startswith(name) for name in arguments.only):
            continue
        out = arguments.out / job["name"]
        if not arguments.again:
            run(job, arguments.jobs, out, arguments.plain)
        problems = judge(job, out)
        total += 1
        right += not problems
        print(f"{'ok ' if not problems else 'BAD'} {job['name']:16} {summary(report_of(out))}", flush=True)
        for problem in problems:
            print(f"      {problem}", flush=True)
    print(f"{right} of {total} as expected")


def run(job: dict, jobs: Path, out: Path, plain: bool) -> None:
    out.mkdir(parents=True, exist_ok=True)
    bin_folder = str(Path(sys.executable).parent)
    env = os.environ | {"PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"}

    def start(kind: str, before: list[str]) -> None:
        with tempfile.TemporaryDirectory() as scratch, (out / f"{kind}.txt").open("w") as stdout:
            job_env = env | {"JOB_DIR": scratch, "TRUTH_OUT": str(out / f"{kind}.truth.json")}
            with (out / f"{kind}.stderr.txt").open("w") as stderr:
                code = subprocess.run(
                    [*before, *job["command"]], cwd=jobs, env=job_env, stdout=stdout, stderr=stderr, timeout=400
                ).returncode
        (out / f"{kind}.code").write_text(str(code))

    if plain:
        start("plain", [])
    recording = out / "run"
    subprocess.run(["rm", "-rf", str(recording)], check=True)
    start("run", [*WHYSLOW, "run", "--out", str(recording), "--"])


def report_of(out: Path) -> dict:
    found = subprocess.run([*WHYSLOW, "diagnose", str(out / "run"), "--json"], capture_output=True, text=True)
    (out / "report.json").write_text(found.stdout)
    with (out / "report.txt").open("w") as text:
        subprocess.run([*WHYSLOW, "diagnose", str(out / "run")], stdout=text, stderr=subprocess.STDOUT)
    return json.loads(found.stdout) if found.stdout else {}


def judge(job: dict, out: Path) -> list[str]:
    report = report_of(out)
    problems = []
    bottleneck = report.get("verdict", {}).get("bottleneck")
    if bottleneck not in job["acceptable_bottlenecks"]:
        problems.append(f"bottleneck {bottleneck}, not {job['acceptable_bottlenecks']}")
    first = [name for finding in report.get("findings", [])[:3] for name in (finding["id"], finding["rule"])]
    expected = [name.split(" ")[0] for name in job["rules_expected_in_first_three"]]
    if expected and not any(name in first for name in expected):
        problems.append(f"{expected} not among the first three")
    if (out / "plain.txt").exists():
        plain, ran = (lines_of(out / f"{kind}.txt") for kind in ("plain", "run"))
        if plain != ran[: len(plain)]:
            problems.append("output differs")
    codes = [(out / f"{kind}.code").read_text() for kind in ("plain", "run") if (out / f"{kind}.code").exists()]
    if len(set(codes)) > 1:
        problems.append(f"exit code {codes}")
    return problems


def lines_of(file: Path) -> list[str]:
    """What a job printed, without the times that pytest and others add."""
    return [line for line in file.read_text().splitlines() if not re.search(r"\bin \d+\.\d+s\b", line)]


def summary(report: dict) -> str:
    verdict = report.get("verdict", {})
    findings = [f"{f['id']}" for f in report.get("findings", [])[:4]]
    return f"{verdict.get('headline', '(no report)')} | {', '.join(findings)}"


if __name__ == "__main__":
    main()
