#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""News of devices, as `rdma monitor` of iproute2 6.12 and later reads it.

    rnic-run rdma_news.py EVENTS    prints so many events in the tool's words, and ends

The socket answers requests as well, and its other end goes with it.
"""

import os
import socket
import struct
import sys
import time

NETLINK_RDMA, SOL_NETLINK, ADD_MEMBERSHIP = 20, 270, 1
MONITOR, GET = 5 << 10 | 28, 5 << 10 | 1
GROUP = 4  # RDMA_NL_GROUP_NOTIFY
HEAD, ATTRIBUTE = struct.Struct("=HHII"), struct.Struct("=HH")
EVENTS = ["REGISTER", "UNREGISTER", "NETDEV_ATTACH", "NETDEV_DETACH"]
DEV_INDEX, DEV_NAME, PORT, NETDEV, NETDEV_NAME, EVENT = 1, 2, 3, 50, 51, 102


def open_socket():
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_RDMA)


def attributes(data):
    found = {}
    while data:
        length, kind = ATTRIBUTE.unpack_from(data)
        found[kind] = data[ATTRIBUTE.size:length]
        data = data[(length + 3) & ~3:]
    return found


def number(data):
    return int.from_bytes(data, sys.byteorder)


def text(data):
    return data.rstrip(b"\0").decode()


def line(data):
    _, kind, *_ = struct.unpack_from("=IHHII", data)
    assert kind == MONITOR, kind
    found = attributes(data[16:])
    event = EVENTS[number(found[EVENT])]
    words = f"[{event}]\tdev {number(found[DEV_INDEX])} {text(found[DEV_NAME])}"
    if event.startswith("NETDEV"):
        words += (f" port {number(found[PORT])} netdev {number(found[NETDEV])}"
                  f" {text(found[NETDEV_NAME])}")
    return words


def count_threads():
    return len(os.listdir("/proc/self/task"))


def check_life():
    """One thread for a socket in the group, until its last descriptor closes."""
    before = os.listdir("/proc/self/fd")
    with open_socket() as netlink, netlink.dup() as copy:
        netlink.setsockopt(SOL_NETLINK, ADD_MEMBERSHIP, GROUP)
        netlink.setsockopt(SOL_NETLINK, ADD_MEMBERSHIP, GROUP)
        assert count_threads() == 2
        netlink.close()
        time.sleep(1.2)  # more than twice the period of its looks
        assert count_threads() == 2
        copy.send(struct.pack("=IHHII", 16, GET, 0x301, 7, 0))
        assert struct.unpack_from("=IHHII", copy.recv(4096))[3] == 7
    for _ in range(50):
        if count_threads() == 1:
            break
        time.sleep(0.1)
    assert count_threads() == 1
    assert os.listdir("/proc/self/fd") == before
    with open_socket() as netlink:
        try:
            netlink.bind((0, 1 << 1))
            raise AssertionError("a group without news")
        except OSError as error:
            assert error.errno == 95, error


check_life()
with open_socket() as news:
    news.bind((0, 1 << (GROUP - 1)))
    print("ready", flush=True)
    for _ in range(int(sys.argv[1])):
        print(line(news.recv(4096)), flush=True)
