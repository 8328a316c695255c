"""`whyslow` and `python -m whyslow`: hands over to the command line."""

from __future__ import annotations

import os
import sys

from .errors import WhyslowError
from .node import command_line


def main() -> int:
    try:
        command = [*command_line(), *sys.argv[1:]]
    except WhyslowError as error:
        print(f"whyslow: {error}", file=sys.stderr)
        return 2
    if made_by_uvx(path := os.environ.get("PATH", "")):
        os.environ["PATH"] = path.partition(os.pathsep)[2]
    if os.name != "nt":
        # The same process goes on, so signals, the terminal and the exit code need no help.
        os.execv(command[0], command)
    import signal
    import subprocess

    # Ctrl-C reaches both; whyslow decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return subprocess.call(command)


def made_by_uvx(path: str) -> bool:
    """
    uvx puts a folder of its own first on PATH. `python` in there has nothing but whyslow, and `whyslow run -- python
    train.py` means the user's. An environment with torch in it was made to train.
    """
    return (
        "UV" in os.environ
        and path.partition(os.pathsep)[0] == os.path.join(sys.prefix, "Scripts" if os.name == "nt" else "bin")
        and os.environ.get("VIRTUAL_ENV") != sys.prefix
        and not any(os.path.isdir(os.path.join(folder, "torch")) for folder in sys.path)
    )


if __name__ == "__main__":
    sys.exit(main())
