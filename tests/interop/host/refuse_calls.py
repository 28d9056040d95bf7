#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""refuse_calls.py uring|steering COMMAND [ARG...]: runs it where the kernel refuses something.

    uring     io_uring_setup(2) fails with EPERM, as it does under the default seccomp profile of
              containers
    steering  setsockopt(2) fails with EPERM for SO_ATTACH_REUSEPORT_CBPF, as it does, with other
              errors, in sandboxes that have a network stack of their own
"""

import ctypes
import errno
import os
import platform
import struct
import sys

IO_URING_SETUP = 425
SETSOCKOPT = {"x86_64": 54, "i386": 366, "s390x": 366, "ppc64le": 339}.get(platform.machine(), 208)
SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF = 1, 51
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
LOAD_WORD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, FAIL_WITH = 0x7fff0000, 0x00050000

# Offsets in struct seccomp_data; of an argument, its lower half.
NUMBER = 0
LOW = 4 if sys.byteorder == "big" else 0
LEVEL, OPTION = 24 + LOW, 32 + LOW

# What must be equal for a refusal.
REFUSED = {
    "uring": [(NUMBER, IO_URING_SETUP)],
    "steering": [(NUMBER, SETSOCKOPT), (LEVEL, SOL_SOCKET), (OPTION, SO_ATTACH_REUSEPORT_CBPF)],
}


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def instructions_of(conditions):
    instructions = []
    for index, (offset, value) in enumerate(conditions):
        instructions.append((LOAD_WORD, 0, 0, offset))
        # A jump counts what it leaves out, up to ALLOW at the end.
        instructions.append((JUMP_IF_EQUAL, 0, 2 * (len(conditions) - index) - 1, value))
    return instructions + [(RETURN, 0, 0, FAIL_WITH | errno.EPERM), (RETURN, 0, 0, ALLOW)]


def main():
    instructions = instructions_of(REFUSED[sys.argv[1]])
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)
    libc = ctypes.CDLL(None, use_errno=True)
    program = Program(len(instructions), code)
    if (libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or
            libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) != 0):
        sys.exit(f"seccomp: {os.strerror(ctypes.get_errno())}")
    os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
