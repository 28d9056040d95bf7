#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A stranger on queue pair 1, who shares no code with the project.

    cm_stranger.py OWN-ADDRESS RNIC-ADDRESS [PID]

Asks an RNIC for a service that nobody has to connect, to resolve and to part, from a plain UDP
socket with IPv4 addresses. With PID, a process there that accepts one connection to port 7174, it
connects to that: while the process is stopped it must be asked for patience, and once the
connection stands, an alternate path must be declined. Every answer must be a connection management
message with the right ICRC that says what IBTA 1.4, chapter 12 wants to hear. Exits 1 with a
sentence when one is not.
"""

import ipaddress
import os
import signal
import socket
import struct
import sys
import zlib

ROCE_PORT = 4791
IP_MTU_DISCOVER, IP_PMTUDISC_DO = 10, 2
QKEY = 0x80010000
COMM_ID = 0x5a5a0001
REQ, MRA, REJ, REP, RTU, DREQ, DREP = range(0x10, 0x17)
SIDR_REQ, SIDR_REP, LAP, APR = range(0x17, 0x1b)
TCP_PORT, UDP_PORT = 0x01061c06, 0x01111c06     # 7174 in either port space


def icrc(source, dest, payload, source_port=ROCE_PORT):
    """Of an IPv4 datagram with identification 0 and DF; `payload` is BTH to pad."""
    length = 28 + len(payload) + 4
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0xff, length, 0, 0x4000, 0xff, 17, 0xffff,
                     source.packed, dest.packed)
    udp = struct.pack(">HHHH", source_port, ROCE_PORT, length - 20, 0xffff)
    masked = payload[:4] + b"\xff" + payload[5:]
    return struct.pack("<I", zlib.crc32(8 * b"\xff" + ip + udp + masked))


def addresses(own, rnic):
    return struct.pack(">BBH12x4s12x4s", 0, 0x40, 40000, own.packed, rnic.packed)


def mad(attribute, data):
    header = struct.pack(">BBBBHHQHHI", 1, 7, 2, 3, 0, 0, 0x1234, attribute, 0, 0)
    return header + data.ljust(232, b"\0")


def gid(address):
    return 10 * b"\0" + b"\xff\xff" + address.packed


def connect_request(own, rnic, comm_id=COMM_ID, qpn=77, response_timeout=20, ack_timeout=19):
    data = struct.pack(">I4xQQ4xI", comm_id, TCP_PORT, 1, 0)
    data += struct.pack(">IIII", qpn << 8 | 1, 1, response_timeout << 3,
                        5 << 8 | response_timeout << 3 | 7)
    data += struct.pack(">HBBHH", 0xffff, 3 << 4 | 7, 15 << 4, 0xffff, 0xffff)
    data += gid(own) + gid(rnic) + struct.pack(">IBBBB", 0, 0, 64, 0, ack_timeout << 3)
    return mad(REQ, data.ljust(140, b"\0") + addresses(own, rnic))


def questions(own, rnic):
    """Message, attribute of the answer, and what its data must begin with."""
    yield (connect_request(own, rnic), REJ, struct.pack(">IIBBH", 0, COMM_ID, 0, 0, 8))
    yield (mad(SIDR_REQ, struct.pack(">IHxxQ", COMM_ID, 0xffff, UDP_PORT) + addresses(own, rnic)),
           SIDR_REP, struct.pack(">IB", COMM_ID, 1))
    yield (mad(DREQ, struct.pack(">IIB", COMM_ID, 0x77777777, 0)), DREP,
           struct.pack(">II", 0x77777777, COMM_ID))


class Stranger:
    HEADERS = struct.pack(">BBHIIII", 0x64, 0, 0xffff, 1, 1, QKEY, 1)

    def __init__(self, own, rnic):
        self.own = own
        self.rnic = rnic
        self.link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.link.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)
        self.link.bind((str(own), ROCE_PORT))
        self.link.settimeout(10)

    def say(self, message):
        payload = self.HEADERS + message
        self.link.sendto(payload + icrc(self.own, self.rnic, payload), (str(self.rnic), ROCE_PORT))

    def hear(self, attribute, beginning, transaction_id=0x1234):
        """The data of the next message, which must be this."""
        answer, (_, source_port) = self.link.recvfrom(4096)
        if answer[-4:] != icrc(self.rnic, self.own, answer[:-4], source_port):
            sys.exit(f"a wrong ICRC: {answer.hex()}")
        if answer[0] != 0x64 or struct.unpack(">III", answer[4:8] + answer[12:20]) != (1, QKEY, 1):
            sys.exit(f"not from queue pair 1 to queue pair 1: {answer[:20].hex()}")
        if answer[20:24] != b"\1\7\2\3" or answer[28:36] != struct.pack(">Q", transaction_id):
            sys.exit(f"not the answer to what was asked: {answer[20:44].hex()}")
        if answer[36:38] != struct.pack(">H", attribute) or len(answer) != 280:
            sys.exit(f"another message: {answer[36:38].hex()}, not {attribute:#x}")
        if not answer[44:].startswith(beginning):
            sys.exit(f"not what it should say: {answer[44:60].hex()}, not {beginning.hex()}")
        return answer[44:-4]

    def connect(self, pid):
        """From the request to the end."""
        request = connect_request(self.own, self.rnic)
        os.kill(pid, signal.SIGSTOP)
        self.say(request)
        self.say(request)
        patience = self.hear(MRA, b"")
        theirs = patience[:4]
        if patience[4:9] != struct.pack(">IB", COMM_ID, 0):
            sys.exit(f"patience for something else: {patience[:9].hex()}")
        os.kill(pid, signal.SIGCONT)
        both = struct.pack(">I", COMM_ID) + theirs
        answer = self.hear(REP, theirs + struct.pack(">I", COMM_ID))
        self.say(mad(RTU, both))
        self.say(mad(LAP, both.ljust(64, b"\0")))
        self.hear(APR, theirs + struct.pack(">IBB", COMM_ID, 0, 2))
        self.say(mad(DREQ, both + answer[12:15]))
        self.hear(DREP, theirs + struct.pack(">I", COMM_ID))


def main():
    own, rnic = (ipaddress.ip_address(text) for text in sys.argv[1:3])
    stranger = Stranger(own, rnic)
    if len(sys.argv) > 3:
        stranger.connect(int(sys.argv[3]))
        print("heard out, as it should be")
        return
    for message, attribute, beginning in questions(own, rnic):
        stranger.say(message)
        stranger.hear(attribute, beginning)
    print("refused, unresolved and parted, as it should be")


if __name__ == "__main__":
    main()
