"""Tries out what works here, and starts the job with it."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import signal
import sys
import tempfile
import traceback

from .kernel import close_files, drop_capabilities, enter_namespaces
from .landlock import enter_landlock
from .mounts import named_folders
from .settings import Settings
from .view import View

# Exit code of a job that was not started.
NOT_PROTECTED = 87


def enter_overlay(settings: Settings, command: list[str]) -> None:
    layers = os.path.realpath(settings["layers"])
    os.makedirs(layers, exist_ok=True)
    folder, named = os.getcwd(), named_folders(command)
    view = View(layers, enter_namespaces(settings["network"]))
    view.build([os.path.realpath(path) for path in settings["writable"]], named)
    with open(os.path.join(layers, "layers.json"), "w") as file:
        namespace = os.readlink("/proc/self/ns/mnt")
        json.dump({"overlays": view.overlays, "read_only": view.read_only, "namespace": namespace}, file)
    view.enter(folder)
    drop_capabilities()


WAYS = {"overlay": enter_overlay, "landlock": enter_landlock}


def probe(how: str, base: str, network: bool) -> str | None:
    """Tries it out, by overwriting a file. Null: the file is as it was. Otherwise why it cannot be protected."""
    folder = tempfile.mkdtemp(prefix="whyslow-probe-", dir=base)
    precious = os.path.join(folder, "precious")
    report = os.path.join(folder, "report")
    os.mkdir(report)
    with open(precious, "w") as file:
        file.write("old")
    try:
        if how == "overlay":
            os.setxattr(report, "user.whyslow", b"1")
        child = os.fork()
        if child == 0:
            os._exit(try_to_overwrite(how, folder, precious, network))
        _, status = os.waitpid(child, 0)
        with open(precious) as file:
            is_safe = file.read() == "old"
        if status == 0 and is_safe:
            return None
        why = os.path.join(report, "why")
        if os.path.exists(why):
            with open(why) as file:
                return file.read()
        return "a file was overwritten" if not is_safe else f"status {status}"
    finally:
        remove(folder)


def try_to_overwrite(how: str, folder: str, precious: str, network: bool) -> int:
    report = os.path.join(folder, "report")
    try:
        WAYS[how]({"layers": os.path.join(folder, "layers"), "writable": [report], "network": network}, [])
        try:
            with open(precious, "w") as file:
                file.write("new")
        except OSError as error:
            # The overlay redirects, Landlock denies.
            if how == "landlock" and error.errno == errno.EACCES:
                return 0
            raise
        with open(precious) as file:
            if how == "overlay" and file.read() == "new":
                return 0
        raise OSError("a file could be overwritten")
    except Exception as error:
        with contextlib.suppress(OSError), open(os.path.join(report, "why"), "w") as file:
            file.write(error.strerror if isinstance(error, OSError) and error.strerror else str(error))
        return 2


def remove(folder: str) -> None:
    """The kernel makes a folder that not even its owner may read."""

    def again(action: object, path: str, _: object) -> None:
        os.chmod(path, 0o700)
        shutil.rmtree(path, ignore_errors=True)

    shutil.rmtree(folder, onerror=again)


def find_way(bases: list[str], ways: list[str], network: bool) -> dict[str, object]:
    """The first way that works, and the folder for scratch files with which it does."""
    reasons: dict[str, None] = {}
    for how in ways:
        for base in bases:
            try:
                why = probe(how, base, network)
            except OSError as error:
                why = error.strerror
            if why is None:
                return {"how": how, "base": base, "reasons": list(reasons)}
            # Mostly the same for every folder.
            reasons.setdefault(f"{how}: {why}", None)
    return {"how": None, "base": None, "reasons": list(reasons)}


def start(how: str, settings: Settings, command: list[str]) -> None:
    try:
        close_files()
        WAYS[how](settings, command)
    except Exception as error:
        traceback.print_exc()
        sys.stderr.write(f"whyslow try: the job was not started, because its files could not be protected: {error}\n")
        sys.stderr.flush()
        os._exit(NOT_PROTECTED)
    # Python ignores these, and a program inherits that.
    for name in ("SIGPIPE", "SIGXFSZ"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except FileNotFoundError:
        sys.stderr.write(f"{command[0]}: command not found\n")
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
    sys.stderr.flush()
    os._exit(127)


def main() -> None:
    words = sys.argv[1:]
    given = json.loads(words[0])
    if "ways" in given:
        print(json.dumps(find_way(given["bases"], given["ways"], given["network"])))
    else:
        start(given["how"], given, words[1:])
