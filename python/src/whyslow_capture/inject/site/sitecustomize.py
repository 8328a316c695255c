# mypy: ignore-errors
# Every Python that `whyslow run` starts finds this file first on PYTHONPATH, whatever its version. So it uses no syntax
# newer than Python 3.4, and imports only what the interpreter has already loaded.
import os
import sys


def _run_next():
    # The sitecustomize that would have run without us. As always, `site` reports its errors.
    ours = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if getattr(error, "name", None) != "sitecustomize":
            raise
        if ours is not None:
            sys.modules["sitecustomize"] = ours


def _begin(folder):
    try:
        with open(os.path.join(folder, "bootstrap.py")) as file:
            exec(file.read(), {"folder": folder})
    except Exception as error:
        sys.stderr.write("whyslow_capture: capture did not start: " + repr(error) + "\n")


_here = os.path.dirname(__file__)
sys.path[:] = [entry for entry in sys.path if entry != _here]
if os.environ.get("WHYSLOW_INJECT", "").lower() in ("1", "true", "yes") and sys.version_info >= (3, 7):
    _begin(os.path.dirname(_here))
_run_next()
