"""The startup code that every Python process of a job runs. Most of them do not train. No torch here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hooked import SITE, SRC, injected

# A fake torch: only its import matters here.
FAKE_TORCH = "import sys\nprint('torch runs', 'whyslow_capture' in sys.modules)\n"
FAKE_CAPTURE = {
    "whyslow_capture/__init__.py": "",
    "whyslow_capture/inject/__init__.py": "",
    "whyslow_capture/inject/autostart.py": (
        "def start_when_training_begins():\n    import torch\n    print('armed', torch.__name__)\n"
    ),
}


def python(code: str, env: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True, env=env, timeout=120)


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def with_path(env: dict[str, str], *folders: Path) -> dict[str, str]:
    return {**env, "PYTHONPATH": os.pathsep.join([env["PYTHONPATH"], *map(str, folders)])}


@pytest.fixture
def fake_torch(tmp_path: Path) -> dict[str, str]:
    """An environment with fake `torch` and `whyslow_capture` packages."""
    torch = write(tmp_path / "torch-path", {"torch/__init__.py": FAKE_TORCH, "torch/nn.py": ""})
    capture = write(tmp_path / "source", FAKE_CAPTURE)
    return {**with_path(injected(tmp_path / "out"), torch), "WHYSLOW_PYTHON": str(capture)}


def test_a_process_without_torch_is_unchanged(tmp_path: Path) -> None:
    code = "import sys; print(sys.path, [m for m in sys.modules if 'whyslow' in m])"
    env = injected(tmp_path / "out")
    without_us = {**env, "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    result = python(code, env)
    assert result.stdout == python(code, without_us).stdout.replace("[]\n", "['_whyslow_start']\n")
    assert "['_whyslow_start']" in result.stdout
    assert result.stderr == ""
    assert not (tmp_path / "out").exists()


def test_start_up_is_fast(tmp_path: Path) -> None:
    """2.3 to 4.5 ms on a quiet machine. An import would slow down every process."""

    def loaded(env: dict[str, str]) -> set[str]:
        return set(python("import sys; print(*sys.modules)", env).stdout.split())

    env = injected(tmp_path / "out")
    with_us, without = loaded(env), loaded({**env, "PYTHONPATH": env["PYTHONPATH"].replace(str(SITE), "")})
    assert "_whyslow_start" in with_us and "_whyslow_start" not in without
    assert with_us - without <= {"_whyslow_start", "sitecustomize"}


@pytest.mark.parametrize("option", ["-S", "-I", "-E"])
def test_isolated_python_ignores_us(tmp_path: Path, option: str) -> None:
    assert python("import sys; print('_whyslow_start' in sys.modules)", injected(tmp_path), option).stdout == "False\n"


def test_the_jobs_own_sitecustomize_runs(tmp_path: Path, fake_torch: dict[str, str]) -> None:
    theirs = write(tmp_path / "theirs", {"sitecustomize.py": "import sys\nprint('theirs')\nvalue = 7\n"})
    second = write(tmp_path / "second", {"sitecustomize.py": "print('never')\n"})
    code = "import sitecustomize as s; print(s.value, s.__file__); import torch"
    result = python(code, with_path(fake_torch, theirs, second))
    assert result.stdout.splitlines() == [
        "theirs",
        f"7 {theirs / 'sitecustomize.py'}",
        "torch runs False",
        "armed torch",
    ]
    assert result.stderr == ""


@pytest.mark.parametrize("fault", ["raise ValueError('theirs')", "import no_such_module"])
def test_errors_in_the_jobs_sitecustomize_are_still_reported(
    tmp_path: Path, fake_torch: dict[str, str], fault: str
) -> None:
    theirs = write(tmp_path / "theirs", {"sitecustomize.py": fault + "\n"})
    env = with_path(fake_torch, theirs)
    plain = {**env, "PYTHONPATH": env["PYTHONPATH"].replace(str(SITE) + os.pathsep, "")}
    expected, result = python("import torch", plain), python("import torch", env)
    assert expected.stderr.startswith("Error in sitecustomize")
    assert (result.returncode, result.stderr) == (expected.returncode, expected.stderr)
    assert result.stdout.splitlines()[-1] == "armed torch"


def test_searching_for_torch_does_not_count_as_importing(fake_torch: dict[str, str]) -> None:
    code = """
from importlib.util import find_spec
print(type(find_spec("torch").loader).__name__)
import torch, torch.nn, sys
print(type(torch.__loader__).__name__, "exec_module" in vars(torch.__loader__), torch.__spec__.origin == torch.__file__)
print([f for f in sys.meta_path if "AfterImport" in type(f).__name__], [p for p in sys.path if "source" in p])
"""
    assert python(code, fake_torch).stdout.splitlines() == [
        "SourceFileLoader",
        "torch runs False",
        "armed torch",
        "SourceFileLoader False True",
        "[] []",
    ]


def test_a_failed_import_of_torch_can_be_retried(tmp_path: Path, fake_torch: dict[str, str]) -> None:
    source = """
import os
if not os.environ.pop('READY', None):
    os.environ['READY'] = '1'
    raise OSError('no driver')
"""
    broken = write(tmp_path / "broken", {"torch/__init__.py": source})
    env = {**fake_torch, "PYTHONPATH": os.pathsep.join([str(SITE), str(broken)])}
    code = "try:\n    import torch\nexcept OSError as error:\n    print(error)\nimport torch"
    assert python(code, env).stdout.splitlines() == ["no driver", "armed torch"]


def test_no_torch_at_all(tmp_path: Path) -> None:
    result = python("import sys; sys.path[:] = []; import torch", injected(tmp_path / "out"))
    assert "No module named 'torch'" in result.stderr
    assert "whyslow" not in result.stderr


def test_our_errors_are_one_line(fake_torch: dict[str, str]) -> None:
    result = python("import torch; print('goes on')", {**fake_torch, "WHYSLOW_PYTHON": "/nowhere"})
    assert result.stdout.splitlines()[-1] == "goes on"
    assert re.fullmatch(r"whyslow_capture: this process is not captured: ModuleNotFoundError.*\n", result.stderr)


def test_the_jobs_own_package_is_preferred(tmp_path: Path, fake_torch: dict[str, str]) -> None:
    arm = {"whyslow_capture/inject/autostart.py": "def start_when_training_begins():\n    print('their own')\n"}
    own = write(tmp_path / "own", {**FAKE_CAPTURE, **arm})
    assert python("import torch", with_path(fake_torch, own)).stdout.splitlines()[-1] == "their own"


def test_nothing_else_is_imported_from_our_folder(tmp_path: Path, fake_torch: dict[str, str]) -> None:
    arm = """
import sys
try:
    import next_to_us
except ImportError as error:
    print(error)
def start_when_training_begins():
    print([f for f in sys.meta_path if "Our" in type(f).__name__])
"""
    others = {"next_to_us.py": "", "whyslow_capture/inject/autostart.py": arm}
    write(Path(fake_torch["WHYSLOW_PYTHON"]), others)
    assert python("import torch", fake_torch).stdout.splitlines()[-2:] == ["No module named 'next_to_us'", "[]"]


def test_whyslow_run_inside_whyslow_run(tmp_path: Path, fake_torch: dict[str, str]) -> None:
    outer = tmp_path / "outer"
    outer.symlink_to(SITE)
    assert python("import torch", with_path(fake_torch, outer)).stdout.count("armed") == 1


def test_without_the_switch_nothing_happens(fake_torch: dict[str, str]) -> None:
    assert python("import torch", {**fake_torch, "WHYSLOW_INJECT": "0"}).stdout == "torch runs False\n"


def test_works_for_modules_scripts_and_exec(tmp_path: Path, fake_torch: dict[str, str]) -> None:
    job = """
import os, sys
if len(sys.argv) == 1:
    os.execv(sys.executable, [sys.executable, __file__, 'again'])
import torch
"""
    write(tmp_path, {"job.py": job})
    run = [sys.executable, "-m", "job"]
    result = subprocess.run(run, capture_output=True, text=True, env=fake_torch, cwd=tmp_path, timeout=120)
    assert result.stdout.splitlines() == ["torch runs False", "armed torch"]
    assert result.stderr == ""


ONLY_CAPTURE = """
    import sys
    from importlib.machinery import PathFinder
    source = {source!r}
    sys.path[:] = [p for p in sys.path if p != source]
    class Finder:
        def find_spec(name, path=None, target=None):
            return PathFinder.find_spec(name, [source]) if name == "whyslow_capture" else None
    sys.meta_path.append(Finder)
    import whyslow_capture
    sys.meta_path.remove(Finder)
    try:
        import whyslow_training
    except ModuleNotFoundError:
        from whyslow_capture import MetricsGather, to_device
        from whyslow_capture.integrations.d9d import Profiler
        print(MetricsGather.__name__, Profiler.__name__, whyslow_capture.DisabledCapture().to_device([1], "cpu"))
"""


def test_a_job_under_whyslow_run_finds_the_parts_of_capture_that_are_packages_of_their_own(tmp_path: Path) -> None:
    code = textwrap.dedent(ONLY_CAPTURE).format(source=str(SRC))
    result = python(code, {**os.environ, "PYTHONPATH": ""})
    assert (result.stdout, result.stderr) == ("MetricsGather Profiler [1]\n", "")
