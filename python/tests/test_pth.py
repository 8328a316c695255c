"""The .pth file for jobs whose launch script sets PYTHONPATH itself. Users install it; no wheel has it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from whyslow_capture.__main__ import main

ROOT = Path(__file__).parents[1]


def seen_with(site: Path, inject: str) -> subprocess.CompletedProcess[str]:
    seen = "print('_whyslow_start' in sys.modules, 'torch' in sys.modules)"
    ask = f"import site, sys; site.addsitedir({str(site)!r}); {seen}"
    env = {**os.environ, "WHYSLOW_INJECT": inject, "PYTHONPATH": "."}
    return subprocess.run([sys.executable, "-c", ask], env=env, capture_output=True, text=True, check=True)


@pytest.mark.parametrize(("inject", "armed"), [("1", True), ("", False)])
def test_the_pth_file_arms_every_process_under_whyslow_run_and_no_other(
    tmp_path: Path, inject: str, armed: bool
) -> None:
    assert main(["install-pth", "--site", str(tmp_path)]) == 0
    ran = seen_with(tmp_path, inject)
    assert ran.stdout.split() == [str(armed), "False"]
    assert ran.stderr == ""


def test_uninstall_pth_removes_the_file_and_may_be_repeated(tmp_path: Path) -> None:
    main(["install-pth", "--site", str(tmp_path)])
    assert [main(["uninstall-pth", "--site", str(tmp_path)]) for _ in range(2)] == [0, 0]
    assert list(tmp_path.iterdir()) == []
    assert seen_with(tmp_path, "1").stdout.split() == ["False", "False"]


def test_install_pth_reports_a_folder_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install-pth", "--site", str(tmp_path / "no" / "folder")]) == 1
    assert "No such file" in capsys.readouterr().err


def test_the_wheel_has_no_pth_file(tmp_path: Path) -> None:
    pytest.importorskip("setuptools")
    build = "import setuptools.build_meta as b, sys; b.build_wheel(sys.argv[1])"
    work = tmp_path / "work"
    shutil.copytree(ROOT, work, ignore=shutil.ignore_patterns("tests", "build", "*.egg-info", "__pycache__"))
    subprocess.run([sys.executable, "-c", build, str(tmp_path)], cwd=work, check=True, capture_output=True)
    names = zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist()
    assert "whyslow_capture/inject/bootstrap.py" in names
    assert not [name for name in names if name.endswith(".pth")]


def test_the_license_is_written_as_old_setuptools_reads_it() -> None:
    """setuptools before 77 rejects `license = "Apache-2.0"`; we promise 64."""
    project = (ROOT / "pyproject.toml").read_text().partition("[project]")[2].partition("\n[")[0]
    assert not [line for line in project.splitlines() if line.startswith("license")]
    assert "License :: OSI Approved" in project
