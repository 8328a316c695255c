"""
Landlock does not cover modes, owners, times and attributes of files. Here the kernel answers that it has changed them,
and does nothing: a job that sets the mode of a file that it may write should not fail.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct

from .kernel import control

SET_SECCOMP, FILTER = 22, 2
# By machine: how the kernel calls it, and chmod, chown, utime, setxattr and removexattr in all their forms.
SINCE_2024 = (452, 463, 466)
CALLS = {
    "x86_64": (
        0xC000003E,
        (90, 91, 92, 93, 94, 132, 188, 189, 190, 197, 198, 199, 235, 260, 261, 268, 280, *SINCE_2024),
    ),
    "aarch64": (0xC00000B7, (5, 6, 7, 14, 15, 16, 52, 53, 54, 55, 88, *SINCE_2024)),
}
LOAD, EQUALS, RETURN = 0x20, 0x15, 0x06
ALLOW, ANSWER_DONE = 0x7FFF0000, 0x00050000
NUMBER_AT, MACHINE_AT = 0, 4


def ignore_changes_of_modes() -> None:
    known = CALLS.get(platform.machine())
    if known is None:
        raise OSError(errno.ENOTSUP, f"modes of files cannot be kept on {platform.machine()}")
    machine, numbers = known
    count = len(numbers)
    program = [
        (LOAD, 0, 0, MACHINE_AT),
        # Programs for another machine have other numbers.
        (EQUALS, 0, count + 1, machine),
        (LOAD, 0, 0, NUMBER_AT),
        *((EQUALS, count - i, 0, number) for i, number in enumerate(numbers)),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, ANSWER_DONE),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
    whole = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program), ctypes.addressof(code)))
    control(SET_SECCOMP, FILTER, ctypes.addressof(whole))
