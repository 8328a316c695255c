# mypy: ignore-errors
# ruff: noqa: F821
# Run by whyslow_capture.pth at the start of every Python process under `whyslow run`, where this package is installed.
# So a job is measured even if its launch script sets PYTHONPATH, which hides our sitecustomize. `folder` is this one.
import os
import sys


def _watch_for_torch():
    name, start = "_whyslow_start", os.path.join(folder, "start.py")
    if name in sys.modules:
        return
    try:
        from _frozen_importlib_external import SourceFileLoader

        module = sys.modules[name] = type(sys)(name)
        module.__file__ = start
        SourceFileLoader(name, start).exec_module(module)
        module.watch_for_torch()
    except Exception as error:
        sys.stderr.write("whyslow_capture: capture did not start: " + repr(error) + "\n")


_watch_for_torch()
