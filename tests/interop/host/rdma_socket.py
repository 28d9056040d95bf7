#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A socket of NETLINK_RDMA under rnic-run, used as programs use sockets.

    rnic-run rdma_socket.py QPS     the daemon shows QPS queue pairs to this user
"""

import array
import os
import select
import socket
import struct
import sys

NETLINK_RDMA = 20
NLDEV = 5 << 10
GET, SET, QP_GET = 1, 2, 10
REQUEST, ACK, DUMP = 1, 4, 0x300
ERROR, DONE = 2, 3
HEAD = struct.Struct("=IHHII")
SMALL, BUFFER = 64, 4096


def request(command, flags, sequence=1, attributes=b""):
    return HEAD.pack(HEAD.size + len(attributes), NLDEV | command, REQUEST | flags, sequence,
                     0) + attributes


def device(index=0):
    return struct.pack("=HHI", 8, 1, index)


def open_socket():
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_RDMA)


def read_type(netlink, flags=0):
    data, sender = netlink.recvfrom(BUFFER, flags)
    length, kind, _, sequence, port = HEAD.unpack_from(data)
    assert length == len(data), (length, len(data))
    assert sender == (0, 0), sender
    assert port == netlink.getsockname()[0], (port, netlink.getsockname())
    return kind, sequence, data


def error_of(netlink):
    kind, _, data = read_type(netlink)
    assert kind == ERROR, kind
    return struct.unpack_from("=i", data, HEAD.size)[0]


def check_names():
    with open_socket() as netlink:
        netlink.bind((0, 0))
        assert netlink.getsockname() == (os.getpid(), 0), netlink.getsockname()
        assert netlink.getpeername() == (0, 0)
        assert netlink.getsockopt(socket.SOL_SOCKET, socket.SO_PROTOCOL) == NETLINK_RDMA
        assert netlink.getsockopt(socket.SOL_SOCKET, socket.SO_DOMAIN) == socket.AF_NETLINK
    with open_socket() as netlink:
        assert netlink.getsockname()[0] != os.getpid()
        netlink.bind((4711, 0))
        assert netlink.getsockname() == (4711, 0)
        netlink.connect((0, 0))
        netlink.send(request(GET, ACK, 1, device()))
        read_type(netlink)
        assert error_of(netlink) == 0


def check_waiting():
    with open_socket() as netlink:
        poll = select.poll()
        poll.register(netlink, select.POLLIN)
        assert poll.poll(0) == []
        try:
            netlink.recv(BUFFER, socket.MSG_DONTWAIT)
            raise AssertionError("a message without a request")
        except BlockingIOError:
            pass
        netlink.send(request(GET, DUMP, 2))
        assert poll.poll(0) == [(netlink.fileno(), select.POLLIN)]
        peeked = netlink.recv(BUFFER, socket.MSG_PEEK)
        assert read_type(netlink)[2] == peeked
        assert read_type(netlink)[0] == DONE
        assert poll.poll(0) == []


def check_copies():
    """A copy of the descriptor, and a child, use the same socket."""
    with open_socket() as netlink:
        with netlink.dup() as copy:
            copy.send(request(GET, ACK, 3, device()))
        assert read_type(netlink)[1] == 3
        assert error_of(netlink) == 0
        child = os.fork()
        if child == 0:
            netlink.send(request(GET, ACK, 4, device()))
            os._exit(0 if read_type(netlink)[1] == 4 else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert error_of(netlink) == 0
        number = netlink.fileno()
    assert not os.path.exists(f"/proc/self/fd/{number}")
    before = os.listdir("/proc/self/fd")
    for _ in range(100):
        open_socket().close()
    assert os.listdir("/proc/self/fd") == before


def check_dump(wanted):
    """In one go, and with other requests meanwhile; in a buffer that is too small."""
    with open_socket() as netlink:
        netlink.send(request(QP_GET, DUMP, 5, device()))
        parts, qps = 0, 0
        while True:
            kind, sequence, data = read_type(netlink)
            assert sequence == 5
            if kind == DONE:
                break
            parts += 1
            qps += data.count(struct.pack("=HH", 12 - 4, 21))  # LQPN
        assert qps == wanted, (qps, wanted)
        assert parts > 1 or wanted < 18, parts
        netlink.send(request(GET, DUMP, 6))
        data, _, flags, _ = netlink.recvmsg(SMALL)
        assert len(data) == SMALL and flags & socket.MSG_TRUNC
        assert read_type(netlink)[0] == DONE


def check_crafted():
    with open_socket() as netlink:
        for nonsense in (b"x", b"\0" * 16, b"\xff" * 300, HEAD.pack(2 ** 32 - 1, NLDEV | GET, 1,
                                                                     0, 0)):
            assert netlink.send(nonsense) == len(nonsense)
        poll = select.poll()
        poll.register(netlink, select.POLLIN)
        assert poll.poll(0) == []
        netlink.send(request(GET, 0, 7, struct.pack("=HHI", 9999, 1, 0)))
        assert error_of(netlink) == -22
        netlink.send(request(SET, ACK, 8, device()))
        assert error_of(netlink) == -95
        netlink.send(request(900, ACK, 9))
        assert error_of(netlink) == -95
        # Two requests in one message, in two pieces.
        netlink.sendmsg([request(GET, 0, 10, device()), request(GET, 0, 11, device())])
        assert [read_type(netlink)[1] for _ in range(2)] == [10, 11]


def check_full():
    """A program that never reads hears of it."""
    with open_socket() as netlink:
        for _ in range(100000):
            try:
                netlink.send(request(GET, DUMP, 12))
            except OSError as error:
                assert error.errno == 105, error
                return
        raise AssertionError("the queue has no end")


def check_others():
    """All other sockets are the kernel's."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as route:
        route.bind((0, 0))
        route.send(HEAD.pack(20, 18, REQUEST | DUMP, 1, 0) + array.array("B", [0] * 4).tobytes())
        assert HEAD.unpack_from(route.recv(65536))[1] == 16
    one, other = socket.socketpair()
    one.send(b"hello")
    assert other.recv(16) == b"hello"
    os.write(one.fileno(), b"again")
    assert os.read(other.fileno(), 16) == b"again"


check_names()
check_waiting()
check_copies()
check_dump(int(sys.argv[1]))
check_crafted()
check_full()
check_others()
print("all right")
