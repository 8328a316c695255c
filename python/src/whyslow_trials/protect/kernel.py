"""Calls of the kernel that Python has no functions for."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET = 0x00020000, 0x10000000, 0x40000000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
MNT_DETACH = 2
# From statvfs to mount: a namespace of a user must keep these when it mounts something again.
KEPT_FLAGS = {2: 2, 4: 4, 8: 8, 1024: 1024, 2048: 2048, 4096: 1 << 21}
CAPBSET_DROP, NO_NEW_PRIVS = 24, 38
CAPABILITY_VERSION = 0x20080522
# By number: open by handle, load modules, raw devices, look into any process, mount and enter namespaces. With them
# root could reach the real files: through a disk mounted once more, or /proc/PID/root of a process outside.
DROPPED = {"DAC_READ_SEARCH": 2, "SYS_MODULE": 16, "SYS_RAWIO": 17, "SYS_PTRACE": 19, "SYS_ADMIN": 21}

libc = ctypes.CDLL(None, use_errno=True)


def check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def call(number: int, *arguments: object) -> int:
    return check(libc.syscall(ctypes.c_long(number), *arguments), f"system call {number}")


def control(option: int, *arguments: int) -> None:
    numbers = [ctypes.c_ulong(value) for value in (*arguments, 0, 0, 0, 0)[:4]]
    check(libc.prctl(option, *numbers), f"prctl {option}")


def mount(source: str, target: str, kind: str | None, flags: int = 0, options: str | None = None) -> None:
    def text(value: str | None) -> bytes | None:
        return None if value is None else os.fsencode(value)

    check(libc.mount(text(source), text(target), text(kind), ctypes.c_ulong(flags), text(options)), f"mount {target}")


def bind(source: str, target: str, writable: bool = True) -> None:
    mount(source, target, None, MS_BIND | MS_REC)
    if not writable:
        known = os.statvfs(source).f_flag
        kept = sum(flag for name, flag in KEPT_FLAGS.items() if known & name)
        mount("none", target, None, MS_REMOUNT | MS_BIND | MS_RDONLY | kept)


def enter_namespaces(network: bool) -> bool:
    """Returns whether it took a user namespace. Without one, users and devices stay what they are."""
    wanted = CLONE_NEWNS | (0 if network else CLONE_NEWNET)
    uid, gid = os.geteuid(), os.getegid()
    own = libc.unshare(wanted) != 0
    if own:
        check(libc.unshare(wanted | CLONE_NEWUSER), "unshare")
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    if not network:
        raise_loopback()
    return own


def raise_loopback() -> None:
    get_flags, set_flags, up = 0x8913, 0x8914, 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh14x", b"lo", 0)
        (flags,) = struct.unpack("16xh14x", fcntl.ioctl(any_socket, get_flags, request))
        fcntl.ioctl(any_socket, set_flags, struct.pack("16sh14x", b"lo", flags | up))


def drop_capabilities() -> None:
    """The job keeps all rights that matter for files, devices and limits. Ordinary users train without these."""
    for number in DROPPED.values():
        libc.prctl(CAPBSET_DROP, ctypes.c_ulong(number), *[ctypes.c_ulong(0)] * 3)
    header = struct.pack("Ii", CAPABILITY_VERSION, 0)
    sets = ctypes.create_string_buffer(24)
    check(libc.capget(header, sets), "capget")
    # Effective, permitted and inheritable, of the first 32 capabilities and of the rest.
    lower = ~sum(1 << number for number in DROPPED.values()) & 0xFFFFFFFF
    kept = [value & lower if i < 3 else value for i, value in enumerate(struct.unpack("6I", sets.raw))]
    check(libc.capset(header, struct.pack("6I", *kept)), "capset")


def close_files() -> None:
    """Files and folders that a shell has left open to us lead around every mount. Pipes and sockets stay."""
    for name in os.listdir("/proc/self/fd"):
        number = int(name)
        try:
            kind = os.fstat(number).st_mode & 0o170000
        except OSError:
            continue
        if number > 2 and kind in (0o100000, 0o040000):
            os.close(number)
