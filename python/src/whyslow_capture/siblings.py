"""Packages of ours next to this one. `whyslow run` shows this one to the job without its folder on `sys.path`."""

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path


def reach(package: str) -> None:
    """Makes `package` importable, and its modules with it."""
    spec = None if package in sys.modules else PathFinder.find_spec(package, [str(Path(__file__).parents[1])])
    if spec is None or spec.loader is None:
        return
    module = sys.modules[package] = module_from_spec(spec)
    spec.loader.exec_module(module)
