"""`whyslow-capture`: installs or removes the .pth file that lets `whyslow run` measure jobs that set PYTHONPATH."""

from __future__ import annotations

import argparse
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

NAME = "whyslow_capture.pth"
INJECT = Path(__file__).resolve().parent / "inject"
# Python executes each line of a .pth file that begins with `import`, at the start of every process of the environment.
# Without WHYSLOW_INJECT this one reads a variable and does nothing else, also once the package is gone.
LINE = (
    'import os, sys; os.environ.get("WHYSLOW_INJECT", "").lower() in ("1", "true", "yes") '
    "and sys.version_info >= (3, 10) and os.path.exists({bootstrap!r}) "
    'and exec(open({bootstrap!r}).read(), {{"folder": {folder!r}}})\n'
)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="whyslow-capture", description=__doc__)
    parser.add_argument("action", choices=["install-pth", "uninstall-pth"])
    parser.add_argument("--site", type=Path, help="folder for the file (default: site-packages of this Python)")
    options = parser.parse_args(argv)
    file = (options.site or Path(sysconfig.get_path("purelib"))) / NAME
    try:
        if options.action == "install-pth":
            file.write_text(LINE.format(bootstrap=str(INJECT / "bootstrap.py"), folder=str(INJECT)))
            print(f"{file}: installed. Processes of this Python are measured under `whyslow run`, and only there.")
        else:
            file.unlink(missing_ok=True)
            print(f"{file}: removed")
    except OSError as error:
        print(f"whyslow-capture: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
