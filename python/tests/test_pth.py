"""The .pth file that lets an installed package measure jobs whose launch script sets PYTHONPATH itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "src/whyslow_capture", tmp_path / "whyslow_capture")
    shutil.copy(ROOT / "whyslow_capture.pth", tmp_path)
    return tmp_path


@pytest.mark.parametrize(("inject", "armed"), [("1", True), ("", False)])
def test_arms_every_process_under_whyslow_run_and_no_other(site: Path, inject: str, armed: bool) -> None:
    seen = "print('_whyslow_start' in sys.modules, 'torch' in sys.modules)"
    ask = f"import site, sys; site.addsitedir({str(site)!r}); {seen}"
    env = {**os.environ, "WHYSLOW_INJECT": inject, "PYTHONPATH": "."}
    ran = subprocess.run([sys.executable, "-c", ask], env=env, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == [str(armed), "False"]
    assert ran.stderr == ""


def test_is_in_the_wheel(tmp_path: Path) -> None:
    pytest.importorskip("setuptools")
    build = "import setuptools.build_meta as b, sys; b.build_wheel(sys.argv[1])"
    work = tmp_path / "work"
    shutil.copytree(ROOT, work, ignore=shutil.ignore_patterns("tests", "build", "*.egg-info", "__pycache__"))
    subprocess.run([sys.executable, "-c", build, str(tmp_path)], cwd=work, check=True, capture_output=True)
    names = zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist()
    assert {"whyslow_capture.pth", "whyslow_capture/inject/bootstrap.py"} <= set(names)


def test_the_license_is_written_as_old_setuptools_reads_it() -> None:
    """setuptools before 77 rejects `license = "Apache-2.0"`; we promise 64."""
    project = (ROOT / "pyproject.toml").read_text().partition("[project]")[2].partition("\n[")[0]
    assert not [line for line in project.splitlines() if line.startswith("license")]
    assert "License :: OSI Approved" in project
