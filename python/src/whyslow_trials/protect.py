"""
Starts the job of a trial so that the kernel keeps the user's files as they are. Node runs it as a script, with any
Python 3 and outside of this package: `python -I -S protect.py SETTINGS COMMAND…`, with SETTINGS as JSON.
docs/decisions/0042-the-kernel-protects-files.md has the reasons.

`overlay`: a mount namespace in which every directory is an overlay. The job reads the user's files, and all that it
writes lands in a scratch folder. `landlock`: every write outside of a few folders is denied.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import itertools
import json
import os
import platform
import shutil
import signal
import socket
import stat
import struct
import sys
import tempfile
import traceback
from collections.abc import Iterator
from typing import TypedDict

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET = 0x00020000, 0x10000000, 0x40000000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
MNT_DETACH = 2
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "ppc64le": 203, "s390x": 217}
# From statvfs to mount: a namespace of a user must keep these when it mounts something again.
KEPT_FLAGS = {2: 2, 4: 4, 8: 8, 1024: 1024, 2048: 2048, 4096: 1 << 21}

LEFT_AS_THEY_ARE = ("/dev", "/proc", "/run", "/sys")
SHARED_MEMORY = "/dev/shm"
# No files of the user are in these.
KERNELS_OWN = (
    *("proc", "sysfs", "devtmpfs", "devpts", "cgroup", "cgroup2", "mqueue", "hugetlbfs", "debugfs", "tracefs"),
    *("securityfs", "pstore", "bpf", "configfs", "fusectl", "binfmt_misc", "nsfs", "rpc_pipefs", "nfsd"),
    *("selinuxfs", "efivarfs"),
)
# A file next to a mount point cannot be in an overlay. Small ones are copied, larger ones are read-only.
COPIED_BYTES = 1 << 20
MOST_SOCKETS = 256
MOST_WORDS = 2000
MOST_FOLDERS = 200
# Exit code of a job that was not started.
NOT_PROTECTED = 87

libc = ctypes.CDLL(None, use_errno=True)


class Settings(TypedDict):
    layers: str
    """For what the job writes. A new folder."""
    writable: list[str]
    """Folders of whyslow itself, which the job's processes really write to."""
    network: bool
    """False: only loopback."""


def check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


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


class View:
    """The root directory that the job sees: a skeleton in memory, with overlays of the user's directories in it."""

    def __init__(self, layers: str, is_own_user: bool) -> None:
        self.layers, self.is_own_user = layers, is_own_user
        self.root = os.path.join(layers, "view")
        self.memory = os.path.join(layers, "memory")
        self.mounts = mounts_now()
        self.overlays: list[tuple[str, str]] = []
        """Directories, and where what the job writes there is."""
        self.read_only: list[str] = []
        for folder in (self.root, self.memory):
            os.makedirs(folder)
            mount("none", folder, "tmpfs", 0, "mode=755")
        os.mkdir(os.path.join(self.memory, "empty"))

    def build(self, writable: list[str], named: list[str]) -> None:
        self.add("/")
        if os.path.isdir(SHARED_MEMORY):
            self.overlay(SHARED_MEMORY, os.path.join(self.memory, "shm"))
        if self.is_own_user:
            for folder in sorted({of_others for path in named if (of_others := self.of_others(path))}):
                self.overlay(folder)
        self.keep_sockets()
        for folder in writable:
            bind(folder, self.root + folder)
        # The job should not come across its own layers when it lists the scratch folder.
        if os.path.isdir(self.root + self.layers):
            mount("none", self.root + self.layers, "tmpfs", MS_RDONLY)

    def add(self, path: str) -> None:
        kind = self.mounts.get(path)
        if path in LEFT_AS_THEY_ARE or kind in KERNELS_OWN:
            self.make(path)
            bind(path, self.root + path)
        elif kind != "autofs" and not self.has_mounts(path):
            self.make(path)
            self.overlay(path)
        else:
            self.make(path)
            for name in sorted(os.listdir(path)):
                self.add_entry(os.path.join(path, name))

    def make(self, path: str) -> None:
        if path != "/":
            os.mkdir(self.root + path)
        os.chmod(self.root + path, stat.S_IMODE(os.stat(path).st_mode))

    def add_entry(self, path: str) -> None:
        """Of a directory that has mount points in it: the kernel makes no overlay of it for ordinary users."""
        found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode):
            os.symlink(os.readlink(path), self.root + path)
        elif stat.S_ISDIR(found.st_mode):
            self.add(path)
        elif stat.S_ISREG(found.st_mode) and found.st_size <= COPIED_BYTES and os.access(path, os.R_OK):
            shutil.copy2(path, self.root + path)
        else:
            os.close(os.open(self.root + path, os.O_CREAT | os.O_WRONLY, 0o600))
            bind(path, self.root + path, writable=not stat.S_ISREG(found.st_mode))

    def overlay(self, path: str, layer: str | None = None) -> None:
        place = layer or os.path.join(self.layers, str(len(self.overlays)))
        upper, work = os.path.join(place, "upper"), os.path.join(place, "work")
        for folder in (place, upper, work):
            os.mkdir(folder)
        os.chmod(upper, stat.S_IMODE(os.stat(path).st_mode))
        try:
            try:
                self.mount_overlay(path, upper, work)
            except OSError as error:
                if error.errno != errno.ELOOP:
                    raise
                # The scratch folder is below it. An overlay without a layer to write to has no such limit.
                between = os.path.join(place, "between")
                os.mkdir(between)
                mount_options(between, lowerdir=[path, os.path.join(self.memory, "empty")])
                self.mount_overlay(between, upper, work, self.root + path)
        except OSError:
            # Some network file systems cannot be below an overlay.
            bind(path, self.root + path, writable=False)
            self.read_only.append(path)
            return
        if layer is None:
            self.overlays.append((path, upper))

    def of_others(self, path: str) -> str | None:
        """
        The directory on a path that needs an overlay of its own. What is written in a directory is written in its copy,
        and an ordinary user can copy no directory of another user or group. That on which an overlay is mounted is not
        copied.
        """
        if is_below(path, LEFT_AS_THEY_ARE):
            return None
        asked, known = path, {folder for folder, _ in self.overlays}
        while path not in known and path not in self.mounts and path != "/":
            if os.path.isdir(path) and is_of_others(path) and not self.has_mounts(path):
                return path if path != asked or os.access(path, os.W_OK) else None
            path = os.path.dirname(path)
        return None

    def has_mounts(self, path: str) -> bool:
        return any(is_below(other, (path,)) for other in self.mounts if other != path)

    def mount_overlay(self, lower: str, upper: str, work: str, target: str | None = None) -> None:
        # An ordinary user can only use attributes of their own; with others, directories can also be renamed.
        kind = "userxattr" if self.is_own_user else "redirect_dir=on"
        mount_options(target or self.root + lower, kind, lowerdir=[lower], upperdir=[upper], workdir=[work])

    def keep_sockets(self) -> None:
        """A socket is not reached through an overlay: daemons listen on the real one."""
        with open("/proc/net/unix") as file:
            paths = {line.split()[-1] for line in file if line.rstrip("\n").split(" ")[-1].startswith("/")}
        for path in sorted(paths)[:MOST_SOCKETS]:
            if not is_below(path, LEFT_AS_THEY_ARE) and is_socket(path) and is_socket(self.root + path):
                bind(path, self.root + path)

    def enter(self, folder: str) -> None:
        os.chdir(self.root)
        number = PIVOT_ROOT.get(platform.machine())
        if number is None:
            os.chroot(".")
        else:
            check(libc.syscall(ctypes.c_long(number), b".", b"."), "pivot_root")
            check(libc.umount2(b".", MNT_DETACH), "umount")
        os.chdir(folder)


def mount_options(target: str, *options: str, **folders: list[str]) -> None:
    """By open directories, as their names may hold commas and colons."""
    opened: list[int] = []

    def name(path: str) -> str:
        opened.append(os.open(path, os.O_PATH | os.O_DIRECTORY))
        return f"/proc/self/fd/{opened[-1]}"

    try:
        named = [f"{key}={':'.join(name(path) for path in paths)}" for key, paths in folders.items()]
        mount("overlay", target, "overlay", 0, ",".join([*options, *named]))
    finally:
        for descriptor in opened:
            os.close(descriptor)


def mounts_now() -> dict[str, str]:
    """Mount points and their kinds. Of two on top of each other, the upper one."""
    found: dict[str, str] = {}
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            words, _, rest = line.partition(" - ")
            path = words.split(" ")[4].encode("utf-8", "surrogateescape").decode("unicode_escape")
            found[os.fsdecode(path.encode("latin-1"))] = rest.split(" ")[0]
    return found


def is_below(path: str, folders: tuple[str, ...]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except OSError:
        return False


def named_folders(command: list[str]) -> list[str]:
    """Where the job probably writes, by its command and environment."""
    words = [word for text in [*command, *os.environ.values()] for word in text.replace("=", ":").split(":")]
    asked = [os.getcwd(), os.path.expanduser("~"), tempfile.gettempdir(), "/tmp", "/var/tmp"]
    found = [os.path.realpath(path) for path in [*asked, *words[:MOST_WORDS]] if path.startswith("/")]
    below = itertools.islice(folders_below(os.path.realpath(os.getcwd())), MOST_FOLDERS)
    return sorted({*found, *below})


def folders_below(folder: str, depth: int = 3) -> Iterator[str]:
    try:
        inside = [entry.path for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return
    yield from inside
    if depth > 1:
        for path in inside:
            yield from folders_below(path, depth - 1)


def is_of_others(path: str) -> bool:
    known = os.stat(path)
    return known.st_uid != os.geteuid() or known.st_gid != os.getegid()


def enter_overlay(settings: Settings, command: list[str]) -> None:
    layers = os.path.realpath(settings["layers"])
    os.makedirs(layers, exist_ok=True)
    folder, named = os.getcwd(), named_folders(command)
    view = View(layers, enter_namespaces(settings["network"]))
    view.build([os.path.realpath(path) for path in settings["writable"]], named)
    with open(os.path.join(layers, "layers.json"), "w") as file:
        json.dump({"overlays": view.overlays, "read_only": view.read_only}, file)
    view.enter(folder)


# Landlock: rights of the third version of its interface, the first that covers truncation.
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
WRITE_FILE, REFER, TRUNCATE = 1 << 1, 1 << 13, 1 << 14
REMOVE_AND_MAKE = sum(1 << bit for bit in range(4, 13))
ALL_WRITES = WRITE_FILE | REMOVE_AND_MAKE | REFER | TRUNCATE
LEAST_VERSION = 3
NO_NEW_PRIVS = 38
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
    rules = check(
        libc.syscall(ctypes.c_long(CREATE_RULESET), ctypes.byref(handled), ctypes.c_size_t(8), ctypes.c_uint32(0)),
        "landlock",
    )
    writable = [free, *(os.path.realpath(path) for path in settings["writable"])]
    for path, rights in [
        *((path, ALL_WRITES) for path in [*writable, SHARED_MEMORY] if os.path.isdir(path)),
        ("/dev", WRITE_FILE | TRUNCATE),
        ("/proc", WRITE_FILE | TRUNCATE),
    ]:
        allow(rules, path, rights)
    check(libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")
    check(libc.syscall(ctypes.c_long(RESTRICT_SELF), rules, ctypes.c_uint32(0)), "landlock")
    os.close(rules)


def allow(rules: int, path: str, rights: int) -> None:
    opened = os.open(path, os.O_PATH)
    try:
        rule = struct.pack("=Qi", rights, opened)
        check(
            libc.syscall(ctypes.c_long(ADD_RULE), rules, 1, ctypes.create_string_buffer(rule), ctypes.c_uint32(0)),
            "landlock",
        )
    finally:
        os.close(opened)


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
            with open(precious) as file:
                return 0 if file.read() == "new" and how == "overlay" else 1
        except OSError as error:
            # The overlay redirects, Landlock denies.
            return 0 if error.errno == errno.EACCES and how == "landlock" else 1
    except Exception as error:
        try:
            with open(os.path.join(report, "why"), "w") as file:
                file.write(str(error))
        except OSError:
            pass
        return 2


def remove(folder: str) -> None:
    """The kernel makes a folder that not even its owner may read."""

    def again(action: object, path: str, _: object) -> None:
        os.chmod(path, 0o700)
        shutil.rmtree(path, ignore_errors=True)

    shutil.rmtree(folder, onerror=again)


def find_way(bases: list[str], ways: list[str], network: bool) -> dict[str, object]:
    """The first way that works, and the folder for scratch files with which it does."""
    reasons: list[str] = []
    for how in ways:
        for base in bases:
            try:
                why = probe(how, base, network)
            except OSError as error:
                why = str(error)
            if why is None:
                return {"how": how, "base": base, "reasons": reasons}
            reasons.append(f"{how} ({base}): {why}")
    return {"how": None, "base": None, "reasons": reasons}


def start(how: str, settings: Settings, command: list[str]) -> None:
    try:
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


if __name__ == "__main__":
    main()
