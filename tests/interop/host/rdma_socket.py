#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A socket of NETLINK_RDMA under rnic-run, used as programs use sockets.

    rnic-run rdma_socket.py QPS     the daemon shows QPS queue pairs to this user, of more than
                                    one page
"""

import array
import ctypes
import errno
import os
import select
import socket
import struct
import sys

NETLINK_RDMA = 20
NLDEV = 5 << 10
GET, SET, QP_GET, STAT_GET = 1, 2, 10, 17
REQUEST, ACK, DUMP = 1, 4, 0x300
ERROR, DONE = 2, 3
HEAD = struct.Struct("=IHHII")
SMALL, BUFFER = 64, 4096
DUMPS = 8  # each of several pages


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


def qps_in(data):
    return data.count(struct.pack("=HH", 12 - 4, 21))  # LQPN


def receive_plain(netlink):
    return netlink.recv(BUFFER)


def receive_at_once(netlink):
    return netlink.recv(BUFFER, socket.MSG_DONTWAIT)


def receive_after_peeks(netlink):
    """Each peek meets what the receive then takes, where a page begins too."""
    length = netlink.recv_into(bytearray(1), 1, socket.MSG_PEEK | socket.MSG_TRUNC)
    peeked = netlink.recv(BUFFER, socket.MSG_PEEK)
    data = netlink.recv(BUFFER)
    assert peeked == data and length == len(data), (length, len(peeked), len(data))
    return data


def receive_read(netlink):
    return os.read(netlink.fileno(), BUFFER)


def receive_readv(netlink):
    pieces = [bytearray(10), bytearray(BUFFER)]
    length = os.readv(netlink.fileno(), pieces)
    return b"".join(pieces)[:length]


def receive_recvmsg(netlink):
    data, _, flags, sender = netlink.recvmsg(BUFFER, 64)
    assert flags == 0 and sender == (0, 0)
    return data


def check_dump(wanted):
    """Longer than a page of the daemon's rows, by each function that receives."""
    for receive in (receive_plain, receive_at_once, receive_after_peeks, receive_read,
                    receive_readv, receive_recvmsg):
        with open_socket() as netlink:
            netlink.send(request(QP_GET, DUMP, 5, device()))
            parts, qps = 0, 0
            while True:
                data = receive(netlink)
                length, kind, _, sequence, _ = HEAD.unpack_from(data)
                assert length == len(data) and sequence == 5, (receive, length, len(data))
                if kind == DONE:
                    break
                parts += 1
                qps += qps_in(data)
            assert qps == wanted, (receive, qps, wanted)
            assert parts > 1, (receive, parts)
            try:
                netlink.recv(BUFFER, socket.MSG_DONTWAIT)
                raise AssertionError("a message after the end")
            except BlockingIOError:
                pass


def check_truncation():
    with open_socket() as netlink:
        netlink.send(request(GET, DUMP, 6))
        data, _, flags, _ = netlink.recvmsg(SMALL)
        assert len(data) == SMALL and flags & socket.MSG_TRUNC
        assert read_type(netlink)[0] == DONE


def read_share(netlink, numbers, flags):
    """Reads until the socket's other reader has the end too, and reports what came."""
    seen, broken = 0, 0
    netlink.settimeout(0.5)
    while True:
        try:
            if flags:
                netlink.recv(BUFFER, flags)
            data = netlink.recv(BUFFER)
        except TimeoutError:
            os.write(numbers, struct.pack("=II", seen, broken))
            return
        length, kind, _, sequence, _ = HEAD.unpack_from(data)
        broken += length != len(data) or sequence != 7 or kind not in (DONE, NLDEV | QP_GET)
        seen += qps_in(data)


def check_readers(wanted):
    """Two processes read from one socket: no row is lost, and none gets a note."""
    for flags in (0, socket.MSG_PEEK):
        with open_socket() as netlink:
            readers, (numbers, report) = [], os.pipe()
            for _ in range(2):
                child = os.fork()
                if child == 0:
                    read_share(netlink, report, flags)
                    os._exit(0)
                readers.append(child)
            for _ in range(DUMPS):
                netlink.send(request(QP_GET, DUMP, 7, device()))
            for child in readers:
                assert os.waitpid(child, 0)[1] == 0
            shares = struct.unpack("=IIII", os.read(numbers, 64))
            assert shares[1] == shares[3] == 0, shares
            assert shares[0] + shares[2] == DUMPS * wanted, (shares, wanted)
            os.close(numbers)
            os.close(report)


def check_vectors():
    """Several pieces and several messages in one call."""
    libc = ctypes.CDLL(None, use_errno=True)

    class Piece(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    class Message(ctypes.Structure):
        _fields_ = [("name", ctypes.c_void_p), ("name_length", ctypes.c_uint32),
                    ("pieces", ctypes.POINTER(Piece)), ("piece_count", ctypes.c_size_t),
                    ("control", ctypes.c_void_p), ("control_length", ctypes.c_size_t),
                    ("flags", ctypes.c_int), ("hole", ctypes.c_int),
                    ("length", ctypes.c_uint), ("end", ctypes.c_int)]

    kept = []

    def messages(contents):
        rooms = [ctypes.create_string_buffer(content, len(content)) for content in contents]
        kept.extend(rooms)
        pieces = [Piece(ctypes.addressof(room), len(room)) for room in rooms]
        return (Message * len(pieces))(*[Message(pieces=ctypes.pointer(piece), piece_count=1)
                                         for piece in pieces])

    with open_socket() as netlink:
        question = request(GET, 0, 13, device())
        assert os.writev(netlink.fileno(), [question[:7], question[7:]]) == len(question)
        assert read_type(netlink)[1] == 13
        asked = messages([question, request(GET, 0, 14, device())])
        assert libc.sendmmsg(netlink.fileno(), asked, 2, 0) == 2
        assert asked[1].length == len(question)
        answers = messages([b"\0" * BUFFER] * 3)
        assert libc.recvmmsg(netlink.fileno(), answers, 3, socket.MSG_DONTWAIT, None) == 2
        for answer, sequence in zip(answers, (13, 14)):
            length, _, _, found, _ = HEAD.unpack_from(
                ctypes.string_at(answer.pieces[0].base, HEAD.size))
            assert (length, found) == (answer.length, sequence)


def check_pointers():
    """Bad pointers fail as the kernel's calls do, and those that the kernel ignores do not."""
    libc = ctypes.CDLL(None, use_errno=True)
    bad, room = ctypes.c_void_p(1), ctypes.create_string_buffer(16)
    one, other = socket.socketpair()
    other.send(b"hello")
    assert libc.recvmsg(one.fileno(), bad, 0) == -1
    assert ctypes.get_errno() == errno.EFAULT
    assert libc.recvfrom(one.fileno(), room, 16, 0, None, bad) == 5
    assert libc.recvmsg(-1, bad, 0) == -1
    assert ctypes.get_errno() in (errno.EBADF, errno.EFAULT)
    with open_socket() as netlink:
        netlink.send(request(GET, 0, 15, device()))
        assert libc.recvfrom(netlink.fileno(), room, 16, 0, None, bad) == 16


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


def check_errors():
    """An error brings back what the program has asked for, and the options go along with bind()."""
    options = (10, 11)  # CAP_ACK, EXT_ACK
    question = request(SET, ACK, 16, device())
    for wanted in ((0, 0), (1, 0), (0, 1), (1, 1)):
        with open_socket() as netlink:
            for option, value in zip(options, wanted):
                assert netlink.getsockopt(270, option) == 0
                netlink.setsockopt(270, option, value)
            netlink.bind((4712, 0))
            assert tuple(netlink.getsockopt(270, option) for option in options) == wanted
            netlink.send(question)
            _, _, data = read_type(netlink)
            flags = HEAD.unpack_from(data)[2]
            assert flags == 0x100 * wanted[0] + 0x200 * wanted[1], (wanted, flags)
            end = HEAD.size + 4 + (HEAD.size if wanted[0] else len(question))
            assert data[HEAD.size + 4:end] == question[:end - HEAD.size - 4], wanted
            assert (b"see rnicd(8)" in data[end:]) == wanted[1], wanted
            assert wanted[1] or len(data) == end, wanted


def check_monitor():
    """Asks as rdmatop 0.1.33 does once a second: one message has all counters of a port, and an
    acknowledgement ends the answer. The files that rdmatop adds are in the view."""
    with open_socket() as netlink:
        netlink.bind((0, 0))
        port = struct.pack("=HHI", 8, 3, 1)
        netlink.sendto(request(STAT_GET, ACK, 14, device() + port), (0, 0))
        kind, _, data = read_type(netlink)
        assert kind == NLDEV | STAT_GET, kind
        assert b"sent_pkts\0" in data and b"udp_received_bytes\0" in data
        assert error_of(netlink) == 0
    files = "/sys/class/infiniband/rnic0/ports/1/"
    with open(files + "rate", encoding="ascii") as rate:
        assert float(rate.read().split()[0]) > 0
    assert {"port_xmit_data", "port_rcv_packets"} <= set(os.listdir(files + "counters"))


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
check_truncation()
check_readers(int(sys.argv[1]))
check_vectors()
check_pointers()
check_crafted()
check_errors()
check_monitor()
check_full()
check_others()
print("all right")
