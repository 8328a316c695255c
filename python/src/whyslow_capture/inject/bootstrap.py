# mypy: ignore-errors
# ruff: noqa: F821
# The first code of ours in every Python process under `whyslow run`. Our sitecustomize executes it, and so does
# whyslow_capture.pth if the user has asked for it (`whyslow-capture install-pth`): a launch script that sets PYTHONPATH
# hides our sitecustomize. The second of them does nothing. `folder` is this one. No syntax newer than Python 3.4, no
# import that takes time.
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
