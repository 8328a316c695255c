"""Adds to the wheel what pyproject.toml cannot say: the command line that `npm run build` made."""

from pathlib import Path
from shutil import copy2, copytree, ignore_patterns

from setuptools import setup
from setuptools.command.build_py import build_py

# The npm package, or a checkout. Elsewhere, e.g. in a copy of this folder alone, the wheel has no command line.
PACKAGE = Path(__file__).resolve().parent.parent
PROGRAM = ["bin", "dist", "wasm/scanner.wasm", "python/engines", "skills", "package.json", "LICENSE"]
# Types and the library are for JavaScript, and compiled code is for the machine that compiled it.
NOT_IN_WHEEL = ignore_patterns("types", "index.js", "*.cjs", "*.code", "__pycache__")


class BuildWhole(build_py):
    def run(self) -> None:
        super().run()
        if (PACKAGE / "dist/cli.js").exists():
            self.add_program(Path(self.build_lib) / "whyslow/_cli")

    def add_program(self, to: Path) -> None:
        for name in PROGRAM:
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            if (PACKAGE / name).is_dir():
                copytree(PACKAGE / name, to / name, ignore=NOT_IN_WHEEL, dirs_exist_ok=True)
            else:
                copy2(PACKAGE / name, to / name)


setup(cmdclass={"build_py": BuildWhole})
