#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""refuse_uring.py COMMAND [ARG...]: runs it where io_uring_setup(2) fails with EPERM, as it does
under the default seccomp profile of containers."""

import ctypes
import errno
import os
import struct
import sys

IO_URING_SETUP = 425
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
LOAD_WORD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, FAIL_WITH = 0x7fff0000, 0x00050000


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def main():
    instructions = [
        (LOAD_WORD, 0, 0, 0),  # number of the system call
        (JUMP_IF_EQUAL, 0, 1, IO_URING_SETUP),
        (RETURN, 0, 0, FAIL_WITH | errno.EPERM),
        (RETURN, 0, 0, ALLOW),
    ]
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)
    libc = ctypes.CDLL(None, use_errno=True)
    program = Program(len(instructions), code)
    if (libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or
            libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) != 0):
        sys.exit(f"seccomp: {os.strerror(ctypes.get_errno())}")
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
