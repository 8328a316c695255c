"""Adds the .pth file to the wheel. Everything else is in pyproject.toml, which cannot say this."""

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithPth(build_py):
    def run(self) -> None:
        super().run()
        self.copy_file("whyslow_capture.pth", self.build_lib)


setup(cmdclass={"build_py": BuildWithPth})
