"""What the job sees instead of the file system."""

from __future__ import annotations

import errno
import itertools
import os
import platform
import shutil
import stat

from .kernel import MNT_DETACH, MS_RDONLY, bind, call, check, libc, mount
from .mounts import entries, is_below, is_of_others, is_socket, mounts_now, sockets

PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "ppc64le": 203, "s390x": 217}

LEFT_AS_THEY_ARE = ("/dev", "/proc", "/sys")
SHARED_MEMORY = "/dev/shm"
# No files of the user are in these.
KERNELS_OWN = (
    *("proc", "sysfs", "devtmpfs", "devpts", "cgroup", "cgroup2", "mqueue", "hugetlbfs", "debugfs", "tracefs"),
    *("securityfs", "pstore", "bpf", "configfs", "fusectl", "binfmt_misc", "nsfs", "rpc_pipefs", "nfsd"),
    *("selinuxfs", "efivarfs"),
)
# A file next to a mount point cannot be in an overlay. Small ones are copied, larger ones are read-only.
COPIED_BYTES = 1 << 20


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
        self.numbers = itertools.count()
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
        elif kind == "autofs" or (self.is_own_user and self.has_mounts(path)):
            self.make_anew(path)
        else:
            self.make(path)
            try:
                self.overlay(path)
            except OSError:
                return self.make_anew(path)
            self.add_entries(self.nearest_mounts(path))
        return None

    def make_anew(self, path: str) -> None:
        """The kernel makes no overlay of a directory with mount points in it for ordinary users."""
        self.make(path)
        self.add_entries(self.inside(path))

    def add_entries(self, paths: list[str]) -> None:
        for path in paths:
            try:
                found = os.lstat(path)
            except OSError:
                continue  # the job cannot look at it either
            self.add_entry(path, found)

    def nearest_mounts(self, path: str) -> list[str]:
        below = [other for other in self.mounts if other != path and is_below(other, (path,))]
        return sorted(a for a in below if not any(b != a and is_below(a, (b,)) for b in below))

    def inside(self, path: str) -> list[str]:
        """Of a directory that may not be listed, what leads to a mount point or to the working folder."""
        if os.access(path, os.R_OK | os.X_OK):
            return entries(path)
        below = path.rstrip("/") + "/"
        known = [other[len(below) :] for other in [*self.mounts, os.getcwd()] if other.startswith(below)]
        return sorted({below + name.split("/")[0] for name in known})

    def make(self, path: str) -> None:
        if os.path.isdir(self.root + path) and path != "/":
            return
        mode = stat.S_IMODE(os.stat(path).st_mode)
        if path != "/":
            os.mkdir(self.root + path)
        # We must be able to go on in it.
        os.chmod(self.root + path, mode | stat.S_IRWXU)

    def add_entry(self, path: str, found: os.stat_result) -> None:
        """Next to a mount point, or one itself."""
        if stat.S_ISLNK(found.st_mode):
            os.symlink(os.readlink(path), self.root + path)
        elif stat.S_ISDIR(found.st_mode):
            self.add(path)
        elif not stat.S_ISREG(found.st_mode):
            self.bind_file(path, path)
        elif found.st_size <= COPIED_BYTES and os.access(path, os.R_OK):
            self.copy_file(path)
        else:
            self.bind_file(path, path, writable=False)
            if os.access(path, os.W_OK):
                self.read_only.append(path)

    def copy_file(self, path: str) -> None:
        """Next to a mount point, the copy can be deleted and renamed. A mount point is in an overlay already."""
        is_mount = os.path.lexists(self.root + path)
        copy = os.path.join(self.memory, str(next(self.numbers))) if is_mount else self.root + path
        shutil.copy2(path, copy)
        if is_mount:
            bind(copy, self.root + path)

    def bind_file(self, source: str, path: str, writable: bool = True) -> None:
        if not os.path.lexists(self.root + path):
            os.close(os.open(self.root + path, os.O_CREAT | os.O_WRONLY, 0o600))
        bind(source, self.root + path, writable)

    def overlay(self, path: str, layer: str | None = None) -> None:
        place = layer or os.path.join(self.layers, str(next(self.numbers)))
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
            if self.has_mounts(path):
                raise
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
        for path in sockets():
            if not is_below(path, LEFT_AS_THEY_ARE) and is_socket(self.root + path):
                bind(path, self.root + path)

    def enter(self, folder: str) -> None:
        os.chdir(self.root)
        number = PIVOT_ROOT.get(platform.machine())
        if number is None:
            os.chroot(".")
        else:
            call(number, b".", b".")
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
