"""
Runs programs in processes forked from an interpreter that has already imported torch, which takes 2 s, and what the
first optimizer imports, which takes another.

Apart from that they are real processes: they end like any script, with their own exit code, atexit functions and
signals.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any


class WarmPython:
    """Runs one program at a time."""

    def __init__(self) -> None:
        # Not buffered: select() would not see an answer that is already in a buffer.
        self._server = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        atexit.register(self.close)

    def close(self) -> None:
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait(60)

    def run(
        self, source: str, arguments: list[str], env: dict[str, str], timeout: float, script: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """As `python -c source`, or as `python script` in the script's folder."""
        assert self._server.stdin is not None
        with tempfile.TemporaryDirectory() as folder:
            out, err = Path(folder, "out"), Path(folder, "err")
            request = {"source": source, "arguments": arguments, "env": env, "out": str(out), "err": str(err)}
            request["script"] = None if script is None else str(script)
            self._server.stdin.write(json.dumps(request).encode() + b"\n")
            pid = self._answer(60)
            try:
                code = self._answer(timeout)
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                self._answer(60)
                raise
            return subprocess.CompletedProcess(["-c", *arguments], code, out.read_text(), err.read_text())

    def _answer(self, timeout: float) -> int:
        assert self._server.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._server.stdout, selectors.EVENT_READ)
            if not selector.select(timeout):
                raise TimeoutError(f"the program did not end within {timeout} s")
        return int(self._server.stdout.readline())


@cache
def warm_python() -> WarmPython:
    """One per test process. It ends with that, when its standard input is closed."""
    return WarmPython()


def _serve() -> dict[str, Any]:
    """Forks a child for each request. Returns the request in the child, and nowhere else."""
    import torch._dynamo  # noqa: F401

    # The modules are never garbage: each program would look through them at its end, which takes most of a second. With
    # triton they must be: otherwise it lists what was not freed.
    if "triton" not in sys.modules:
        gc.freeze()
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            return json.loads(line)
        print(pid, flush=True)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    # To free the modules one by one takes long.
    os._exit(0)


def _redirect(out: str, err: str) -> None:
    for target, path, flags in ((0, os.devnull, os.O_RDONLY), (1, out, os.O_WRONLY), (2, err, os.O_WRONLY)):
        file = os.open(path, flags | os.O_CREAT, 0o644)
        os.dup2(file, target)
        os.close(file)


def _main_module(script: str | None) -> ModuleType:
    """In place of this file's: processes that the program spawns import it again, by its path."""
    module = ModuleType("__main__")
    sys.argv, sys.path[0] = ["-c"], ""
    if script is not None:
        os.chdir(os.path.dirname(script))
        module.__file__ = sys.argv[0] = script
        sys.path[0] = os.path.dirname(script)
    sys.modules["__main__"] = module
    return module


def _start_like_an_interpreter(request: dict[str, Any]) -> None:
    os.environ.clear()
    os.environ.update(request["env"])
    sys.path[1:1] = os.environ["PYTHONPATH"].split(os.pathsep)
    # With the folder of ours on the path it is that one, as under `whyslow run`.
    if "WHYSLOW_INJECT" in os.environ:
        sys.modules.pop("sitecustomize", None)
        __import__("sitecustomize")


if __name__ == "__main__":
    request = _serve()
    _redirect(request["out"], request["err"])
    this, main = sys.modules["__main__"], _main_module(request["script"])  # `this` must not be freed
    _start_like_an_interpreter(request)
    sys.argv += request["arguments"]
    # At the top level, so that the program ends like any script.
    exec(compile(request["source"], request["script"] or "<string>", "exec"), main.__dict__)
