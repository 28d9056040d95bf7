#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Takes UDP port 4791 of an address for some time with a socket that no process has: the socket
is in a message that nobody receives. So looks a socket of an ended process that the kernel has yet
to close.

    port_on_its_way.py ADDRESS SECONDS     inf: until somebody ends it
"""

import array
import errno
import math
import socket
import sys
import threading
import time


BIND_SECONDS = 10


def bind_when_free(taken, address):
    """The kernel may still close the port of a daemon that has just ended."""
    end = time.monotonic() + BIND_SECONDS
    while True:
        try:
            taken.bind((address, 4791))
            return
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() > end:
                raise
        time.sleep(0.01)


def main():
    address, seconds = sys.argv[1], float(sys.argv[2])
    taken = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    bind_when_free(taken, address)
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    descriptors = array.array("i", [taken.fileno()])
    here.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)])
    taken.close()
    print("taken", flush=True)
    threading.Event().wait(None if math.isinf(seconds) else seconds)
    there.close()


main()
