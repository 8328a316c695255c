"""Where mount namespaces are not allowed: every write outside of a few folders is denied."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import re
import stat
import struct

from .kernel import NO_NEW_PRIVS, call, check, control, libc
from .modes import ignore_changes_of_modes
from .mounts import is_below
from .settings import Settings
from .view import SHARED_MEMORY

# Landlock: rights of the third version of its interface, the first that covers truncation.
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
WRITE_FILE, REFER, TRUNCATE = 1 << 1, 1 << 13, 1 << 14
REMOVE_AND_MAKE = sum(1 << bit for bit in range(4, 13))
ALL_WRITES = WRITE_FILE | REMOVE_AND_MAKE | REFER | TRUNCATE
LEAST_VERSION = 3
# Shared memory of programs: torch, Python, semaphores, NCCL, CUDA, OpenMPI, joblib.
OBJECTS = re.compile(
    r"(torch_\d|psm_|sem\.|nccl-|cuda\.shm|mp-|pym-|vader_segment|joblib_memmapping|loky-|gomp|fbcode)"
)
# Caches that libraries fill while they train. Those that only grow by downloads stay where they are.
CACHES = ("TMPDIR", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "MPLCONFIGDIR", "NUMBA_CACHE_DIR", "WANDB_DIR")


def enter_landlock(settings: Settings, command: list[str]) -> None:
    if not settings["network"]:
        raise OSError(errno.ENOTSUP, "no network namespace")
    version = libc.syscall(ctypes.c_long(CREATE_RULESET), None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    if check(version, "landlock") < LEAST_VERSION:
        raise OSError(errno.ENOTSUP, f"Landlock of version {version} does not cover truncation")
    layers = os.path.realpath(settings["layers"])
    free = os.path.join(layers, "free")
    os.makedirs(free)
    for name in CACHES:
        os.environ[name] = os.path.join(free, name.lower())
        os.mkdir(os.environ[name])
    handled = ctypes.c_uint64(ALL_WRITES)
    rules = call(CREATE_RULESET, ctypes.byref(handled), ctypes.c_size_t(8), ctypes.c_uint32(0))
    for path in [free, *(os.path.realpath(path) for path in settings["writable"])]:
        allow(rules, path, ALL_WRITES)
    for path in [*devices(), "/proc"]:
        allow(rules, path, WRITE_FILE | TRUNCATE)
    kept = files_in_shared_memory(layers)
    if not kept and os.path.isdir(SHARED_MEMORY):
        allow(rules, SHARED_MEMORY, ALL_WRITES)
    with open(os.path.join(layers, "layers.json"), "w") as file:
        json.dump({"overlays": [], "read_only": kept}, file)
    control(NO_NEW_PRIVS, 1)
    ignore_changes_of_modes()
    call(RESTRICT_SELF, rules, ctypes.c_uint32(0))
    os.close(rules)


def devices() -> list[str]:
    """Neither disks nor shared memory."""
    found = [entry for entry in os.scandir("/dev") if not entry.is_symlink() and entry.path != SHARED_MEMORY]
    return [entry.path for entry in found if entry.is_dir() or stat.S_ISCHR(entry.stat().st_mode)]


def files_in_shared_memory(layers: str) -> list[str]:
    """
    Data that someone has put there. Rights hold for all of a folder, so with such files in it the job gets none, and
    DataLoader workers fail.
    """
    return [
        entry.path
        for entry in (os.scandir(SHARED_MEMORY) if os.path.isdir(SHARED_MEMORY) else ())
        if not OBJECTS.match(entry.name) and not is_below(layers, (entry.path,)) and os.access(entry.path, os.W_OK)
    ]


def allow(rules: int, path: str, rights: int) -> None:
    opened = os.open(path, os.O_PATH)
    try:
        rule = struct.pack("=Qi", rights, opened)
        call(ADD_RULE, rules, 1, ctypes.create_string_buffer(rule), ctypes.c_uint32(0))
    finally:
        os.close(opened)
