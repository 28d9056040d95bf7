#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a command as in a container: uid 0 there is another uid here, with process and mount
namespaces of its own. Root calls it.

    container_run.py OUTER_UID COMMAND...
"""

import ctypes
import os
import signal
import sys

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
MS_REC = 0x4000
PR_SET_PDEATHSIG = 1
MS_PRIVATE = 1 << 18
IDS = 65536  # of users in the container
LIBC = ctypes.CDLL(None, use_errno=True)


def require(result, what):
    if result != 0:
        sys.exit(f"container_run.py: {what}: {os.strerror(ctypes.get_errno())}")


def map_ids(pid, outer):
    for name in ("uid_map", "gid_map"):
        with open(f"/proc/{pid}/{name}", "w", encoding="ascii") as file:
            file.write(f"0 {outer} {IDS}\n")


def become_root():
    os.setgroups([])
    os.setgid(0)
    os.setuid(0)
    end_with_parent()


def end_with_parent():
    require(LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL), "prctl")


def run_inside(command):
    """The first process of the container: mounts its /proc and becomes the command."""
    end_with_parent()
    require(LIBC.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "mount /")
    require(LIBC.mount(b"proc", b"/proc", b"proc", 0, None), "mount /proc")
    os.execvp(command[0], command)


def main():
    outer, command = int(sys.argv[1]), sys.argv[2:]
    unshared, mapped = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        require(LIBC.unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID), "unshare")
        os.write(unshared[1], b".")
        os.read(mapped[0], 1)
        become_root()
        inner = os.fork()
        if inner == 0:
            run_inside(command)
        os._exit(os.waitstatus_to_exitcode(os.waitpid(inner, 0)[1]) & 255)
    os.close(unshared[1])
    if os.read(unshared[0], 1):
        map_ids(child, outer)
        os.write(mapped[1], b".")
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


if __name__ == "__main__":
    main()
