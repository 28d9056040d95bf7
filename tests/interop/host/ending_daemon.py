#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Behaves as a daemon that ends: hangs up on its clients without an answer, and then removes its
socket.

    ending_daemon.py SOCKET CLIENTS
"""

import os
import socket
import sys


def main():
    path, clients = sys.argv[1], int(sys.argv[2])
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(path)
    listener.listen()
    listener.settimeout(20)
    print("serving", flush=True)
    for _ in range(clients):
        client, _ = listener.accept()
        # The client's request stays unread, so the kernel resets the connection.
        client.settimeout(20)
        client.recv(1, socket.MSG_PEEK)
        client.close()
    os.unlink(path)


main()
