# mypy: ignore-errors
# Found first on PYTHONPATH by every Python that `whyslow run` starts, whatever its version: nothing here is newer than
# Python 3.4, and nothing is imported that start-up has not.
import os
import sys


def _run_next():
    # The one that would have run without us. Its errors are reported as always, by `site`.
    ours = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if getattr(error, "name", None) != "sitecustomize":
            raise
        if ours is not None:
            sys.modules["sitecustomize"] = ours


def _watch_for_torch(here):
    start = os.path.join(os.path.dirname(here), "start.py")
    try:
        from _frozen_importlib_external import SourceFileLoader

        name = "_whyslow_start"
        if name not in sys.modules:  # `whyslow run` within `whyslow run`
            module = sys.modules[name] = type(sys)(name)
            module.__file__ = start
            SourceFileLoader(name, start).exec_module(module)
            module.watch_for_torch()
    except Exception as error:
        sys.stderr.write("whyslow_capture: not started: " + repr(error) + "\n")


_here = os.path.dirname(__file__)
sys.path[:] = [entry for entry in sys.path if entry != _here]
if os.environ.get("WHYSLOW_INJECT", "").lower() in ("1", "true", "yes") and sys.version_info >= (3, 7):
    _watch_for_torch(_here)
_run_next()
