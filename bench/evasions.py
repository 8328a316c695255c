"""
Ways in which a job has changed files during a trial: whether the protections of `whyslow try` keep every file as it was.

python bench/evasions.py FOLDER [--python PATH …] [--ways overlay landlock] [--user NAME]

FOLDER has train.py, a job that truncates, renames, deletes and overwrites files of its working folder in sixty ways (Python,
NumPy, PyTorch, child processes, links, memory maps), like ../shared/adversarial/second/try. Each Python runs it under each protection. Prints
which files differ afterwards; exits with 1 if any does. `--user`: as that user instead of root.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROTECT = Path(__file__).resolve().parent.parent / "python/src/whyslow_trials/protect"
LARGE = ("memmap", "fromfile", "mmap")
LONGEST_S = 200


def fill(project: Path, outside: Path, text: str) -> None:
    """Every file that the job names, before it starts."""
    outside.mkdir()
    for folder in ("keep/dir", "keep/ckpt_old", "LAB/tryfree/ckpt"):
        (project / folder).mkdir(parents=True)
    (project / "keep/link").symlink_to(outside)
    named = re.findall(r"['\"](keep|LAB/tryfree)/([\w/.]+)['\"]", text)
    for folder, name in named:
        path = project / folder / name
        if not path.exists() and "_new" not in name and not name.startswith(("kw", "hl", "renamed")):
            path.write_bytes(b"p" * 100_000 if name in LARGE else f"precious {name}".encode())
    for path in ("keep/dir/a", "keep/ckpt_old/model", "LAB/tryfree/ckpt/m", "keep/dirfd", "keep/write"):
        (project / path).write_text("precious")
    (outside / "symlinked").write_text("precious")


def state(*folders: Path) -> dict[str, str]:
    found = {}
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            about = path.lstat()
            what = os.readlink(path) if path.is_symlink() else ""
            if path.is_file() and not path.is_symlink():
                what = hashlib.sha256(path.read_bytes()).hexdigest()
            found[str(path)] = f"{what} {about.st_mode:o} {about.st_mtime_ns if not path.is_dir() else ''}"
    return found


def differing(before: dict[str, str], after: dict[str, str]) -> list[str]:
    return [path for path in sorted(before.keys() | after.keys()) if before.get(path) != after.get(path)]


def run(python: str, way: str, job: Path, user: str | None) -> tuple[list[str], str]:
    with tempfile.TemporaryDirectory(prefix="evasions-") as folder:
        project, outside, scratch = (Path(folder) / name for name in ("project", "outside", "scratch"))
        project.mkdir()
        (scratch / "own").mkdir(parents=True)
        shutil.copy(job, project / "train.py")
        fill(project, outside, job.read_text())
        ids = pwd.getpwnam(user) if user else None
        if ids:
            for path in [Path(folder), *Path(folder).rglob("*")]:
                os.chown(path, ids.pw_uid, ids.pw_gid, follow_symlinks=False)
        as_user = {"user": ids.pw_uid, "group": ids.pw_gid, "extra_groups": []} if ids else {}
        before = state(project, outside)
        start = [python, "-I", "-S", "-B", str(PROTECT)]
        places = {"layers": str(scratch / "layers"), "writable": [str(scratch / "own")]}
        settings = json.dumps({"how": way, "network": True, **places})
        env = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(scratch / "own"), "HOME": folder}
        done = subprocess.run(
            [*start, settings, python, "train.py"],
            **as_user, cwd=project, env=env, capture_output=True, text=True, timeout=LONGEST_S, check=False,
        )  # fmt: skip
        refused = sum(line.startswith("EXC") for line in done.stderr.splitlines())
        note = f"exit code {done.returncode}, {refused} calls refused"
        if "not protected" in done.stderr or "could not be protected" in done.stderr:
            note = done.stderr.splitlines()[-1]
        return [os.path.relpath(path, folder) for path in differing(before, state(project, outside))], note


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--python", nargs="+", default=[sys.executable])
    parser.add_argument("--ways", nargs="+", default=["overlay", "landlock"])
    parser.add_argument("--user")
    arguments = parser.parse_args()
    worst = 0
    for python in arguments.python:
        version = subprocess.run([python, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        for way in arguments.ways:
            changed, note = run(python, way, arguments.folder / "train.py", arguments.user)
            worst = max(worst, len(changed))
            print(f"{version:16} {way:9} {len(changed)} files changed; {note}", *changed, sep="\n    ", flush=True)
    return int(worst > 0)


if __name__ == "__main__":
    sys.exit(main())
